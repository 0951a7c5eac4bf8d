"""Turn the operations of two profiles into changes: which of them are the same work.

Stages from the surest to the weakest, each of which consumes what it matches on both sides: what
the step waits for its data in; the same operation; a fused attention against the parts that it was
made of; other operations at the same place on the same shapes; the same name up to how a library
built or a compiler numbered it; what a compiler put together or took apart; what came and went
inside one operator; kernels of one family. What is left is new or gone.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial

from perfledger.profile import Bucket, Family, Operation
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.fusion import match_fusions, with_regions
from perfledger_profiles.names import normal_name, normal_path, plain_name

# Operations that hold back a whole attention in one call, in torch, cuDNN, XLA and flash-attn.
FUSED_ATTENTION = re.compile(
    r"(?i)scaled_?dot_?product|flash|efficient_?attention|fmha|cudnn_?attention"
)
# What an attention becomes when it is not fused; "math" is torch's own fallback.
_ATTENTION_PARTS = re.compile(r"(?i)bmm|matmul|softmax|masked_?fill|attention_math")
# A place that is one operator: whatever is in it does its work. An annotation or a compiled module
# may hold the whole step, and what came and went in it need not be the same.
_OPERATOR_PLACE = re.compile(r"::[^/]*$|Backward\d*$|^jit\w*/[^/]+$")

_Key = Hashable | None
_KeyOf = Callable[[Operation], _Key]
_Renumbered = frozenset[str]


def match(
    base: Sequence[Operation],
    head: Sequence[Operation],
    *,
    families: Mapping[str, Family] | None = None,
) -> tuple[Change, ...]:
    """Return the changes; each operation of each side is in exactly one of them.

    `families` are those of the kernels, by name.
    """
    changes: list[Change] = []
    left, right = list(base), list(head)
    same: _KeyOf = partial(_identity, renumbered=_renumbered(base, head))
    alike: _KeyOf = partial(_family, families or {})
    first: tuple[tuple[Stage, _KeyOf], ...] = ((Stage.INPUT, _input), (Stage.SAME, same))
    last: tuple[tuple[Stage, _KeyOf], ...] = ((Stage.PLACE, _place), (Stage.FAMILY, alike))
    for stage, key in first:
        matched, left, right = _stage(left, right, key, stage)
        changes += matched
    matched, left, right = _attention(left, right)
    changes += matched
    for stage, key in _NAME_STAGES:
        matched, left, right = _stage(left, right, key, stage)
        changes += matched
    matched, left, right = match_fusions(left, right)
    changes += matched
    for stage, key in last:
        matched, left, right = _stage(left, right, key, stage)
        changes += matched
    changes += [Change(base=(one,), head=(), stage=Stage.ALONE) for one in left]
    changes += [Change(base=(), head=(one,), stage=Stage.ALONE) for one in right]
    return with_regions(changes)


def is_fused_attention(operation: Operation) -> bool:
    """Tell whether an operation, or the one it is part of, is an attention in one piece."""
    where = f"{operation.path}/{operation.name}"
    return FUSED_ATTENTION.search(where) is not None and not is_attention_part(operation)


def is_attention_part(operation: Operation) -> bool:
    """Tell whether an operation is one that attention is made of when it is not fused."""
    return _ATTENTION_PARTS.search(f"{operation.path}/{operation.name}") is not None


def _input(operation: Operation) -> _Key:
    return True if operation.bucket is Bucket.INPUT else None


def _renumbered(base: Sequence[Operation], head: Sequence[Operation]) -> _Renumbered:
    """Return the places whose operations are numbered and not the same set on both sides.

    One more operation in a module moves the numbers of all after it: dot.3 of the base may be dot.4
    of the head, and the head's dot.3 another one. Numbers count only in the same program.
    """
    before, after = _numbered(base), _numbered(head)
    return frozenset(
        place for place in before.keys() | after.keys() if before[place] != after[place]
    )


def _numbered(operations: Sequence[Operation]) -> defaultdict[str, set[str]]:
    names: defaultdict[str, set[str]] = defaultdict(set)
    for operation in operations:
        if plain_name(operation.name) != operation.name:
            names[normal_path(operation.path)].add(operation.name)
    return names


def _identity(operation: Operation, *, renumbered: _Renumbered) -> _Key:
    place = normal_path(operation.path)
    name = plain_name(operation.name) if place in renumbered else operation.name
    return normal_path(name), operation.bucket, operation.shapes, place


def _place_and_shapes(operation: Operation) -> _Key:
    return (normal_path(operation.path), operation.shapes) if operation.shapes else None


def _variant(operation: Operation) -> _Key:
    return _place_and_shapes(operation) if _place(operation) is not None else None


def _name_and_place(operation: Operation) -> _Key:
    return normal_name(operation.name), normal_path(operation.path)


def _name_and_shapes(operation: Operation) -> _Key:
    return (normal_name(operation.name), operation.shapes) if operation.shapes else None


def _name(operation: Operation) -> _Key:
    return normal_name(operation.name)


def _place(operation: Operation) -> _Key:
    place = normal_path(operation.path)
    return place if _OPERATOR_PLACE.search(place) else None


def _family(families: Mapping[str, Family], operation: Operation) -> _Key:
    family = families.get(operation.name, Family.OTHER)
    return None if family in {Family.OTHER, Family.FUSION} else (family, operation.bucket)


_NAME_STAGES: tuple[tuple[Stage, _KeyOf], ...] = (
    (Stage.VARIANT, _variant),
    (Stage.NAME, _name_and_place),
    (Stage.NAME, _name_and_shapes),
    (Stage.NAME, _name),
)


def _stage(
    base: Sequence[Operation], head: Sequence[Operation], key: _KeyOf, stage: Stage
) -> tuple[list[Change], list[Operation], list[Operation]]:
    """Return the groups that both sides have, and what is left of each side."""
    before, after = _grouped(base, key), _grouped(head, key)
    common = before.keys() & after.keys()
    changes = [
        Change(base=tuple(before[k]), head=tuple(after[k]), stage=stage)
        for k in before
        if k in common
    ]
    left = [operation for operation in base if key(operation) not in common]
    right = [operation for operation in head if key(operation) not in common]
    return changes, left, right


def _grouped(operations: Sequence[Operation], key: _KeyOf) -> dict[Hashable, list[Operation]]:
    groups: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in operations:
        found = key(operation)
        if found is not None:
            groups[found].append(operation)
    return groups


def _attention(
    base: Sequence[Operation], head: Sequence[Operation]
) -> tuple[list[Change], list[Operation], list[Operation]]:
    """Match a fused attention on one side with an attention in parts on the other."""
    for fused_side, parts_side, is_lost in ((base, head, True), (head, base, False)):
        fused = [operation for operation in fused_side if is_fused_attention(operation)]
        parts = [operation for operation in parts_side if is_attention_part(operation)]
        if fused and parts and not any(is_fused_attention(operation) for operation in parts_side):
            parts += _on_scores(parts_side, parts)
            before, after = (fused, parts) if is_lost else (parts, fused)
            change = Change(base=tuple(before), head=tuple(after), stage=Stage.ATTENTION)
            left = [operation for operation in base if operation not in before]
            right = [operation for operation in head if operation not in after]
            return [change], left, right
    return [], list(base), list(head)


def _on_scores(operations: Sequence[Operation], parts: Sequence[Operation]) -> list[Operation]:
    """Return the other operations on what a softmax of the parts takes: scaling, masking, dropout.

    Anything else of the same type and sizes would be counted in, but a table of scores is rarely
    anything else's size.
    """
    scores = {
        part.shapes.partition(" ")[0] for part in parts if part.shapes and "softmax" in part.name
    }
    return [
        operation
        for operation in operations
        if operation.shapes.partition(" ")[0] in scores and operation not in parts
    ]
