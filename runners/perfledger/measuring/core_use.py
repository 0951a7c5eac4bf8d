"""Watches how a process uses the host's cores while its steps are timed.

When other programs load the machine, a step waits for a core, which stretches its wall time at
random; the CPU time that it needs hardly changes. The kernel reports both: the clocks of threads
and processes, and the time that a thread spent in a run queue.
"""

import math
import resource
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path
from statistics import median

from perfledger.measuring.helper_waits import HelperTimes, HelperWatch
from perfledger.measuring.thread_waits import ThreadWaits
from perfledger.measuring.turn_core import usable_cores
from perfledger.meters import child_processes
from perfledger.meters.child_processes import ThreadTimes
from perfledger.records import CoreTimes

# Largest step of the CPU clock, as a share of a block's CPU time. With a coarser clock the ticks
# would show.
MAX_CLOCK_STEP = 0.005
# Smallest share of a block's time spent in steps. Below it much of the CPU time is the harness's.
MIN_TIMED_SHARE = 0.95
# The harness needs microseconds between two readings, which is negligible beside a reading this
# long.
LONG_READING_S = 1e-3
MAX_CLOCK_STEP_S = 0.02  # two ticks of the slowest kernels
# What the harness may need in a pause: it sends a message, and waits for a byte.
OWN_PAUSE_S = 5e-4

TOO_COARSE = "cpu_time: the kernel's clock is too coarse"
TOO_SHORT = "cpu_time: the steps are too short"
PREPARED = "cpu_time: each reading has a preparation"
PREPARED_ON_DEVICE = "sm_active, energy_per_step: each reading has a preparation"
RANKS = "cpu_time: a step runs in several processes"
NO_CHILDREN = "cpu_time: the kernel does not list child processes"

RUN_QUEUE = Path("/proc/thread-self/schedstat")
# A thread that waits for a core in each of so many readings waits nearly always.
MAX_QUEUE_READINGS = 5
# Share of the time that may go into reading the times of threads: hundreds take milliseconds.
READING_SHARE = 0.02


def process_cpu_s() -> float:
    """Return user and system time of this process and its descendants, in seconds.

    Descendants count whether or not they have ended: work that moves to a pool of processes is no
    gain. NaN if the kernel does not list the descendants.
    """
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + _live_children_cpu_s()


def queued_s(path: Path = RUN_QUEUE) -> float:
    """Return the seconds that this thread waited in a run queue; NaN if unknown.

    Linux, Documentation/scheduler/sched-stats.rst: time on the CPU, time waiting, timeslices. A
    kernel without these statistics writes zeros.
    """
    try:
        _, waited_ns, slices = map(int, path.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return math.nan
    return waited_ns / 1e9 if slices else math.nan


def clock_step_s(
    clock: Callable[[], float] = time.process_time, wall: Callable[[], float] = time.perf_counter
) -> float:
    """Return the step of the CPU clock in seconds, at most about MAX_CLOCK_STEP_S."""
    start, until = clock(), wall() + MAX_CLOCK_STEP_S
    edge = start
    while edge == start and wall() < until:
        edge = clock()
    after = edge
    while after == edge and wall() < until:
        after = clock()
    return after - edge if after > edge else MAX_CLOCK_STEP_S


def other_threads_s() -> ThreadTimes:
    """Return the times of all threads of this process and its descendants, except this thread."""
    return child_processes.thread_times(without=threading.get_native_id())


def _no_threads() -> ThreadTimes:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostProbe:
    """The host's clocks and cores; tests script them."""

    wall: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = process_cpu_s
    thread: Callable[[], float] = time.thread_time
    queued: Callable[[], float] = queued_s
    clock_step: Callable[[], float] = clock_step_s
    cores: Callable[[], int] = usable_cores
    threads: Callable[[], ThreadTimes] = _no_threads


THIS_HOST = HostProbe(threads=other_threads_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreUse:
    """A process's use of the host's cores during its steps.

    `cpu_time_s` is per step, one reading per turn, or one in all. It is empty if it cannot be
    measured well enough; `left_out` then has the reason and the number of readings. Steps that are
    too short for it have `times`, without the harness's share of a typical turn.
    """

    active: float = 0.0  # share of the usable cores' time, at most 1
    cpu_time_s: tuple[float, ...] = ()
    times: CoreTimes = field(default_factory=CoreTimes)
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    # Busy or wanted for work between turns; None if unknown or without turns.
    paused_cores: float | None = None
    # The seconds of these cores per step, without the harness's own; None as well.
    leftover_s: float | None = None


@dataclass(frozen=True, slots=True)
class _Block:
    """Consecutive steps, with the seconds that each clock advanced."""

    steps: int
    elapsed: float
    cpu: float
    thread: float
    queued: float


@dataclass(frozen=True, slots=True)
class _QueueReading:
    """The seconds that a thread waited in run queues, when its clocks read `wall` and `thread`."""

    queued: float
    wall: float
    thread: float

    def at(self, wall: float, thread: float) -> float:
        """Return the wait when the clocks read this, shortly before or after.

        In between the thread ran, or was ready to.
        """
        return self.queued + (wall - self.wall) - (thread - self.thread)


class CoreWatch:
    """The use of the host's cores, block by block."""

    def __init__(self, host: HostProbe) -> None:
        self._host = host
        self._blocks: list[_Block] = []
        self._pauses, self._paused_cpu_s, self._paused_s = 0, 0.0, 0.0
        self._others_cpu_s = 0.0  # since the ends of blocks, without the harness's own
        self._block_end = (0.0, 0.0)  # CPU times of the processes and of this thread
        self._waits, self._helpers = ThreadWaits(), HelperWatch(host.threads)
        self._is_watched, self._began_s, self._read_s = True, 0.0, 0.0

    @contextmanager
    def pause(self) -> Generator[None]:
        """Watch a wait between two turns, when a finished step should use no core.

        Threads are read in all pauses, or in some if there are hundreds. Turns alternate first,
        second, second, first, so that every second pause of a side is empty: of two in a row both
        are watched, or none.
        """
        # The readings of a thread are as far apart as their starts.
        watched_from = self._host.wall()
        if self._pauses == 0:
            self._began_s = watched_from
        if self._pauses % 2 == 0:
            self._is_watched = self._read_s <= READING_SHARE * (watched_from - self._began_s)
        self._pauses += 1
        before = self._host.threads() if self._is_watched else None
        self._helpers.end_block(before)
        wall, own_cpu, cpu = self._host.wall(), self._host.thread(), self._host.cpu()
        yield
        used_s, own_s = self._host.cpu() - cpu, self._host.thread() - own_cpu
        # If a child ends unnoticed, its CPU time disappears from the sum, which then falls.
        self._paused_cpu_s += used_s if math.isnan(used_s) else max(0.0, used_s)
        until = self._host.wall()
        self._paused_s += until - wall
        after = self._host.threads() if self._is_watched else None
        self._helpers.end_pause(after)
        if before is not None and after is not None:
            self._waits.add(before, after, until - watched_from)
            self._read_s += self._host.wall() - until + wall - watched_from
        ended_cpu, ended_own = self._block_end
        others_s = self._host.cpu() - ended_cpu - (self._host.thread() - ended_own)
        # This thread may handle signals of the step's, beside the harness's few instructions.
        self._others_cpu_s += max(0.0, others_s) + max(0.0, own_s - OWN_PAUSE_S)

    @contextmanager
    def block(self, steps: int) -> Generator[None]:
        """Watch a block of `steps` steps: a turn, or what is timed between two checks."""
        host = self._host
        self._helpers.begin_block()
        # A read of a file lets other threads of Python run, so the run queue comes last: what they
        # do after the last step is leftover work.
        early = self._queue_reading()
        began = host.thread(), host.cpu(), host.wall()
        queued_s = early.at(began[2], host.thread())
        yield
        wall = host.wall()
        thread_at_end = host.thread()
        ended = host.cpu(), host.thread()
        late = self._queue_reading()
        self._block_end = ended
        self._blocks.append(
            _Block(
                steps,
                elapsed=wall - began[2],
                cpu=ended[0] - began[1],
                thread=ended[1] - began[0],
                queued=late.at(wall, thread_at_end) - queued_s,
            )
        )

    def _queue_reading(self) -> _QueueReading:
        """Return this thread's wait in run queues, with the clocks at that time.

        The thread may have to wait for a core while it reads: then it reads again.
        """
        host = self._host
        before, wall, thread, queued = host.queued(), host.wall(), host.thread(), host.queued()
        for _ in range(MAX_QUEUE_READINGS):
            if queued == before:
                break
            before, wall, thread, queued = queued, host.wall(), host.thread(), host.queued()
        return _QueueReading(queued, wall, thread)

    def use(
        self, readings_s: Sequence[float], *, settling_s: float, turns: Sequence[int]
    ) -> CoreUse:
        """Return the use so far; `readings_s` and `settling_s` are the part spent in timed steps.

        `turns` counts the readings of each block; it is empty if the blocks are not turns.
        """
        if not self._blocks or min(block.elapsed for block in self._blocks) <= 0:
            return CoreUse()
        total = self._sum()
        used = 0.0 if math.isnan(total.cpu) else total.cpu
        cores = self._host.cores()
        active = min(1.0, used / (total.elapsed * cores))
        helpers = self._helpers.blocks()
        blocks, waits_s = self._blocks, list(map(_helper_waits_s, self._blocks, helpers))
        if not turns:
            blocks, waits_s = [total], [_sum_of(waits_s)]
        # The median turn counts: a wait for a core between two steps is not the harness's work.
        timed_s = _sums(readings_s, turns) if turns else (settling_s + math.fsum(readings_s),)
        is_long = median(readings_s) >= LONG_READING_S
        shares = [
            timed / _without_wait(block, is_long=is_long)
            for timed, block in zip(timed_s, blocks, strict=True)
        ]
        step = self._host.clock_step()
        if _is_too_coarse(step, blocks):
            # The clock may be fine enough for all turns together.
            blocks, waits_s = [total], [_sum_of(waits_s)]
        if math.isnan(total.cpu):
            flaw = NO_CHILDREN
        elif median(shares) < MIN_TIMED_SHARE:
            flaw = TOO_SHORT
        else:
            flaw = TOO_COARSE if _is_too_coarse(step, blocks) else ""
        use = CoreUse(
            active=active,
            paused_cores=self._paused_cores(),
            leftover_s=self._leftover_s(total.steps),
        )
        if flaw:
            # The waits of short steps are known, though not which CPU time is the harness's.
            times = CoreTimes()
            if flaw == TOO_SHORT:
                times = _core_times(blocks, waits_s, cores, timed_share=median(shares))
            return replace(use, left_out={flaw: len(turns) or 1}, times=times)
        return replace(
            use,
            cpu_time_s=tuple(block.cpu / block.steps for block in blocks),
            times=_core_times(blocks, waits_s, cores),
        )

    def _paused_cores(self) -> float | None:
        is_known = self._paused_s > 0 and not math.isnan(self._paused_cpu_s)
        if not is_known:
            return None
        return self._paused_cpu_s / self._paused_s + self._waits.cores_lacking()

    def _leftover_s(self, steps: int) -> float | None:
        if self._paused_cores() is None:
            return None
        return (self._others_cpu_s + self._waits.cores_lacking() * self._paused_s) / steps

    def _sum(self) -> _Block:
        return _Block(
            steps=sum(block.steps for block in self._blocks),
            elapsed=math.fsum(block.elapsed for block in self._blocks),
            cpu=math.fsum(block.cpu for block in self._blocks),
            thread=math.fsum(block.thread for block in self._blocks),
            queued=math.fsum(block.queued for block in self._blocks),
        )


def _without_wait(block: _Block, *, is_long: bool) -> float:
    """Return a block's time; if its readings are long, without the wait for a core.

    That wait may have come between two steps, and is not the harness's work. Beside long readings
    the harness's share is negligible, wherever the wait came.
    """
    if not is_long or math.isnan(block.queued):
        return block.elapsed
    return max(block.elapsed - max(block.queued, 0.0), sys.float_info.min)


def _sums(values: Sequence[float], counts: Sequence[int]) -> tuple[float, ...]:
    """Return the sums of consecutive groups of values, whose sizes are `counts`."""
    ends = accumulate(counts)
    return tuple(
        math.fsum(values[end - count : end]) for end, count in zip(ends, counts, strict=True)
    )


def _is_too_coarse(clock_step_s: float, blocks: Sequence[_Block]) -> bool:
    return any(block.cpu * MAX_CLOCK_STEP < clock_step_s for block in blocks)


def _helper_waits_s(block: _Block, helpers: HelperTimes | None) -> tuple[float, float]:
    """Return the most that a block's steps may have waited for helpers in run queues.

    The second number is the part of it of which nobody saw whether any helper waited.
    """
    asleep_s = max(0.0, block.elapsed - max(block.queued, 0.0) - block.thread)
    if helpers is None:
        return asleep_s, asleep_s
    used_s = max(0.0, block.cpu - block.thread)
    most_s = helpers.step_wait_s(used_s=used_s, asleep_s=asleep_s, elapsed_s=block.elapsed)
    return most_s, most_s - min(asleep_s, helpers.waited_s)


def _sum_of(waits_s: Iterable[tuple[float, float]]) -> tuple[float, float]:
    most_s, unseen_s = zip(*waits_s, strict=True)
    return math.fsum(most_s), math.fsum(unseen_s)


def _core_times(
    blocks: Sequence[_Block],
    helper_waits_s: Sequence[tuple[float, float]],
    cores: int,
    *,
    timed_share: float = 1.0,
) -> CoreTimes:
    """Return the times of blocks, of which this share without the waits is that of steps."""
    if any(math.isnan(block.queued) for block in blocks):
        return CoreTimes()
    waits_s = [min(max(block.queued, 0.0), block.elapsed) for block in blocks]
    waits = [(block.steps, *each) for block, each in zip(blocks, helper_waits_s, strict=True)]
    return CoreTimes(
        elapsed_s=tuple(
            (wait_s + timed_share * (block.elapsed - wait_s)) / block.steps
            for block, wait_s in zip(blocks, waits_s, strict=True)
        ),
        queued_s=tuple(wait_s / block.steps for block, wait_s in zip(blocks, waits_s, strict=True)),
        helpers_s=tuple(max(block.cpu - block.thread, 0.0) / block.steps for block in blocks),
        helper_waits_s=tuple(timed_share * most_s / steps for steps, most_s, _ in waits),
        unseen_waits_s=tuple(timed_share * unseen_s / steps for steps, _, unseen_s in waits),
        cores=cores,
    )


def _live_children_cpu_s() -> float:
    """Return the CPU time of descendants that have not been waited for."""
    if not child_processes.has_children():  # the usual case
        return 0.0
    if sys.platform != "linux" or not child_processes.are_children_listed():
        return math.nan
    return math.fsum(map(child_processes.cpu_seconds, child_processes.descendants()))
