"""Tests how a submission is followed, with an engine on paper and a clock of its own."""

import pytest

from perfledger_runners.launchers.launcher import (
    MAX_SILENCE_S,
    OVERTIME_S,
    LauncherError,
    SubmissionLimits,
    SubmissionState,
    SubmissionStatus,
    run_submission,
)
from tests.runners.agent.launchers.conftest import DONE, RUNNING, WAITING

POLL_S = 10.0
WAIT_S, RUN_S = 600.0, 60.0
LIMITS = SubmissionLimits(wait_s=WAIT_S, run_s=RUN_S)


class PaperEngine:
    """Answers with its statuses in turn, the last one again and again; errors are raised."""

    poll_s = POLL_S
    outlives_runner = True

    def __init__(self, *statuses):
        self.statuses, self.calls = list(statuses), []
        self.collect_error = self.cancel_error = None
        self.now_s = 0.0

    def submit(self, submission):
        self.calls.append(f"submit {submission.name}")

    def status(self, _submission):
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        if isinstance(status, LauncherError):
            raise status
        return status

    def collect(self, _submission):
        self.calls.append("collect")
        if self.collect_error:
            raise self.collect_error

    def cancel(self, name):
        self.calls.append(f"cancel {name}")
        if self.cancel_error:
            raise self.cancel_error

    def wait(self, seconds):
        self.now_s += seconds


@pytest.fixture
def follow(make_submission):
    def follow(engine, is_over=lambda: False, limits=LIMITS):
        lines = []
        submission = make_submission()
        ending = run_submission(
            engine,
            submission,
            limits,
            is_over=is_over,
            say=lines.append,
            clock=lambda: engine.now_s,
            wait=engine.wait,
        )
        return ending, lines

    return follow


def test_a_submission_is_followed_to_its_end_collected_and_forgotten(follow):
    engine = PaperEngine(WAITING, RUNNING, RUNNING, DONE)

    assert follow(engine) == (DONE, ["it runs on node1"])
    assert engine.calls == ["submit perfledger-1", "collect", "cancel perfledger-1"]


def test_one_that_is_preempted_waits_again(follow):
    again = SubmissionStatus(state=SubmissionState.WAITING, reason="BeginTime")
    _, lines = follow(PaperEngine(RUNNING, again, RUNNING, DONE))

    assert lines == ["it runs on node1", "it waits again: BeginTime", "it runs on node1"]


def test_one_that_does_not_start_says_what_it_waits_for(follow):
    waiting = SubmissionStatus(state=SubmissionState.WAITING, reason="Resources")
    engine = PaperEngine(waiting)
    ending, _ = follow(engine)

    assert ending.reason == "it did not start within 10 minutes (Resources)"
    assert engine.now_s == WAIT_S
    assert engine.calls[-1] == "cancel perfledger-1"


def test_one_that_its_engine_does_not_end_is_ended(follow):
    engine = PaperEngine(WAITING, RUNNING)
    ending, _ = follow(engine)

    assert (ending.exit_status, ending.reason) == (None, "it ran longer than 60 s")
    assert engine.now_s == POLL_S + RUN_S + OVERTIME_S


def test_time_of_earlier_starts_does_not_count(follow):
    starts = [RUNNING] * 10 + [WAITING] * 50 + [RUNNING] * 10
    ending, _ = follow(PaperEngine(*starts, DONE))

    assert ending == DONE


def test_an_engine_that_is_away_for_a_while_loses_nothing(follow):
    away = [LauncherError("no controller")] * int(MAX_SILENCE_S / POLL_S - 1)
    engine = PaperEngine(WAITING, *away, WAITING, *away, DONE)
    ending, _ = follow(engine, limits=SubmissionLimits())

    assert ending == DONE


def test_an_engine_that_stays_away_ends_it_and_says_that_it_may_still_run(follow):
    engine = PaperEngine(RUNNING, LauncherError("no controller"))
    engine.cancel_error = LauncherError("no controller")
    ending, lines = follow(engine)

    assert ending.reason == "no answer about it for 10 minutes: no controller"
    assert lines[-1] == "perfledger-1 may still run: no controller"


def test_one_that_is_not_needed_any_more_is_cancelled(follow):
    engine = PaperEngine(RUNNING)
    ending, _ = follow(engine, is_over=lambda: engine.now_s > 30.0)

    assert ending is None
    assert engine.calls == ["submit perfledger-1", "cancel perfledger-1"]


def test_a_result_that_cannot_be_brought_is_an_error_and_a_failure_keeps_its_reason(follow):
    engine = PaperEngine(RUNNING, DONE)
    engine.collect_error = LauncherError("half of it")
    with pytest.raises(LauncherError, match="half of it"):
        follow(engine)
    assert engine.calls[-1] == "cancel perfledger-1"

    lost = SubmissionStatus(state=SubmissionState.ENDED, reason="its node is gone")
    engine = PaperEngine(RUNNING, lost)
    engine.collect_error = LauncherError("no pod")
    assert follow(engine)[0] == lost
