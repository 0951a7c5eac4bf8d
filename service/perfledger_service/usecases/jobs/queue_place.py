"""Finds a job in the queue, and its place there."""

from collections.abc import Collection, Iterable

from perfledger.registration.workload_pattern import is_match
from perfledger_runners.jobs.runner_job import RunnerJobState
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob, StoredRunnerJob
from perfledger_service.usecases.jobs.runner_queue import queue_order

# Fields that two jobs with the same measurement share.
_MEASURED = (
    *("kind", "machine_class", "base_sha", "head_sha", "pull_request", "allows_fork"),
    *("workloads", "metric"),
)


def jobs_before(
    job: StoredRunnerJob, open_jobs: Iterable[StoredRunnerJob], served: Collection[str]
) -> int:
    """Return how many queued jobs may be taken before this one by runners that can run it.

    `served` are the machine classes of the runners that ask for jobs.
    """
    classes = [one for one in served if job.is_for(one)]
    return sum(
        other.state is RunnerJobState.QUEUED
        and queue_order(other) < queue_order(job)
        and any(other.is_for(one) for one in classes)
        for other in open_jobs
    )


def is_served(machine_class: str, served: Iterable[str]) -> bool:
    """Return whether a runner of a machine class (a pattern) asks for jobs."""
    return any(is_match(machine_class, one) for one in served)


def same_job(job: NewRunnerJob, open_jobs: Iterable[StoredRunnerJob]) -> StoredRunnerJob | None:
    """Return the open job that measures the same as a new one, None if there is none."""
    facts = [getattr(job, name) for name in _MEASURED]
    return next(
        (one for one in open_jobs if [getattr(one, name) for name in _MEASURED] == facts), None
    )
