from dataclasses import replace

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.errors import NotFoundError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import (
    WAITS_FOR_ANOTHER,
    NewRunnerJob,
    add_runner_job,
    count_open_jobs,
    newest_runner_jobs,
    open_runner_jobs,
    runner_job,
    runner_job_of_key,
    save_progress,
    withdraw_waits,
)
from perfledger_service.store.projects import project_for

JOB = NewRunnerJob(
    key="ab:1",
    kind=RunnerJobKind.AB,
    machine_class="cuda:*:1",
    base_sha="a" * 40,
    head_sha="b" * 40,
    workloads=("gpt:step", "vit:step"),
    max_pairs=8,
    requested_by="octocat",
)
ID = f"{1:032x}"


@pytest.fixture
def project_ids(any_engine, now):
    """Two projects, of which the first has a job."""
    with write_session(any_engine) as session:
        ids = [project_for(session, name, now=now).id for name in ("octo/models", "octo/other")]
        add_runner_job(session, ids[0], JOB, job_id=ID, now=now)
        session.commit()
    return ids


def test_a_job_is_read_as_it_was_stored(any_engine, project_ids, now):
    with read_session(any_engine) as session:
        job = runner_job(session, project_ids[0], ID)
        assert runner_job_of_key(session, project_ids[0], JOB.key) == job

    assert (job.repository, job.workloads, job.max_pairs) == ("octo/models", JOB.workloads, 8)
    assert (job.state, job.attempts, job.created_at) == (RunnerJobState.QUEUED, 0, now)


def test_another_project_does_not_see_it(any_engine, project_ids):
    with read_session(any_engine) as session:
        with pytest.raises(NotFoundError, match="no job"):
            runner_job(session, project_ids[1], ID)
        assert runner_job_of_key(session, project_ids[1], JOB.key) is None
        assert open_runner_jobs(session, project_ids[1]) == ()
        assert newest_runner_jobs(session, project_ids[1], limit=9) == ()


def test_what_changes_is_stored_and_an_ended_job_is_not_open(any_engine, project_ids, now):
    with write_session(any_engine) as session:
        job = replace(
            runner_job(session, project_ids[0], ID),
            state=RunnerJobState.LEASED,
            lease="1" * 32,
            runner="box",
            lease_expires_at=now,
        )
        save_progress(session, job)
        assert open_runner_jobs(session, project_ids[0]) == (job,)
        assert count_open_jobs(session, project_ids[0]) == 1

        ended = replace(job, state=RunnerJobState.FAILED, finished_at=now)
        save_progress(session, ended)
        assert count_open_jobs(session, project_ids[0]) == 0
        assert newest_runner_jobs(session, project_ids[0], limit=9) == (ended,)


@pytest.mark.parametrize(
    ("state", "reason", "left"),
    [
        (RunnerJobState.QUEUED, f"{WAITS_FOR_ANOTHER}: GPU-0 is in quarantine", ""),
        (RunnerJobState.QUEUED, "the budget of this week is spent", None),
        (RunnerJobState.FAILED, f"{WAITS_FOR_ANOTHER}: GPU-0 is in quarantine", None),
    ],
)
def test_only_the_reason_of_a_queued_job_that_waits_for_another_runner_is_withdrawn(
    any_engine, project_ids, state, reason, left
):
    with write_session(any_engine) as session:
        job = replace(runner_job(session, project_ids[0], ID), state=state, reason=reason)
        save_progress(session, job)
        withdraw_waits(session, project_ids[1])
        assert runner_job(session, project_ids[0], ID).reason == reason
        withdraw_waits(session, project_ids[0])

        assert runner_job(session, project_ids[0], ID).reason == (reason if left is None else left)
