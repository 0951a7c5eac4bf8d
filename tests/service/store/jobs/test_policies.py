from dataclasses import replace

from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.database import write_session
from perfledger_service.store.jobs.policies import (
    budget_of,
    remove_schedule,
    schedules_of,
    set_budget,
    set_schedule,
)
from perfledger_service.store.projects import project_for
from perfledger_service.values.jobs.policies import JobBudget, JobSchedule

NIGHTLY = JobSchedule(kind=RunnerJobKind.NIGHTLY, machine_class="*", hour=2)
WEEKLY = replace(NIGHTLY, kind=RunnerJobKind.WEEKLY)


def test_a_schedule_is_one_of_its_kind_and_class(any_engine, now):
    with write_session(any_engine) as session:
        one, other = (project_for(session, name, now=now).id for name in ("o/a", "o/b"))
        for schedule in (NIGHTLY, WEEKLY, replace(NIGHTLY, hour=5)):
            set_schedule(session, one, schedule)
        assert schedules_of(session, one) == (replace(NIGHTLY, hour=5), WEEKLY)
        assert schedules_of(session, other) == ()

        remove_schedule(session, one, RunnerJobKind.NIGHTLY, "*")
        assert schedules_of(session, one) == (WEEKLY,)


def test_a_budget_is_replaced_and_none_has_no_limits(any_engine, now):
    with write_session(any_engine) as session:
        project_id = project_for(session, "o/a", now=now).id
        assert budget_of(session, project_id) == JobBudget()
        for budget in (JobBudget(device_minutes=60.0), JobBudget(usd=5.0, usd_per_device_hour=2.5)):
            set_budget(session, project_id, budget)
            assert budget_of(session, project_id) == budget
