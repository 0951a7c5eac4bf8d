"""Attributes the time between calls to changes in how often Python calls operations.

The Python code that calls an operation runs outside operations. Without this step, a new loop of
short calls would be two findings, its operations and more time outside them, and neither would name
the loop.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.profile import Operation
from perfledger_profiles.diff.grouping import longest_operation
from perfledger_profiles.diff.operation_change import OperationChange
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS, OUTSIDE_OPERATIONS


def with_call_count_changes(changes: Sequence[OperationChange]) -> tuple[OperationChange, ...]:
    """Move time outside operations to the changes in how often Python calls operations.

    Each added or removed call gets the mean time between two calls, from the side where that is
    shorter. The total is at most the change of the time outside operations. It is divided in
    proportion to the calls' own durations, which keeps the ranking. The deltas still sum to the
    step's.
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
    """Return the remaining change outside: the time between the calls that both sides make."""
    (before,), (after,) = outside.base, outside.head
    if seconds > 0:
        after = replace(after, seconds=after.seconds - seconds, count=before.count)
    else:
        before = replace(before, seconds=before.seconds + seconds, count=after.count)
    return replace(outside, base=(before,), head=(after,))


def _between_seconds(outside: OperationChange) -> float:
    """Return the time outside operations due to added calls, negative for removed calls."""
    added = outside.head_count - outside.base_count
    if outside.delta_seconds * added <= 0 or not (outside.base_count and outside.head_count):
        return 0.0
    seconds_per_call = min(
        outside.base_seconds / outside.base_count, outside.head_seconds / outside.head_count
    )
    at_most = min(abs(outside.delta_seconds), abs(added) * seconds_per_call)
    return at_most if added > 0 else -at_most


def _added_seconds(change: OperationChange, *, sign: float) -> float:
    """Return the calls' own time, for calls that Python makes on only one side."""
    fewer, more = (change.base, change.head) if sign > 0 else (change.head, change.base)
    before, after = (sum(one.count for one in side if _is_called(one)) for side in (fewer, more))
    seconds = sum(one.seconds for one in more if _is_called(one))
    return seconds * max(0.0, 1 - before / after) if after else 0.0


def _is_called(operation: Operation) -> bool:
    return not operation.path and operation.name != OTHER_OPERATIONS


def _with_around(change: OperationChange, seconds: float) -> OperationChange:
    """Add the time around the calls to head's longest call if it is positive, else to base's."""
    operations = change.head if seconds > 0 else change.base
    main = longest_operation([one for one in operations if _is_called(one)])
    grown = tuple(
        replace(one, seconds=one.seconds + abs(seconds)) if one is main else one
        for one in operations
    )
    if seconds > 0:
        return replace(change, head=grown, between_seconds=seconds)
    return replace(change, base=grown, between_seconds=seconds)
