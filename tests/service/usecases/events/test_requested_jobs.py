"""Jobs that people ask for about an event."""

from dataclasses import replace

import pytest

from perfledger_baselines.history.commits.attribution import Harm
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
)
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.errors import NotFoundError, UsageError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.events.events import save_event
from perfledger_service.store.jobs.runner_jobs import open_runner_jobs
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.events.event import event_history
from perfledger_service.usecases.events.requested_jobs import queue_event_jobs
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import take_job
from perfledger_service.usecases.people.audit import audit_log
from perfledger_service.values.people.person import Actor

CPU, GPU = "cpu:X:1", "cuda:H100:1"
BASE, HEAD = "a" * 40, "b" * 40
SERIES = ChangedSeries(
    workload="gpt:step",
    metric="step_time_p50",
    machine_class=CPU,
    before=1.0,
    after=1.1,
    change=0.1,
    low=0.09,
    high=0.11,
)
ELSEWHERE = replace(SERIES, machine_class=GPU, change=0.3)
OTHER_WORKLOAD = replace(SERIES, workload="vit:step")
UTILIZATION = replace(SERIES, metric="cpu_active", machine_class=GPU, change=-0.9)
EVENT = TrackedEvent(
    harm=Harm.WORSE,
    occurrences=(
        EventOccurrence(
            after_sha=BASE,
            last_sha=HEAD,
            series=(UTILIZATION, ELSEWHERE, SERIES, OTHER_WORKLOAD),
        ),
    ),
)


@pytest.fixture
def project(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        session.commit()
    for machine_class in (CPU, GPU):
        request = JobRequest(
            runner=f"box of {machine_class}",
            machine_classes=(machine_class,),
            lease="1" * 32,
            lease_s=60.0,
        )
        assert take_job(any_engine, project, request, now=now) is None
    return project


@pytest.fixture
def save(any_engine, project, now):
    def save(event=EVENT):
        with write_session(any_engine) as session:
            number = save_event(session, project.id, EventUpdate(event, "found"), now=now)
            session.commit()
        return number

    return save


@pytest.fixture
def ask(any_engine, project, now):
    """Ask for jobs, and return all that wait then."""

    def ask(number, kind=RunnerJobKind.RERUN):
        actor = Actor(name="alice", address="10.0.0.1")
        queue_event_jobs(any_engine, project, number, kind, actor=actor, now=now)
        with read_session(any_engine) as session:
            return open_runner_jobs(session, project.id)

    return ask


@pytest.fixture
def notes(any_engine, project):
    return lambda number: event_history(any_engine, project, number).notes


def test_the_commits_are_measured_again_on_each_machine_class(save, ask):
    jobs = {job.machine_class: job for job in ask(save())}

    assert {(job.base_sha, job.head_sha) for job in jobs.values()} == {(BASE, HEAD)}
    assert jobs[CPU].workloads == ("gpt:step", "vit:step")
    assert jobs[GPU].workloads == ("gpt:step",)
    assert jobs[CPU].kind is RunnerJobKind.RERUN
    assert jobs[CPU].requested_by.startswith("alice, about event")


def test_a_job_that_waits_is_neither_queued_nor_noted_again(save, ask, notes):
    number = save()

    assert ask(number) == ask(number)
    assert len(notes(number)) == 2


def test_a_bisection_is_by_the_largest_change_of_what_it_can_search_by(save, ask):
    [job] = ask(save(), RunnerJobKind.BISECTION)

    assert (job.kind, job.machine_class) == (RunnerJobKind.BISECTION, GPU)
    assert (job.workloads, job.metric) == (("gpt:step",), "step_time_p50")


def test_who_asked_is_noted_with_the_event_and_in_the_audit_log(any_engine, save, ask, notes):
    number = save()
    ask(number)

    assert [note.author for note in notes(number)] == ["", "alice"]
    assert notes(number)[-1].note == f"to be measured again on {GPU}, {CPU}"
    [entry] = audit_log(any_engine, repository="octo/models", most=9)
    assert (entry.actor, entry.address) == ("alice", "10.0.0.1")
    assert entry.detail == f"event {number} {notes(number)[-1].note}"


def with_series(*series, **values):
    occurrence = replace(EVENT.occurrences[0], series=series)
    return replace(EVENT, **{"occurrences": (occurrence,)} | values)


@pytest.mark.parametrize(
    "refused",
    [
        (
            with_series(SERIES, occurrences=(), pull_request=7, measured_series=(SERIES,)),
            RunnerJobKind.RERUN,
            "pull request #7: comment /perfledger rerun",
        ),
        (
            with_series(replace(SERIES, machine_class="imported:asv:1")),
            RunnerJobKind.RERUN,
            "imported results",
        ),
        (with_series(UTILIZATION), RunnerJobKind.BISECTION, "does not search by cpu_active"),
        (
            with_series(replace(SERIES, machine_class="tpu:v4:1")),
            RunnerJobKind.RERUN,
            f"no runner of tpu:v4:1 .*perfledger check --base {BASE} --head {HEAD}",
        ),
        (
            with_series(replace(SERIES, machine_class="tpu:v4:1")),
            RunnerJobKind.BISECTION,
            f"perfledger history bisect WORKLOAD {BASE} {HEAD}",
        ),
    ],
)
def test_what_no_runner_can_measure_is_refused_and_nothing_is_noted(save, ask, notes, refused):
    event, kind, problem = refused
    number = save(event)

    with pytest.raises(UsageError, match=problem):
        ask(number, kind)
    assert [note.note for note in notes(number)] == ["found"]


def test_an_event_that_is_not_there_is_not_found(ask):
    with pytest.raises(NotFoundError, match="no event 5"):
        ask(5)
