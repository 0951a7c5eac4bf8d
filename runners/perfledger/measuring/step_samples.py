"""Samples a step: warms it up until it is steady, then times it until the samples suffice.

The garbage collector stays as the workload sets it: garbage is part of a step's cost, and without
the collector cycles would accumulate until memory, not the code, is measured. The loop itself keeps
only floats, which the collector does not count.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

from perfledger.measuring.core_use import PREPARED, THIS_HOST, CoreUse, CoreWatch, HostProbe
from perfledger.measuring.memory_watch import MemoryWatch
from perfledger.measuring.stack_room import with_stack_room
from perfledger.measuring.timed_step import TimedStep
from perfledger.meters.clock import Clock
from perfledger.protocol import MeasuringEffort
from perfledger.records import MemoryReadings
from perfledger.workload import AnyStep

MAX_STANDARD_ERROR = (
    0.005  # relative standard error of the mean at which more steps add nothing (nvbench's)
)
FIRST_BLOCK = 10  # steps between two checks of the samples; a check costs time between steps
# Length of a turn when base and head are interleaved. Other load on a machine changes within tenths
# of a second: unchanged pairs spread by 8 % with turns of 0.1 s, and by 1 % with this length.
TURN_SECONDS = 0.03
TIME_DIGITS = 9  # of a rank's seconds: a message holds those of many ranks
MAX_SAMPLES = 2_000  # per process: more would make a bundle of micro-steps megabytes long

# Returns a context that is entered around a number of steps.
Around = Callable[[int], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSamples:
    """The step times of one process, and its use of the host's cores."""

    warmups_s: tuple[float, ...]
    # Start and end of the measured steps of each set-up, since `on_sampling`; empty with turns.
    spans_s: tuple[tuple[float, float], ...]
    steps_s: tuple[float, ...]
    turns: tuple[int, ...]  # readings per turn; empty if not interleaved
    cores: CoreUse
    memory: MemoryReadings
    steps_per_reading: int
    is_prepared: bool  # whether a preparation, not timed, precedes each reading
    empty_step_s: float | None  # of an empty step, read in the same way; None for long steps
    rank_times_s: tuple[tuple[float, ...], ...] = ()  # each rank's; steps_s are the largest


@with_stack_room
def measure(
    set_up: Callable[[], AnyStep],
    clock: Clock,
    *,
    effort: MeasuringEffort,
    set_ups: int = 1,
    on_sampling: Callable[[], None] = lambda: None,
    after_step: Callable[[], None] = lambda: None,
    turn: Callable[[], None] | None = None,
    on_result: Callable[[object], None] = lambda _: None,
    before_last: Callable[[], None] = lambda: None,
    on_sampled: Callable[[TimedStep, StepSamples], None] = lambda _step, _samples: None,
    in_use_bytes: Callable[[], float | None] = lambda: None,
    host: HostProbe = THIS_HOST,
) -> StepSamples:
    """Set up and warm up, call `on_sampling`, then time the step until the samples suffice.

    `on_result` receives what the first and the last step returned, and `after_step` is called after
    every reading; neither is timed, nor is the last step. `on_sampled` is called at the end. A
    reading is one step, or several short ones; `before_last` is called before the last one, which
    is not timed. `in_use_bytes` reads the memory between blocks of
    readings. `turn` returns when it is this process's turn for the next TURN_SECONDS of steps;
    without it the steps are consecutive. The readings are divided evenly among `set_ups`, each
    warmed up; the previous step is released. First readings that belong to the warm-up are moved
    there, but not with turns: the judge, who knows both sides' turns, leaves the first ones out.
    """
    bench = TimedStep(
        set_up,
        clock,
        effort=effort,
        after_step=after_step,
        on_result=on_result,
        before_last=before_last,
    )
    bench.renew()
    bench.calibrate()
    on_sampling()
    watch, memory = CoreWatch(host), MemoryWatch(in_use_bytes)
    turns: tuple[int, ...] = ()
    spans_s: tuple[tuple[float, float], ...] = ()
    if turn is None:
        spans_s = _sample(bench, effort, set_ups=set_ups, watch=watch, memory=memory, host=host)
    else:
        turns = _sample_in_turns(
            bench, effort, set_ups=set_ups, turn=turn, watch=watch, memory=memory
        )
    samples = StepSamples(
        warmups_s=tuple(bench.warmups_s),
        spans_s=spans_s,
        steps_s=tuple(each / bench.steps_per_reading for each in bench.readings_s),
        turns=turns,
        cores=(
            CoreUse(left_out={PREPARED: 1})  # the blocks include what was not timed
            if bench.is_prepared
            else watch.use(bench.readings_s, settling_s=bench.settling_s, turns=turns)
        ),
        memory=memory.readings(),
        steps_per_reading=bench.steps_per_reading,
        is_prepared=bench.is_prepared,
        empty_step_s=bench.empty_step_s,
        rank_times_s=tuple(
            tuple(round(each / bench.steps_per_reading, TIME_DIGITS) for each in times)
            for times in zip(*bench.rank_readings_s, strict=True)
        ),
    )
    on_sampled(bench, samples)
    return samples


def _sample(
    bench: TimedStep,
    effort: MeasuringEffort,
    *,
    set_ups: int,
    watch: CoreWatch,
    memory: MemoryWatch,
    host: HostProbe,
) -> tuple[tuple[float, float], ...]:
    """Time the step until the samples suffice, an equal part of them after each set-up.

    Return when the measured steps of each set-up began and ended, in seconds since the call. Late
    settling is checked once, in all steps of the first set-up: later ones run warm code, and a
    check between two blocks would let the device idle.
    """
    part = replace(
        effort,
        min_steps=max(1, math.ceil(effort.min_steps / set_ups)),
        max_steps=math.ceil(effort.max_steps / set_ups),
        min_seconds=effort.min_seconds / set_ups + effort.edge_seconds,
        max_seconds=effort.max_seconds / set_ups + effort.edge_seconds,
    )
    most = math.ceil(MAX_SAMPLES / set_ups)
    spans_s: list[tuple[float, float]] = []
    sampling_s = began_s = host.wall()
    memory.read()
    for number in range(set_ups):
        if number > 0:
            bench.renew()
            began_s = host.wall()
        begun = len(bench.readings_s)
        after_block = memory.read if number == 0 else None
        _fill(bench, part, begun=begun, most=most, around=watch.block, after_block=after_block)
        if number == 0:
            bench.settle()
            began_s += bench.settling_s  # the first steps are those that settled
            _fill(bench, part, begun=begun, most=most, around=watch.block, after_block=after_block)
        spans_s.append((began_s - sampling_s, host.wall() - sampling_s))
    bench.examine()
    return tuple(spans_s)


def _fill(
    bench: TimedStep,
    effort: MeasuringEffort,
    *,
    begun: int,
    most: int,
    around: Around,
    after_block: Callable[[int], None] | None,
) -> None:
    """Time the step in blocks until the samples from `begun` on suffice, or number `most`."""
    while block := _next_block(bench.costs_s[begun:], effort, most):
        steps = block * bench.steps_per_reading
        with around(steps):
            bench.time(block)
        if after_block is not None:
            after_block(steps)


def _sample_in_turns(
    bench: TimedStep,
    effort: MeasuringEffort,
    *,
    set_ups: int,
    turn: Callable[[], None],
    watch: CoreWatch,
    memory: MemoryWatch,
) -> tuple[int, ...]:
    """Time the step in turns of TURN_SECONDS for `max_seconds`; return the readings per turn.

    The other process takes as many turns, so that each turn has a neighbour: the end depends on
    time and not on the noise. Steps of microseconds make shorter turns, not fewer. A new set-up
    runs in a turn of this process, because it would disturb the other's, and each has a turn.
    """
    turns: list[int] = []
    readings, fitting = _turns_of(bench.expected_costs_s(), effort)
    most = max(fitting, set_ups)
    is_first = True
    memory.read()
    while len(turns) < most and (
        len(turns) < set_ups
        or len(bench.readings_s) < effort.min_steps
        or sum(bench.costs_s) < effort.max_seconds
    ):
        with watch.pause() if turns else nullcontext():
            turn()
        if turns and _is_due(len(turns), most, set_ups):
            bench.renew()
            is_first = False
        steps = readings * bench.steps_per_reading
        with watch.block(steps):
            bench.time(readings)
        if is_first:
            memory.read(steps)
        turns.append(readings)
    with watch.pause():
        turn()
    bench.examine()
    return tuple(turns)


def _is_due(turn: int, turns: int, set_ups: int) -> bool:
    """Return whether this turn is the first of the next set-up, with turns divided evenly."""
    return turn * set_ups // turns > (turn - 1) * set_ups // turns


def _turns_of(costs_s: Sequence[float], effort: MeasuringEffort) -> tuple[int, int]:
    """Return the readings per turn and the number of turns, if readings cost `costs_s` each."""
    shortest = math.ceil(effort.max_seconds / TURN_SECONDS)
    step_s = math.fsum(costs_s) / max(1, len(costs_s))
    max_steps = max(1, MAX_SAMPLES // max(1, shortest))
    steps = max(1, min(max_steps, int(TURN_SECONDS / step_s))) if step_s > 0 else max_steps
    fitting = math.ceil(effort.max_seconds / max(TURN_SECONDS, steps * step_s))
    turns = fitting if effort.max_turns is None else min(fitting, effort.max_turns)
    return steps, max(1, turns, math.ceil(effort.min_steps / steps))


def _next_block(samples: Sequence[float], effort: MeasuringEffort, most: int) -> int:
    """Return how many more steps to time before the next check, 0 when the samples suffice.

    At most as many as were timed so far: checks stay few, and early estimates may be wrong. In all
    there are never more than `most`.
    """
    count, total = len(samples), sum(samples)
    if count >= most:
        return 0
    if count < effort.min_steps:
        return effort.min_steps - count
    if total < effort.min_seconds:
        missing = _steps_in(effort.min_seconds - total, samples)
    elif count >= effort.max_steps or total >= effort.max_seconds:
        return 0
    else:
        fit = _steps_in(effort.max_seconds - total, samples)
        missing, most = min(_steps_to_quiet(samples), fit), min(effort.max_steps, most)
    return min(missing, max(FIRST_BLOCK, count), most - count)


def _steps_in(seconds: float, samples: Sequence[float]) -> int:
    """Return how many steps of the mean duration fill the time, at least one."""
    total = sum(samples)
    return math.ceil(min(seconds * len(samples) / total, MAX_SAMPLES)) if total > 0 else MAX_SAMPLES


def _steps_to_quiet(samples: Sequence[float]) -> int:
    """Return how many more steps bring the standard error of the mean to its target, 0 if none.

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
