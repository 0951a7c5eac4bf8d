"""Jobs of pull requests that nobody needs any more."""

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.runner_jobs import open_runner_jobs
from perfledger_service.usecases.jobs.pull_requests import cancel_jobs_of

CPU = "cpu:X:1"


def test_jobs_of_one_pull_request_are_cancelled(any_engine, queue, now):
    values = {"kind": RunnerJobKind.RERUN, "machine_class": CPU}
    project = queue(
        {**values, "pull_request": 7, "head_sha": "a" * 40},
        {**values, "pull_request": 7, "head_sha": "b" * 40},
        {**values, "pull_request": 8, "head_sha": "a" * 40},
    )
    cancel = {"reason": "it is over", "now": now}
    with write_session(any_engine) as session:
        cancel_jobs_of(session, project.id, 7, head_sha="a" * 40, **cancel)
        assert [job.key for job in open_runner_jobs(session, project.id)] == ["1", "2"]
        cancel_jobs_of(session, project.id, 7, **cancel)
        assert [job.key for job in open_runner_jobs(session, project.id)] == ["2"]
