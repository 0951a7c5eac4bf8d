"""Holds FLOP formulas that torch's FlopCounterMode lacks, and finds operators that need one.

FlopCounterMode counts products, convolutions and attention, 2 FLOP per multiply-add, and adds
nothing for an operator without a formula. A count that leaves out such work is a lower bound.
"""

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

Foreign = Any  # an object of torch, see torch_clock
Shape = tuple[int, ...]
Formula = Callable[..., int]  # of the shapes of an operator's arguments

OWN_NAMESPACE = "aten"  # of torch's own operators
# Operators that only move data between processes, or that mark a point in the program.
_WITHOUT_ARITHMETIC = frozenset(
    {"prim", "prims", "profiler", "c10d", "c10d_functional", "_c10d_functional", "symm_mem"}
)
_LIGHT_TAGS = frozenset({"pointwise", "reduction", "view_copy"})
# Words in the names of those of torch's operators that have products inside. Its others work on
# each element a few times (softmax, norms, pooling, sorting), which FlopCounterMode never counts.
_PRODUCTS = re.compile(
    r"mm|matmul|mv|v?dot|\w*conv\w*|attention|linear|linalg|rnn|lstm|gru|trilinear|[cp]dist|cholesky"
    r"|triangular|solve|inverse|geqrf|ormqr|fft|transformer|add[bm]*m[mv]|baddbmm|hspmm|sspaddmm"
)
# Words of operators that only prepare operands, or have no products after all.
_NOT_PRODUCTS = frozenset(
    {"check", "convert", "cross", "fftfreq", "flatten", "norm", "powsum", "reorder"}
    | {"rfftfreq", "thnn", "upsample"}
)


def missing_formulas(aten: Foreign, registry: Mapping[Foreign, object]) -> dict[Foreign, Formula]:
    """Return formulas by operator, for torch's own operators that `registry` has none for."""
    operators = {getattr(aten, name, None): formula for name, formula in _FORMULAS.items()}
    return {
        operator: formula
        for operator, formula in operators.items()
        if operator is not None and operator not in registry
    }


def needs_formula(operator: Foreign, counted: Collection[str]) -> bool:
    """Return whether an operator that was called may do work that is not counted.

    `counted` are the operators with a formula, such as "aten.mm". An operator of another library
    may do such work unless it is tagged as elementwise; of torch's own, those with products inside
    do.
    """
    namespace, _, name = operator_name(operator).partition(".")
    tags = {getattr(tag, "name", "") for tag in getattr(operator, "tags", ())}
    if f"{namespace}.{name}" in counted or namespace in _WITHOUT_ARITHMETIC or tags & _LIGHT_TAGS:
        return False
    if namespace != OWN_NAMESPACE:
        return True
    words = name.strip("_").split("_")
    return any(map(_PRODUCTS.fullmatch, words)) and not _NOT_PRODUCTS & set(words)


def operator_name(operator: Foreign) -> str:
    """Return an operator's name without its overload, such as "aten.mm"."""
    namespace = str(getattr(operator, "namespace", ""))
    return f"{namespace}.{getattr(operator, '_opname', '')}"


def _attention(query: Shape, key: Shape, value: Shape, *_: object, **__: object) -> int:
    """Return the FLOPs of softmax(q k^T) v; masked-out parts are counted too, as torch does."""
    scores = math.prod(query[:-1]) * key[-2]
    return 2 * scores * (query[-1] + value[-1])


def _attention_backward(
    _gradient: Shape, query: Shape, key: Shape, value: Shape, *_: object, **__: object
) -> int:
    """Return the FLOPs of five products: scores again, and gradients of scores, q, k and v."""
    scores = math.prod(query[:-1]) * key[-2]
    return 2 * scores * (3 * query[-1] + 2 * value[-1])


def _product(left: Shape, right: Shape, *_: object, **__: object) -> int:
    """Return the FLOPs of a product of vectors, matrices or batches of matrices."""
    return 2 * math.prod(left) * (right[-1] if len(right) > 1 else 1)


def _sum_with_product(_: Shape, left: Shape, right: Shape, *__: object, **___: object) -> int:
    return _product(left, right)


_ATTENTIONS = (
    "flash_attention_for_cpu",
    "flash_attention",
    "efficient_attention",
    "cudnn_attention",
    "fused_attention_overrideable",
)
_FORMULAS: Mapping[str, Formula] = {
    **{f"_scaled_dot_product_{kind}": _attention for kind in _ATTENTIONS},
    **{f"_scaled_dot_product_{kind}_backward": _attention_backward for kind in _ATTENTIONS},
    **dict.fromkeys(("mv", "dot", "vdot", "_int_mm"), _product),
    **dict.fromkeys(
        ("addmv", "addmv_", "addmm_", "addbmm", "addbmm_", "baddbmm_", "_addmm_activation"),
        _sum_with_product,
    ),
}
