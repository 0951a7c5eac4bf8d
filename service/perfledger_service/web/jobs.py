"""Serves `/api/v1/jobs`, the queue from which runners take their work."""

from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from perfledger_runners.bundles.value_checks import MAX_WORD
from perfledger_runners.jobs.runner_job import (
    DEFAULT_LEASE_S,
    MAX_LEASE_S,
    MAX_REASON,
    MIN_LEASE_S,
    RunnerJobKind,
    RunnerJobState,
)
from perfledger_service.store.jobs.runner_jobs import StoredRunnerJob
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import (
    cancel_job,
    fail_job,
    finish_without_bundle,
    jobs_of_project,
    renew_lease,
    return_job,
    take_job,
)
from perfledger_service.web.app_state import CurrentAppState, CurrentReader, CurrentRunner
from perfledger_service.web.body_limit import check_declared_size
from perfledger_service.web.responses.problems import Problem
from perfledger_service.web.uploads import (
    BUNDLE_BODY,
    CALLER_PROBLEMS,
    PROBLEMS,
    MachineClass,
    UploadResponse,
    store_bundle,
)

router = APIRouter(prefix="/api/v1/jobs", tags=["jobs"])
MAX_RUNNER_CLASSES = 16  # machine classes that one runner serves
MAX_CLASS_DEVICES = 64  # devices of one machine
JobId = Annotated[str, Path(pattern=r"^[0-9a-f]{32}$")]
Lease = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
LeaseSeconds = Annotated[float, Field(ge=MIN_LEASE_S, le=MAX_LEASE_S)]
# Printable, since people see them.
Name = Annotated[str, Field(min_length=1, max_length=MAX_WORD, pattern=r"^[ -~]+$")]
# An id, or a model and a kind of host; PostgreSQL cannot store NUL.
DeviceName = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00]*$")]
Reason = Annotated[str, Field(max_length=MAX_REASON, pattern=r"^[^\x00]*$")]
JOB_PROBLEMS: dict[int | str, dict[str, object]] = {
    **CALLER_PROBLEMS,
    404: {"model": Problem, "description": "no such job in the token's project"},
    409: {"model": Problem, "description": "the job is not this runner's, or already has a result"},
}


class _Message(BaseModel):
    model_config = ConfigDict(extra="forbid")


class TakeMessage(_Message):
    """A runner that asks for a job; with the same lease, after a lost answer, it gets the same job.

    `devices` are the names of the devices that a machine class is measured on. A class with a
    device in quarantine gets no job that measures code.
    """

    runner: Name
    machine_classes: Annotated[
        tuple[MachineClass, ...], Field(min_length=1, max_length=MAX_RUNNER_CLASSES)
    ]
    devices: Annotated[
        dict[MachineClass, Annotated[tuple[DeviceName, ...], Field(max_length=MAX_CLASS_DEVICES)]],
        Field(max_length=MAX_RUNNER_CLASSES),
    ] = Field(default_factory=dict)
    lease: Lease
    lease_s: LeaseSeconds = DEFAULT_LEASE_S


class HeartbeatMessage(_Message):
    """A heartbeat of the runner that holds a job."""

    lease: Lease
    lease_s: LeaseSeconds = DEFAULT_LEASE_S


class FinishMessage(_Message):
    """A job that ended without a bundle, and why."""

    lease: Lease
    reason: Reason = ""


class FailMessage(_Message):
    """A job that failed, and why; a final failure is not retried."""

    lease: Lease
    reason: Reason
    is_final: bool = False


class ReturnMessage(_Message):
    """A job that a runner gives back because it shuts down."""

    lease: Lease


class CancelMessage(_Message):
    """A job that is no longer needed, and why."""

    reason: Reason = "cancelled by the project"


class JobResponse(BaseModel):
    """A job for runners and its state.

    When a runner takes it, it lists the devices in quarantine, which must not be used.
    """

    id: str
    repository: str
    kind: RunnerJobKind
    machine_class: str
    base_sha: str
    head_sha: str
    pull_request: int | None
    allows_fork: bool
    workloads: tuple[str, ...]
    max_pairs: int | None
    metric: str
    for_runner: str
    requested_by: str
    state: RunnerJobState
    runner: str
    attempts: int
    reason: str
    upload_id: str | None
    created_at: datetime
    due_at: datetime
    lease_expires_at: datetime | None
    excluded_devices: tuple[str, ...]


class TakenJobResponse(BaseModel):
    """The job that a runner got; null if there is none for it."""

    job: JobResponse | None


class JobsResponse(BaseModel):
    """The newest jobs of a project, newest first."""

    repository: str
    jobs: tuple[JobResponse, ...]


async def runner_body(request: Request, caller: CurrentRunner) -> bytes:  # noqa: ARG001 - before the body
    """Return the request's body, which is read only after the token is checked."""
    check_declared_size(request.headers.get("content-length"))
    return await request.body()


@router.get("", responses=CALLER_PROBLEMS)
def get_jobs(state: CurrentAppState, caller: CurrentReader) -> JobsResponse:
    """Return the newest jobs of the token's project."""
    jobs = jobs_of_project(state.engine, caller.project)
    return JobsResponse(
        repository=caller.project.repository, jobs=tuple(_response_of(job) for job in jobs)
    )


@router.post("/take", responses=CALLER_PROBLEMS)
def take(state: CurrentAppState, caller: CurrentRunner, message: TakeMessage) -> TakenJobResponse:
    """Lend the runner the first job that it can run, until the lease ends."""
    request = JobRequest(**message.model_dump())
    job = take_job(state.engine, caller.project, request, now=state.now())
    return TakenJobResponse(job=None if job is None else _response_of(job))


@router.post("/{job_id}/heartbeat", responses=JOB_PROBLEMS)
def heartbeat(
    state: CurrentAppState, caller: CurrentRunner, job_id: JobId, message: HeartbeatMessage
) -> JobResponse:
    """Renew the lease from now on; 409 tells the runner to stop working on the job."""
    job = renew_lease(
        state.engine,
        caller.project,
        job_id,
        message.lease,
        lease_s=message.lease_s,
        now=state.now(),
    )
    return _response_of(job)


@router.post(
    "/{job_id}/result",
    status_code=202,
    responses={**PROBLEMS, 404: JOB_PROBLEMS[404], 409: JOB_PROBLEMS[409]},
    openapi_extra=BUNDLE_BODY,
)
def store_result(
    state: CurrentAppState,
    caller: CurrentRunner,
    job_id: JobId,
    body: Annotated[bytes, Depends(runner_body)],
) -> UploadResponse:
    """Store a job's result bundle and end the job, both or neither.

    The first result is stored; the same bundle again returns the same upload, a different one is
    refused.
    """
    return store_bundle(state, body, caller.project, job_id=job_id)


@router.post("/{job_id}/finish", responses=JOB_PROBLEMS)
def finish(
    state: CurrentAppState, caller: CurrentRunner, job_id: JobId, message: FinishMessage
) -> JobResponse:
    """End a job that has no bundle, such as a bisection without a change."""
    job = finish_without_bundle(
        state.engine,
        caller.project,
        job_id,
        message.lease,
        reason=message.reason,
        now=state.now(),
    )
    return _response_of(job)


@router.post("/{job_id}/fail", responses=JOB_PROBLEMS)
def fail(
    state: CurrentAppState, caller: CurrentRunner, job_id: JobId, message: FailMessage
) -> JobResponse:
    """Record that the job failed; it is queued again, up to a maximum number of attempts."""
    job = fail_job(
        state.engine,
        caller.project,
        job_id,
        message.lease,
        reason=message.reason,
        is_final=message.is_final,
        now=state.now(),
    )
    return _response_of(job)


@router.post("/{job_id}/return", responses=JOB_PROBLEMS)
def give_back(
    state: CurrentAppState, caller: CurrentRunner, job_id: JobId, message: ReturnMessage
) -> JobResponse:
    """Take a job back from a runner that shuts down."""
    job = return_job(state.engine, caller.project, job_id, message.lease, now=state.now())
    return _response_of(job)


@router.post("/{job_id}/cancel", responses=JOB_PROBLEMS)
def cancel(
    state: CurrentAppState, caller: CurrentRunner, job_id: JobId, message: CancelMessage
) -> JobResponse:
    """Cancel a job that is not done; its runner stops at its next heartbeat."""
    job = cancel_job(state.engine, caller.project, job_id, reason=message.reason, now=state.now())
    return _response_of(job)


def _response_of(job: StoredRunnerJob) -> JobResponse:
    return JobResponse.model_validate(asdict(job))
