"""Estimates how a step time differs without the wait for a core that other load caused.

A thread's wall time is its time on a core, its wait in a run queue and the time that it is off the
CPU: asleep, waiting for data, for another thread or a process. Only the wait in the run queue can
be caused by other programs, and not all of it is: a thread may queue behind threads of its own
process. They run meanwhile, so at most their CPU time of its wait is due to them. What remains of
the wall time therefore lies between two bounds, which coincide where one thread does all the work.
Where several do, the bounds are far apart and prove nothing.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

import numpy as np

from perfledger.records import CoreTimes, Run
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.estimators import hodges_lehmann
from perfledger_baselines.estimation.interleaving import MIN_TURNS


@dataclass(frozen=True, slots=True, kw_only=True)
class UnqueuedDifference:
    """Bounds of log(head / base) of a pair's step time without the wait for other programs.

    `level_s` is between the two sides' typical step times without that wait. `queued_share` is the
    share of the two sides' wall time that the steps spent in run queues, and `foreign_share` the
    least of it that they waited for other programs.
    """

    low: float
    high: float
    level_s: float
    queued_share: float
    foreign_share: float

    def exchanged(self) -> Self:
        """Return the same with base and head exchanged."""
        return replace(self, low=-self.high, high=-self.low)


def unqueued_difference(base: Run, head: Run) -> UnqueuedDifference | None:
    """Compare two runs turn by turn; None if either did not record its core times."""
    readings = _comparable_readings(base, head)
    if readings == 0:
        return None
    base_least, base_most = _bounds(base.core_times, readings)
    head_least, head_most = _bounds(head.core_times, readings)
    if min(base_least.min(), head_least.min()) <= 0:  # clocks that contradict each other
        return None
    rows = np.array(
        [np.log(head_least) - np.log(base_most), np.log(head_most) - np.log(base_least)]
    )
    low, high = hodges_lehmann(rows).tolist()
    levels = np.log([base_least, base_most, head_least, head_most])
    waits = [_waits_s(run.core_times, readings) for run in (base, head)]
    elapsed_s, queued_s, foreign_s = map(math.fsum, zip(*waits, strict=True))
    return UnqueuedDifference(
        low=low,
        high=high,
        level_s=float(np.exp(hodges_lehmann(levels).mean())),
        queued_share=queued_s / elapsed_s,
        foreign_share=foreign_s / elapsed_s,
    )


def typical_queued_share(runs: Iterable[Run]) -> float:
    """Return the share of its wall time that the median run's steps spent in run queues.

    A run that did not record its core times may have waited all the time.
    """
    return median(map(_queued_share, runs))


def _queued_share(run: Run) -> float:
    elapsed_s = math.fsum(run.core_times.elapsed_s)
    return math.fsum(run.core_times.queued_s) / elapsed_s if elapsed_s > 0 else 1.0


def mean_queued_share(differences: Sequence[UnqueuedDifference]) -> float:
    """Return the mean share of their wall time that these pairs' steps spent in run queues."""
    return math.fsum(each.queued_share for each in differences) / len(differences)


def mean_foreign_share(differences: Sequence[UnqueuedDifference]) -> float:
    """Return the least mean share of their wall time that these steps waited for other programs."""
    return math.fsum(each.foreign_share for each in differences) / len(differences)


def _comparable_readings(base: Run, head: Run) -> int:
    """Return how many readings both runs have in common: one for each turn, or one in all."""
    counts = [len(run.core_times.elapsed_s) for run in (base, head)]
    if counts == [len(base.turns), len(head.turns)] and min(counts) >= MIN_TURNS:
        return min(counts)
    return 1 if counts == [1, 1] else 0


def _bounds(times: CoreTimes, readings: int) -> tuple[FloatArray, FloatArray]:
    """Return the shortest and the longest that the wall time can be without other programs."""
    elapsed_s, queued_s, helpers_s = _columns(times, readings)
    return elapsed_s - queued_s, elapsed_s - _foreign_waits(queued_s, helpers_s)


def _waits_s(times: CoreTimes, readings: int) -> tuple[float, float, float]:
    """Return the seconds of the readings, of their waits, and of those for other programs."""
    elapsed_s, queued_s, helpers_s = _columns(times, readings)
    foreign_s = _foreign_waits(queued_s, helpers_s)
    return math.fsum(elapsed_s), math.fsum(queued_s), math.fsum(foreign_s)


def _foreign_waits(queued_s: FloatArray, helpers_s: FloatArray) -> FloatArray:
    """Return the least wait for other programs: a process's own threads ran during the rest."""
    return np.maximum(queued_s - helpers_s, 0.0)


def _columns(times: CoreTimes, readings: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    elapsed_s, queued_s, helpers_s = (
        np.array(column[:readings], dtype=np.float64)
        for column in (times.elapsed_s, times.queued_s, times.helpers_s)
    )
    return elapsed_s, queued_s, helpers_s
