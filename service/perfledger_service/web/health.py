"""Serves `/healthz`, `/healthz/webhooks` and `/readyz`: liveness, missed webhooks and readiness."""

from dataclasses import asdict
from datetime import datetime

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from perfledger_service.store.upgrade import is_current
from perfledger_service.usecases.uploads.missed_deliveries import last_poll
from perfledger_service.web.app_state import AppState, CurrentAppState
from perfledger_service.web.sign_in.access import anyone

router = APIRouter(tags=["health"], dependencies=[Depends(anyone)])


class Health(BaseModel):
    """Liveness of the process."""

    status: str


class Readiness(BaseModel):
    """Availability of each part that work needs."""

    database: bool
    migrations: bool
    workflow: bool


class WebhookHealth(BaseModel):
    """What GitHub could not deliver; `polled_at` is null if the service does not ask GitHub."""

    polled_at: datetime | None = None
    read_until: datetime | None = None
    due_at: datetime | None = None
    failures: int = 0
    redelivered: int = 0
    abandoned: int = 0
    problem: str = ""


@router.get("/healthz/webhooks")
def webhook_health(state: CurrentAppState) -> WebhookHealth:
    """Return how far missed webhooks were searched, how many were redelivered, and any problem."""
    poll = last_poll(state.engine)
    return WebhookHealth() if poll is None else WebhookHealth(**asdict(poll))


@router.get("/healthz")
def healthz() -> Health:
    """Answer 200 while the process is alive."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Readiness, "description": "a part is missing"}})
def readyz(state: CurrentAppState, response: Response) -> Readiness:
    """Answer 200 if the database is up to date and the workflow runs, else 503."""
    readiness = _readiness(state)
    if not all(readiness.model_dump().values()):
        response.status_code = 503
    return readiness


def _readiness(state: AppState) -> Readiness:
    is_launched = state.workflow.is_launched
    try:
        return Readiness(database=True, migrations=is_current(state.engine), workflow=is_launched)
    except SQLAlchemyError:
        return Readiness(database=False, migrations=False, workflow=is_launched)
