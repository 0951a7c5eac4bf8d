"""Estimates how a step time differs without the wait for a core that other load caused.

A thread's wall time is its time on a core, its wait in a run queue and the time that it is off the
CPU: asleep, waiting for data, for another thread or a process. Only the wait in the run queue can
be caused by other programs, and not all of it is: a thread may queue behind threads of its own
process. They run meanwhile, so at most their CPU time of its wait is due to them. What remains of
the wall time therefore lies between two bounds, which coincide where one thread does all the work.
Where several do, the bounds are far apart and prove nothing. A thread that is asleep may wait for
helpers that are in run queues: that wait, too, may be due to other programs or not.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

import numpy as np

from perfledger.metrics import CPU_TIME
from perfledger.records import CoreTimes, Device, FindingLevel, HostFinding, Run
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.estimators import hodges_lehmann
from perfledger_baselines.estimation.interleaving import MIN_TURNS

# What the runner reads before the first step and after the last one.
OTHER_PROGRAMS = ("other programs", "other programs, afterwards")
# Of the wall time, where it is unknown: steps may have waited all the time.
UNKNOWN_SHARE = 1.0
# Part of its time off the run queue in which a step's thread surely works itself. A step that only
# waits for helpers still has a lower bound.
MIN_OWN_PART = 1e-3
# Rows: seconds elapsed, queued, of helpers, and of waits for helpers in run queues, at most and as
# far as these were seen; a column for each reading.
_Columns = FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class UnqueuedDifference:
    """Bounds of log(head / base) of a pair's step time without the wait for other programs.

    `level_s` is between the two sides' typical step times without that wait. `queued_share` is the
    share of the two sides' wall time that the steps spent in run queues, and `foreign_share` the
    least of it that they waited for other programs. `own_work` is log(head / base) of the CPU time
    of the steps' own thread, without other threads and processes, and `cores` that of the cores
    which the process might use; 0 if unknown.
    """

    low: float
    high: float
    level_s: float
    queued_share: float
    foreign_share: float
    own_work: float = 0.0
    cores: float = 0.0

    def exchanged(self) -> Self:
        """Return the same with base and head exchanged."""
        return replace(
            self, low=-self.high, high=-self.low, own_work=-self.own_work, cores=-self.cores
        )


def unqueued_difference(base: Run, head: Run, *, left_out: int = 0) -> UnqueuedDifference | None:
    """Compare two runs turn by turn; None if either did not record its core times.

    The first `left_out` turns do not count. Runs of which one has a single turn are compared by the
    means of all their turns.
    """
    columns = _comparable_columns(base, head, left_out)
    if columns is None:
        return None
    (base_least, base_most), (head_least, head_most) = map(_bounds, columns)
    if min(base_least.min(), head_least.min()) <= 0:  # clocks that contradict each other
        return None
    rows = np.array(
        [np.log(head_least) - np.log(base_most), np.log(head_most) - np.log(base_least)]
    )
    low, high = hodges_lehmann(rows).tolist()
    levels = np.log([base_least, base_most, head_least, head_most])
    elapsed_s, queued_s, foreign_s = map(math.fsum, zip(*map(_waits_s, columns), strict=True))
    return UnqueuedDifference(
        low=low,
        high=high,
        level_s=float(np.exp(hodges_lehmann(levels).mean())),
        queued_share=queued_s / elapsed_s,
        foreign_share=foreign_s / elapsed_s,
        own_work=_log_ratio(_own_cpu_s(base), _own_cpu_s(head)),
        cores=_log_ratio(base.core_times.cores, head.core_times.cores),
    )


def has_busy_programs(findings: Iterable[HostFinding]) -> bool:
    """Return whether other programs kept the cores of a check busy."""
    return any(each.name in OTHER_PROGRAMS and each.level is FindingLevel.BUSY for each in findings)


def possible_wait_share(runs: Iterable[Run], device: Device) -> float:
    """Return the share of its wall time that the median run's steps may have waited for others.

    `device` is that of runs which name none. On a CPU it is the time in run queues, and a run that
    did not record its core times may have waited all the time. Nothing tells how long a step waited
    for an accelerator that others use.
    """
    return median(
        _queued_share(run) if (run.device or device) is Device.CPU else UNKNOWN_SHARE
        for run in runs
    )


def _queued_share(run: Run) -> float:
    elapsed_s = math.fsum(run.core_times.elapsed_s)
    return math.fsum(run.core_times.queued_s) / elapsed_s if elapsed_s > 0 else UNKNOWN_SHARE


def mean_queued_share(differences: Sequence[UnqueuedDifference]) -> float:
    """Return the mean share of their wall time that these pairs' steps spent in run queues."""
    return math.fsum(each.queued_share for each in differences) / len(differences)


def mean_foreign_share(differences: Sequence[UnqueuedDifference]) -> float:
    """Return the least mean share of their wall time that these steps waited for other programs."""
    return math.fsum(each.foreign_share for each in differences) / len(differences)


def _own_cpu_s(run: Run) -> float:
    """Return the CPU time of a typical step's own thread; 0 if unknown."""
    cpu_s, helpers_s = run.samples.get(CPU_TIME.name, ()), run.core_times.helpers_s
    if not cpu_s or len(cpu_s) != len(helpers_s):
        return 0.0
    return median(cpu - helpers for cpu, helpers in zip(cpu_s, helpers_s, strict=True))


def _log_ratio(base: float, head: float) -> float:
    """Return log(head / base); 0 if either is unknown."""
    return math.log(head / base) if min(base, head) > 0 else 0.0


def _comparable_columns(base: Run, head: Run, left_out: int) -> tuple[_Columns, _Columns] | None:
    """Return both runs' comparable readings: of their common turns, or one for the whole run."""
    runs = (base, head)
    if any(len(run.core_times.elapsed_s) != max(len(run.turns), 1) for run in runs):
        return None
    common = min(len(run.turns) for run in runs)
    columns = tuple(_columns(run.core_times) for run in runs)
    if common >= MIN_TURNS:
        later_turns = slice(left_out, common)
        return columns[0][:, later_turns], columns[1][:, later_turns]
    return columns[0].mean(axis=1, keepdims=True), columns[1].mean(axis=1, keepdims=True)


def _columns(times: CoreTimes) -> _Columns:
    unknown = (0.0,) * len(times.elapsed_s)
    helper_waits_s, unseen_s = times.helper_waits_s or unknown, times.unseen_waits_s or unknown
    seen_s = np.subtract(helper_waits_s, unseen_s)
    rows = (times.elapsed_s, times.queued_s, times.helpers_s, helper_waits_s, seen_s)
    return np.array(rows, dtype=np.float64)


def _bounds(columns: _Columns) -> tuple[FloatArray, FloatArray]:
    """Return the shortest and the longest that the wall time can be without other programs."""
    elapsed_s, queued_s, helpers_s, helper_waits_s, _ = columns
    own_s = elapsed_s - queued_s
    least: FloatArray = np.maximum(own_s - helper_waits_s, MIN_OWN_PART * own_s)
    # The helpers whose waits are known may not be those that the thread waited for.
    return least, elapsed_s - np.maximum(queued_s - helpers_s, 0.0)


def _waits_s(columns: _Columns) -> tuple[float, float, float]:
    """Return the seconds of the readings, of their waits, and of those for other programs."""
    elapsed_s, queued_s, *_ = columns
    return math.fsum(elapsed_s), math.fsum(queued_s), math.fsum(_foreign_waits(columns))


def _foreign_waits(columns: _Columns) -> FloatArray:
    """Return the least wait for other programs: a process's own threads ran during the rest.

    A helper that nobody saw may have slept, too.
    """
    elapsed_s, queued_s, helpers_s, _, seen_s = columns
    own_s = elapsed_s - queued_s - seen_s + helpers_s
    waits: FloatArray = np.maximum.reduce(
        [queued_s - helpers_s, seen_s - own_s, np.zeros_like(queued_s)]
    )
    return waits
