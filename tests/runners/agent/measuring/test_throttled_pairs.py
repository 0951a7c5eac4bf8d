import math
from dataclasses import replace

import pytest

from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.measuring.measured_pair import MeasuredPair
from perfledger_runners.measuring.throttled_pairs import (
    MAX_TRIES,
    OF_THROTTLED_TRIES,
    CoolingTime,
    measured_when_cool,
)


def failure_of(name, why=FailureReason.THROTTLED):
    return Failure(workload=name, side=Side.HEAD, why=why, detail="hot", pair=1)


def a_pair(*names, hot=(), first_process=0):
    """Return a pair of two runs of three steps each, with failures of the hot ones."""
    return MeasuredPair(
        pair=1,
        workloads=names,
        runs=tuple(
            Run(
                workload=name,
                side=side,
                pair=1,
                position=position,
                process=first_process + position,
                started_at="2026-11-20T12:00:00+00:00",
                samples={"step_time_p50": (0.1, 0.1, 0.1)},
            )
            for name in names
            for position, side in enumerate(Side)
        ),
        failures=tuple(map(failure_of, hot)),
        seconds=dict.fromkeys(names, 2.0),
        processes=2,
    )


class Device:
    """A device that is hot for so many more tries."""

    def __init__(self, tries, *, seconds_left=math.inf):
        self.tries, self.left_s = tries, seconds_left
        self.pauses, self.requests = [], []

    def wait(self, seconds):
        self.pauses.append(seconds)
        self.left_s -= seconds

    def again(self, names, processes):
        self.requests.append((names, processes))
        self.tries -= 1
        return a_pair(*names, hot=names if self.tries else (), first_process=processes)

    def measure(self, pair):
        cooling = CoolingTime(seconds_left=lambda: self.left_s, wait=self.wait)
        return measured_when_cool(pair, self.again, cooling)


def test_a_pair_on_a_cool_device_is_as_it_was():
    device, pair = Device(0), a_pair("a", "b")

    assert device.measure(pair) is pair
    assert device.pauses == []


def test_only_what_was_throttled_is_measured_again_after_longer_and_longer_pauses():
    device = Device(3)

    pair = device.measure(a_pair("a", "b", hot=["b"]))

    assert device.pauses == [5.0, 10.0, 20.0]
    assert device.requests == [(("b",), 2), (("b",), 4), (("b",), 6)]
    assert pair.failures == ()
    assert pair.processes == 8
    assert [(run.workload, run.process, run.left_out) for run in pair.runs] == [
        ("a", 0, {}),
        ("a", 1, {}),
        ("b", 6, {OF_THROTTLED_TRIES: 9}),  # three tries of three steps
        ("b", 7, {OF_THROTTLED_TRIES: 9}),
    ]
    assert len(pair.complete()) == 2


def test_a_device_that_stays_hot_fails_with_the_number_of_tries():
    device = Device(100)

    pair = device.measure(a_pair("a", hot=["a"]))

    assert len(device.requests) == MAX_TRIES - 1
    (failure,) = pair.failures
    assert (failure.why, failure.detail) == (
        FailureReason.THROTTLED,
        "in each of 5 tries, with pauses: hot",
    )


@pytest.mark.parametrize(
    ("seconds_left", "pauses"),
    [(7.0, []), (7.1, [5.0]), (17.0, [5.0]), (17.1, [5.0, 10.0])],  # a pair takes 2 s
)
def test_there_is_no_pause_that_the_budget_has_no_time_for(seconds_left, pauses):
    device = Device(100, seconds_left=seconds_left)

    pair = device.measure(a_pair("a", hot=["a"]))

    assert device.pauses == pauses
    assert [each.why for each in pair.failures] == [FailureReason.THROTTLED]


def test_a_try_that_the_budget_cuts_short_leaves_the_reason_of_the_one_before():
    hot = a_pair("a", "b", hot=("a",))

    def again(names, processes):
        return replace(
            a_pair(*names, first_process=processes),
            runs=(),
            failures=tuple(failure_of(name, FailureReason.BUDGET) for name in names),
        )

    pauses = []
    cooling = CoolingTime(seconds_left=iter((60.0, 0.0)).__next__, wait=pauses.append)
    measured = measured_when_cool(hot, again, cooling)

    assert [(each.workload, each.why) for each in measured.failures] == [
        ("a", FailureReason.THROTTLED)
    ]
    assert measured.runs == hot.runs
    assert measured.processes == 4


def test_what_failed_for_another_reason_too_is_not_tried_again():
    device = Device(1)
    pair = a_pair("a", hot=["a"])
    raised = failure_of("a", FailureReason.RAISED)
    both = MeasuredPair(pair=1, workloads=("a",), failures=(*pair.failures, raised))

    assert device.measure(both) is both
