"""Serves `/healthz`, whether the process is alive, and `/readyz`, whether it can work."""

from fastapi import APIRouter, Response
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from perfledger_service.store.upgrade import is_current
from perfledger_service.web.app_state import AppState, CurrentAppState

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """Liveness of the process."""

    status: str


class Readiness(BaseModel):
    """Availability of each part that work needs."""

    database: bool
    migrations: bool
    workflow: bool


@router.get("/healthz")
def healthz() -> Health:
    """Return that the process is alive."""
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
