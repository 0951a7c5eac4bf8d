"""Everything a request is answered with, as one value, and the ways to get at it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, cast

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import SecretStr
from sqlalchemy import Engine

from perfledger_service.errors import RefusedError
from perfledger_service.jobs import Jobs
from perfledger_service.store.projects import Project
from perfledger_service.usecases.projects import project_of
from perfledger_service.usecases.uploads import Reporter
from perfledger_service.web.page_cache import PageCache


def utc_now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hub:
    """The service's parts: its database, its work, its judge, its address and its clock."""

    engine: Engine
    jobs: Jobs
    reporter: Reporter
    public_url: str
    webhook_secret: SecretStr | None = None  # None: no webhooks
    now: Callable[[], datetime] = utc_now
    pages: PageCache = field(default_factory=PageCache)


def hub_of(request: Request) -> Hub:
    """Return the application's hub."""
    return cast("Hub", request.app.state.hub)


AnyHub = Annotated[Hub, Depends(hub_of)]
_bearer = HTTPBearer(auto_error=False, description="a project's token: `perfledger project add`")


def project_of_request(
    hub: AnyHub, credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)]
) -> Project:
    """Return the project whose token came with the request; raise RefusedError (401) without."""
    if credentials is None:
        msg = "no project token: send `Authorization: Bearer pl_…`"
        raise RefusedError(msg, status=401)
    return project_of(hub.engine, credentials.credentials)


AnyProject = Annotated[Project, Depends(project_of_request)]
