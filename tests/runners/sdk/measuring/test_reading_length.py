"""Tests that readings of short steps are long enough to be told from the harness's own cost."""

import pytest

from perfledger.measuring.step_samples import TURN_SECONDS, measure
from perfledger.measuring.timed_step import (
    MAX_CALIBRATED_STEPS,
    MAX_SHORT_STEP_SECONDS,
    MIN_DEVICE_READING_COSTS,
    MIN_READING_COSTS,
)
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort
from perfledger.workload import PreparedStep

EFFORT = MeasuringEffort(min_seconds=0.001, max_seconds=0.06)


class CountingClock:
    """A clock by which each step costs `step_s` and each reading `cost_s`."""

    def __init__(self, *, step_s, cost_s):
        self._step_s, self._cost_s = step_s, cost_s
        self.calls = 0

    def step(self):
        self.calls += 1
        return self.calls

    def time(self, step):
        before = self.calls
        step()
        return self._cost_s + (self.calls - before) * self._step_s


class CountingHostClock(CountingClock, HostClock):
    """The same of the host, whose steps are done when they return."""


def measured(clock, **options):
    return measure(lambda: clock.step, clock, effort=EFFORT, **options)


def test_a_short_step_is_read_several_at_a_time():
    clock = CountingClock(step_s=0.9e-6, cost_s=1e-7)

    step_samples = measured(clock)

    assert step_samples.steps_per_reading == 2  # 20 costs are two steps with a reading's cost
    assert all(abs(step_s - 0.95e-6) < 1e-12 for step_s in step_samples.steps_s)


@pytest.mark.parametrize(
    ("clock_type", "costs"),
    [(CountingHostClock, MIN_READING_COSTS), (CountingClock, MIN_DEVICE_READING_COSTS)],
)
@pytest.mark.parametrize("step_s", [1e-8, 1e-7, 3e-7, 1e-6, 1e-5])
def test_a_reading_lasts_many_times_its_cost(clock_type, costs, step_s):
    step_samples = measured(clock_type(step_s=step_s, cost_s=1e-7))
    length = step_samples.steps_per_reading * step_samples.steps_s[0]

    # What was estimated from a single step held the cost of a whole reading.
    assert length >= costs * 1e-7 * step_s / (step_s + 1e-7)
    assert step_samples.steps_per_reading <= costs + 1


def test_the_cost_of_a_reading_is_half_a_percent_of_a_step_on_the_host():
    step_samples = measured(CountingHostClock(step_s=1.2e-6, cost_s=1e-7))

    assert step_samples.steps_s[0] / 1.2e-6 - 1 < 0.006


def test_a_step_without_work_is_as_long_as_an_empty_one():
    step_samples = measured(CountingClock(step_s=0.0, cost_s=1e-7))

    assert step_samples.empty_step_s is not None
    assert abs(step_samples.steps_s[0] / step_samples.empty_step_s - 1) < 1e-9


def test_a_long_step_is_read_alone_and_not_calibrated():
    clock = CountingClock(step_s=MAX_SHORT_STEP_SECONDS, cost_s=0.0)

    step_samples = measured(clock)

    assert (step_samples.steps_per_reading, step_samples.empty_step_s) == (1, None)


def test_a_reading_never_times_more_than_the_most_steps():
    class Odd(CountingClock):
        def time(self, step):
            passed = super().time(step)
            return passed if self.calls else 1.0

    clock = Odd(step_s=1e-9, cost_s=0.0)
    clock.step()

    assert measured(clock).steps_per_reading <= MAX_CALIBRATED_STEPS


def test_a_benchmark_may_read_more_steps_at_a_time_than_are_calibrated():
    clock = CountingClock(step_s=1e-6, cost_s=1e-7)
    step = PreparedStep(lambda: None, clock.step, 3 * MAX_CALIBRATED_STEPS)

    step_samples = measure(lambda: step, clock, effort=EFFORT)

    assert step_samples.steps_per_reading == 3 * MAX_CALIBRATED_STEPS
    assert all(abs(step_s - 1e-6) < 1e-9 for step_s in step_samples.steps_s)
    assert step_samples.empty_step_s == 1e-7 / MAX_CALIBRATED_STEPS  # an empty one does not count


def test_turns_count_readings_and_blocks_count_steps():
    clock = CountingClock(step_s=0.9e-6, cost_s=1e-7)

    step_samples = measured(clock, turn=lambda: None)

    assert sum(step_samples.turns) == len(step_samples.steps_s)
    assert len(step_samples.turns) >= EFFORT.max_seconds / TURN_SECONDS


def test_the_first_and_the_last_result_are_handed_over():
    results = []
    clock = CountingClock(step_s=2e-3, cost_s=0.0)

    measured(clock, set_ups=2, on_result=results.append)

    assert results == [1, clock.calls]
