import pytest

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.usecases.jobs.job import (
    cancel_by_operator,
    end_schedule,
    jobs_of_repository,
    limit_jobs,
    schedule_runs,
)
from perfledger_service.usecases.server.project import add_project
from perfledger_service.values.jobs.policies import JobBudget, JobSchedule
from tests.service.job_policies import job_policy

NIGHTLY = JobSchedule(kind=RunnerJobKind.NIGHTLY, machine_class="*", hour=2)


@pytest.fixture
def repository(engine, now):
    add_project(engine, "octo/models", token="pl_0123abcd_" + "s" * 43, now=now)
    return "octo/models"


def test_a_policy_is_read_as_it_was_set(engine, repository):
    budget = JobBudget(usd=5.0, usd_per_device_hour=2.5)
    schedule_runs(engine, repository, NIGHTLY)
    limit_jobs(engine, repository, budget)
    assert job_policy(engine, repository) == (budget, (NIGHTLY,))

    end_schedule(engine, repository, RunnerJobKind.NIGHTLY, "*")
    assert job_policy(engine, repository) == (budget, ())


def test_a_budget_in_usd_needs_a_price(engine, repository):
    with pytest.raises(UsageError, match="--device-price USD"):
        limit_jobs(engine, repository, JobBudget(usd=5.0))


@pytest.mark.parametrize("hour", [-1, 24])
def test_an_hour_that_no_day_has_is_refused(engine, repository, hour):
    runs = JobSchedule(kind=RunnerJobKind.WEEKLY, machine_class="*", hour=hour)

    with pytest.raises(UsageError, match=f"{hour} is no hour of a day: give 0 to 23"):
        schedule_runs(engine, repository, runs)


@pytest.mark.parametrize("hour", [0, 23])
def test_runs_may_be_at_the_first_and_the_last_hour_of_a_day(engine, repository, hour):
    runs = JobSchedule(kind=RunnerJobKind.WEEKLY, machine_class="*", hour=hour)

    schedule_runs(engine, repository, runs)

    assert job_policy(engine, repository)[1] == (runs,)


def test_what_is_not_there_is_said(engine, repository, now):
    assert jobs_of_repository(engine, repository) == ()
    with pytest.raises(NotFoundError, match="no job"):
        cancel_by_operator(engine, repository, "1" * 32, reason="x", now=now)
    with pytest.raises(NotFoundError, match="not a project"):
        jobs_of_repository(engine, "octo/unknown")
