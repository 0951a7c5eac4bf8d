"""Turn a change and the two profiles around it into advice, where there is evidence for it."""

import re
from collections.abc import Iterable

from perfledger.profile import Operation, Profile
from perfledger_profiles.breakdown import OUTSIDE
from perfledger_profiles.matching import Change, is_attention_part, is_fused_attention
from perfledger_profiles.xla_host import COMPILING, TRACING

COMPILE = (
    "a function is traced and compiled in the step: call jax.jit once, outside of it, and keep the "
    "shapes, types and static arguments of its calls the same"
)
ATTENTION = (
    "the fused attention is gone: call torch.nn.functional.scaled_dot_product_attention instead of "
    "matmul and softmax, with a mask, types and dropout that its fused kernels take"
)
FLOAT64 = (
    "float64 is new here, and runs at half the rate of float32 or less: keep the type with dtype= "
    "or .to(), also of constants that come from NumPy and Python"
)
READ_BACK = (
    "values are read back in the step (.item(), .cpu(), print, a comparison), which waits for all "
    "work before it: keep them on the device and read them once in many steps"
)
COPIES = (
    "tensors are copied or converted more often: create them once, outside of the step, with the "
    "right type, device and memory format"
)

_FLOAT64 = re.compile(r"\b(double|float64|f64)\[")
_READ_BACK = re.compile(
    r"aten::(item|_local_scalar_dense)\b|(Stream|Device)Synchronize|np\.asarray\(jax|copy_to_host"
)
# What a loop that reads values one by one spends most of its time on, when there is no device.
_READ_BACK_LOOP = (OUTSIDE, "aten::select", "aten::slice", "aten::unbind")
_COPIES = ("aten::_to_copy", "aten::copy_")


def suggestion(change: Change, base: Profile, head: Profile) -> str:
    """Return what to do about a change that costs time, "" without evidence for a cause."""
    if change.delta_seconds <= 0:
        return ""
    is_more_often = change.head_count > change.base_count
    names = [operation.name for operation in change.head]
    evidence = (
        (COMPILE, is_more_often and any(name.startswith((COMPILING, TRACING)) for name in names)),
        (ATTENTION, _concerns_attention(change) and _fused_calls(head) < _fused_calls(base)),
        (FLOAT64, _has_float64(change.head) and not _has_float64(change.base)),
        (READ_BACK, _is_reading_back(change) and _read_backs(head) > _read_backs(base)),
        (COPIES, is_more_often and any(name in _COPIES for name in names)),
    )
    return next((text for text, holds in evidence if holds), "")


def _concerns_attention(change: Change) -> bool:
    return any(
        is_attention_part(operation) or is_fused_attention(operation)
        for operation in (*change.base, *change.head)
    )


def _fused_calls(profile: Profile) -> float:
    return sum(operation.count for operation in profile.operations if is_fused_attention(operation))


def _has_float64(operations: Iterable[Operation]) -> bool:
    return any(_FLOAT64.search(operation.shapes) for operation in operations)


def _read_backs(profile: Profile) -> float:
    return sum(operation.count for operation in profile.operations if _is_read_back(operation))


def _is_reading_back(change: Change) -> bool:
    return any(
        _is_read_back(operation) or operation.name in _READ_BACK_LOOP for operation in change.head
    )


def _is_read_back(operation: Operation) -> bool:
    return _READ_BACK.search(f"{operation.path}/{operation.name}") is not None
