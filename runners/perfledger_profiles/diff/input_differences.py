"""Compares the recorded inputs of a change's two sides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from perfledger.profile import Operation
from perfledger_profiles.diff.cause import ChangeReason
from perfledger_profiles.diff.operation_change import OperationChange

# One input of "float[8,3,32,32] long int[64] TensorList[[64],[64,64]] (f32[8],u32[])".
_INPUT = re.compile(r"([A-Za-z][\w:]*(?: \w+)*)(\[[\[\]\d,]*\])")
_SIZE = re.compile(r"\d+")
# The sizes of one tensor: "512,10" of "Half[512,10]" and of "TensorList[[512,10]]".
_SIZES = re.compile(r"\[(\d+(?:,\d+)*)\]")


@dataclass(frozen=True, slots=True)
class InputChange:
    """The change of an input: the full input as evidence, and the part that differs."""

    reason: ChangeReason  # TYPE or SHAPE
    evidence: str  # "float[64,64] became double[64,64]"
    difference: str  # "float became double", "64 became 128"; "" if not comparable


def input_change(change: OperationChange) -> InputChange | None:
    """Compare the longest operations whose inputs the other side lacks.

    None if both sides have the same inputs, or if none are recorded.
    """
    before, after = {o.shapes for o in change.base}, {o.shapes for o in change.head}
    old = _longest([o for o in change.base if o.shapes and o.shapes not in after])
    new = _longest([o for o in change.head if o.shapes and o.shapes not in before])
    return (
        _first_difference(old.shapes, new.shapes) if old is not None and new is not None else None
    )


def element_count(operations: Sequence[Operation]) -> float:
    """Return the number of elements of all inputs of all calls, whatever their type."""
    return sum(
        operation.count * prod(map(int, sizes.split(",")))
        for operation in operations
        for sizes in _SIZES.findall(operation.shapes)
    )


def _longest(operations: Sequence[Operation]) -> Operation | None:
    return max(operations, key=lambda operation: operation.seconds, default=None)


def _first_difference(old: str, new: str) -> InputChange:
    """Return the first input that differs only in type, else the first that differs in size."""
    pairs = list(zip(_INPUT.findall(old), _INPUT.findall(new), strict=False))
    for (old_type, old_sizes), (new_type, new_sizes) in pairs:
        if old_sizes == new_sizes and old_type != new_type:
            evidence = f"{old_type}{old_sizes} became {new_type}{new_sizes}"
            return InputChange(ChangeReason.TYPE, evidence, f"{old_type} became {new_type}")
    for (old_type, old_sizes), (new_type, new_sizes) in pairs:
        if old_sizes != new_sizes:
            evidence = f"{old_type}{old_sizes} became {new_type}{new_sizes}"
            return InputChange(ChangeReason.SHAPE, evidence, _size_change(old_sizes, new_sizes))
    return InputChange(ChangeReason.SHAPE, f"{old} became {new}", "")


def _size_change(old: str, new: str) -> str:
    """Return the first differing size of inputs with the same number of dimensions."""
    sizes = list(zip_longest(_SIZE.findall(old), _SIZE.findall(new)))
    if any(None in pair for pair in sizes):
        return ""
    return next((f"{one} became {other}" for one, other in sizes if one != other), "")
