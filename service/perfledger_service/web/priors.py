"""`/api/v1/priors`: classes of devices in, how much pairs on them differ without cause out."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict

from perfledger_service.store.database import reading
from perfledger_service.usecases.priors import history_on_devices
from perfledger_service.web.hub import AnyHub, AnyProject
from perfledger_service.web.uploads import PROBLEMS

router = APIRouter(prefix="/api/v1/priors", tags=["uploads"])
# A machine's own devices, in any number of them, and its processor.
MAX_CLASSES = 100


class PriorAnswer(BaseModel):
    """What earlier checks of one series tell of the difference of logs of its next pair."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    workload: str
    metric: str
    device_class: str
    variance: float
    degrees: float
    pairs: int


class PriorsAnswer(BaseModel):
    """All that is known; a bundle names `history` to be judged by the same."""

    model_config = ConfigDict(frozen=True, from_attributes=True)

    history: int
    priors: tuple[PriorAnswer, ...]


@router.get("", responses={401: PROBLEMS[401]})
def get_priors(
    hub: AnyHub,
    project: AnyProject,
    device_class: Annotated[list[str] | None, Query(max_length=MAX_CLASSES)] = None,
) -> PriorsAnswer:
    """Return what the project's history tells of pairs on any of these classes of devices.

    Without a class it is all of it. A runner asks before it measures: what is known in advance need
    not be measured again.
    """
    with reading(hub.engine) as session:
        found = history_on_devices(session, project.id, device_class or ())
    return PriorsAnswer.model_validate(found)
