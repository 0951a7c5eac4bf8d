"""Tests which jobs are queued by themselves, and that each is queued once."""

from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import event, text

from perfledger_baselines.history.commits.confirmation_state import (
    ConfirmationState,
    PendingConfirmation,
)
from perfledger_runners.jobs.runner_job import RunnerJobKind
from perfledger_service.store.confirmation_state import save_confirmation_state
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.devices.quarantines import add_quarantine, device_for
from perfledger_service.usecases.fleet.device import release_device
from perfledger_service.usecases.history.branch import requested_ab_runs
from perfledger_service.usecases.jobs import runner_queue
from perfledger_service.usecases.jobs.job import schedule_runs
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import (
    RUNNER_ABSENT_AFTER,
    cancel_job,
    fail_job,
    jobs_of_project,
    take_job,
)
from perfledger_service.usecases.jobs.schedule import job_key, queue_due_jobs
from perfledger_service.usecases.server.project import add_project, list_projects
from perfledger_service.usecases.uploads.uploads import receive_bundle
from perfledger_service.values.jobs.policies import JobSchedule
from perfledger_service.values.people.person import Actor
from perfledger_service.values.service_views.devices import DeviceKey
from tests.service.suspects import MACHINE, SHAS, a_candidate, a_request, store_suspect

FRIDAY = datetime(2026, 11, 20, 12, tzinfo=UTC)
QUARANTINED_AT = FRIDAY + timedelta(minutes=1)
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


@pytest.fixture
def suspected(engine, project, received, make_bundle):
    """A suspect of the project, and a runner that has asked for jobs of its class."""
    bundle = make_bundle(pull_request=None)
    store_suspect(engine, received(engine, bundle).id, bundle)
    request = JobRequest(runner="box", machine_classes=(MACHINE,), lease="1" * 32, lease_s=60.0)
    take_job(engine, project, request, now=FRIDAY)


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
    assert (job.state, job.reason) == ("cancelled", "its A/B run is no longer requested")


@pytest.mark.usefixtures("suspected")
def test_an_ab_run_waits_for_its_runner_to_come_back(jobs):
    (job,) = jobs()

    assert job.state == "queued"
    assert jobs(FRIDAY + RUNNER_ABSENT_AFTER + timedelta(hours=1)) == (job,)


@pytest.mark.usefixtures("suspected")
def test_what_is_not_needed_is_cancelled_although_the_queue_is_full(
    engine, project, jobs, monkeypatch, caplog
):
    jobs()
    monkeypatch.setattr(runner_queue, "MAX_OPEN_JOBS", 1)
    schedule(engine, RunnerJobKind.NIGHTLY)
    schedule(engine, RunnerJobKind.WEEKLY)
    with write_session(engine) as session:
        save_confirmation_state(session, project.id, ConfirmationState())
        session.commit()

    states = sorted((job.kind, job.state) for job in jobs())
    assert states == [("ab", "cancelled"), ("nightly", "queued")]
    assert "jobs are not queued" in caplog.text


def test_a_project_that_fails_does_not_stop_the_others(engine, jobs, caplog):
    schedule(engine, RunnerJobKind.NIGHTLY)
    add_project(engine, "aaa/first", token="pl_4567cdef_" + "t" * 43, now=FRIDAY)
    runs = JobSchedule(kind=RunnerJobKind.NIGHTLY, machine_class="*", hour=2)
    schedule_runs(engine, "aaa/first", runs)
    with engine.begin() as connection:
        connection.execute(text("update job_schedule set hour = 99 where project_id = 2"))

    assert len(jobs()) == 1
    assert "jobs are not queued" in caplog.text


@pytest.mark.usefixtures("suspected")
def test_how_many_queries_it_takes_does_not_grow_with_the_requested_runs(engine, project):
    counts = []
    for windows in (1, 20):
        trials = tuple(
            PendingConfirmation(a_request(window=f"2026-11-{day:02}"), (a_candidate(),))
            for day in range(1, 1 + windows)
        )
        with write_session(engine) as session:
            state = ConfirmationState(pending_confirmations=trials, window="2026-11-20")
            save_confirmation_state(session, project.id, state)
            session.commit()
        queue_due_jobs(engine, now=FRIDAY)
        with counted_statements(engine) as statements:
            queue_due_jobs(engine, now=FRIDAY)
        counts.append(len(statements))

    assert counts[0] == counts[1]


@contextmanager
def counted_statements(engine):
    """Collect the statements that are executed."""
    statements = []

    def add(_connection, _cursor, statement, *_rest):
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", add)
    try:
        yield statements
    finally:
        event.remove(engine, "before_cursor_execute", add)


def test_a_key_tells_facts_apart_and_is_short():
    keys = {job_key(RunnerJobKind.AB, "a", "bc"), job_key(RunnerJobKind.AB, "ab", "c")}

    assert len(keys) == 2
    assert len(job_key(RunnerJobKind.AB, "x" * 10_000)) < 100


def test_canaries_of_devices_are_queued_for_each_runner_that_is_there(engine, project, jobs):
    for number, name in enumerate(("box-a", "box-b")):
        asks = JobRequest(
            runner=name,
            machine_classes=(MACHINE, "cuda:H100:1"),
            lease=str(number) * 32,
            lease_s=60.0,
        )
        take_job(engine, project, asks, now=FRIDAY)
    runs = JobSchedule(kind=RunnerJobKind.BUILTIN, machine_class="cuda:*", hour=2)
    schedule_runs(engine, "octo/models", runs)

    queued = jobs()
    assert {(job.for_runner, job.machine_class) for job in queued} == {
        ("box-a", "cuda:H100:1"),
        ("box-b", "cuda:H100:1"),
    }
    assert jobs(FRIDAY + timedelta(hours=13)) == queued
    first = next(job for job in queued if job.for_runner == "box-b")
    cancel_job(engine, project, first.id, reason="done", now=FRIDAY)
    assert [job.for_runner for job in jobs(FRIDAY + timedelta(hours=15))[2:]] == ["box-b"]


def test_no_canaries_are_queued_for_a_runner_that_is_gone(engine, project, jobs):
    asks = JobRequest(runner="box", machine_classes=(MACHINE,), lease="1" * 32, lease_s=60.0)
    take_job(engine, project, asks, now=FRIDAY)
    schedule(engine, RunnerJobKind.BUILTIN)

    assert jobs(FRIDAY + RUNNER_ABSENT_AFTER + timedelta(hours=1)) == ()


def test_canaries_are_queued_for_a_machine_class_with_brackets(engine, project, jobs):
    name = "cuda:NVIDIA [engineering sample]:1"
    request = JobRequest(runner="box", machine_classes=(name,), lease="1" * 32, lease_s=60.0)
    take_job(engine, project, request, now=FRIDAY)
    schedule_runs(
        engine,
        "octo/models",
        JobSchedule(kind=RunnerJobKind.BUILTIN, machine_class="cuda:*[engineering*", hour=2),
    )

    (job,) = jobs()
    assert (job.machine_class, job.for_runner) == (name, "box")
    assert take_job(engine, project, request, now=FRIDAY).id == job.id


@pytest.fixture
def in_quarantine(engine, project):
    """The device on which the suspect was seen and A/B runs are measured, in quarantine."""
    key = DeviceKey(device="cpu", model="Test CPU", name="Test CPU of host a1", has_id=True)
    with write_session(engine) as session:
        device = device_for(session, project.id, key)
        add_quarantine(session, device, reason="its fan", set_by="alice", since=QUARANTINED_AT)
        session.commit()
    return key


@pytest.fixture
def requests(engine, project):
    def requests():
        with read_session(engine) as session:
            return requested_ab_runs(session, project.id)

    return requests


@pytest.mark.usefixtures("suspected")
def test_a_requested_ab_run_says_that_it_waits_for_another_device(
    engine, project, jobs, requests, in_quarantine
):
    jobs()
    here = JobRequest(
        runner="box",
        machine_classes=(MACHINE,),
        devices={MACHINE: (in_quarantine.name,)},
        lease="2" * 32,
        lease_s=60.0,
    )
    assert take_job(engine, project, here, now=FRIDAY) is None

    (request,) = requests()
    assert request.waits.startswith("waits for another runner: Test CPU of host a1 of box")
    elsewhere_here = replace(here, devices={}, runner="other", lease="3" * 32)
    assert take_job(engine, project, elsewhere_here, now=FRIDAY).kind is RunnerJobKind.AB
    assert requests()[0].waits == ""


@pytest.fixture
def measure(engine, project, make_bundle):
    """Take the queued A/B run at a time, bring its result later, and return its upload."""

    def measure(job, *, at, number):
        lease = str(number) * 32
        request = JobRequest(runner="box", machine_classes=(MACHINE,), lease=lease, lease_s=60.0)
        assert take_job(engine, project, request, now=at).id == job.id
        bundle = make_bundle(pull_request=None, seed=number)
        base, head = (
            replace(one, sha=sha)
            for one, sha in ((bundle.base, job.base_sha), (bundle.head, job.head_sha))
        )
        data = replace(bundle, base=base, head=head, id=lease).to_json().encode()
        now = at + timedelta(minutes=2)
        return partial(receive_bundle, engine, data, project=project, job_id=job.id, now=now)

    return measure


@pytest.mark.usefixtures("suspected", "in_quarantine")
def test_an_ab_run_whose_device_came_into_quarantine_meanwhile_is_queued_again(jobs, measure):
    (job,) = jobs()
    send = measure(job, at=FRIDAY, number=9)
    first = send(upload_id="9" * 32)
    assert send(upload_id="8" * 32).id == first.id  # its answer was lost

    done, again = sorted(jobs(), key=lambda one: one.state)
    assert (done.id, done.state, again.state) == (job.id, "done", "queued")
    assert (again.base_sha, again.head_sha) == (job.base_sha, job.head_sha)


@pytest.mark.usefixtures("suspected")
def test_an_ab_run_that_was_begun_on_a_quarantined_device_is_not_repeated_until_its_release(
    engine, project, jobs, measure, in_quarantine
):
    (job,) = jobs()
    measure(job, at=QUARANTINED_AT, number=9)(upload_id="9" * 32)
    assert [(one.id, one.state) for one in jobs()] == [(job.id, "done")]
    actor = Actor(name="alice")
    release_device(engine, project, in_quarantine.name, actor=actor, reason="mended", now=FRIDAY)

    done, again = sorted(jobs(), key=lambda one: one.state)
    assert (done.id, again.state) == (job.id, "queued")


@pytest.mark.usefixtures("suspected")
def test_an_ab_run_that_found_only_a_quarantined_device_is_queued_again_after_its_release(
    engine, project, jobs, in_quarantine
):
    (job,) = jobs()
    request = JobRequest(runner="box", machine_classes=(MACHINE,), lease="5" * 32, lease_s=60.0)
    taken_job = take_job(engine, project, request, now=FRIDAY)
    reason = f"exit status 6: {in_quarantine.name} is in quarantine"
    fail_job(
        engine,
        project,
        taken_job.id,
        "5" * 32,
        reason=reason,
        is_final=True,
        now=FRIDAY,
    )
    assert [one.id for one in jobs()] == [job.id]
    actor = Actor(name="alice")
    release_device(engine, project, in_quarantine.name, actor=actor, reason="mended", now=FRIDAY)

    failed, again = sorted(jobs(), key=lambda one: one.state)
    assert (failed.state, again.state) == ("failed", "queued")
