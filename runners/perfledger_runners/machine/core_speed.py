"""Measures whether the cores keep their speed.

Another tenant of the host, on the other hardware thread of a virtual machine's core, slows that
core without stealing its time, and a clock may rise and fall: the same work then needs more
processor time. Waiting for a core takes none, so other programs do not count unless they share its
units.
"""

import os
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from statistics import quantiles

PROBE_S = 0.5
# About a millisecond of work: shorter than the phases of a neighbour, longer than a clock's step.
ROUNDS = 20_000
MAX_CORES = 4  # whose speed is measured
_DECILES = 10


@dataclass(frozen=True, slots=True)
class CoreSpeed:
    """The CPU time that the same work needed on one core: its first and last decile."""

    low_s: float
    high_s: float

    @property
    def spread(self) -> float:
        """Return the ratio of the slow readings to the fast ones."""
        return self.high_s / self.low_s


def read_core_speed(
    usable: Collection[int],
    *,
    seconds: float = PROBE_S,
    work: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.thread_time,
    wall: Callable[[], float] = time.monotonic,
) -> CoreSpeed | None:
    """Return the speed of the least steady core; None if a core has too few readings.

    The same work is repeated on each of the usable cores. Cores are not compared with each other: a
    processor may have fast and slow ones. The calling thread visits them in turn, as far as it may,
    and then returns to all of them.
    """
    probe = work or _add_squares
    cores = sorted(usable)[-MAX_CORES:]  # interrupts prefer the first
    readings_s: dict[int, list[float]] = {core: [] for core in cores}
    until = wall() + seconds
    try:
        for core in cycle(cores):
            if wall() >= until:
                break
            _stay_on((core,))
            began = clock()
            probe()
            readings_s[core].append(clock() - began)
    finally:
        _stay_on(usable)
    if any(len(each) < _DECILES or min(each) <= 0 for each in readings_s.values()):
        return None
    deciles = [quantiles(each, n=_DECILES) for each in readings_s.values()]
    speeds = [CoreSpeed(low_s=each[0], high_s=each[-1]) for each in deciles]
    return max(speeds, key=lambda speed: speed.spread, default=None)


def _add_squares() -> int:
    total = 0
    for number in range(ROUNDS):
        total += number * number
    return total


def _stay_on(cores: Collection[int]) -> None:
    if hasattr(os, "sched_setaffinity"):  # Linux has it
        with suppress(OSError):
            os.sched_setaffinity(0, cores)
