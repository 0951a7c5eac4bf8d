"""Turn operations left unmatched into changes where a compiler put together or took apart work.

By the fused operation's name, which lists its parts (Inductor, XLA, torch's foreach), by one
enclosing operation (an optimizer's step, a user's span) in which one side is fused, and by names
of fusions that share most of their parts.
"""

import re
from collections.abc import Sequence

from perfledger.profile import Bucket, Operation
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.names import (
    fused_names,
    is_compiled_region,
    is_fused_name,
    is_listed,
    is_operator_name,
    normal_path,
)

# Of the parts of two fusions' names: with half of them in common they are the same code, changed.
MIN_COMMON_PARTS = 0.5
# A compiled region that kept more of its own time than this lost nothing that matters.
MAX_KEPT_SHARE = 0.75
# Readers write paths no deeper than 12; a bundle of another's making may.
MAX_DEPTH = 16
# An operator that torch dispatches, as the innermost place of the kernels that it launches.
_DISPATCHED = re.compile(r"(?:aten|prims|torchvision)::\w+")

Left = tuple[list[Change], list[Operation], list[Operation]]


def match_fusions(base: Sequence[Operation], head: Sequence[Operation]) -> Left:
    """Return the changes that are fusions, and what is left of each side."""
    changes: list[Change] = []
    left, right = list(base), list(head)
    for step in (_by_listed_parts, _inside_one_place, _by_similar_names):
        found, left, right = step(left, right)
        changes += found
    return changes, left, right


def with_regions(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Put operations that are new beside a compiled region that lost time together with it.

    A profile of torch.compile on the CPU does not see into its kernels: they are the region's own
    time. What it no longer covers is new outside of it; what it took in is gone, the other way.
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
    taken = [*regions, *outside]
    one = Change(
        base=tuple(operation for change in taken for operation in change.base),
        head=tuple(operation for change in taken for operation in change.head),
        stage=Stage.FUSION,
    )
    numbers = {id(change) for change in taken}
    return (one, *(change for change in changes if id(change) not in numbers))


def _is_region(change: Change) -> bool:
    return all(is_compiled_region(one.name) for one in (*change.base, *change.head))


def _is_operators(change: Change) -> bool:
    return change.stage is Stage.ALONE and all(
        one.bucket is Bucket.COMPUTE and is_operator_name(one.name)
        for one in (*change.base, *change.head)
    )


def _by_listed_parts(base: list[Operation], head: list[Operation]) -> Left:
    """Match a fused operation with those that its name lists, the longest one first."""
    changes: list[Change] = []
    left, right = list(base), list(head)
    fused = [(one, is_base) for side, is_base in ((base, True), (head, False)) for one in side]
    for one, is_base in sorted(fused, key=lambda pair: (-pair[0].seconds, pair[0].name)):
        own, others = (left, right) if is_base else (right, left)
        parts = _parts_of(one, others)
        if not parts or not _is_in(one, own):
            continue
        before, after = ([one], parts) if is_base else (parts, [one])
        changes.append(Change(base=tuple(before), head=tuple(after), stage=Stage.FUSION))
        left, right = _without(left, before), _without(right, after)
    return changes, left, right


def _inside_one_place(base: list[Operation], head: list[Operation]) -> Left:
    """Match all that came and went inside one place, where one side of it is fused.

    The deepest places first: an outer one gets what they leave.
    """
    changes: list[Change] = []
    left, right = list(base), list(head)
    around = {id(one): _places(one) for one in (*base, *head)}
    places = {place for inside in around.values() for place in inside}
    for place in sorted(places, key=lambda place: (-place.count("/"), place)):
        before = [one for one in left if place in around[id(one)]]
        after = [one for one in right if place in around[id(one)]]
        if before and after and _has_fused(before) != _has_fused(after):
            changes.append(Change(base=tuple(before), head=tuple(after), stage=Stage.FUSION))
            left, right = _without(left, before), _without(right, after)
    return changes, left, right


def _by_similar_names(base: list[Operation], head: list[Operation]) -> Left:
    """Match fusions of one place whose names share most of their parts, the closest pair first."""
    pairs = [
        (similarity, before, after)
        for before in base
        if fused_names(before.name)
        for after in head
        if (similarity := _similarity(before, after)) >= MIN_COMMON_PARTS
    ]
    changes: list[Change] = []
    left, right = list(base), list(head)
    for _, before, after in sorted(pairs, key=lambda pair: -pair[0]):
        if _is_in(before, left) and _is_in(after, right):
            changes.append(Change(base=(before,), head=(after,), stage=Stage.FUSION))
            left, right = _without(left, (before,)), _without(right, (after,))
    return changes, left, right


def _parts_of(fused: Operation, others: Sequence[Operation]) -> list[Operation]:
    if not fused_names(fused.name):
        return []
    return [one for one in others if is_listed(_work(one), fused.name)]


def _work(operation: Operation) -> str:
    """Return what a user calls an operation: of a kernel, the operator that launched it."""
    operator = normal_path(operation.path).rpartition("/")[2]
    is_kernel = not is_operator_name(operation.name) and _DISPATCHED.fullmatch(operator) is not None
    return operator if is_kernel else operation.name


def _places(operation: Operation) -> frozenset[str]:
    """Return the places around an operation, each as its whole path."""
    parts = normal_path(operation.path).split("/")[:MAX_DEPTH] if operation.path else []
    return frozenset("/".join(parts[: depth + 1]) for depth in range(len(parts)))


def _has_fused(operations: Sequence[Operation]) -> bool:
    return any(is_fused_name(operation.name) for operation in operations)


def _similarity(before: Operation, after: Operation) -> float:
    """Return the share of parts that two fusions' names have in common (Jaccard); 0 elsewhere."""
    names = fused_names(after.name)
    if not names or normal_path(before.path) != normal_path(after.path):
        return 0.0
    one, other = set(fused_names(before.name).split("_")), set(names.split("_"))
    return len(one & other) / len(one | other)


def _is_in(operation: Operation, operations: Sequence[Operation]) -> bool:
    return any(one is operation for one in operations)


def _without(operations: list[Operation], taken: Sequence[Operation]) -> list[Operation]:
    numbers = {id(one) for one in taken}
    return [operation for operation in operations if id(operation) not in numbers]
