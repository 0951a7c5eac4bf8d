"""Sides of which one waits for what the other one has: no commit is to blame."""

import fcntl
import threading
from dataclasses import replace

import pytest

from perfledger.records import FailureReason, Side
from perfledger_runners.measuring.sides_in_turn import measured_in_turn
from tests.runners.agent.measuring.sides_in_turn.test_sides_in_turn import (
    FINE,
    at_once,
    measure,
    never_measured,
    pair,
)

# The lock is held until the process ends.
WAITING = """
import fcntl
import perfledger

@perfledger.workload()
def exclusive():
    held = open({path!r}, "w")
    fcntl.flock(held, fcntl.LOCK_EX)
    return lambda: held and sum(range(100))
"""
AT_IMPORT = """
import fcntl
import perfledger

HELD = open({path!r}, "w")
fcntl.flock(HELD, fcntl.LOCK_EX)
"""
IN_STEP = """
import fcntl
import perfledger

@perfledger.workload()
def exclusive():
    files = []
    def step():
        if not files:
            files.append(open({path!r}, "w"))
            fcntl.flock(files[0], fcntl.LOCK_EX)
        return sum(range(100))
    return step
"""
TOGETHER = """
import fcntl
import perfledger

@perfledger.workload()
def exclusive():
    held = open({path!r}, "w")
    fcntl.flock(held, fcntl.LOCK_SH)
    return lambda: held and sum(range(100))
"""
FOREVER = """
import threading
import perfledger

@perfledger.workload()
def exclusive():
    threading.Event().wait()
"""


@pytest.fixture
def impatient(harness):
    """A harness that soon takes a child that computes nothing for one that waits."""
    return replace(harness, limits=replace(harness.limits, idle_s=1.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        WAITING,
        pytest.param(IN_STEP, marks=pytest.mark.slow(ci_only=True)),
        pytest.param(
            AT_IMPORT + FINE.replace("fine", "exclusive"), marks=pytest.mark.slow(ci_only=True)
        ),
    ],
    ids=["in the set-up", "in the first step", "at import"],
)
def test_a_side_that_waits_for_the_other_one_is_measured_in_turn(impatient, sides, tmp_path, text):
    text = text.format(path=str(tmp_path / "lock"))

    measured = measure(impatient, at_once(sides(text)), "exclusive", pairs=2)

    assert measured.failures == ()
    assert [bool(run.turns) for run in measured.runs] == [False] * 4
    (note,) = measured.separation.notes()
    assert note.startswith(
        "base and head of benchmarks.w:exclusive were measured one after the other, because "
    )
    assert ", because head may wait for what base has (" in note or (
        ", because base may wait for what head has (" in note
    )
    assert "without using a core while" in note


@pytest.mark.slow(ci_only=True)
def test_sides_that_wait_for_the_same_third_are_measured_at_once(impatient, sides, tmp_path):
    lock = tmp_path / "lock"
    with lock.open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        # After three times what makes a side impatient.
        release = threading.Timer(3.0, fcntl.flock, (lock_file, fcntl.LOCK_UN))
        release.start()

        measured = measure(
            impatient, at_once(sides(TOGETHER.format(path=str(lock)))), "exclusive", pairs=1
        )
        release.join()

    assert measured.failures == ()
    assert [bool(run.turns) for run in measured.runs] == [True] * 2
    assert measured.separation.notes() == ()


@pytest.mark.slow(ci_only=True)
def test_workloads_beside_one_that_waits_are_measured_at_once(impatient, sides, tmp_path):
    text = WAITING.format(path=str(tmp_path / "lock")) + FINE

    measured = measure(impatient, at_once(sides(text)), "exclusive", "fine", pairs=1)

    assert measured.failures == ()
    turns = {run.workload: bool(run.turns) for run in measured.runs}
    assert turns == {"benchmarks.w:exclusive": False, "benchmarks.w:fine": True}


@pytest.mark.slow(ci_only=True)
def test_a_side_that_waits_for_nothing_that_the_other_one_has_is_said_to_hang(impatient, sides):
    limited = replace(impatient, limits=replace(impatient.limits, workload_s=15.0))
    fine = "import perfledger\n" + FINE.replace("fine", "exclusive")

    measured = measure(limited, at_once(sides(fine, FOREVER)), "exclusive", pairs=1)

    (failure,) = measured.failures
    assert (failure.side, failure.why) == (Side.HEAD, FailureReason.HUNG)
    assert failure.detail == "it did not end within 15 s while setting up or warming up"
    assert measured.separation.notes() == ()


WAITS = ((Side.HEAD, FailureReason.IN_USE),)


def waited(first):
    failures = tuple(
        replace(each, detail="it waited 10 s without using a core while setting up")
        for each in first.failures
    )
    return replace(first, failures=failures)


def test_the_note_says_that_a_side_waits():
    first = waited(pair(failed=WAITS))

    measured = measured_in_turn(
        first, lambda *_: pair(run_sides=tuple(Side), failed=()), seconds_left=9.0
    )

    assert measured.in_turn == {
        "w": "head may wait for what base has (it waited 10 s without using a core while setting "
        "up)"
    }


def test_a_side_that_waits_in_turn_too_fails_as_it_then_did():
    hung = pair(failed=((Side.HEAD, FailureReason.HUNG),))

    measured = measured_in_turn(waited(pair(failed=WAITS)), lambda *_: hung, seconds_left=9.0)

    assert measured.failures == hung.failures
    assert measured.in_turn == {}


def test_a_side_that_waits_hangs_unless_a_second_try_shows_that_something_is_in_use():
    measured = measured_in_turn(waited(pair(failed=WAITS)), never_measured, seconds_left=2.0)

    (failure,) = measured.failures
    assert failure.why is FailureReason.HUNG


@pytest.mark.parametrize("why", [FailureReason.IN_USE, FailureReason.HUNG])
def test_without_time_for_a_second_try_the_other_side_is_named(why):
    measured = measured_in_turn(pair(failed=((Side.HEAD, why),)), never_measured, seconds_left=2.0)

    (failure,) = measured.failures
    assert failure.detail.endswith(
        "; the sides ran at the same time: it may need what base has, and the budget has no time "
        "to run one side after the other: raise the budget"
    )
