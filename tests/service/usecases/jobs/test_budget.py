from datetime import UTC, datetime, timedelta

import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.policies import set_budget
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs.budget import week_of
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import (
    finish_without_bundle,
    jobs_of_project,
    queue_job,
    take_job,
)
from perfledger_service.values.jobs.policies import JobBudget


@pytest.fixture
def project(engine, now):
    """A project with three jobs."""
    with write_session(engine) as session:
        project = project_for(session, "octo/models", now=now)
        for key in ("1", "2", "3"):
            job = NewRunnerJob(key=key, kind=RunnerJobKind.NIGHTLY, machine_class="*")
            queue_job(session, project.id, job, now=now)
        session.commit()
    return project


@pytest.fixture
def take(engine, project, now):
    def take(lease, *, at=now, machine_class="cuda:H100:1"):
        request = JobRequest(
            runner="box", machine_classes=(machine_class,), lease=f"{lease:032x}", lease_s=3600.0
        )
        return take_job(engine, project, request, now=at)

    return take


@pytest.fixture
def limit(engine, project):
    def limit(**values):
        with write_session(engine) as session:
            set_budget(session, project.id, JobBudget(**values))
            session.commit()

    return limit


def test_a_week_begins_on_monday():
    assert week_of(datetime(2026, 11, 20, 12, 30, tzinfo=UTC)) == datetime(2026, 11, 16, tzinfo=UTC)
    assert week_of(datetime(2026, 11, 16, tzinfo=UTC)) == datetime(2026, 11, 16, tzinfo=UTC)


@pytest.mark.slow(ci_only=True)
def test_a_job_beyond_the_budget_waits_and_says_so(engine, project, take, limit):
    limit(device_minutes=20.0)
    first, second = take(1), take(2)

    assert first is not None
    assert second is not None
    assert take(3) is None
    reasons = [job.reason for job in jobs_of_project(engine, project) if job.state == "queued"]
    problem = "waits for the budget of 20 device-minutes a week (0 device-minutes used, 2 jobs"
    assert reasons == [f"{problem} running); the next week begins on 2026-11-23"]
    assert take(1).id == first.id  # what it holds it keeps


@pytest.mark.slow(ci_only=True)
def test_what_jobs_held_counts_until_the_week_ends(engine, project, take, limit, now):
    limit(device_minutes=20.0)
    job, at = take(1), now + timedelta(minutes=15)
    finish_without_bundle(engine, project, job.id, job.lease, reason="", now=at)

    assert take(2, at=at) is None
    monday = take(2, at=datetime(2026, 11, 23, tzinfo=UTC))
    assert monday is not None
    assert monday.reason == ""


def test_jobs_that_run_count_with_all_their_devices(take, limit):
    limit(device_minutes=90.0)

    assert take(1, machine_class="cuda:H100:8") is not None
    assert take(2, machine_class="cuda:H100:2") is None
    assert take(2) is not None


@pytest.mark.parametrize(
    ("values", "machine_class", "begins"),
    [
        ({}, "cuda:H100:8", True),
        ({"device_minutes": 10.0}, "cuda:H100:1", True),
        ({"device_minutes": 10.0}, "cuda:H100:8", False),
        ({"usd": 0.5, "usd_per_device_hour": 3.0}, "cuda:H100:1", True),
        ({"usd": 0.49, "usd_per_device_hour": 3.0}, "cuda:H100:1", False),
        ({"usd": 1000.0}, "cuda:H100:1", False),
    ],
)
def test_ten_minutes_of_each_device_are_expected(take, limit, values, machine_class, begins):
    limit(**values)

    assert (take(1, machine_class=machine_class) is not None) is begins
