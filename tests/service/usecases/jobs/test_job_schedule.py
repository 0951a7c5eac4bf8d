"""Tests which jobs are queued by themselves, and that each is queued once."""

from datetime import UTC, datetime, timedelta

import pytest

from perfledger_baselines.history.commits.confirmation_state import ConfirmationState
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.confirmation_state import save_confirmation_state
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.job_policies import JobSchedule
from perfledger_service.usecases.jobs.job_policy import schedule_runs
from perfledger_service.usecases.jobs.job_schedule import job_key, queue_due_jobs
from perfledger_service.usecases.jobs.runner_queue import (
    RUNNER_ABSENT_AFTER,
    JobRequest,
    cancel_job,
    jobs_of_project,
    take_job,
)
from perfledger_service.usecases.pull_requests.projects import add_project, list_projects
from tests.service.suspects import MACHINE, SHAS, store_suspect

FRIDAY = datetime(2026, 11, 20, 12, tzinfo=UTC)
TOKEN = "pl_0123abcd_" + "s" * 43


@pytest.fixture
def project(engine):
    add_project(engine, "octo/models", token=TOKEN, now=FRIDAY)
    return list_projects(engine)[0]


@pytest.fixture
def jobs(engine, project):
    """Return a function that queues what is due and returns all jobs, oldest first."""

    def jobs(at=FRIDAY):
        queue_due_jobs(engine, now=at)
        return jobs_of_project(engine, project)[::-1]

    return jobs


def schedule(engine, kind, *, hour=2):
    runs = JobSchedule(kind=kind, machine_class="*", hour=hour)
    schedule_runs(engine, "octo/models", runs)


def test_a_nightly_run_is_queued_once_a_day(engine, project, jobs):
    schedule(engine, RunnerJobKind.NIGHTLY)
    (first,) = jobs()

    assert (first.kind, first.head_sha, first.requested_by) == ("nightly", "", "the schedule")
    assert jobs(FRIDAY + timedelta(hours=13)) == (first,)
    cancel_job(engine, project, first.id, reason="done", now=FRIDAY)
    assert len(jobs(FRIDAY + timedelta(hours=13))) == 1
    assert len(jobs(FRIDAY + timedelta(hours=14))) == 2


def test_a_run_that_still_waits_is_not_queued_again(engine, jobs):
    schedule(engine, RunnerJobKind.NIGHTLY)
    first = jobs()

    assert jobs(FRIDAY + timedelta(days=5)) == first


def test_a_weekly_run_is_of_monday(engine, project, jobs):
    schedule(engine, RunnerJobKind.WEEKLY, hour=3)
    (first,) = jobs()
    cancel_job(engine, project, first.id, reason="done", now=FRIDAY)

    assert len(jobs(datetime(2026, 11, 23, 2, 59, tzinfo=UTC))) == 1
    assert len(jobs(datetime(2026, 11, 23, 3, tzinfo=UTC))) == 2


def test_a_requested_ab_run_is_queued_for_a_class_that_has_a_runner(
    engine, project, jobs, received, make_bundle
):
    bundle = make_bundle(pull_request=None)
    store_suspect(engine, received(engine, bundle).id, bundle)
    assert jobs() == ()

    request = JobRequest(runner="box", machine_classes=(MACHINE,), lease="1" * 32, lease_s=60.0)
    assert take_job(engine, project, request, now=FRIDAY) is None
    (job,) = jobs()
    assert (job.kind, job.machine_class, job.workloads) == ("ab", MACHINE, ("gpt:step",))
    assert ((job.base_sha, job.head_sha), job.max_pairs) == (SHAS, 8)
    assert jobs() == (job,)

    with write_session(engine) as session:
        save_confirmation_state(session, project.id, ConfirmationState())
        session.commit()
    (job,) = jobs()
    assert (job.state, job.reason) == ("cancelled", "its A/B run is not requested any more")


def test_an_ab_run_waits_for_its_runner_to_come_back(engine, project, jobs, received, make_bundle):
    bundle = make_bundle(pull_request=None)
    store_suspect(engine, received(engine, bundle).id, bundle)
    request = JobRequest(runner="box", machine_classes=(MACHINE,), lease="1" * 32, lease_s=60.0)
    take_job(engine, project, request, now=FRIDAY)
    (job,) = jobs()

    assert job.state == "queued"
    assert jobs(FRIDAY + RUNNER_ABSENT_AFTER + timedelta(hours=1)) == (job,)


def test_a_key_tells_facts_apart_and_is_short():
    keys = {job_key(RunnerJobKind.AB, "a", "bc"), job_key(RunnerJobKind.AB, "ab", "c")}

    assert len(keys) == 2
    assert len(job_key(RunnerJobKind.AB, "x" * 10_000)) < 100
