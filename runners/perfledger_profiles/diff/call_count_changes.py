"""Attributes the time between calls to the changes in how often Python calls operations.

Python that calls an operation runs outside operations. A new loop of short calls would otherwise be
two findings, its operations and more time outside them, and neither would name it.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.profile import Operation
from perfledger_profiles.diff.grouping import longest_operation
from perfledger_profiles.diff.operation_change import OperationChange
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS, OUTSIDE_OPERATIONS


def with_call_count_changes(changes: Sequence[OperationChange]) -> tuple[OperationChange, ...]:
    """Move time outside operations to the changes in how often Python calls operations.

    Each added or removed call gets the mean time between two calls, of the side where it is
    shorter, and in total at most the change of the time outside operations. The time is shared out
    by the calls' own duration, so that the ranking is kept. The deltas still sum to the step's.
    """
    for outside in changes:
        names = [[one.name for one in side] for side in (outside.base, outside.head)]
        if names == [[OUTSIDE_OPERATIONS], [OUTSIDE_OPERATIONS]]:
            return _share_out(outside, [change for change in changes if change is not outside])
    return tuple(changes)


def _share_out(
    outside: OperationChange, other_changes: Sequence[OperationChange]
) -> tuple[OperationChange, ...]:
    seconds = _between_seconds(outside)
    sign = 1.0 if seconds > 0 else -1.0
    added = [_added_seconds(change, sign=sign) for change in other_changes]
    if not seconds or not sum(added):
        return (outside, *other_changes)
    shares = [seconds * added_seconds / sum(added) for added_seconds in added]
    return (
        _outside_remainder(outside, seconds),
        *(
            _with_around(change, share) if share else change
            for change, share in zip(other_changes, shares, strict=True)
        ),
    )


def _outside_remainder(outside: OperationChange, seconds: float) -> OperationChange:
    """Return the change that remains outside: the time between the calls that both sides make."""
    (before,), (after,) = outside.base, outside.head
    if seconds > 0:
        after = replace(after, seconds=after.seconds - seconds, count=before.count)
    else:
        before = replace(before, seconds=before.seconds + seconds, count=after.count)
    return replace(outside, base=(before,), head=(after,))


def _between_seconds(outside: OperationChange) -> float:
    """Return the time outside that added calls account for, negative for removed calls."""
    added = outside.head_count - outside.base_count
    if outside.delta_seconds * added <= 0 or not (outside.base_count and outside.head_count):
        return 0.0
    seconds_per_call = min(
        outside.base_seconds / outside.base_count, outside.head_seconds / outside.head_count
    )
    at_most = min(abs(outside.delta_seconds), abs(added) * seconds_per_call)
    return at_most if added > 0 else -at_most


def _added_seconds(change: OperationChange, *, sign: float) -> float:
    """Return the own time of the calls that Python makes on one side only."""
    fewer, more = (change.base, change.head) if sign > 0 else (change.head, change.base)
    before, after = (sum(one.count for one in side if _is_called(one)) for side in (fewer, more))
    seconds = sum(one.seconds for one in more if _is_called(one))
    return seconds * max(0.0, 1 - before / after) if after else 0.0


def _is_called(operation: Operation) -> bool:
    return not operation.path and operation.name != OTHER_OPERATIONS


def _with_around(change: OperationChange, seconds: float) -> OperationChange:
    """Add the time around its calls: to head's longest call if positive, else to base's."""
    operations = change.head if seconds > 0 else change.base
    main = longest_operation([one for one in operations if _is_called(one)])
    grown = tuple(
        replace(one, seconds=one.seconds + abs(seconds)) if one is main else one
        for one in operations
    )
    if seconds > 0:
        return replace(change, head=grown, between_seconds=seconds)
    return replace(change, base=grown, between_seconds=seconds)
