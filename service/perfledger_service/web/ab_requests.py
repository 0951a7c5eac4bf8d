"""Serves `/api/v1/ab-requests`: the A/B runs that a project's default branch needs."""

from fastapi import APIRouter
from pydantic import BaseModel

from perfledger_service.store.database import read_session
from perfledger_service.usecases.history.branch import requested_ab_runs
from perfledger_service.values.branch_views import AbRequestView
from perfledger_service.web.app_state import CurrentAppState, CurrentReader
from perfledger_service.web.uploads import CALLER_PROBLEMS

router = APIRouter(prefix="/api/v1/ab-requests", tags=["uploads"])


class SuspectResponse(BaseModel):
    """A metric that may have changed, and by how much."""

    metric: str
    change: float


class AbRequestResponse(BaseModel):
    """An A/B run to measure, by checking these two commits."""

    workload: str
    machine_class: str
    base_sha: str
    head_sha: str
    max_pairs: int
    purpose: str
    requested_on: str
    suspects: tuple[SuspectResponse, ...]
    waits: str  # why its job is not measured yet, "" if unknown
    devices: tuple[str, ...]  # devices; a run on another device of the class is stronger evidence


class AbRequestsResponse(BaseModel):
    """All requested A/B runs, the most promising first."""

    repository: str
    requests: tuple[AbRequestResponse, ...]


@router.get("", responses=CALLER_PROBLEMS)
def get_ab_requests(state: CurrentAppState, caller: CurrentReader) -> AbRequestsResponse:
    """Return the A/B runs that would confirm or reject suspected changes of the default branch."""
    with read_session(state.engine) as session:
        requests = requested_ab_runs(session, caller.project.id)
    return AbRequestsResponse(
        repository=caller.project.repository, requests=tuple(map(_response_of, requests))
    )


def _response_of(view: AbRequestView) -> AbRequestResponse:
    request = view.request
    return AbRequestResponse(
        workload=request.workload,
        machine_class=request.machine_class,
        base_sha=view.base_sha,
        head_sha=view.head_sha,
        max_pairs=request.max_pairs,
        purpose=request.purpose,
        requested_on=request.window,
        waits=view.waits,
        suspects=tuple(
            SuspectResponse(metric=one.series.metric.name, change=one.change)
            for one in view.suspects
        ),
        devices=tuple(sorted({device for one in view.suspects for device in one.devices})),
    )
