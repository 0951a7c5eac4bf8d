"""Groups small changes by input change, ratio of calls, name or path.

To the author of a change, forty operations of an optimizer are one thing, and so is a larger batch.
Every grouping is a partition, so the deltas still sum to the step's.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence

from perfledger.profile import Operation
from perfledger.rounding import digits
from perfledger_profiles.diff.input_differences import input_change
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import normal_name, normal_path, normal_region

# A path with a larger share of the step says only that the step changed.
MAX_PATH_SHARE = 0.8

_KeyOf = Callable[[OperationChange], Hashable]


def group_changes(
    changes: Sequence[OperationChange], *, step_seconds: float
) -> Iterator[tuple[OperationChange, ...]]:
    """Yield the changes ungrouped, then in one grouping after another.

    The groupings are by change of inputs, by ratio of calls, by name and by path. `step_seconds`
    is the longer step's: a path that covers nearly all of it says nothing.
    """
    yield tuple(changes)
    for key in (_other_input, _other_count):
        yield _group_by(changes, key, limit_s=float("inf"), is_path=False)
    for key in (_name, _path, _outermost_path):
        yield _group_by(changes, key, limit_s=MAX_PATH_SHARE * step_seconds)


def longest_operation(operations: Sequence[Operation]) -> Operation:
    """Return the operation with the most time."""
    return max(operations, key=lambda operation: operation.seconds)


def name_of(operations: Sequence[Operation]) -> str:
    """Return the name with the most time, and the number of other names."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for operation in operations:
        seconds[operation.name] += operation.seconds
    longest_name = max(seconds, key=lambda name: seconds[name])
    return longest_name if len(seconds) == 1 else f"{longest_name} (+{len(seconds) - 1})"


def _group_by(
    changes: Sequence[OperationChange], key: _KeyOf, *, limit_s: float, is_path: bool = True
) -> tuple[OperationChange, ...]:
    """Merge changes with the same key; a group that is not a path is named after its longest."""
    groups: defaultdict[Hashable, list[OperationChange]] = defaultdict(list)
    for number, change in enumerate(changes):
        group_key = key(change)
        groups[number if group_key is None else group_key].append(change)
    merged: list[OperationChange] = []
    for label, group in groups.items():
        combined = _combine(group, str(label), is_path=is_path) if len(group) > 1 else group[0]
        is_all = max(combined.base_seconds, combined.head_seconds) > limit_s
        merged += group if is_all else [combined]
    return tuple(merged)


def _combine(group: Sequence[OperationChange], common: str, *, is_path: bool) -> OperationChange:
    stages = {change.stage for change in group}
    base = tuple(one for change in group for one in change.base)
    head = tuple(one for change in group for one in change.head)
    return OperationChange(
        base=base,
        head=head,
        stage=stages.pop() if len(stages) == 1 else MatchStage.NAME,
        between_seconds=sum(change.between_seconds for change in group),
        label=common if is_path else f"{name_of(head or base)}: {common}",
    )


def _other_input(change: OperationChange) -> Hashable:
    """Return the change of a type or size, which usually runs through a whole program."""
    difference = input_change(change) if change.base and change.head else None
    return difference.difference or None if difference is not None else None


def _other_count(change: OperationChange) -> Hashable:
    """Return the ratio of calls, which all operations of a layer have in common."""
    if not (change.base_count and change.head_count):
        return None
    ratio = digits(change.head_count / change.base_count, 3)
    return None if ratio == "1" else f"{ratio} times as many calls"


def _name(change: OperationChange) -> Hashable:
    return normal_name(_main(change).name)


def _path(change: OperationChange) -> Hashable:
    """Return the path around the main operation; a top-level operation is its own path."""
    main = _main(change)
    return normal_path(main.path) or normal_region(main.name)


def _outermost_path(change: OperationChange) -> Hashable:
    return str(_path(change)).partition("/")[0]


def _main(change: OperationChange) -> Operation:
    return longest_operation(change.base + change.head)
