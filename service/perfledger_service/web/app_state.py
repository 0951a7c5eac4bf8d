"""Holds the application's state, and the dependencies that pass it to routes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr
from sqlalchemy import Engine

from perfledger_service.errors import RefusedError
from perfledger_service.github.account_permissions import AccountPermissions
from perfledger_service.github.actions_tokens import ActionsRun, ActionsTokens
from perfledger_service.github.app.installations import AppInstallations
from perfledger_service.github.pull_requests import PullRequests
from perfledger_service.github.request_counts import RequestCounts
from perfledger_service.github.webhook_deliveries import WebhookDeliveries
from perfledger_service.settings.network_addresses import is_address, is_within
from perfledger_service.settings.quotas import UploadQuota
from perfledger_service.store.projects import Project
from perfledger_service.store.replicas.lock import ReplicaLock
from perfledger_service.usecases.cost.upload_prices import UploadPrices
from perfledger_service.usecases.history.gate_health import ProjectGates
from perfledger_service.usecases.people.sign_in import SignInOptions
from perfledger_service.usecases.people.tokens import token_holder
from perfledger_service.usecases.review.schedule import ReviewSchedule
from perfledger_service.usecases.uploads.actions_runs import project_of_run
from perfledger_service.usecases.uploads.reports import UploadReports
from perfledger_service.values.storage.retention import RetentionPolicy
from perfledger_service.values.token_scope import TokenScope
from perfledger_service.web.page_cache import PageCache
from perfledger_service.workflows import UploadWorkflow

JWT_DOTS = 2  # separates the three parts of a JSON Web Token; a project's token has none


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The service's database, workflow, reports, public address and clock."""

    engine: Engine
    workflow: UploadWorkflow
    reports: UploadReports
    public_url: str
    webhook_secret: SecretStr | None = None  # None: no webhooks
    previous_webhook_secret: SecretStr | None = None  # also accepted
    actions: ActionsTokens | None = None  # None: runs of GitHub Actions need a project's token
    pull_requests: PullRequests | None = None  # None: no check whether heads have moved
    deliveries: WebhookDeliveries | None = None  # None: missed webhooks are not requested again
    installations: AppInstallations | None = None  # None: there is no App
    replica: ReplicaLock | None = None  # None: the only process of a SQLite file
    metrics_token: SecretStr | None = None  # None: only this machine can read the metrics
    github_requests: RequestCounts | None = None  # None: GitHub is not asked
    clock_offset: Callable[[], timedelta] = timedelta  # how far GitHub's clock is ahead of `now`
    proxy_addresses: tuple[IPv4Network | IPv6Network, ...] = ()  # trusted to name their clients
    sign_in: SignInOptions | None = None  # None: anyone who reaches the service can read its pages
    permissions: AccountPermissions | None = None  # None: people have only granted roles
    has_price_notices: bool = False
    reviews: ReviewSchedule | None = None  # None: reviews are not scheduled
    retention: RetentionPolicy = field(default_factory=lambda: RetentionPolicy({}))
    quota: UploadQuota = field(default_factory=UploadQuota)
    now: Callable[[], datetime] = utc_now
    pages: PageCache = field(default_factory=PageCache)
    prices: UploadPrices = field(default_factory=UploadPrices)
    gates: ProjectGates = field(default_factory=ProjectGates)


def app_state_of(request: Request) -> AppState:
    """Return the application's state."""
    return cast("AppState", request.app.state.service)


CurrentAppState = Annotated[AppState, Depends(app_state_of)]


def client_address(request: Request, state: CurrentAppState) -> str:
    """Return the address that a request came from, for the audit log.

    A declared proxy appends its client's address to X-Forwarded-For. Entries before the last
    address that is not a declared proxy's are not trusted: the client may have made them up.
    """
    address = request.client.host if request.client else ""
    hops = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    while hops and is_within(address, state.proxy_addresses):
        before = hops.pop().strip()
        if not is_address(before):
            break
        address = before
    return address


CurrentAddress = Annotated[str, Depends(client_address)]
_bearer = HTTPBearer(
    auto_error=False, description="a project's token: `perfledger server project add`"
)


@dataclass(frozen=True, slots=True)
class Caller:
    """The project for which a request is made, and the run of GitHub Actions that makes it."""

    project: Project
    run: ActionsRun | None = None  # None: the holder of a project's token
    name: str = ""  # of the token: the part that may be shown, and its person
    account: str = ""  # that person's GitHub account


def caller_that_reads(
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Return the caller, who may read a project's data; raise RefusedError without such a token."""
    return _caller(state, credentials, scope=TokenScope.READ)


def caller_that_uploads(
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Return the caller, who may upload for a project; raise RefusedError without such a token."""
    return _caller(state, credentials, scope=TokenScope.UPLOAD)


def caller_that_maintains(
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Caller:
    """Return the caller, who may decide on events; raise RefusedError without such a token."""
    return _caller(state, credentials, scope=TokenScope.MAINTAIN)


CurrentMaintainer = Annotated[Caller, Depends(caller_that_maintains)]
CurrentReader = Annotated[Caller, Depends(caller_that_reads)]
CurrentUploader = Annotated[Caller, Depends(caller_that_uploads)]


def runner_that_asks(caller: CurrentUploader) -> Caller:
    """Return the holder of a project's token; raise RefusedError for a run of GitHub Actions.

    A pull request can change what its own run does: it could take jobs, and report results for
    them.
    """
    if caller.run is not None:
        msg = "a run of GitHub Actions cannot take jobs: use a token of the project"
        raise RefusedError(msg)
    return caller


CurrentRunner = Annotated[Caller, Depends(runner_that_asks)]


def _caller(
    state: AppState, credentials: HTTPAuthorizationCredentials | None, *, scope: TokenScope
) -> Caller:
    if credentials is None:
        msg = "no project token: send `Authorization: Bearer pl_…`"
        raise RefusedError(msg, status=401)
    token = credentials.credentials
    if state.actions is not None and token.count(".") == JWT_DOTS:
        run = state.actions.run_of(token)
        if scope is TokenScope.MAINTAIN:
            msg = "a run of GitHub Actions cannot decide on events: use a token that may maintain"
            raise RefusedError(msg)
        return Caller(project_of_run(state.engine, run, state.permissions), run)
    holder = token_holder(state.engine, token, state.permissions, now=state.now(), scope=scope)
    return Caller(holder.project, name=holder.name, account=holder.account)
