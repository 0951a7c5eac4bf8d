"""A step becomes samples: warm up until it is steady, then time it until it is enough.

The garbage collector stays as the workload has it: what a step leaves behind is part of what it
costs, and with the collector off, cycles would pile up until memory, not the code, is measured.
The loop itself keeps floats only, which the collector does not count.
"""

import math
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace

from perfledger.clock import Clock
from perfledger.protocol import Effort
from perfledger.settling import unsettled
from perfledger.workload import Step

WARMUP_WINDOW = 3  # the median of three shrugs off one odd step
WARMUP_AGREEMENT = 0.05  # compiling, autotuning and cold caches cost far more than this
QUIET = 0.005  # relative standard error of the mean at which more steps add nothing (nvbench's)
FIRST_BLOCK = 10  # between two looks at the samples; a look costs time between steps
# Of steps at a time where base and head take turns. What else runs on a busy machine comes and goes
# within tenths of a second: unchanged pairs spread by 8 % with turns of 0.1 s, and by 1 % so.
TURN_SECONDS = 0.03
MAX_SAMPLES = 2_000  # per process: more would make a bundle of micro-steps megabytes long

Affinity = Callable[[int], Collection[int]]
AFFINITY: Affinity | None = getattr(os, "sched_getaffinity", None)  # Linux has it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """What the steps of one process took, and how busy it kept the host's cores meanwhile."""

    warmups_s: tuple[float, ...]
    settling_s: float  # what those warm-ups took that came after `on_sampling`
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


class Bench:
    """The step of the latest set-up, and all that was timed."""

    def __init__(
        self,
        set_up: Callable[[], Step],
        clock: Clock,
        *,
        effort: Effort,
        after_step: Callable[[], None],
    ) -> None:
        self._set_up, self._clock = set_up, clock
        self._effort, self._after_step = effort, after_step
        self.step: Step = _no_step
        self.warmups_s: list[float] = []
        self.settling_s = 0.0
        self.samples_s: list[float] = []

    def renew(self) -> None:
        """Let the step go, set up anew and warm up: briefly, where this process did it before."""
        self.step = _no_step
        self.step = self._set_up()
        effort, known = self._effort, bool(self.warmups_s)
        brief = replace(effort, max_warmups=effort.min_warmups) if known else effort
        self.warmups_s += warm_up(self.step, self._clock, effort=brief, after_step=self._after_step)

    def settle(self) -> None:
        """Count as warm-ups what a change point parts from the first set-up's steps.

        As far as the effort has room for more of them: a step that goes on changing is measured.
        """
        if sum(self.warmups_s) >= self._effort.max_warmup_seconds:
            return
        room = max(0, self._effort.max_warmups - len(self.warmups_s))
        stop = min(room, unsettled(self.samples_s))
        self.warmups_s += self.samples_s[:stop]
        self.settling_s = math.fsum(self.samples_s[:stop])
        del self.samples_s[:stop]

    def time(self, count: int) -> None:
        """Add `count` samples: nothing but the step, two readings of the clock and one check."""
        step = self.step
        timed, keep, after_step = self._clock.time, self.samples_s.append, self._after_step
        for _ in range(count):
            keep(timed(step))
            after_step()


def measure(
    set_up: Callable[[], Step],
    clock: Clock,
    *,
    effort: Effort,
    set_ups: int = 1,
    on_sampling: Callable[[], None] = lambda: None,
    after_step: Callable[[], None] = lambda: None,
    turn: Callable[[], None] | None = None,
    host: Host = Host(),
) -> Sampled:
    """Set up and warm up, call `on_sampling`, then time the step until the samples are enough.

    `after_step` is called after every step, outside of what is timed. `turn` returns when it is
    this process's turn for the next TURN_SECONDS of steps; without it all of them follow. The
    samples are spread evenly over as many `set_ups`, each warmed up; the step before is let go.
    First samples that turn out to be of the warm-up go there; of turns none, whose neighbours they
    are compared with warm up as they do.
    """
    bench = Bench(set_up, clock, effort=effort, after_step=after_step)
    bench.renew()
    on_sampling()
    watch = _Watch(host)
    turns = (
        _sample_in_turns(bench, effort, set_ups=set_ups, turn=turn, around=watch)
        if turn is not None
        else _sample(bench, effort, set_ups=set_ups, around=watch)
    )
    return Sampled(
        warmups_s=tuple(bench.warmups_s),
        settling_s=bench.settling_s,
        steps_s=tuple(bench.samples_s),
        turns=turns,
        cpu_active=watch.active(),
    )


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


def _sample(
    bench: Bench, effort: Effort, *, set_ups: int, around: AbstractContextManager[None]
) -> tuple[int, ...]:
    """Time the step until the samples are enough, an equal part of them after each set-up.

    `around` is entered for each block of steps that follow on each other. There are no turns. What
    settles late is looked for once, in all steps of the first set-up: the next ones are of code
    that is warm, and a look between two blocks would let the device idle.
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
        begun = len(bench.samples_s)
        _fill(bench, part, begun=begun, around=around)
        if number == 0:
            bench.settle()
            _fill(bench, part, begun=begun, around=around)
    return ()


def _fill(
    bench: Bench, effort: Effort, *, begun: int, around: AbstractContextManager[None]
) -> None:
    """Time the step in blocks until the samples from `begun` on are enough."""
    while block := _next_block(bench.samples_s[begun:], effort):
        with around:
            bench.time(block)


def _sample_in_turns(
    bench: Bench,
    effort: Effort,
    *,
    set_ups: int,
    turn: Callable[[], None],
    around: AbstractContextManager[None],
) -> tuple[int, ...]:
    """Time the step in turns of TURN_SECONDS for `max_seconds`; return how many each turn took.

    The other process takes as many, so that each turn has a neighbour: time, not how steady the
    samples are, says when it is enough. Steps of microseconds make shorter turns, not fewer. What
    sets up anew does so in its own turn, for it would disturb the other's.
    """
    turns: list[int] = []
    steps, most = _turns_of(bench.warmups_s, effort)
    while len(turns) < most and (
        len(bench.samples_s) < effort.min_steps or sum(bench.samples_s) < effort.max_seconds
    ):
        turn()
        if turns and _is_due(len(turns), most, set_ups):
            bench.renew()
        with around:
            bench.time(steps)
        turns.append(steps)
    return tuple(turns)


def _is_due(turn: int, turns: int, set_ups: int) -> bool:
    """Whether this turn is the first one of the next set-up, when they share the turns evenly."""
    return turn * set_ups // turns > (turn - 1) * set_ups // turns


def _no_step() -> None:
    """Stand for the step where there is none."""


def _turns_of(warmups_s: Sequence[float], effort: Effort) -> tuple[int, int]:
    """Return how many steps fill a turn, and how many turns the effort, by the last warm-ups."""
    shortest = math.ceil(effort.max_seconds / TURN_SECONDS)
    step_s = math.fsum(warmups_s[-WARMUP_WINDOW:]) / max(1, len(warmups_s[-WARMUP_WINDOW:]))
    kept = max(1, MAX_SAMPLES // max(1, shortest))
    steps = max(1, min(kept, int(TURN_SECONDS / step_s))) if step_s > 0 else kept
    turns = math.ceil(effort.max_seconds / max(TURN_SECONDS, steps * step_s))
    return steps, max(1, turns, math.ceil(effort.min_steps / steps))


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
