"""Samples a step: warms it up until it is steady, then times it until the samples suffice.

The garbage collector stays as the workload sets it: garbage is part of a step's cost, and without
the collector cycles would accumulate until memory, not the code, is measured. The loop itself keeps
only floats, which the collector does not count.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import median

from perfledger.measuring.core_use import THIS_HOST, CoreUse, CoreWatch, HostProbe
from perfledger.meters.clock import Clock
from perfledger.protocol import MeasuringEffort
from perfledger.step_evidence import MAX_STEPS_PER_READING
from perfledger.workload import Step

WARMUP_WINDOW = 3  # the median of three ignores one outlier
WARMUP_AGREEMENT = 0.05  # compiling, autotuning and cold caches cost far more than this
MAX_STANDARD_ERROR = (
    0.005  # relative standard error of the mean at which more steps add nothing (nvbench's)
)
FIRST_BLOCK = 10  # steps between two checks of the samples; a check costs time between steps
# Length of a turn when base and head are interleaved. Other load on a machine changes within tenths
# of a second: unchanged pairs spread by 8 % with turns of 0.1 s, and by 1 % with this length.
TURN_SECONDS = 0.03
# A reading lasts this many times the harness's own cost of one, so that the cost hides no change.
MIN_READING_COSTS = 20
# Longer steps are never short of that: a reading costs microseconds.
MAX_SHORT_STEP_SECONDS = 1e-3
CALIBRATION_READINGS = 51  # of an empty step: their median ignores what disturbs some of them
MAX_SAMPLES = 2_000  # per process: more would make a bundle of micro-steps megabytes long

# Is entered around so many steps.
Around = Callable[[int], AbstractContextManager[None]]

# The share of steady processes that are cut by mistake, which costs some steps; with autocorrelated
# steps it is higher.
MAX_FALSE_CUTS = 0.05
MOST_FIRST_STEPS = 60  # later steps say nothing about the beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSamples:
    """The step times of one process, and its use of the host's cores."""

    warmups_s: tuple[float, ...]
    settling_s: float  # time of the warm-ups after `on_sampling`
    steps_s: tuple[float, ...]
    turns: tuple[int, ...]  # readings per turn; empty if not interleaved
    cores: CoreUse
    steps_per_reading: int
    empty_step_s: float | None  # of an empty step that is read alike; None for long steps


class TimedStep:
    """The step of the latest set-up, and all of its times."""

    def __init__(
        self,
        set_up: Callable[[], Step],
        clock: Clock,
        *,
        effort: MeasuringEffort,
        after_step: Callable[[], None],
        on_result: Callable[[object], None] = lambda _: None,
    ) -> None:
        self._set_up, self._clock = set_up, clock
        self._effort, self._after_step = effort, after_step
        self._on_result = on_result
        self.step: Step = _no_step
        self.warmups_s: list[float] = []
        self.settling_s = 0.0
        self.readings_s: list[float] = []
        self.steps_per_reading = 1
        self.empty_step_s: float | None = None

    def renew(self) -> None:
        """Release the step, set up again and warm up: briefly after the first time."""
        self.step = _no_step
        self.step = self._set_up()
        effort, is_repeated = self._effort, bool(self.warmups_s)
        brief = replace(effort, max_warmups=effort.min_warmups) if is_repeated else effort
        self.warmups_s += warm_up(
            self.step,
            self._clock,
            effort=brief,
            after_step=self._after_step,
            on_result=None if is_repeated else self._on_result,
        )

    def calibrate(self) -> None:
        """Choose how many steps make a reading, by the time of an empty step."""
        last_s = self.warmups_s[-WARMUP_WINDOW:]
        step_s = median(last_s) if last_s else 0.0
        if not 0 < step_s < MAX_SHORT_STEP_SECONDS:
            return
        cost_s = self._empty_reading_s()
        steps = math.ceil(MIN_READING_COSTS * cost_s / step_s)
        self.steps_per_reading = max(1, min(steps, MAX_STEPS_PER_READING))
        self.empty_step_s = self._empty_reading_s() / self.steps_per_reading

    def _empty_reading_s(self) -> float:
        empty = _repeated(_no_step, self.steps_per_reading)
        return median(self._clock.time(empty) for _ in range(CALIBRATION_READINGS))

    def settle(self) -> None:
        """Move the samples before a change point in the first set-up's steps to the warm-ups.

        The effort limits their number: a step that keeps changing is measured as it is.
        """
        if sum(self.warmups_s) >= self._effort.max_warmup_seconds:
            return
        room = max(0, self._effort.max_warmups - len(self.warmups_s))
        stop = min(room, count_warmup_steps(self.readings_s))
        self.warmups_s += [each / self.steps_per_reading for each in self.readings_s[:stop]]
        self.settling_s = math.fsum(self.readings_s[:stop])
        del self.readings_s[:stop]

    def time(self, count: int) -> None:
        """Add `count` readings, each with a check after it."""
        step = _repeated(self.step, self.steps_per_reading)
        timed, keep, after_step = self._clock.time, self.readings_s.append, self._after_step
        for _ in range(count):
            keep(timed(step))
            after_step()

    def examine(self) -> None:
        """Run the step once more, untimed, for its result: a long run may end in another state."""
        self._on_result(self.step())
        self._after_step()


def measure(
    set_up: Callable[[], Step],
    clock: Clock,
    *,
    effort: MeasuringEffort,
    set_ups: int = 1,
    on_sampling: Callable[[], None] = lambda: None,
    after_step: Callable[[], None] = lambda: None,
    turn: Callable[[], None] | None = None,
    on_result: Callable[[object], None] = lambda _: None,
    host: HostProbe = THIS_HOST,
) -> StepSamples:
    """Set up and warm up, call `on_sampling`, then time the step until the samples suffice.

    `on_result` receives what the first and the last step returned, and `after_step` is called after
    every reading; neither is timed, nor is the last step. A reading is one step, or several short
    ones. `turn` returns when it is this process's turn for the next TURN_SECONDS of steps; without
    it the steps are consecutive. The readings are divided evenly among `set_ups`, each warmed up;
    the previous step is released.
    First readings that belong to the warm-up are moved there, except in turns, whose neighbours
    warm up alike.
    """
    bench = TimedStep(set_up, clock, effort=effort, after_step=after_step, on_result=on_result)
    bench.renew()
    bench.calibrate()
    on_sampling()
    watch = CoreWatch(host)
    turns = (
        _sample_in_turns(bench, effort, set_ups=set_ups, turn=turn, watch=watch)
        if turn is not None
        else _sample(bench, effort, set_ups=set_ups, around=watch.block)
    )
    return StepSamples(
        warmups_s=tuple(bench.warmups_s),
        settling_s=bench.settling_s,
        steps_s=tuple(each / bench.steps_per_reading for each in bench.readings_s),
        turns=turns,
        cores=watch.use(bench.readings_s, settling_s=bench.settling_s, turns=turns),
        steps_per_reading=bench.steps_per_reading,
        empty_step_s=bench.empty_step_s,
    )


def warm_up(
    step: Step,
    clock: Clock,
    *,
    effort: MeasuringEffort,
    after_step: Callable[[], None] = lambda: None,
    on_result: Callable[[object], None] | None = None,
) -> tuple[float, ...]:
    """Run `step` until it is steady or the effort is spent; return all times in seconds.

    `on_result` receives what the first step returned, before the second.
    """
    times: list[float] = []
    results: list[object] = []
    while not _is_warm(times, effort):
        is_kept = on_result is not None and not times
        times.append(clock.time(_keeping(step, results) if is_kept else step))
        after_step()
        if on_result is not None and results:
            on_result(results.pop())
    return tuple(times)


def count_warmup_steps(times: Sequence[float]) -> int:
    """Return the number of times before a change point, 0 if there is none.

    The agreement of two windows ends the warm-up early, and too early where a step gets faster in
    stages or gradually: hot code is compiled, clocks settle over seconds. The next samples show it.
    The test uses ranks, because step times are skewed and a single slow step means nothing.

    At most half of them, by Pettitt's test ("A non-parametric approach to the change-point
    problem", 1979): U(t) = 2 (r1 + ... + rt) - t (n + 1) with the ranks r, whose maximum reaches K
    by chance with a probability of 2 exp(-6 K² / (n³ + n²)). Fewer than eleven times are never
    significant, nor are a few outliers, which hardly affect a run's estimate.
    """
    first_times = times[:MOST_FIRST_STEPS]
    count = len(first_times)
    sums = accumulate(_ranks(first_times)[: count // 2])
    lead = [abs(2 * total - first * (count + 1)) for first, total in enumerate(sums, start=1)]
    largest = max(lead, default=0.0)
    if largest == 0:
        return 0
    chance = 2 * math.exp(-6 * largest**2 / (count**3 + count**2))
    return lead.index(largest) + 1 if chance < MAX_FALSE_CUTS else 0


def _ranks(times: Sequence[float]) -> tuple[float, ...]:
    """Return the rank of each time, from 1; ties share their mean rank."""
    ordered = sorted(times)
    first = {time: place for place, time in reversed(tuple(enumerate(ordered, start=1)))}
    last = {time: place for place, time in enumerate(ordered, start=1)}
    return tuple((first[time] + last[time]) / 2 for time in times)


def _sample(
    bench: TimedStep, effort: MeasuringEffort, *, set_ups: int, around: Around
) -> tuple[int, ...]:
    """Time the step until the samples suffice, an equal part of them after each set-up.

    `around` is entered for each block of consecutive steps. There are no turns. Late settling is
    checked once, in all steps of the first set-up: later ones run warm code, and a check between
    two blocks would let the device idle.
    """
    part = replace(
        effort,
        min_steps=max(1, math.ceil(effort.min_steps / set_ups)),
        max_steps=math.ceil(effort.max_steps / set_ups),
        min_seconds=effort.min_seconds / set_ups,
        max_seconds=effort.max_seconds / set_ups,
    )
    for number in range(set_ups):
        if number > 0:
            bench.renew()
        begun = len(bench.readings_s)
        _fill(bench, part, begun=begun, around=around)
        if number == 0:
            bench.settle()
            _fill(bench, part, begun=begun, around=around)
    bench.examine()
    return ()


def _fill(bench: TimedStep, effort: MeasuringEffort, *, begun: int, around: Around) -> None:
    """Time the step in blocks until the samples from `begun` on suffice."""
    while block := _next_block(bench.readings_s[begun:], effort):
        with around(block * bench.steps_per_reading):
            bench.time(block)


def _sample_in_turns(
    bench: TimedStep,
    effort: MeasuringEffort,
    *,
    set_ups: int,
    turn: Callable[[], None],
    watch: CoreWatch,
) -> tuple[int, ...]:
    """Time the step in turns of TURN_SECONDS for `max_seconds`; return the readings per turn.

    The other process takes as many, so that each turn has a neighbour: the end depends on time and
    not on the noise. Steps of microseconds make shorter turns, not fewer. A new set-up runs in its
    own turn, because it would disturb the other's.
    """
    turns: list[int] = []
    last_readings_s = [each * bench.steps_per_reading for each in bench.warmups_s[-WARMUP_WINDOW:]]
    readings, most = _turns_of(last_readings_s, effort)
    while len(turns) < most and (
        len(bench.readings_s) < effort.min_steps or sum(bench.readings_s) < effort.max_seconds
    ):
        with watch.pause() if turns else nullcontext():
            turn()
        if turns and _is_due(len(turns), most, set_ups):
            bench.renew()
        with watch.block(readings * bench.steps_per_reading):
            bench.time(readings)
        turns.append(readings)
    with watch.pause():
        turn()
    bench.examine()
    return tuple(turns)


def _is_due(turn: int, turns: int, set_ups: int) -> bool:
    """Return whether this turn is the first of the next set-up, with turns divided evenly."""
    return turn * set_ups // turns > (turn - 1) * set_ups // turns


def _no_step() -> None:
    """Do nothing, in place of a step."""


def _repeated(step: Step, times: int) -> Step:
    """Return a step that runs `step` so many times, and returns the last result."""
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


def _turns_of(warmups_s: Sequence[float], effort: MeasuringEffort) -> tuple[int, int]:
    """Return the readings per turn and the number of turns, estimated from the last warm-ups."""
    shortest = math.ceil(effort.max_seconds / TURN_SECONDS)
    step_s = math.fsum(warmups_s[-WARMUP_WINDOW:]) / max(1, len(warmups_s[-WARMUP_WINDOW:]))
    max_steps = max(1, MAX_SAMPLES // max(1, shortest))
    steps = max(1, min(max_steps, int(TURN_SECONDS / step_s))) if step_s > 0 else max_steps
    turns = math.ceil(effort.max_seconds / max(TURN_SECONDS, steps * step_s))
    return steps, max(1, turns, math.ceil(effort.min_steps / steps))


def _is_warm(times: Sequence[float], effort: MeasuringEffort) -> bool:
    if len(times) < effort.min_warmups:
        return False
    if len(times) >= effort.max_warmups or sum(times) >= effort.max_warmup_seconds:
        return True
    if len(times) < 2 * WARMUP_WINDOW:
        return False
    last = sorted(times[-WARMUP_WINDOW:])[WARMUP_WINDOW // 2]
    before = sorted(times[-2 * WARMUP_WINDOW : -WARMUP_WINDOW])[WARMUP_WINDOW // 2]
    return abs(last - before) <= WARMUP_AGREEMENT * before


def _next_block(samples: Sequence[float], effort: MeasuringEffort) -> int:
    """Return how many more steps to time before the next check, 0 when the samples suffice.

    At most as many as there are already: checks stay few, and early estimates may be wrong.
    """
    count, total = len(samples), sum(samples)
    if count >= MAX_SAMPLES:
        return 0
    if count < effort.min_steps:
        return effort.min_steps - count
    if total < effort.min_seconds:
        missing, most = _steps_in(effort.min_seconds - total, samples), MAX_SAMPLES
    elif count >= effort.max_steps or total >= effort.max_seconds:
        return 0
    else:
        fit = _steps_in(effort.max_seconds - total, samples)
        missing, most = min(_steps_to_quiet(samples), fit), effort.max_steps
    return min(missing, max(FIRST_BLOCK, count), most - count)


def _steps_in(seconds: float, samples: Sequence[float]) -> int:
    """Return how many steps of the mean duration fill the time, at least one."""
    total = sum(samples)
    return math.ceil(min(seconds * len(samples) / total, MAX_SAMPLES)) if total > 0 else MAX_SAMPLES


def _steps_to_quiet(samples: Sequence[float]) -> int:
    """Return how many more steps the mean needs for its standard error, 0 when it is reached.

    The standard error falls with the square root of the number of samples.
    """
    times = (_noise(samples) / MAX_STANDARD_ERROR) ** 2
    if times < 1:
        return 0
    return max(1, math.ceil(min(len(samples) * (times - 1), MAX_SAMPLES)))


def _noise(samples: Sequence[float]) -> float:
    """Return the relative standard error of the mean."""
    count = len(samples)
    mean = sum(samples) / count
    if count < 2 or mean <= 0:  # noqa: PLR2004 - two make a spread
        return math.inf
    variance = sum((each - mean) ** 2 for each in samples) / (count - 1)
    return math.sqrt(variance / count) / mean
