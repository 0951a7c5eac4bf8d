"""Serves `/api/v1/priors`: how much pairs vary without a change on given machine classes."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel

from perfledger_service.store.database import read_session
from perfledger_service.usecases.uploads.spread_priors import history_on_devices
from perfledger_service.web.app_state import CurrentAppState, CurrentReader
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import CALLER_PROBLEMS, MachineClass

router = APIRouter(prefix="/api/v1/priors", tags=["uploads"])
# Enough for a machine's devices, in every number of them, and its processor.
MAX_CLASSES = 100


class PriorResponse(BaseModel):
    """Predicted spread of the next pair's log ratio in a series, from earlier checks."""

    workload: str
    metric: str
    machine_class: str
    variance: float
    degrees: float
    pairs: int


class PriorsResponse(BaseModel):
    """All known priors; a bundle names `history` so that it is judged by the same."""

    history: int
    priors: tuple[PriorResponse, ...]


@router.get(
    "",
    responses={
        **CALLER_PROBLEMS,
        422: {"model": Problem, "description": "an invalid machine class, or too many of them"},
    },
)
def get_priors(
    state: CurrentAppState,
    caller: CurrentReader,
    machine_class: Annotated[list[MachineClass] | None, Query(max_length=MAX_CLASSES)] = None,
) -> PriorsResponse:
    """Return the spread priors of a project's series on any of these machine classes.

    Without a class, return all. A runner asks before it measures, so that it needs fewer pairs.
    """
    with read_session(state.engine) as session:
        history = history_on_devices(session, caller.project.id, machine_class or ())
    return PriorsResponse.model_validate(history, from_attributes=True)
