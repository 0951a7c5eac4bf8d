"""Compares what a variant's step returned with what the step returns as written."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from perfledger.measuring.step_results import result_leaves
from perfledger.rounding import digits, typed
from perfledger.variants.transformed_step import Foreign

# Tolerances relative to the largest number in an array, by its type: how much other orders of the
# same operations may differ through the depth of a network. For single operators torch.testing
# expects 1.3e-6 of float32; torch's own benchmarks accept 1e-3 of a compiled network, and 1e-2 of a
# half type.
TOLERANCES: Mapping[str, float] = {
    "float64": 1e-6,
    "complex128": 1e-6,
    "float32": 1e-3,
    "complex64": 1e-3,
}
LOW_PRECISION_TOLERANCE = 2e-2  # of all other floating types
MAX_RESULT_ARRAYS = 1000  # a model has fewer gradients
FORMS = 3  # arrays of another form that a remark lists
EXACT_KINDS = "biu"  # numpy's kinds of truth values and whole numbers, which are not widened
WORDS_KINDS = "OSUMm"  # of objects, texts and times, which are not numbers


@dataclass(frozen=True, slots=True)
class ResultArray:
    """One array of a result, on the host: its type's name, and its values."""

    kind: str
    values: Foreign  # a numpy array
    has_gradient: bool


def result_arrays(result: object) -> tuple[ResultArray, ...]:
    """Return copies of the arrays and numbers in a result, without anything else.

    Raises any error of an array that cannot become a numpy array, and ImportError without numpy.
    """
    arrays: list[ResultArray] = []
    for leaf in result_leaves(result):
        if len(arrays) >= MAX_RESULT_ARRAYS:
            break
        array = _array(_key_numbers(leaf))
        if array is not None:
            arrays.append(array)
    return tuple(arrays)


def result_remarks(
    written: tuple[ResultArray, ...], variant: tuple[ResultArray, ...], *, tolerance: float
) -> tuple[str, ...]:
    """Return sentences on how the variant's result differs, and whether it lacks gradients."""
    lacks_gradients = any(each.has_gradient for each in written) and not any(
        each.has_gradient for each in variant
    )
    remarks = (
        difference_remark(written, variant, tolerance=tolerance),
        "it records no gradients, which the step as written does: for a fair comparison call the "
        "module under torch.inference_mode()"
        if lacks_gradients
        else "",
    )
    return tuple(filter(None, remarks))


def difference_remark(
    written: tuple[ResultArray, ...], variant: tuple[ResultArray, ...], *, tolerance: float
) -> str:
    """Return how the variant's result differs from that as written, "" within the tolerances.

    `tolerance` is the workload's own, which applies if it is larger.
    """
    shapes, variant_shapes = _shapes(written), _shapes(variant)
    if shapes != variant_shapes:
        return (
            f"its result has a different form: {variant_shapes[:FORMS]} instead of {shapes[:FORMS]}"
        )
    worst = 0.0, 0.0
    for before, after in zip(written, variant, strict=True):
        limit = max(tolerance, array_tolerance(before.kind))
        share = array_difference(before.values, after.values)
        if share > limit and share > worst[0]:
            worst = share, limit
    if worst[0] == 0.0:
        return ""
    share, limit = worst
    if share == float("inf"):
        return "its result has zeros, infinities or NaNs in other places"
    return (
        f"its result differs by up to {digits(share, 2)} of the largest number "
        f"(tolerance {typed(limit)}): compare the speed of the two only if that is acceptable"
    )


def array_tolerance(kind: str) -> float:
    """Return the tolerance of an array of a type; whole numbers and truth values are exact."""
    if kind.startswith(("int", "uint", "bool")):
        return 0.0
    return TOLERANCES.get(kind, LOW_PRECISION_TOLERANCE)


def array_difference(before: Foreign, after: Foreign) -> float:
    """Return the largest difference relative to the largest number, infinite if NaNs differ."""
    numpy: Foreign = import_module("numpy")
    if not before.size or numpy.array_equal(before, after):
        return 0.0
    if before.dtype.kind in EXACT_KINDS:
        wide = array_difference(before.astype("float64"), after.astype("float64"))
        return max(wide, float(numpy.finfo("float64").eps))  # float64 may lose the difference
    is_finite = numpy.isfinite(before)
    same_others = numpy.array_equal(before[~is_finite], after[~is_finite], equal_nan=True)
    if not same_others or not numpy.isfinite(after[is_finite]).all():
        return float("inf")
    if not is_finite.any():
        return 0.0
    largest = float(numpy.abs(before[is_finite]).max())
    difference = float(numpy.abs(after[is_finite] - before[is_finite]).max())
    if largest == 0.0:
        return float("inf") if difference else 0.0
    return difference / largest


def _shapes(arrays: tuple[ResultArray, ...]) -> list[tuple[int, ...]]:
    return [tuple(each.values.shape) for each in arrays]


def _key_numbers(leaf: Foreign) -> Foreign:
    """Return the numbers of a JAX random key; return anything else unchanged."""
    jax: Foreign = sys.modules.get("jax")
    if jax is None or not isinstance(leaf, jax.Array):
        return leaf
    is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if is_key else leaf


def _array(leaf: Foreign) -> ResultArray | None:
    """Return a leaf as an array of whole numbers, float64 or complex128; None for anything else."""
    numpy: Foreign = import_module("numpy")
    torch: Foreign = sys.modules.get("torch")
    has_gradient = False
    if torch is not None and isinstance(leaf, torch.Tensor):
        has_gradient, kind = bool(leaf.requires_grad), str(leaf.dtype).removeprefix("torch.")
        is_exact = not (leaf.is_complex() or leaf.is_floating_point())
        wide = torch.complex128 if leaf.is_complex() else torch.float64
        leaf = leaf.detach().cpu().to(leaf.dtype if is_exact else wide).numpy()
    elif callable(getattr(leaf, "numpy", None)):  # a value of ONNX Runtime
        leaf = leaf.numpy()
        kind = str(leaf.dtype)
    elif isinstance(leaf, bool | int | float | complex):
        kind = type(leaf).__name__ if isinstance(leaf, bool | int) else "float64"
    elif hasattr(leaf, "dtype") and hasattr(leaf, "shape"):
        kind = str(leaf.dtype)
    else:
        return None
    array = numpy.asarray(leaf)
    if array.dtype.kind in WORDS_KINDS:
        return None
    if array.dtype.kind in EXACT_KINDS:
        return ResultArray(kind, array.copy(), has_gradient)
    wide_array = array.astype("complex128" if array.dtype.kind == "c" else "float64")
    return ResultArray(kind, wide_array, has_gradient)
