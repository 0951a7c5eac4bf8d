"""Turn the operations of two profiles into changes: which of them are the same work.

Stages from the surest to the weakest, each of which consumes what it matches on both sides:
the same operation; a fused attention against the parts that it was made of; other operations at
the same place on the same shapes; the same name up to what compilers and allocators number; what
came and went inside one enclosing operation. What is left is new or gone.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from perfledger.profile import Operation
from perfledger_profiles.cause import How

# Operations that hold back a whole attention in one call, in torch, cuDNN, XLA and flash-attn.
FUSED_ATTENTION = re.compile(
    r"(?i)scaled_?dot_?product|flash|efficient_?attention|fmha|cudnn_?attention"
)
# What an attention becomes when it is not fused; "math" is torch's own fallback.
_ATTENTION_PARTS = re.compile(r"(?i)bmm|matmul|softmax|masked_?fill|attention_math")

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_HASH = re.compile(r"[_.](?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
_NUMBER = re.compile(r"([._]\d+)+$")
_INNERMOST_TEMPLATE = re.compile(r"<[^<>]*>")

_Key = Hashable | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Operations of the base and of the head that are the same work; one side may be empty."""

    base: tuple[Operation, ...]
    head: tuple[Operation, ...]
    is_replacement: bool = False

    @property
    def base_seconds(self) -> float:
        """Return the base's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.base)

    @property
    def head_seconds(self) -> float:
        """Return the head's exclusive seconds per step."""
        return sum(operation.seconds for operation in self.head)

    @property
    def base_count(self) -> float:
        """Return the base's calls per step."""
        return sum(operation.count for operation in self.base)

    @property
    def head_count(self) -> float:
        """Return the head's calls per step."""
        return sum(operation.count for operation in self.head)

    @property
    def delta_seconds(self) -> float:
        """Return how much longer a step takes for it."""
        return self.head_seconds - self.base_seconds

    @property
    def is_same_work(self) -> bool:
        """Tell whether it is one operation at one place on the same shapes, called as often."""
        if len(self.base) != 1 or len(self.head) != 1 or self.base_count != self.head_count:
            return False
        return _identity(self.base[0]) == _identity(self.head[0])

    @property
    def how(self) -> How:
        """Return in which way the time changed.

        Between count and rate the larger effect decides: with n calls of t seconds each, the
        count effect is (n' - n)(t + t')/2 and the rate effect (t' - t)(n + n')/2. They sum to the
        change, without a cross term.
        """
        if not self.base:
            return How.NEW
        if not self.head:
            return How.GONE
        if self.is_replacement:
            return How.REPLACED
        if not (self.base_count and self.head_count):
            return How.RATE
        before, after = self.base_seconds / self.base_count, self.head_seconds / self.head_count
        by_count = (self.head_count - self.base_count) * (before + after)
        by_rate = (after - before) * (self.base_count + self.head_count)
        return How.COUNT if abs(by_count) > abs(by_rate) else How.RATE


def match(base: Sequence[Operation], head: Sequence[Operation]) -> tuple[Change, ...]:
    """Return the changes; each operation of each side is in exactly one of them."""
    changes: list[Change] = []
    left, right = list(base), list(head)
    for key, is_replacement in _STAGES:
        matched, left, right = _stage(left, right, key, is_replacement=is_replacement)
        changes += matched
        if key is _identity:
            fused, left, right = _attention(left, right)
            changes += fused
    changes += [Change(base=(operation,), head=()) for operation in left]
    changes += [Change(base=(), head=(operation,)) for operation in right]
    return tuple(changes)


def normal_name(name: str) -> str:
    """Return the name without addresses, template arguments, hashes and running numbers."""
    text = _HASH.sub("", _ADDRESS.sub("", name))
    while (shorter := _INNERMOST_TEMPLATE.sub("", text)) != text:
        text = shorter
    return _NUMBER.sub("", text) or name


def _identity(operation: Operation) -> _Key:
    return operation.name, operation.bucket, operation.shapes, operation.path


def _place_and_shapes(operation: Operation) -> _Key:
    return (operation.path, operation.shapes) if operation.shapes else None


def _name_and_place(operation: Operation) -> _Key:
    return normal_name(operation.name), operation.path


def _name_and_shapes(operation: Operation) -> _Key:
    return (normal_name(operation.name), operation.shapes) if operation.shapes else None


def _exact_name(operation: Operation) -> _Key:
    return operation.name


def _name(operation: Operation) -> _Key:
    return normal_name(operation.name)


def _place(operation: Operation) -> _Key:
    return operation.path or None


# How operations are grouped, and whether a group is one thing in place of another.
_STAGES: tuple[tuple[Callable[[Operation], _Key], bool], ...] = (
    (_identity, False),
    (_place_and_shapes, True),
    (_name_and_place, False),
    (_name_and_shapes, False),
    (_exact_name, False),
    (_name, False),
    (_place, True),
)


def _stage(
    base: Sequence[Operation],
    head: Sequence[Operation],
    key: Callable[[Operation], _Key],
    *,
    is_replacement: bool,
) -> tuple[list[Change], list[Operation], list[Operation]]:
    """Return the groups that both sides have, and what is left of each side."""
    before, after = _grouped(base, key), _grouped(head, key)
    common = before.keys() & after.keys()
    changes = [
        Change(base=tuple(before[k]), head=tuple(after[k]), is_replacement=is_replacement)
        for k in before
        if k in common
    ]
    left = [operation for operation in base if key(operation) not in common]
    right = [operation for operation in head if key(operation) not in common]
    return changes, left, right


def _grouped(
    operations: Sequence[Operation], key: Callable[[Operation], _Key]
) -> dict[Hashable, list[Operation]]:
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
            before, after = (fused, parts) if is_lost else (parts, fused)
            change = Change(base=tuple(before), head=tuple(after), is_replacement=True)
            left = [operation for operation in base if operation not in before]
            right = [operation for operation in head if operation not in after]
            return [change], left, right
    return [], list(base), list(head)


def is_fused_attention(operation: Operation) -> bool:
    """Tell whether an operation, or the one it is part of, is an attention in one piece."""
    where = f"{operation.path}/{operation.name}"
    return FUSED_ATTENTION.search(where) is not None and not is_attention_part(operation)


def is_attention_part(operation: Operation) -> bool:
    """Tell whether an operation is one that attention is made of when it is not fused."""
    return _ATTENTION_PARTS.search(f"{operation.path}/{operation.name}") is not None
