"""Matches operations that a compiler fused or split.

Operations match by the fused operation's name, which lists its parts (Inductor, XLA, torch's
foreach), by an enclosing operation (an optimizer's step, a user's span) in which only one side is
fused, or by names of fusions that share most of their parts.
"""

from collections.abc import Sequence

from perfledger.profile import Bucket, Operation
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import (
    fused_names,
    is_compiled_region,
    is_fused_name,
    is_listed,
    is_operator_name,
    normal_path,
    operator_of,
)

# Two fusions with half of their parts in common are the same code after a change.
MIN_COMMON_PARTS = 0.5
# A compiled region that keeps more of its own time has lost nothing relevant.
MAX_KEPT_SHARE = 0.75
# The readers limit paths to a depth of 12; an untrusted bundle may exceed it.
MAX_DEPTH = 16

UnmatchedOperations = tuple[list[OperationChange], list[Operation], list[Operation]]


def match_fusions(base: Sequence[Operation], head: Sequence[Operation]) -> UnmatchedOperations:
    """Return the changes that are fusions, and the unmatched operations of each side."""
    changes: list[OperationChange] = []
    left, right = list(base), list(head)
    for step in (_by_listed_parts, _inside_one_path, _by_similar_names):
        step_changes, left, right = step(left, right)
        changes += step_changes
    return changes, left, right


def with_regions(changes: Sequence[OperationChange]) -> tuple[OperationChange, ...]:
    """Merge a compiled region that lost time with the new operations beside it, and vice versa.

    On the CPU, a profile of torch.compile does not show kernels: their time is the region's own.
    Work that leaves the region appears as new operations outside it; work that enters it
    disappears.
    """
    regions = [change for change in changes if _is_region(change)]
    before = sum(change.base_seconds for change in regions)
    after = sum(change.head_seconds for change in regions)
    if after < MAX_KEPT_SHARE * before:
        outside = [change for change in changes if _is_operators(change) and not change.base]
    elif before < MAX_KEPT_SHARE * after:
        outside = [change for change in changes if _is_operators(change) and not change.head]
    else:
        outside = []
    if not outside:
        return tuple(changes)
    merged_changes = [*regions, *outside]
    region_change = OperationChange(
        base=tuple(operation for change in merged_changes for operation in change.base),
        head=tuple(operation for change in merged_changes for operation in change.head),
        stage=MatchStage.FUSION,
    )
    numbers = {id(change) for change in merged_changes}
    return (region_change, *(change for change in changes if id(change) not in numbers))


def _is_region(change: OperationChange) -> bool:
    return all(is_compiled_region(one.name) for one in (*change.base, *change.head))


def _is_operators(change: OperationChange) -> bool:
    return change.stage is MatchStage.ALONE and all(
        one.bucket is Bucket.COMPUTE and is_operator_name(one.name)
        for one in (*change.base, *change.head)
    )


def _by_listed_parts(base: list[Operation], head: list[Operation]) -> UnmatchedOperations:
    """Match each fused operation with the parts that its name lists, the longest first."""
    changes: list[OperationChange] = []
    left, right = list(base), list(head)
    fused = [(one, is_base) for side, is_base in ((base, True), (head, False)) for one in side]
    for one, is_base in sorted(fused, key=lambda pair: (-pair[0].seconds, pair[0].name)):
        own_side, other_side = (left, right) if is_base else (right, left)
        parts = _parts_of(one, other_side)
        if not parts or not _is_in(one, own_side):
            continue
        before, after = ([one], parts) if is_base else (parts, [one])
        changes.append(
            OperationChange(base=tuple(before), head=tuple(after), stage=MatchStage.FUSION)
        )
        left, right = _without(left, before), _without(right, after)
    return changes, left, right


def _inside_one_path(base: list[Operation], head: list[Operation]) -> UnmatchedOperations:
    """Match all new and gone operations inside one path if exactly one side of it is fused.

    The deepest paths come first; outer paths get what remains.
    """
    changes: list[OperationChange] = []
    left, right = list(base), list(head)
    around = {id(one): _paths(one) for one in (*base, *head)}
    paths = {path for inside in around.values() for path in inside}
    for path in sorted(paths, key=lambda path: (-path.count("/"), path)):
        before = [one for one in left if path in around[id(one)]]
        after = [one for one in right if path in around[id(one)]]
        if before and after and _has_fused(before) != _has_fused(after):
            changes.append(
                OperationChange(base=tuple(before), head=tuple(after), stage=MatchStage.FUSION)
            )
            left, right = _without(left, before), _without(right, after)
    return changes, left, right


def _by_similar_names(base: list[Operation], head: list[Operation]) -> UnmatchedOperations:
    """Match fusions at one path whose names share most of their parts, the closest pair first."""
    pairs = [
        (similarity, before, after)
        for before in base
        if fused_names(before.name)
        for after in head
        if (similarity := _similarity(before, after)) >= MIN_COMMON_PARTS
    ]
    changes: list[OperationChange] = []
    left, right = list(base), list(head)
    for _, before, after in sorted(pairs, key=lambda pair: -pair[0]):
        if _is_in(before, left) and _is_in(after, right):
            changes.append(OperationChange(base=(before,), head=(after,), stage=MatchStage.FUSION))
            left, right = _without(left, (before,)), _without(right, (after,))
    return changes, left, right


def _parts_of(fused: Operation, candidates: Sequence[Operation]) -> list[Operation]:
    if not fused_names(fused.name):
        return []
    return [one for one in candidates if is_listed(operator_of(one.name, one.path), fused.name)]


def _paths(operation: Operation) -> frozenset[str]:
    """Return the paths around an operation, each as its full path."""
    parts = normal_path(operation.path).split("/")[:MAX_DEPTH] if operation.path else []
    return frozenset("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def _has_fused(operations: Sequence[Operation]) -> bool:
    return any(is_fused_name(operation.name) for operation in operations)


def _similarity(before: Operation, after: Operation) -> float:
    """Return the share of common parts in two fusions' names (Jaccard), 0 at different paths."""
    names = fused_names(after.name)
    if not names or normal_path(before.path) != normal_path(after.path):
        return 0.0
    before_parts, after_parts = set(fused_names(before.name).split("_")), set(names.split("_"))
    return len(before_parts & after_parts) / len(before_parts | after_parts)


def _is_in(operation: Operation, operations: Sequence[Operation]) -> bool:
    return any(one is operation for one in operations)


def _without(operations: list[Operation], matched: Sequence[Operation]) -> list[Operation]:
    numbers = {id(one) for one in matched}
    return [operation for operation in operations if id(operation) not in numbers]
