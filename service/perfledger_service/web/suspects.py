"""`/api/v1/suspects`: a project's token in, the A/Bs that its default branch asks for out."""

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict

from perfledger_service.store.database import reading
from perfledger_service.usecases.branches import asked_for
from perfledger_service.views import AskedView
from perfledger_service.web.hub import AnyHub, AnyProject
from perfledger_service.web.uploads import PROBLEMS

router = APIRouter(prefix="/api/v1/suspects", tags=["uploads"])


class SuspicionAnswer(BaseModel):
    """A metric that looks as if it had changed, and by how much."""

    model_config = ConfigDict(frozen=True)

    metric: str
    change: float


class AskedAnswer(BaseModel):
    """An A/B to measure: the bundle of a check of these two commits answers it."""

    model_config = ConfigDict(frozen=True)

    workload: str
    device_class: str
    base_sha: str
    head_sha: str
    max_pairs: int
    purpose: str
    asked_on: str
    suspicions: tuple[SuspicionAnswer, ...]
    seen_on: tuple[str, ...]  # devices; another of the class is the better witness


class SuspectsAnswer(BaseModel):
    """All A/Bs that are asked for, the most promising first."""

    model_config = ConfigDict(frozen=True)

    repository: str
    asked: tuple[AskedAnswer, ...]


@router.get("", responses={401: PROBLEMS[401]})
def get_suspects(hub: AnyHub, project: AnyProject) -> SuspectsAnswer:
    """Return the commits of the project's default branch that deserve an A/B of their own."""
    with reading(hub.engine) as session:
        asked = asked_for(session, project.id)
    return SuspectsAnswer(repository=project.repository, asked=tuple(map(_answer, asked)))


def _answer(asked: AskedView) -> AskedAnswer:
    request = asked.request
    return AskedAnswer(
        workload=request.workload,
        device_class=request.machine_class,
        base_sha=asked.base_sha,
        head_sha=asked.head_sha,
        max_pairs=request.max_pairs,
        purpose=request.purpose,
        asked_on=request.window,
        suspicions=tuple(
            SuspicionAnswer(metric=one.series.metric.name, change=one.change)
            for one in asked.suspicions
        ),
        seen_on=tuple(sorted({device for one in asked.suspicions for device in one.devices})),
    )
