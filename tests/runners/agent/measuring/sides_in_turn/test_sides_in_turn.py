"""Real children whose workloads need what only one process can have at a time."""

from collections import Counter
from dataclasses import replace

import pytest

from perfledger.records import Failure, FailureReason, Framework, Run, Side, WorkloadSpec
from perfledger.step_evidence import StepEvidence
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.measuring.paired_runs import measure_pairs
from perfledger_runners.measuring.sides_in_turn import AHEAD, measured_in_turn
from tests.suite.without_kernels import WithoutKernels

# A socket's name is free again as soon as its process has ended; a port may stay in use.
EXCLUSIVE = """
import socket
import perfledger

@perfledger.workload()
def exclusive():
    server = socket.socket(socket.AF_UNIX)
    server.bind({name!r})
    return lambda: server and sum(range(100))
"""
BROKEN = """
import perfledger

@perfledger.workload()
def exclusive():
    raise ValueError("by itself")
"""
# Fails in every second process.
FLAKY = """
import os, pathlib
import perfledger

@perfledger.workload()
def exclusive():
    path = pathlib.Path({path!r})
    processes = path.read_text().split() if path.exists() else []
    if str(os.getpid()) not in processes:
        processes.append(str(os.getpid()))
        path.write_text(" ".join(processes))
    if processes.index(str(os.getpid())) % 2 == 0:
        raise ValueError("now and then")
    return lambda: sum(range(100))
"""
FINE = """
@perfledger.workload()
def fine():
    return lambda: sum(range(100))
"""


class Rule(WithoutKernels):
    """Wants `pairs` pairs of every workload."""

    def __init__(self, pairs):
        self.pairs, self.counts, self.names = pairs, Counter(), []
        self.next_pair = lambda _: None
        self.futile = lambda _: frozenset()
        self.changes = frozenset

    def start(self, workloads):
        self.names = list(workloads)

    def add(self, base, _):
        self.counts[base.workload] += 1

    def unfinished(self):
        return frozenset(name for name in self.names if self.counts[name] < self.pairs)


def at_once(requests):
    effort = replace(requests[Side.HEAD].effort, min_steps=4, max_seconds=0.1)
    changes = {"is_interleaved": True, "effort": effort}
    return {side: replace(request, **changes) for side, request in requests.items()}


def measure(harness, requests, *names, pairs=2):
    specs = [
        WorkloadSpec(
            id=f"benchmarks.w:{name}",
            module="benchmarks.w",
            function=name,
            framework=Framework.HOST,
        )
        for name in names
    ]
    return measure_pairs(
        harness, requests, specs, Rule(pairs), seed=0, max_pairs=pairs, budget_s=600
    )


@pytest.fixture
def text(tmp_path):
    """A workload that binds a name in the kernel, which files and ports would be like."""
    return EXCLUSIVE.format(name=f"\0{tmp_path}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_forking", [False, pytest.param(True, marks=pytest.mark.slow(ci_only=True))]
)
def test_sides_that_cannot_run_at_once_are_measured_in_turn(harness, sides, text, is_forking):
    requests = {
        side: replace(request, is_forking=is_forking)
        for side, request in at_once(sides(text + FINE)).items()
    }

    measured = measure(harness, requests, "exclusive", "fine")

    assert measured.failures == ()
    turns = {
        name: [bool(run.turns) for run in measured.runs if run.workload == f"benchmarks.w:{name}"]
        for name in ("exclusive", "fine")
    }
    assert turns == {"exclusive": [False] * 4, "fine": [True] * 4}
    (note,) = measured.separation.notes()
    assert note.startswith(
        "base and head of benchmarks.w:exclusive were measured one after the other, because "
    )
    assert "runs (OSError: [Errno 98] Address already in use" in note


@pytest.mark.slow(ci_only=True)
def test_a_side_that_fails_by_itself_fails_in_turn_too(harness, sides, text):
    measured = measure(harness, at_once(sides(text, BROKEN)), "exclusive", pairs=1)

    (failure,) = measured.failures
    assert (failure.side, failure.why) == (Side.HEAD, FailureReason.RAISED)
    assert "by itself" in failure.detail
    assert measured.separation.notes() == ()


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("broken", Side)
def test_a_side_that_fails_with_what_the_other_one_needs_fails_alone(harness, sides, text, broken):
    late = text.replace("    return lambda", "    raise ValueError('by itself')\n    return lambda")
    versions = (late, text) if broken is Side.BASE else (text, late)
    measured = measure(harness, at_once(sides(*versions)), "exclusive", pairs=1)

    (failure,) = measured.failures
    assert (failure.side, failure.why) == (broken, FailureReason.RAISED)
    assert "by itself" in failure.detail


@pytest.mark.slow
def test_a_side_that_fails_alone_has_no_second_try(harness, sides, tmp_path):
    flaky = FLAKY.format(path=str(tmp_path / "processes"))
    requests = at_once(sides("import perfledger\n" + FINE.replace("fine", "exclusive"), flaky))

    measured = measure(harness, requests, "exclusive", pairs=2)

    (failure,) = measured.failures
    assert (failure.side, failure.why) == (Side.HEAD, FailureReason.RAISED)
    assert "now and then" in failure.detail
    assert len(measured.separation.notes()) == 1


def pair(*, run_sides=(Side.BASE,), failed=((Side.HEAD, FailureReason.RAISED),)):
    return MeasuredPair(
        pair=0,
        workloads=("w",),
        runs=tuple(
            Run(
                workload="w",
                side=side,
                pair=0,
                position=0,
                process=0,
                started_at="",
                samples={"step_time_p50": (1.0,)},
            )
            for side in run_sides
        ),
        failures=tuple(
            Failure(workload="w", side=side, why=why, detail="busy\nmore") for side, why in failed
        ),
        seconds={"w": 2.0},
        processes=2,
    )


def test_the_pair_of_a_second_try_replaces_the_first():
    calls = []

    def again(workloads, processes):
        calls.append((workloads, processes))
        return replace(pair(run_sides=tuple(Side), failed=()), processes=3)

    measured = measured_in_turn(pair(), again, seconds_left=9.0)

    assert calls == [(("w",), 2)]
    assert (len(measured.runs), measured.failures, measured.processes) == (2, (), 5)
    assert measured.in_turn == {"w": "head fails while base runs (busy)"}


def never_measured(workloads, tries):
    pytest.fail(f"{workloads} are measured again, try {tries}")


@pytest.mark.parametrize(
    "first",
    [
        pair(run_sides=(), failed=((Side.HEAD, FailureReason.RAISED),)),
        pair(run_sides=(), failed=tuple((side, FailureReason.RAISED) for side in Side)),
        pair(run_sides=(), failed=tuple((side, FailureReason.IN_USE) for side in Side)),
        pair(failed=((Side.HEAD, FailureReason.BUDGET),)),
        pair(run_sides=tuple(Side), failed=((Side.HEAD, FailureReason.WRONG_CODE),)),
        pair(run_sides=tuple(Side), failed=()),
    ],
)
def test_what_the_other_side_cannot_have_caused_is_not_tried_again(first):
    assert measured_in_turn(first, never_measured, seconds_left=9.0) is first


def test_there_is_no_second_try_without_time_for_it():
    first = pair()

    assert measured_in_turn(first, never_measured, seconds_left=2.0) == first


def test_what_the_first_try_hid_is_the_reason_of_a_second_failure():
    first = pair(failed=((Side.HEAD, FailureReason.IN_USE),))
    measured = measured_in_turn(first, lambda *_: pair(), seconds_left=9.0)

    assert (measured.failures, measured.in_turn) == (pair().failures, {})


def test_a_second_try_that_the_budget_ends_hides_no_reason():
    cut = pair(run_sides=(), failed=((Side.HEAD, FailureReason.BUDGET),))
    measured = measured_in_turn(pair(), lambda *_: cut, seconds_left=9.0)

    assert (measured.failures, measured.in_turn) == (pair().failures, {})


def test_a_side_that_lacks_what_a_failed_one_had_has_not_failed():
    both = ((Side.BASE, FailureReason.RAISED), (Side.HEAD, FailureReason.IN_USE))
    alone = pair(run_sides=(Side.HEAD,), failed=both[:1])

    measured = measured_in_turn(pair(run_sides=(), failed=both), lambda *_: alone, seconds_left=9.0)

    assert (measured.failures, measured.in_turn) == (alone.failures, {})


def left(left_s, *, turns=(1, 1), side=Side.BASE):
    """Return a pair in which this side leaves work of so many seconds a step of one second."""
    both_sides = pair(run_sides=tuple(Side), failed=())
    runs = (
        replace(
            run,
            turns=turns,
            evidence=StepEvidence(leftover_s=left_s if run.side is side else 0.0),
        )
        for run in both_sides.runs
    )
    return replace(both_sides, runs=tuple(runs))


@pytest.mark.parametrize(
    ("before", "is_again"),
    [
        pytest.param(left(0.025), True, id="base works ahead"),
        pytest.param(left(0.015), False, id="hardly"),
        pytest.param(left(0.2, side=Side.HEAD), False, id="head alone does"),
        pytest.param(left(0.2, turns=()), False, id="no turns"),
        pytest.param(left(None), False, id="unknown"),
    ],
)
def test_what_base_does_between_turns_decides(before, is_again):
    in_turn = replace(pair(run_sides=tuple(Side), failed=()), processes=3)

    measured = measured_in_turn(before, lambda *_: in_turn, seconds_left=9.0)

    assert (measured.in_turn == {"w": AHEAD}) == is_again
    assert measured.runs == (in_turn.runs if is_again else before.runs)


def test_without_time_for_a_second_try_a_workload_that_works_ahead_stays_as_it_is():
    before = left(0.2)

    assert measured_in_turn(before, never_measured, seconds_left=1.0) == before


def test_a_second_try_that_fails_changes_nothing_of_a_workload_that_works_ahead():
    before = left(0.2)

    measured = measured_in_turn(before, lambda *_: pair(), seconds_left=9.0)

    assert (measured.runs, measured.failures, measured.in_turn) == (before.runs, (), {})
