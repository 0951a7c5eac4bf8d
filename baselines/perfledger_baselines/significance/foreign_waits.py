"""Tells what remains of a changed wall time without the waits for other programs.

Beside other programs one side may wait longer for a core than the other one throughout a check, and
a step that became longer waits more often. What no wait lengthens must then support the change, or
gives its size.
"""

import math
from collections.abc import Sequence
from enum import Enum, auto

from perfledger.metrics import CPU_TIME, MetricKind
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.decision_rule import ROUNDING, DecisionRule
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult

# Share of the steps' wall time spent in run queues. Below it other load is not what makes wall time
# noisy or different.
LOADED_SHARE = 0.02


class Remains(Enum):
    """What remains of a result beside other load."""

    ALL = auto()
    WITHOUT_WAITS = auto()  # a change, of the size that the wall time without waits has
    UNKNOWN = auto()  # the load alone may have made the change


def remains_of_changes(
    tests: Sequence[PairedTest],
    adjusted: Sequence[AdjustedResult | None],
    changes: Sequence[bool],
    *,
    floors: Sequence[float],
    rule: DecisionRule,
) -> tuple[Remains, ...]:
    """Return what remains of each test's result; `changes` are those that are a change.

    Of a CPU time it is unknown whether more of it was for speed if that is unknown of the step.
    """
    cpu_times = {
        test.workload: result.result
        for test, result, is_change in zip(tests, adjusted, changes, strict=True)
        if test.metric.name == CPU_TIME.name and result is not None and is_change
    }
    remains = [
        _remains(
            test,
            result.result,
            cpu_times.get(test.workload),
            floor=floor,
            margin=rule.of(test.workload).log_margin,
        )
        if is_change and result is not None
        else Remains.ALL
        for test, result, is_change, floor in zip(tests, adjusted, changes, floors, strict=True)
    ]
    maybe_traded = {
        test.workload
        for test, result, remains_of in zip(tests, adjusted, remains, strict=True)
        if remains_of is Remains.UNKNOWN
        and result is not None
        and _is_maybe_traded(
            result.result, cpu_times.get(test.workload), margin=rule.of(test.workload).log_margin
        )
    }
    return tuple(
        Remains.UNKNOWN
        if test.metric.name == CPU_TIME.name and test.workload in maybe_traded
        else remains_of
        for test, remains_of in zip(tests, remains, strict=True)
    )


def _remains(
    test: PairedTest,
    result: TTestResult,
    cpu_time: TTestResult | None,
    *,
    floor: float,
    margin: float,
) -> Remains:
    """Return what remains of a wall time's change.

    The wall time without the waits must have changed in the same way, or CPU time by as much: then
    the waits did not matter, and the sharper of both intervals counts. The one-time cost of a
    process, of which neither is known, must have changed by more than the waits of one side alone.
    Where no wait is known and other programs were busy, only CPU time can support a change.
    """
    is_alike = cpu_time is not None and _is_alike(result, cpu_time, margin=margin)
    if test.has_unknown_waits:
        return Remains.ALL if is_alike else Remains.UNKNOWN
    if test.foreign_share < LOADED_SHARE:
        return Remains.ALL
    if test.metric.kind is MetricKind.START:
        surely = abs(result.mean) - result.half_width
        return Remains.ALL if surely > -math.log1p(-test.queued_share) else Remains.UNKNOWN
    waitless = result.unqueued
    if is_alike and (waitless is None or 2 * result.half_width <= waitless.width):
        return Remains.ALL
    if waitless is None or math.copysign(1, waitless.mean) != math.copysign(1, result.mean):
        return Remains.UNKNOWN
    low, high = waitless.interval
    is_big = abs(waitless.mean) >= math.log1p(floor) - ROUNDING
    return Remains.WITHOUT_WAITS if is_big and not low <= 0 <= high else Remains.UNKNOWN


def _is_alike(result: TTestResult, cpu_time: TTestResult, *, margin: float) -> bool:
    """Return whether a change is as large as that of CPU time, within its error or the margin."""
    has_same_sign = math.copysign(1, result.mean) == math.copysign(1, cpu_time.mean)
    return has_same_sign and abs(result.mean - cpu_time.mean) <= max(cpu_time.half_width, margin)


def _is_maybe_traded(result: TTestResult, cpu_time: TTestResult | None, *, margin: float) -> bool:
    """Return whether more CPU time may have been for a speed that other load hides.

    Steps of several threads may have become faster by more than the margin: which of their waits
    were for their own threads is not known. One thread that works more is no faster.
    """
    if cpu_time is None or result.unqueued is None:
        return False
    return result.mean < 0 < cpu_time.mean and result.unqueued.low.mean <= -margin
