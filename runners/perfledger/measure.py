"""A step becomes samples: warm up until it is steady, then time it until it is enough.

The garbage collector stays as the workload has it: what a step leaves behind is part of what it
costs, and with the collector off, cycles would pile up until memory, not the code, is measured.
The loop itself keeps floats only, which the collector does not count.
"""

import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from perfledger.clock import Clock
from perfledger.protocol import Effort
from perfledger.workload import Step

WARMUP_WINDOW = 3  # the median of three shrugs off one odd step
WARMUP_AGREEMENT = 0.05  # compiling, autotuning and cold caches cost far more than this
QUIET = 0.005  # relative standard error of the mean at which more steps add nothing (nvbench's)
FIRST_BLOCK = 10  # between two looks at the samples; a look costs time between steps
TURN_SECONDS = 0.1  # of steps at a time where base and head take turns: noise lasts longer
MAX_SAMPLES = 2_000  # per process: more would make a bundle of micro-steps megabytes long

NOTHING = nullcontext()
Affinity = Callable[[int], Collection[int]]
AFFINITY: Affinity | None = getattr(os, "sched_getaffinity", None)  # Linux has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What the steps of one process took, and how busy it kept the host's cores meanwhile."""

    warmups_s: tuple[float, ...]
    steps_s: tuple[float, ...]
    turns: tuple[int, ...]  # how many of the steps each turn took; empty: none were taken
    cpu_active: float  # share of the usable cores' time, at most 1


def usable_cores(affinity: Affinity | None = AFFINITY) -> int:
    """Return how many cores this process may run on; where the system cannot tell, how many are."""
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What measuring reads of the host; tests script it."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.process_time
    cores: Callable[[], int] = usable_cores


def measure(
    step: Step,
    clock: Clock,
    *,
    effort: Effort,
    on_sampling: Callable[[], None] = lambda: None,
    after_step: Callable[[], None] = lambda: None,
    turn: Callable[[], None] | None = None,
    host: Host = Host(),
) -> Sampled:
    """Warm `step` up, call `on_sampling`, then time it until the samples are enough.

    `after_step` is called after every step, outside of what is timed. `turn` returns when it is
    this process's turn for the next TURN_SECONDS of steps; without it all of them follow.
    """
    warmups = warm_up(step, clock, effort=effort, after_step=after_step)
    on_sampling()
    watch = _Watch(host)
    if turn is None:
        turns: tuple[int, ...] = ()
        steps = sample(step, clock, effort=effort, after_step=after_step, around=watch)
    else:
        steps, turns = sample_in_turns(
            step,
            clock,
            effort=effort,
            after_step=after_step,
            warmups_s=warmups,
            turn=turn,
            around=watch,
        )
    return Sampled(warmups_s=warmups, steps_s=steps, turns=turns, cpu_active=watch.active())


def warm_up(
    step: Step,
    clock: Clock,
    *,
    effort: Effort,
    after_step: Callable[[], None] = lambda: None,
) -> tuple[float, ...]:
    """Run `step` until it is steady or the effort is spent; return every time, in seconds."""
    times: list[float] = []
    while not _is_warm(times, effort):
        times.append(clock.time(step))
        after_step()
    return tuple(times)


def sample(
    step: Step,
    clock: Clock,
    *,
    effort: Effort,
    after_step: Callable[[], None] = lambda: None,
    around: AbstractContextManager[None] = NOTHING,
) -> tuple[float, ...]:
    """Time `step` until the samples are enough; return every sample, in seconds.

    `around` is entered for each block of steps that follow on each other.
    """
    samples: list[float] = []
    block = max(1, effort.min_steps)
    while block:
        with around:
            _time_block(step, clock, block, samples, after_step)
        block = _next_block(samples, effort)
    return tuple(samples)


def sample_in_turns(
    step: Step,
    clock: Clock,
    *,
    effort: Effort,
    after_step: Callable[[], None] = lambda: None,
    warmups_s: Sequence[float],
    turn: Callable[[], None],
    around: AbstractContextManager[None] = NOTHING,
) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """Time `step` in turns of TURN_SECONDS for `max_seconds`; return the samples and the turns.

    The other process takes as many, so that each turn has a neighbour: time, not how steady the
    samples are, says when it is enough. Steps of microseconds make shorter turns, not fewer.
    """
    samples: list[float] = []
    turns: list[int] = []
    most = max(1, math.ceil(effort.max_seconds / TURN_SECONDS))
    steps = _steps_in_turn(warmups_s, most=max(1, MAX_SAMPLES // most))
    while len(turns) < most and (
        len(samples) < effort.min_steps or sum(samples) < effort.max_seconds
    ):
        turn()
        with around:
            _time_block(step, clock, steps, samples, after_step)
        turns.append(steps)
    return tuple(samples), tuple(turns)


def _steps_in_turn(warmups_s: Sequence[float], *, most: int) -> int:
    """Return how many steps fill a turn, going by the last ones of the warm-up."""
    last = warmups_s[-WARMUP_WINDOW:]
    total = sum(last)
    return max(1, min(most, int(TURN_SECONDS * len(last) / total))) if total > 0 else 1


class _Watch:
    """How busy the process kept the host's cores, over the stretches in which it is entered."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._wall = self._cpu = 0.0

    def __enter__(self) -> None:
        self._wall -= self._host.wall()
        self._cpu -= self._host.cpu()

    def __exit__(self, *_: object) -> None:
        self._cpu += self._host.cpu()
        self._wall += self._host.wall()

    def active(self) -> float:
        """Return the share of the usable cores' time, at most 1."""
        if self._wall <= 0:
            return 0.0
        return min(1.0, self._cpu / (self._wall * self._host.cores()))


def _is_warm(times: Sequence[float], effort: Effort) -> bool:
    if len(times) < effort.min_warmups:
        return False
    if len(times) >= effort.max_warmups or sum(times) >= effort.max_warmup_seconds:
        return True
    if len(times) < 2 * WARMUP_WINDOW:
        return False
    last = sorted(times[-WARMUP_WINDOW:])[WARMUP_WINDOW // 2]
    before = sorted(times[-2 * WARMUP_WINDOW : -WARMUP_WINDOW])[WARMUP_WINDOW // 2]
    return abs(last - before) <= WARMUP_AGREEMENT * before


def _time_block(
    step: Step, clock: Clock, count: int, samples: list[float], after_step: Callable[[], None]
) -> None:
    """Add `count` times: nothing but the step, two readings of the clock and one check."""
    timed, keep = clock.time, samples.append
    for _ in range(count):
        keep(timed(step))
        after_step()


def _next_block(samples: Sequence[float], effort: Effort) -> int:
    """Return how many more steps to time before looking again; 0 when the samples are enough.

    At most as many again as there are: few looks, and what the first steps promise may be wrong.
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
    """Return how many steps fill the time, at least one, if they go on as they did."""
    total = sum(samples)
    return math.ceil(min(seconds * len(samples) / total, MAX_SAMPLES)) if total > 0 else MAX_SAMPLES


def _steps_to_quiet(samples: Sequence[float]) -> int:
    """Return how many more steps the mean needs to be quiet; 0 when it is.

    The standard error falls with the square root of the number of samples.
    """
    times = (_noise(samples) / QUIET) ** 2
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
