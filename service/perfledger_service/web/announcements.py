"""Serves `/api/v1/checks`, where a runner announces a check, and says how far it is."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from perfledger.bundle import CLASS_DEADLINE_S
from perfledger_runners.bundles.check_progress import MAX_STAGE
from perfledger_runners.bundles.validation import MAX_CLASS_DEADLINE_S, MAX_CLASSES, SHA
from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_service.store.tables import MAX_PULL_REQUEST
from perfledger_service.store.uploads import MERGE_GROUP, CheckedHead
from perfledger_service.usecases.uploads.actions_runs import check_subject
from perfledger_service.usecases.uploads.machine_classes import (
    announce_classes,
    receive_progress,
    work_at,
)
from perfledger_service.usecases.uploads.merge_groups import check_announced_group
from perfledger_service.values.upload_views import ReportedProgress
from perfledger_service.web.app_state import CurrentAppState, CurrentUploader
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import CALLER_PROBLEMS, MachineClass

router = APIRouter(prefix="/api/v1/checks", tags=["uploads"])
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
MAX_COUNT = 2**31 - 1  # of what PostgreSQL stores as an integer


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


class ProgressMessage(BaseModel):
    """How far an announced check is on a machine class.

    `workload` is the last one that began, `waiting` the number of workloads that need more pairs.
    """

    model_config = ConfigDict(extra="forbid")

    pull_request: Annotated[int, Field(ge=1, le=MAX_PULL_REQUEST)]
    head_sha: Annotated[str, Field(pattern=f"^{SHA.pattern}$")]
    machine_class: MachineClass
    stage: Annotated[str, Field(min_length=1, max_length=MAX_STAGE, pattern=PRINTABLE)]
    workload: Annotated[str, Field(max_length=MAX_WORD, pattern=PRINTABLE)] = ""
    waiting: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    pairs: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    max_pairs: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    seconds_left: Annotated[float, Field(ge=0, le=MAX_CLASS_DEADLINE_S)] | None = None


class ProgressResponse(BaseModel):
    """When the service heard a message, by its own clock."""

    heard_at: datetime


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


@router.post(
    "/progress",
    status_code=202,
    responses={
        400: {"model": Problem, "description": "more machine classes than the limit"},
        **CALLER_PROBLEMS,
        404: {"model": Problem, "description": "nobody announced this check"},
    },
)
def report_progress(
    state: CurrentAppState, caller: CurrentUploader, message: ProgressMessage
) -> ProgressResponse:
    """Say how far an announced check is; only the last message of a machine class is kept.

    The check shows it at most once a minute, and that no more comes after two minutes without one.
    """
    now, project = state.now(), caller.project
    if caller.run is not None:
        check_subject(caller.run, message.pull_request)
    head = CheckedHead(
        project_id=project.id,
        repository=project.repository,
        pull_request=message.pull_request,
        head_sha=message.head_sha,
    )
    fields = message.model_dump(exclude={"pull_request", "head_sha"})
    for check in receive_progress(state.engine, head, ReportedProgress(**fields, heard_at=now)):
        state.workflow.enqueue_check(check)
    return ProgressResponse(heard_at=now)
