"""Holds what requests are answered with, and the dependencies that give it to routes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr
from sqlalchemy import Engine

from perfledger_service.errors import RefusedError
from perfledger_service.store.projects import Project
from perfledger_service.store.replicas import ReplicaLock
from perfledger_service.usecases.pull_requests.projects import project_of
from perfledger_service.usecases.pull_requests.upload_reports import UploadReports
from perfledger_service.web.page_cache import PageCache
from perfledger_service.workflows import UploadWorkflow


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The service's database, workflow, reports, public address and clock."""

    engine: Engine
    workflow: UploadWorkflow
    reports: UploadReports
    public_url: str
    webhook_secret: SecretStr | None = None  # None: no webhooks
    replica: ReplicaLock | None = None  # None: the only process of a SQLite file
    now: Callable[[], datetime] = utc_now
    pages: PageCache = field(default_factory=PageCache)


def app_state_of(request: Request) -> AppState:
    """Return the application's state."""
    return cast("AppState", request.app.state.service)


CurrentAppState = Annotated[AppState, Depends(app_state_of)]
_bearer = HTTPBearer(
    auto_error=False, description="a project's token: `perfledger server project add`"
)


def project_of_request(
    state: CurrentAppState,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Project:
    """Return the project whose token came with the request; raise RefusedError (401) without."""
    if credentials is None:
        msg = "no project token: send `Authorization: Bearer pl_…`"
        raise RefusedError(msg, status=401)
    return project_of(state.engine, credentials.credentials)


CurrentProject = Annotated[Project, Depends(project_of_request)]
