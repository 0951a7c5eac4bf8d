"""Detects changes of all operations by the same ratio, and how much their ratios differ."""

from collections.abc import Sequence
from math import expm1, fsum, log
from statistics import median

from perfledger_profiles.diff.operation_change import MatchStage, OperationChange

CLOCK = "(all operations)"

# Ratios closer than this count as the same, for example that of a clock.
CLOCK_TOLERANCE = 0.02
# Share of the same work's time; a few short operations always deviate.
CLOCK_SHARE = 0.9
# Most change of the median operation that a few operations may explain. If the median operation
# changes by more than this for the same work, the machine changed rather than a few operations.
MAX_COMMON_RATIO = 1.25
# With fewer operations, all may belong to a change of the code.
MIN_COMMON_OPERATIONS = 8
# A median absolute deviation as the standard deviation of a normal distribution.
_MAD_TO_SD = 1.4826
_SD_IN_95 = 1.96  # standard deviations on each side of its mean, for 95 % of it


def with_uniform_slowdown(
    changes: Sequence[OperationChange], *, floor_s: float
) -> tuple[OperationChange, ...]:
    """Merge all changes of the same work into one if all its times changed by the same ratio."""
    same_work = _same_work(changes, floor_s=floor_s)
    ratio = _common_ratio(same_work)
    if ratio is None or abs(ratio - 1) <= CLOCK_TOLERANCE or not _is_alike(same_work, ratio):
        return tuple(changes)
    everything = [change for change in changes if change.is_same_work]
    clock = OperationChange(
        base=tuple(one for change in everything for one in change.base),
        head=tuple(one for change in everything for one in change.head),
        stage=MatchStage.CLOCK,
        label=CLOCK,
    )
    return (clock, *(change for change in changes if not change.is_same_work))


def drift_of(changes: Sequence[OperationChange], *, floor_s: float) -> tuple[float, float]:
    """Return the ratio by which most of the same work changed, and the seconds it adds to a step.

    (1.0, 0.0) if most of it did not change, or if there is too little of it.
    """
    same_work = _same_work(changes, floor_s=floor_s)
    ratio = _common_ratio(same_work)
    if ratio is None or 1 / MAX_COMMON_RATIO <= ratio <= MAX_COMMON_RATIO:
        return 1.0, 0.0
    return ratio, (ratio - 1) * fsum(change.base_seconds for change in same_work)


def least_common_ratio(
    changes: Sequence[OperationChange], *, floor_s: float
) -> tuple[float, float]:
    """Return the ratio by which all of the same work changed at least, and the seconds it adds.

    If the recordings have too few operations for a median, and all changed in one direction, the
    machine may have changed by the least of these changes. (1.0, 0.0) if a single operation, or
    none, does the same work in both, or if one hardly changed.
    """
    same_work = _same_work(changes, floor_s=floor_s)
    ratios = [change.head_seconds / change.base_seconds for change in same_work]
    if not 1 < len(ratios) < MIN_COMMON_OPERATIONS:
        return 1.0, 0.0
    ratio = min(ratios) if min(ratios) > 1 else max(ratios)
    if abs(ratio - 1) <= CLOCK_TOLERANCE or (ratio > 1) is not (min(ratios) > 1):
        return 1.0, 0.0
    return ratio, (ratio - 1) * fsum(change.base_seconds for change in same_work)


def opposing_seconds(changes: Sequence[OperationChange], *, change_seconds: float) -> float:
    """Return by how much the same work changed against the direction of the step's change."""
    return fsum(
        abs(change.delta_seconds)
        for change in changes
        if change.is_same_work and change.delta_seconds * change_seconds < 0
    )


def difference_of_recordings(changes: Sequence[OperationChange], *, floor_s: float) -> float:
    """Return by what share of the longer time the same work differs between two recordings.

    Load, clocks and memory layout differ between two processes of the same code. The ratio of the
    median operation shows how much that changes all of them, and the spread around it how much
    single ones. A change of the code moves few operations, and therefore neither. The share is
    below 1, so that an operation of one side only always exceeds it. 0 if there are too few
    operations to know.
    """
    same_work = _same_work(changes, floor_s=floor_s)
    if len(same_work) < MIN_COMMON_OPERATIONS:
        return 0.0
    logs = [log(change.head_seconds / change.base_seconds) for change in same_work]
    centre = median(logs)
    sd = _MAD_TO_SD * median(abs(one - centre) for one in logs)
    return -expm1(-abs(centre) - _SD_IN_95 * sd)


def _same_work(changes: Sequence[OperationChange], *, floor_s: float) -> list[OperationChange]:
    return [
        change
        for change in changes
        if change.is_same_work and min(change.base_seconds, change.head_seconds) > floor_s
    ]


def _common_ratio(changes: Sequence[OperationChange]) -> float | None:
    if len(changes) < MIN_COMMON_OPERATIONS:
        return None
    return median(change.head_seconds / change.base_seconds for change in changes)


def _is_alike(changes: Sequence[OperationChange], ratio: float) -> bool:
    alike = fsum(
        change.base_seconds
        for change in changes
        if abs(change.head_seconds / change.base_seconds / ratio - 1) <= CLOCK_TOLERANCE
    )
    return alike >= CLOCK_SHARE * fsum(change.base_seconds for change in changes)
