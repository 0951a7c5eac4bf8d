"""`/healthz` and `/readyz`: is the process alive, and can it do its work."""

from fastapi import APIRouter, Response
from pydantic import BaseModel
from sqlalchemy.exc import SQLAlchemyError

from perfledger_service.store.migrating import is_current
from perfledger_service.web.hub import AnyHub, Hub

router = APIRouter(tags=["health"])


class Health(BaseModel):
    """The process answers."""

    status: str


class Readiness(BaseModel):
    """Which of the parts that work needs are there."""

    database: bool
    migrations: bool
    jobs: bool


@router.get("/healthz")
def healthz() -> Health:
    """Answer, for as long as the process does."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Readiness, "description": "a part is missing"}})
def readyz(hub: AnyHub, response: Response) -> Readiness:
    """Answer 200 if the database is reachable and up to date and work is being done, else 503."""
    readiness = _readiness(hub)
    if not all(readiness.model_dump().values()):
        response.status_code = 503
    return readiness


def _readiness(hub: Hub) -> Readiness:
    is_launched = hub.jobs.is_launched
    try:
        return Readiness(database=True, migrations=is_current(hub.engine), jobs=is_launched)
    except SQLAlchemyError:
        return Readiness(database=False, migrations=False, jobs=is_launched)
