"""Turn changes into the one that they share: everything slower or faster alike."""

from collections.abc import Sequence
from math import fsum
from statistics import median

from perfledger_profiles.change import Change, Stage

CLOCK = "(all operations)"

# Ratios that are no further apart than this are one ratio: a clock's (profiling.md 7.2).
CLOCK_TOLERANCE = 0.02
# Of the time of the same work: a few short operations are never within any tolerance.
CLOCK_SHARE = 0.9
# When the same work takes this much longer or shorter at the median of its operations, it is not a
# few of them that changed but what they all run on.
MAX_COMMON_RATIO = 1.25
# Fewer operations than this may all be what the change is about.
MIN_COMMON_OPERATIONS = 8


def with_clock(changes: Sequence[Change], *, floor_s: float) -> tuple[Change, ...]:
    """Put all of the same work into one change, if all of it changed by one ratio."""
    same = _same_work(changes, floor_s=floor_s)
    ratio = _common_ratio(same)
    if ratio is None or abs(ratio - 1) <= CLOCK_TOLERANCE or not _is_alike(same, ratio):
        return tuple(changes)
    everything = [change for change in changes if change.is_same_work]
    clock = Change(
        base=tuple(one for change in everything for one in change.base),
        head=tuple(one for change in everything for one in change.head),
        stage=Stage.CLOCK,
        label=CLOCK,
    )
    return (clock, *(change for change in changes if not change.is_same_work))


def drift_of(changes: Sequence[Change], *, floor_s: float) -> tuple[float, float]:
    """Return the ratio by which most of the same work changed, and what that adds to a step.

    (1.0, 0.0) where most of it did not change, or is too little to tell.
    """
    same = _same_work(changes, floor_s=floor_s)
    ratio = _common_ratio(same)
    if ratio is None or 1 / MAX_COMMON_RATIO <= ratio <= MAX_COMMON_RATIO:
        return 1.0, 0.0
    return ratio, (ratio - 1) * fsum(change.base_seconds for change in same)


def _same_work(changes: Sequence[Change], *, floor_s: float) -> list[Change]:
    return [
        change
        for change in changes
        if change.is_same_work and min(change.base_seconds, change.head_seconds) > floor_s
    ]


def _common_ratio(same: Sequence[Change]) -> float | None:
    if len(same) < MIN_COMMON_OPERATIONS:
        return None
    return median(change.head_seconds / change.base_seconds for change in same)


def _is_alike(same: Sequence[Change], ratio: float) -> bool:
    alike = fsum(
        change.base_seconds
        for change in same
        if abs(change.head_seconds / change.base_seconds / ratio - 1) <= CLOCK_TOLERANCE
    )
    return alike >= CLOCK_SHARE * fsum(change.base_seconds for change in same)
