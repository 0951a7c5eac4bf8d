"""Matches the operations of two profiles that do the same work.

The stages go from the surest to the weakest, and each removes its matches from both sides: waits
for input data; the same operation; the same one on inputs of other types; a fused attention and its
parts; other operations at the same path on the same shapes; the same name up to library builds and
compiler numbering; fused or split operations; new and gone operations inside one operator; kernels
of one family. The rest is new or gone.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial

from perfledger.profile import Bucket, Operation, OperationFamily
from perfledger_profiles.diff.fusion import UnmatchedOperations, match_fusions, with_regions
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import (
    is_fused_name,
    normal_name,
    normal_path,
    normal_region,
    plain_name,
    unqualified_name,
)
from perfledger_profiles.parsing.operation_family import FUSED_ATTENTION

# The parts of an unfused attention; "math" is torch's own fallback.
_ATTENTION_PARTS = re.compile(r"(?i)bmm|matmul|softmax|masked_?fill|attention_math")
# A path that is one operator: everything in it is that operator's work. An annotation or a
# compiled module may contain the whole step, so new and gone operations in it may be unrelated.
_OPERATOR_PATH = re.compile(r"::[^/]*$|Backward\d*$|^jit\w*/[^/]+$")

# The type before an input's sizes: "c10::Half" of "c10::Half[8,8]".
_TYPE = re.compile(r"[^\s\[\],]+(?=\[)")

_Key = Hashable | None
_KeyOf = Callable[[Operation], _Key]
_Renumbered = frozenset[str]


def match(
    base: Sequence[Operation],
    head: Sequence[Operation],
    *,
    families: Mapping[str, OperationFamily] | None = None,
) -> tuple[OperationChange, ...]:
    """Return the changes; each operation of each side is in exactly one of them.

    `families` maps the kernels' names to their families.
    """
    same: _KeyOf = partial(_identity, renumbered=_renumbered_paths(base, head))
    alike: _KeyOf = partial(_family, families or {})
    steps: tuple[Callable[[list[Operation], list[Operation]], UnmatchedOperations], ...] = (
        partial(_stage, key=_input, stage=MatchStage.INPUT),
        partial(_stage, key=same, stage=MatchStage.SAME),
        partial(_stage, key=_sizes_and_path, stage=MatchStage.NAME),
        _attention,
        partial(_stage, key=_variant, stage=MatchStage.VARIANT),
        partial(_stage, key=_name_and_path, stage=MatchStage.NAME),
        partial(_stage, key=_name_and_shapes, stage=MatchStage.NAME),
        partial(_stage, key=_name, stage=MatchStage.NAME),
        partial(_stage, key=_unqualified_key, stage=MatchStage.NAME),
        match_fusions,
        partial(_stage, key=_path, stage=MatchStage.PATH),
        partial(_stage, key=alike, stage=MatchStage.FAMILY),
    )
    changes: list[OperationChange] = []
    left, right = list(base), list(head)
    for step in steps:
        matched, left, right = step(left, right)
        changes += matched
    changes += [
        OperationChange(base=each, head=(), stage=MatchStage.ALONE) for each in _kinds(left)
    ]
    changes += [
        OperationChange(base=(), head=each, stage=MatchStage.ALONE) for each in _kinds(right)
    ]
    return with_regions(changes)


def _kinds(operations: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """Yield the operations of one name at one path together, whatever their numbering or shapes.

    Fusions that a compiler numbers are kept apart, because they are different work.
    """
    kinds: defaultdict[Hashable, list[Operation]] = defaultdict(list)
    for operation in operations:
        name = plain_name(operation.name)
        name = operation.name if is_fused_name(name) else name
        kinds[name, operation.bucket, normal_path(operation.path)].append(operation)
    yield from map(tuple, kinds.values())


def is_fused_attention(operation: Operation) -> bool:
    """Return whether an operation, or an operation around it, is a fused attention."""
    where = f"{operation.path}/{operation.name}"
    return FUSED_ATTENTION.search(where) is not None and not is_attention_part(operation)


def is_attention_part(operation: Operation) -> bool:
    """Return whether an operation is part of an unfused attention."""
    return _ATTENTION_PARTS.search(f"{operation.path}/{operation.name}") is not None


def _input(operation: Operation) -> _Key:
    return True if operation.bucket is Bucket.INPUT else None


def _renumbered_paths(base: Sequence[Operation], head: Sequence[Operation]) -> _Renumbered:
    """Return the paths whose numbered operations differ between the sides.

    An added operation renumbers all later ones: base's dot.3 may be head's dot.4. Numbers are
    comparable only within the same program.
    """
    before, after = _numbered_names(base), _numbered_names(head)
    return frozenset(path for path in before.keys() | after.keys() if before[path] != after[path])


def _numbered_names(operations: Sequence[Operation]) -> defaultdict[str, set[str]]:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for operation in operations:
        if plain_name(operation.name) != operation.name:
            names[normal_path(operation.path)].add(operation.name)
    return names


def _identity(operation: Operation, *, renumbered: _Renumbered) -> _Key:
    path = normal_path(operation.path)
    name = plain_name(operation.name) if path in renumbered else operation.name
    return normal_region(name), operation.bucket, operation.shapes, path


def _sizes_and_path(operation: Operation) -> _Key:
    """Return what an operation keeps if only its input types change, for example under autocast."""
    if not operation.shapes:
        return None
    sizes = _TYPE.sub("", operation.shapes)
    return operation.name, operation.bucket, sizes, normal_path(operation.path)


def _variant(operation: Operation) -> _Key:
    path = _path(operation)
    return (path, operation.shapes) if path is not None and operation.shapes else None


def _name_and_path(operation: Operation) -> _Key:
    return normal_name(operation.name), normal_path(operation.path)


def _name_and_shapes(operation: Operation) -> _Key:
    return (normal_name(operation.name), operation.shapes) if operation.shapes else None


def _name(operation: Operation) -> _Key:
    return normal_name(operation.name)


def _unqualified_key(operation: Operation) -> _Key:
    """Return what stays the same if a library moves a kernel into another namespace."""
    return unqualified_name(operation.name), operation.bucket


def _path(operation: Operation) -> _Key:
    path = normal_path(operation.path)
    return path if _OPERATOR_PATH.search(path) else None


def _family(families: Mapping[str, OperationFamily], operation: Operation) -> _Key:
    family = families.get(operation.name, OperationFamily.OTHER)
    return (
        None
        if family in {OperationFamily.OTHER, OperationFamily.FUSION}
        else (family, operation.bucket)
    )


def _stage(
    base: list[Operation], head: list[Operation], *, key: _KeyOf, stage: MatchStage
) -> UnmatchedOperations:
    """Return the groups that both sides have, and the unmatched operations of each side."""
    before, after = _group_by(base, key), _group_by(head, key)
    common = before.keys() & after.keys()
    changes = [
        OperationChange(base=tuple(before[k]), head=tuple(after[k]), stage=stage)
        for k in before
        if k in common
    ]
    left = [operation for operation in base if key(operation) not in common]
    right = [operation for operation in head if key(operation) not in common]
    return changes, left, right


def _group_by(operations: Sequence[Operation], key: _KeyOf) -> dict[Hashable, list[Operation]]:
    groups: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in operations:
        group_key = key(operation)
        if group_key is not None:
            groups[group_key].append(operation)
    return groups


def _attention(base: list[Operation], head: list[Operation]) -> UnmatchedOperations:
    """Match a fused attention on one side with an unfused one on the other."""
    for fused_side, parts_side, is_lost in ((base, head, True), (head, base, False)):
        fused = [operation for operation in fused_side if is_fused_attention(operation)]
        parts = [operation for operation in parts_side if is_attention_part(operation)]
        if fused and parts and not any(is_fused_attention(operation) for operation in parts_side):
            parts += _on_scores(parts_side, parts)
            before, after = (fused, parts) if is_lost else (parts, fused)
            change = OperationChange(
                base=tuple(before), head=tuple(after), stage=MatchStage.ATTENTION
            )
            left = [operation for operation in base if operation not in before]
            right = [operation for operation in head if operation not in after]
            return [change], left, right
    return [], base, head


def _on_scores(operations: Sequence[Operation], parts: Sequence[Operation]) -> list[Operation]:
    """Return the other operations on the softmax's input: scaling, masking, dropout.

    Unrelated operations of the same type and sizes would be included too, but scores rarely share
    their size with other tensors.
    """
    scores = {
        part.shapes.partition(" ")[0] for part in parts if part.shapes and "softmax" in part.name
    }
    return [
        operation
        for operation in operations
        if operation.shapes.partition(" ")[0] in scores and operation not in parts
    ]
