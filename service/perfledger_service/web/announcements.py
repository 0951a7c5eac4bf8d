"""Serves `/api/v1/checks`, where a runner announces a check before it measures."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from perfledger.bundle import CLASS_DEADLINE_S
from perfledger_runners.bundles.validation import MAX_CLASS_DEADLINE_S, MAX_CLASSES, SHA
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import MERGE_GROUP, CheckedHead
from perfledger_service.usecases.uploads.actions_runs import check_subject
from perfledger_service.usecases.uploads.machine_classes import announce_classes, work_at
from perfledger_service.usecases.uploads.merge_groups import check_announced_group
from perfledger_service.web.app_state import CurrentAppState, CurrentUploader
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import CALLER_PROBLEMS, MachineClass

router = APIRouter(prefix="/api/v1/checks", tags=["uploads"])


class CheckAnnouncement(BaseModel):
    """A check that is starting: machine classes (globs) that must report on a head, and by when."""

    model_config = ConfigDict(extra="forbid")

    # None: the head is that of a merge group.
    pull_request: Annotated[int, Field(ge=1, le=MAX_PULL_REQUEST)] | None
    head_sha: Annotated[str, Field(pattern=f"^{SHA.pattern}$")]
    machine_classes: Annotated[
        tuple[MachineClass, ...], Field(min_length=1, max_length=MAX_CLASSES)
    ]
    class_deadline_s: Annotated[float, Field(gt=0, le=MAX_CLASS_DEADLINE_S)] = CLASS_DEADLINE_S


class ExpectedClassResponse(BaseModel):
    """A machine class that must report, and its deadline."""

    machine_class: str
    deadline: datetime


class AnnouncedCheckResponse(BaseModel):
    """All machine classes that must report on a head."""

    repository: str
    pull_request: int | None
    head_sha: str
    classes: tuple[ExpectedClassResponse, ...]


@router.post(
    "",
    status_code=202,
    responses={
        400: {"model": Problem, "description": "more machine classes than the limit"},
        **CALLER_PROBLEMS,
        429: {"model": Problem, "description": "more commits are announced than the limit"},
    },
)
def announce_check(
    state: CurrentAppState, caller: CurrentUploader, announcement: CheckAnnouncement
) -> AnnouncedCheckResponse:
    """Announce a check, so that a machine class that never reports does not count as passed.

    A merge group's head has no pull request; GitHub must confirm that it is one.

    Repeating it changes nothing until a deadline has passed: then a class that did not report gets
    the new one.
    """
    now, project = state.now(), caller.project
    if caller.run is not None:
        check_subject(caller.run, announcement.pull_request)
    if announcement.pull_request is None:
        check_announced_group(state.engine, project.id, caller.run, announcement.head_sha, now=now)
    head = CheckedHead(
        project_id=project.id,
        repository=project.repository,
        pull_request=announcement.pull_request or MERGE_GROUP,
        head_sha=announcement.head_sha,
    )
    expected = announce_classes(
        state.engine,
        head,
        announcement.machine_classes,
        deadline=now + timedelta(seconds=announcement.class_deadline_s),
        now=now,
    )
    for due_at in (now, *dict.fromkeys(one.deadline for one in expected)):
        state.workflow.enqueue_check(work_at(head, due_at))
    return AnnouncedCheckResponse(
        repository=project.repository,
        pull_request=announcement.pull_request,
        head_sha=head.head_sha,
        classes=tuple(
            ExpectedClassResponse(machine_class=one.machine_class, deadline=one.deadline)
            for one in expected
        ),
    )
