"""Tests the queue for runners: one lease at a time, and one result for each job."""

import shutil
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_runners.jobs.runner_job import RunnerJobKind, RunnerJobState
from perfledger_service.errors import ConflictError, TooManyRequestsError
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.jobs.runner_jobs import NewRunnerJob
from perfledger_service.store.projects import project_for
from perfledger_service.usecases.jobs import runner_queue
from perfledger_service.usecases.jobs.request import JobRequest
from perfledger_service.usecases.jobs.runner_queue import (
    MAX_ATTEMPTS,
    RETRY_AFTER,
    cancel_job,
    classes_with_runners,
    fail_job,
    finish_without_bundle,
    jobs_of_project,
    queue_job,
    renew_lease,
    return_job,
    take_job,
)
from tests.suite.tries import tries

CPU = "cpu:Test CPU:1"
LEASE = timedelta(seconds=120)
MAX_LOST_RUNNERS = 9  # where no other job says how often runners are lost
BOX = JobRequest(runner="box", machine_classes=(CPU,), lease="1" * 32, lease_s=120.0)
OTHER = replace(BOX, runner="other", lease="2" * 32)
FOUR = replace(BOX, machine_classes=("cpu:Test CPU:1", "cuda:H100:4", "cuda:H100:8"))
OTHER_FOUR = replace(FOUR, lease="2" * 32)


@pytest.fixture
def project(any_engine, now):
    with write_session(any_engine) as session:
        project = project_for(session, "octo/models", now=now)
        session.commit()
    return project


@pytest.fixture
def queued(any_engine, project, now):
    def queue(key="ab:1", *, kind=RunnerJobKind.AB, machine_class=CPU, **values):
        job = NewRunnerJob(key=key, kind=kind, machine_class=machine_class, **values)
        with write_session(any_engine) as session:
            stored = queue_job(session, project.id, job, now=now)
            session.commit()
        return stored

    return queue


def test_a_job_is_queued_once(any_engine, project, queued):
    assert queued() == queued()
    assert len(jobs_of_project(any_engine, project)) == 1


def test_a_project_queues_only_so_many_jobs(queued, monkeypatch):
    monkeypatch.setattr(runner_queue, "MAX_OPEN_JOBS", 1)
    queued()

    with pytest.raises(TooManyRequestsError, match="1 jobs wait"):
        queued("ab:2")


def test_a_job_is_lent_to_one_runner(any_engine, project, queued, now):
    job = queued()
    lent = take_job(any_engine, project, BOX, now=now)

    assert (lent.id, lent.state, lent.runner) == (job.id, RunnerJobState.LEASED, "box")
    assert lent.lease_expires_at == now + LEASE
    assert take_job(any_engine, project, OTHER, now=now) is None


def test_a_repeated_request_gets_the_same_job_and_is_one_attempt(any_engine, project, queued, now):
    queued(), queued("ab:2")
    first = take_job(any_engine, project, BOX, now=now)

    assert take_job(any_engine, project, BOX, now=now) == first
    assert first.attempts == 1


def test_a_runner_gets_what_it_can_run_and_what_people_wait_for_first(
    any_engine, project, queued, now
):
    queued("nightly", kind=RunnerJobKind.NIGHTLY, machine_class="*")
    queued("elsewhere", machine_class="cuda:*:1")
    stored_runner_job = queued("rerun", kind=RunnerJobKind.RERUN, machine_class="cpu:*")

    assert take_job(any_engine, project, BOX, now=now).id == stored_runner_job.id
    assert take_job(any_engine, project, OTHER, now=now).kind is RunnerJobKind.NIGHTLY
    assert take_job(any_engine, project, replace(BOX, lease="3" * 32), now=now) is None


def test_a_job_of_a_lost_runner_goes_to_the_next_one(any_engine, project, queued, now):
    queued()
    take_job(any_engine, project, BOX, now=now)
    renew_lease(
        any_engine,
        project,
        jobs_of_project(any_engine, project)[0].id,
        BOX.lease,
        lease_s=120.0,
        now=now + LEASE / 2,
    )

    assert take_job(any_engine, project, OTHER, now=now + LEASE) is None
    taken_job = take_job(any_engine, project, OTHER, now=now + 1.5 * LEASE)
    assert (taken_job.runner, taken_job.attempts) == ("other", 2)
    assert taken_job.device_s == pytest.approx(180.0)
    with pytest.raises(ConflictError, match="no longer this runner's"):
        renew_lease(
            any_engine,
            project,
            taken_job.id,
            BOX.lease,
            lease_s=120.0,
            now=now + 2 * LEASE,
        )


def test_a_late_runner_keeps_a_job_that_nobody_else_has(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)
    late = now + 3 * LEASE

    renewed = renew_lease(any_engine, project, job.id, BOX.lease, lease_s=120.0, now=late)

    assert renewed.lease_expires_at == late + LEASE


def lose_runners(engine, project, *, times, begun_at):
    """Let runners take the first job that there is, one after the other; none reports back."""
    for attempt in range(times):
        at = begun_at + attempt * LEASE
        assert take_job(engine, project, replace(BOX, lease=f"{attempt + 7:032x}"), now=at)
    return begun_at + times * LEASE


@pytest.mark.parametrize("case", [(0, MAX_LOST_RUNNERS), (20, MAX_ATTEMPTS)])
def test_a_job_that_loses_every_runner_is_failed(any_engine, project, queued, now, case):
    others, times = case
    for number in range(others):
        done = queued(key=f"done {number}")
        take_job(any_engine, project, BOX, now=now)
        finish_without_bundle(any_engine, project, done.id, BOX.lease, reason="", now=now)
    job = queued(key="lost")
    late = lose_runners(any_engine, project, times=times, begun_at=now)

    assert take_job(any_engine, project, OTHER, now=late) is None
    (lost,) = [each for each in jobs_of_project(any_engine, project) if each.id == job.id]
    assert lost.state is RunnerJobState.FAILED
    assert f"{times} runners took it" in lost.reason


def test_a_job_whose_runners_are_lost_as_often_in_other_jobs_is_taken_again(
    any_engine, project, queued, now
):
    for number in range(3):
        done = queued(key=f"done {number}")
        now = lose_runners(any_engine, project, times=4, begun_at=now)
        take_job(any_engine, project, BOX, now=now)
        finish_without_bundle(any_engine, project, done.id, BOX.lease, reason="", now=now)
    queued(key="lost")
    late = lose_runners(any_engine, project, times=MAX_LOST_RUNNERS, begun_at=now)

    assert take_job(any_engine, project, OTHER, now=late) is not None


def test_a_failed_job_is_tried_again_later_and_with_longer_waits(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)

    def fail(lease, at):
        return fail_job(any_engine, project, job.id, lease, reason="x", is_final=False, now=at)

    failed = fail(BOX.lease, now)

    assert (failed.state, failed.due_at) == (RunnerJobState.QUEUED, now + RETRY_AFTER)
    assert take_job(any_engine, project, OTHER, now=now) is None
    again = take_job(any_engine, project, OTHER, now=failed.due_at)
    failed = fail(OTHER.lease, again.due_at)
    assert failed.due_at == again.due_at + 2 * RETRY_AFTER


def test_what_no_attempt_can_do_is_failed_at_once(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)
    fail_job(
        any_engine, project, job.id, BOX.lease, reason="no such commit", is_final=True, now=now
    )

    (failed,) = jobs_of_project(any_engine, project)
    assert (failed.state, failed.reason) == (RunnerJobState.FAILED, "no such commit")


def test_a_returned_job_was_no_attempt(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)
    return_job(any_engine, project, job.id, BOX.lease, now=now)

    assert take_job(any_engine, project, OTHER, now=now).attempts == 1


@pytest.mark.parametrize(
    "end",
    [
        lambda *job, at: fail_job(*job, reason="x", is_final=False, now=at),
        lambda *job, at: return_job(*job, now=at),
        lambda *job, at: cancel_job(*job[:-1], reason="x", now=at),
        lambda *job, at: finish_without_bundle(*job, reason="x", now=at),
        lambda *job, at: take_job(job[0], job[1], OTHER_FOUR, now=at),
    ],
    ids=["failed", "returned", "cancelled", "finished", "lost"],
)
def test_an_attempt_holds_all_devices_of_its_machine(any_engine, project, queued, now, end):
    job = queued(kind=RunnerJobKind.NIGHTLY, machine_class="cuda:*:4")
    take_job(any_engine, project, FOUR, now=now)
    end(any_engine, project, job.id, FOUR.lease, at=now + LEASE)

    assert jobs_of_project(any_engine, project)[0].device_s == 4 * LEASE.total_seconds()


def test_a_cancelled_job_ends_and_its_runner_is_told(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)
    cancel_job(any_engine, project, job.id, reason="merged", now=now)

    assert cancel_job(any_engine, project, job.id, reason="again", now=now).reason == "merged"
    with pytest.raises(ConflictError, match=r"cancelled \(merged\): stop"):
        renew_lease(any_engine, project, job.id, BOX.lease, lease_s=120.0, now=now)
    with pytest.raises(ConflictError, match="cancelled"):
        finish_without_bundle(any_engine, project, job.id, BOX.lease, reason="", now=now)


def test_a_job_without_a_bundle_ends_once(any_engine, project, queued, now):
    job = queued()
    take_job(any_engine, project, BOX, now=now)
    at = now + timedelta(seconds=30)
    values = {"reason": "no change", "now": at}
    done = finish_without_bundle(any_engine, project, job.id, BOX.lease, **values)

    assert finish_without_bundle(any_engine, project, job.id, BOX.lease, **values) == done
    assert (done.state, done.reason, done.device_s) == (RunnerJobState.DONE, "no change", 30.0)
    with pytest.raises(ConflictError, match="nothing to cancel"):
        cancel_job(any_engine, project, job.id, reason="late", now=at)


def test_runners_that_ask_make_their_class_one_that_is_served(any_engine, project, now):
    take_job(any_engine, project, BOX, now=now)

    with read_session(any_engine) as session:
        assert classes_with_runners(session, project.id, now=now) == (CPU,)
        later = now + timedelta(days=2)
        assert classes_with_runners(session, project.id, now=later) == ()


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "renew", "fail", "return"]), st.integers(0, 9), st.integers(0, 150)
    ),
    max_size=12,
)


def act(engine, project, job_id, step, lease, *, at):
    """Let the runner with a lease do something; return whether it holds the job now."""
    try:
        match step:
            case "take":
                request = replace(BOX, lease=lease)
                return take_job(engine, project, request, now=at) is not None
            case "renew":
                renew_lease(engine, project, job_id, lease, lease_s=120.0, now=at)
                return True
            case "fail":
                fail_job(engine, project, job_id, lease, reason="x", is_final=False, now=at)
            case "return":
                return_job(engine, project, job_id, lease, now=at)
            case _:
                raise AssertionError(step)
    except ConflictError:
        pass
    return False


@pytest.mark.slow(ci_only=True)
@settings(max_examples=tries(32), deadline=None)
@given(steps=STEPS)
def test_at_most_one_lease_is_ever_good(migrated_file, open_shared, steps):
    """Whatever ten runners do, and however late they are: one of them holds the job, or none."""
    now = datetime(2026, 11, 20, 12, tzinfo=UTC)
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = shutil.copy(migrated_file, Path(folder) / "perfledger.db")
        engine = stack.enter_context(open_shared(f"sqlite:///{path}"))
        with write_session(engine) as session:
            project = project_for(session, "octo/models", now=now)
            job = NewRunnerJob(key="ab:1", kind=RunnerJobKind.AB, machine_class=CPU)
            job_id = queue_job(session, project.id, job, now=now).id
            session.commit()
        for step, runner, seconds in steps:
            now += timedelta(seconds=seconds)
            is_held = act(engine, project, job_id, step, f"{runner:032x}", at=now)
            holders = [
                other
                for other in range(10)
                if act(engine, project, job_id, "renew", f"{other:032x}", at=now)
            ]
            assert holders == [runner] if is_held else len(holders) <= 1
            assert 0 <= jobs_of_project(engine, project)[0].attempts <= MAX_LOST_RUNNERS
