"""Records that jobs wait for a quarantine, and on which devices they must not be measured."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlmodel import Session

from perfledger_runners.jobs.runner_job import (
    MAX_EXCLUDED_DEVICES,
    MAX_REASON,
    RunnerJob,
    RunnerJobKind,
    RunnerJobState,
)
from perfledger_service.store.devices.quarantines import quarantines_of_upload
from perfledger_service.store.jobs.runner_jobs import (
    WAITS_FOR_ANOTHER,
    StoredRunnerJob,
    retire_key,
    save_progress,
)
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.values.service_views.devices import Quarantine


def excluded_devices(job: RunnerJob, closed: Sequence[Quarantine]) -> tuple[str, ...]:
    """Return the names of devices that a job must not be measured on; of too many, the newest.

    The runner may not know where its launcher runs the job, so the measuring process compares them.
    """
    if job.kind.is_of_device:
        return ()
    return tuple(each.device.name for each in closed if each.device.has_id)[-MAX_EXCLUDED_DEVICES:]


def ask_again(session: Session, job: StoredRunnerJob) -> None:
    """Allow an A/B run to be queued once more if its device was quarantined while it ran.

    Its result is not evidence. A run that began on a device in quarantine would end there again, so
    it waits for the release. The caller holds the project's lock and commits.
    """
    if job.kind is not RunnerJobKind.AB or job.upload_id is None or job.taken_at is None:
        return
    quarantines = quarantines_of_upload(session, job.upload_id)
    if quarantines and all(one.since > job.taken_at for one in quarantines):
        retire_key(session, job)


def explain_waits(
    session: Session,
    jobs: Iterable[StoredRunnerJob],
    request: JobRequest,
    closed: Sequence[Quarantine],
) -> None:
    """Record on each job that only the quarantine keeps from this runner that it waits, and why.

    A reason from another runner's request is kept, as the two would overwrite each other.
    """
    for job in jobs:
        is_kept = request.can_run(job) and not request.can_run(job, closed)
        is_said = job.reason.startswith(WAITS_FOR_ANOTHER)
        if job.state is RunnerJobState.QUEUED and is_kept and not is_said:
            save_progress(session, replace(job, reason=_wait_reason(job, request, closed)))


def _wait_reason(job: RunnerJob, request: JobRequest, closed: Sequence[Quarantine]) -> str:
    """Describe which devices of a runner's classes for a job are in quarantine."""
    classes = filter(job.is_for, request.machine_classes)
    devices = frozenset[tuple[str, str]]().union(*map(request.devices_of, classes))
    names = [
        each.device.name for each in closed if (each.device.device, each.device.name) in devices
    ]
    verb = "is" if len(names) == 1 else "are"
    reason = f"{WAITS_FOR_ANOTHER}: {', '.join(names)} of {request.runner} {verb} in quarantine"
    return reason[:MAX_REASON]
