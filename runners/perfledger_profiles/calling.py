"""Turn the time between calls into the changes that call more often: each call costs some of it.

Python that calls an operation runs outside of operations. A loop of short calls that was added is
then two findings, its operations and more time outside of them, and neither of them names it.
"""

from collections.abc import Sequence
from dataclasses import replace

from perfledger.profile import Operation
from perfledger_profiles.breakdown import FOLDED, OUTSIDE
from perfledger_profiles.change import Change
from perfledger_profiles.grouping import longest


def with_calling(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Give changes in how often Python calls what time outside of operations that accounts for.

    That is the mean time between two calls, of the side on which it is shorter, for each call that
    came or went, and never more than the time outside of operations changed. It is shared out by
    how long these calls themselves take, so that what takes longest stays first. The deltas go on
    summing to the step's.
    """
    for outside in changes:
        names = [[one.name for one in side] for side in (outside.base, outside.head)]
        if names == [[OUTSIDE], [OUTSIDE]]:
            return _shared(outside, [change for change in changes if change is not outside])
    return tuple(changes)


def _shared(outside: Change, others: Sequence[Change]) -> tuple[Change, ...]:
    seconds = _between_seconds(outside)
    sign = 1.0 if seconds > 0 else -1.0
    added = [_added_seconds(change, sign=sign) for change in others]
    if not seconds or not sum(added):
        return (outside, *others)
    shares = [seconds * own / sum(added) for own in added]
    return (
        _kept(outside, seconds),
        *(
            _with_around(change, share) if share else change
            for change, share in zip(others, shares, strict=True)
        ),
    )


def _kept(outside: Change, seconds: float) -> Change:
    """Return what stays outside: the time between the calls that both sides make."""
    (before,), (after,) = outside.base, outside.head
    if seconds > 0:
        after = replace(after, seconds=after.seconds - seconds, count=before.count)
    else:
        before = replace(before, seconds=before.seconds + seconds, count=after.count)
    return replace(outside, base=(before,), head=(after,))


def _between_seconds(outside: Change) -> float:
    """Return what other calls than before account for of the time outside, negative if fewer."""
    added = outside.head_count - outside.base_count
    if outside.delta_seconds * added <= 0 or not (outside.base_count and outside.head_count):
        return 0.0
    each = min(outside.base_seconds / outside.base_count, outside.head_seconds / outside.head_count)
    at_most = min(abs(outside.delta_seconds), abs(added) * each)
    return at_most if added > 0 else -at_most


def _added_seconds(change: Change, *, sign: float) -> float:
    """Return how long the calls that Python makes on one side only take themselves."""
    fewer, more = (change.base, change.head) if sign > 0 else (change.head, change.base)
    before, after = (sum(one.count for one in side if _is_called(one)) for side in (fewer, more))
    seconds = sum(one.seconds for one in more if _is_called(one))
    return seconds * max(0.0, 1 - before / after) if after else 0.0


def _is_called(operation: Operation) -> bool:
    return not operation.path and operation.name != FOLDED


def _with_around(change: Change, seconds: float) -> Change:
    """Add what passes around its calls: to head's longest if positive, else to base's."""
    operations = change.head if seconds > 0 else change.base
    main = longest([one for one in operations if _is_called(one)])
    grown = tuple(
        replace(one, seconds=one.seconds + abs(seconds)) if one is main else one
        for one in operations
    )
    if seconds > 0:
        return replace(change, head=grown, between_seconds=seconds)
    return replace(change, base=grown, between_seconds=seconds)
