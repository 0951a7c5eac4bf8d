"""Times the step of a workload: sets it up, warms it up until it is steady, and reads it."""

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import median
from time import perf_counter

from perfledger.measuring.change_point import count_before_change
from perfledger.measuring.rank_clock import RankClock
from perfledger.meters.clock import Clock, HostClock
from perfledger.protocol import MeasuringEffort
from perfledger.workload import AnyStep, PreparedStep, Step

WARMUP_WINDOW = 3  # the median of three ignores one outlier
WARMUP_AGREEMENT = 0.05  # compiling, autotuning and cold caches cost far more than this
# A reading lasts this many times the harness's own cost of one, which is then half a percent.
MIN_READING_COSTS = 200
# The same on a device: steps of one reading overlap there, so it holds only as many as it needs.
MIN_DEVICE_READING_COSTS = 20
# Longer steps always reach that: a reading costs the harness microseconds.
MAX_SHORT_STEP_SECONDS = 1e-3
MAX_CALIBRATED_STEPS = 1000  # with more, the harness's cost per step no longer changes
CALIBRATION_READINGS = 51  # of an empty step: their median ignores disturbed ones

# Share of steady processes whose first steps may be cut by mistake, which costs some steps; it is
# higher if step times are autocorrelated.
MAX_FIRST_STEPS = 60  # later steps say nothing about the beginning


class TimedStep:
    """The step of the latest set-up, and all of its times."""

    def __init__(
        self,
        set_up: Callable[[], AnyStep],
        clock: Clock,
        *,
        effort: MeasuringEffort,
        after_step: Callable[[], None],
        on_result: Callable[[object], None] = lambda _: None,
        before_last: Callable[[], None] = lambda: None,
    ) -> None:
        self._set_up, self._clock = set_up, clock
        self._effort, self._after_step = effort, after_step
        self._on_result, self._before_last = on_result, before_last
        self.step: Step = no_step
        self._prepare: Callable[[], object] | None = None  # before each reading
        self._preparation_s = 0.0
        # The harness's memory is part of the process's: short steps have thousands of readings, so
        # these are arrays, which need a quarter of a list's memory.
        self._preparations_s = array("d")  # one for each reading
        self.warmups_s: list[float] = []
        self.settling_s = 0.0
        self.readings_s = array("d")
        self.rank_readings_s: list[tuple[float, ...]] = []  # of all ranks, if there are several
        self.steps_per_reading = 1
        self.empty_step_s: float | None = None
        self.calls = 0  # of the step, in all set-ups

    def renew(self) -> None:
        """Release the step, set up again and warm up; every warm-up after the first is short."""
        self.step = no_step
        step = self._set_up()
        if isinstance(step, PreparedStep):
            self._prepare, self.step, self.steps_per_reading = step.prepare, step.run, step.steps
        else:
            self.step = step
        effort, is_repeated = self._effort, bool(self.warmups_s)
        brief = replace(effort, max_warmups=effort.min_warmups) if is_repeated else effort
        began = perf_counter()
        warmups_s = warm_up(
            self.step,
            self._clock,
            effort=brief,
            after_step=self._after_step,
            on_result=None if is_repeated else self._on_result,
            prepare=self._prepare,
        )
        if self._prepare is not None:  # anything else in this time is negligible
            elapsed_s = _slowest_s(self._clock, perf_counter() - began)
            # A device has its own clock: its steps may take longer than the host saw for
            # everything.
            self._preparation_s = max(0.0, elapsed_s - sum(warmups_s)) / max(1, len(warmups_s))
        self.warmups_s += warmups_s
        self.calls += len(warmups_s)

    @property
    def is_prepared(self) -> bool:
        """Return whether each reading has a preparation, which is not timed."""
        return self._prepare is not None

    @property
    def costs_s(self) -> Sequence[float]:
        """Return how long each reading took, with its preparation."""
        if self._prepare is None:
            return self.readings_s
        return [sum(each) for each in zip(self._preparations_s, self.readings_s, strict=True)]

    def expected_costs_s(self) -> tuple[float, ...]:
        """Return how long readings with their preparation will take, by the last warm-ups."""
        return tuple(
            each * self.steps_per_reading + self._preparation_s
            for each in self.warmups_s[-WARMUP_WINDOW:]
        )

    def calibrate(self) -> None:
        """Choose how many steps make a reading, by timing an empty step."""
        last_s = self.warmups_s[-WARMUP_WINDOW:]
        step_s = median(last_s) if last_s else 0.0
        if not 0 < step_s < MAX_SHORT_STEP_SECONDS:
            return
        if self._prepare is None:
            is_host = isinstance(self._clock, HostClock)
            costs = MIN_READING_COSTS if is_host else MIN_DEVICE_READING_COSTS
            steps = math.ceil(costs * self._empty_reading_s(1) / step_s)
            self.steps_per_reading = max(1, min(steps, MAX_CALIBRATED_STEPS))
        empty_steps = min(self.steps_per_reading, MAX_CALIBRATED_STEPS)
        self.empty_step_s = self._empty_reading_s(empty_steps) / empty_steps

    def _empty_reading_s(self, steps: int) -> float:
        empty = _repeated_step(no_step, steps)
        return median(self._clock.time(empty) for _ in range(CALIBRATION_READINGS))

    def settle(self) -> None:
        """Move the samples before a change point in the first set-up's steps to the warm-ups.

        The effort limits their number: a step that keeps changing is measured as it is.
        """
        if sum(self.warmups_s) >= self._effort.max_warmup_seconds:
            return
        warmups_left = max(0, self._effort.max_warmups - len(self.warmups_s))
        stop = min(warmups_left, count_warmup_steps(self.readings_s))
        self.warmups_s += [each / self.steps_per_reading for each in self.readings_s[:stop]]
        self.settling_s = math.fsum(self.readings_s[:stop])
        del self.readings_s[:stop]
        del self.rank_readings_s[:stop]
        del self._preparations_s[:stop]

    def time(self, count: int) -> None:
        """Add `count` readings, each with a check after it."""
        step = _repeated_step(self.step, self.steps_per_reading)
        timed, keep, after_step = self._clock.time, self.readings_s.append, self._after_step
        prepare = self._prepare
        for _ in range(count):
            if prepare is not None:
                self._preparations_s.append(_elapsed_s(prepare, self._clock))
            keep(timed(step))
            after_step()
        self.calls += count * self.steps_per_reading
        if isinstance(self._clock, RankClock):
            self.rank_readings_s += self._clock.latest_s(count)

    def examine(self) -> None:
        """Run the step once more, untimed, for its result: a long run may end in another state."""
        self._before_last()
        if self._prepare is not None:
            self._prepare()
        self._on_result(self.step())
        self.calls += 1
        self._after_step()


def warm_up(
    step: Step,
    clock: Clock,
    *,
    effort: MeasuringEffort,
    after_step: Callable[[], None] = lambda: None,
    on_result: Callable[[object], None] | None = None,
    prepare: Callable[[], object] | None = None,
) -> tuple[float, ...]:
    """Run `step` until it is steady or the effort is spent; return all times in seconds.

    `on_result` receives what the first step returned, before the second step. `prepare` is called
    before each step.
    """
    times: list[float] = []
    results: list[object] = []
    prepared_s = 0.0
    while not _is_warm(times, effort, prepared_s=prepared_s):
        prepared_s += 0.0 if prepare is None else _elapsed_s(prepare, clock)
        is_kept = on_result is not None and not times
        times.append(clock.time(_keeping(step, results) if is_kept else step))
        after_step()
        if on_result is not None and results:
            on_result(results.pop())
    return tuple(times)


def count_warmup_steps(times: Sequence[float]) -> int:
    """Return the number of times before a change point, at most half of them; 0 if there is none.

    The warm-up ends when two windows agree, which is too early if a step gets faster in stages or
    gradually: hot code is compiled, clocks settle over seconds. The next samples show it. The test
    uses ranks, because step times are skewed and a single slow step means nothing.
    """
    first_times = times[:MAX_FIRST_STEPS]
    return count_before_change(first_times, most=len(first_times) // 2)


def no_step() -> None:
    """Do nothing, in place of a step."""


def _repeated_step(step: Step, times: int) -> Step:
    """Return a step that runs `step` `times` times and returns the last result."""
    if times == 1:
        return step
    earlier_steps = range(times - 1)

    def run() -> object:
        for _ in earlier_steps:
            step()
        return step()

    return run


def _keeping(step: Step, results: list[object]) -> Step:
    """Return a step that also adds its result to `results`."""

    def run() -> object:
        result = step()
        results.append(result)
        return result

    return run


def _elapsed_s(prepare: Callable[[], object], clock: Clock) -> float:
    began = perf_counter()
    prepare()
    return _slowest_s(clock, perf_counter() - began)


def _slowest_s(clock: Clock, seconds: float) -> float:
    """Return the slowest rank's seconds, so that all ranks decide alike; else this process's."""
    return clock.slowest_s(seconds) if isinstance(clock, RankClock) else seconds


def _is_warm(times: Sequence[float], effort: MeasuringEffort, *, prepared_s: float) -> bool:
    if len(times) < effort.min_warmups:
        return False
    if len(times) >= effort.max_warmups or sum(times) + prepared_s >= effort.max_warmup_seconds:
        return True
    if len(times) < 2 * WARMUP_WINDOW:
        return False
    last = sorted(times[-WARMUP_WINDOW:])[WARMUP_WINDOW // 2]
    before = sorted(times[-2 * WARMUP_WINDOW : -WARMUP_WINDOW])[WARMUP_WINDOW // 2]
    return abs(last - before) <= WARMUP_AGREEMENT * before
