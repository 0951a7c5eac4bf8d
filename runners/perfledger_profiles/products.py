"""Turn a trace's matrix products into what they compute a second and a byte, by their shapes.

A profiler's timeline counts neither FLOPs nor bytes. Those of a product follow from its operator's
inputs: two for each multiplication with its addition, and each matrix moved once. Caches allow no
less than that and tiles cost more, so that an intensity is an upper bound and the share of the roof
a lower one: all three are estimates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import msgspec
import numpy as np

from perfledger.profile import Family, Reading
from perfledger_profiles.chrome import UNREADABLE
from perfledger_profiles.family import family_of, is_tensor_kernel
from perfledger_profiles.hardware import Hardware, peak_flops
from perfledger_profiles.metrics import (
    achieved_flops_per_second,
    arithmetic_intensity,
    roofline_attained,
)
from perfledger_profiles.redact import clean_name
from perfledger_profiles.shapes import shapes_of
from perfledger_profiles.spans import NOBODY, BoolArray, IntArray, listed, summed
from perfledger_profiles.trace import Trace

# The longest ten are most of the products of any step that was looked at.
MAX_PRODUCTS = 10
# Beyond it a size is no tensor's.
MAX_SIZE = 2**40

SOURCE = "2 FLOPs for each multiplication and addition of the operator's shapes"
_NS = 1e9
# Which of an operator's inputs is the first of its two factors; the one before it is added.
_FIRST = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
_BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2}
_DTYPES = {"double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16"}
_MATRIX = (2, 3)  # dimensions, with a batch or not
_ADDS_UP = "splitKreduce"  # of a kernel that adds up what others have multiplied


@dataclass(frozen=True, slots=True)
class Product:
    """What one product computes, and the least that it moves."""

    flops: float
    bytes: float
    element_type: str


def product_of(name: str, dims: bytes, types: bytes) -> Product | None:
    """Return what an operator multiplies by its recorded inputs, None where they do not tell."""
    first = _FIRST.get(name)
    try:
        sizes = msgspec.json.decode(dims, type=list[msgspec.Raw])
        names = msgspec.json.decode(types, type=list[str])
        if first is None or len(names) < first + 2:
            return None
        left, right = (msgspec.json.decode(size, type=list[int]) for size in sizes[first:][:2])
    except (*UNREADABLE, ValueError):
        return None
    kind = names[first]
    if kind not in _BYTES or names[first + 1] != kind or len(left) not in _MATRIX:
        return None
    if len(left) != len(right) or left[:-2] != right[:-2] or left[-1] != right[-2]:
        return None
    if not all(1 <= size <= MAX_SIZE for size in (*left, *right)):
        return None
    moved = _BYTES[kind] * (prod(left) + prod(right) + prod(left[:-1]) * right[-1])
    return Product(2.0 * prod(left) * right[-1], float(moved), kind)


def product_readings(
    trace: Trace, work: BoolArray, operator: IntArray, hardware: Hardware | None
) -> Iterator[Reading]:
    """Yield what the longest products reached, by operator and shapes.

    `work` and `operator` have shape (n,): which calls count, and the operator that launched each.
    A product takes as long as all the kernels that its operator multiplies with: one that is split
    along its sum has another kernel that adds the parts up.
    """
    multiplies = trace.named([family_of(name) is Family.GEMM for name in trace.names])
    calls = np.flatnonzero(work & multiplies & (operator != NOBODY))
    by = operator[calls]
    keys, place = np.unique(
        trace.name[by] * len(trace.inputs) + trace.input[by], return_inverse=True
    )
    length = summed(place, trace.end_ns[calls] - trace.start_ns[calls], size=keys.size)
    told = 0
    for n in listed(np.argsort(-length, kind="stable")):
        name, given = divmod(int(keys[n]), len(trace.inputs))
        product = product_of(trace.names[name], *trace.inputs[given])
        if product is None or length[n] <= 0:
            continue
        kernels = [trace.names[one] for one in listed(np.unique(trace.name[calls[place == n]]))]
        subject = clean_name(f"{trace.names[name]} {shapes_of(*trace.inputs[given])}")
        seconds = int(length[n]) / np.unique(by[place == n]).size / _NS
        yield from _readings(product, seconds, subject, _dtype(product, kernels), hardware)
        told += 1
        if told == MAX_PRODUCTS:
            return


def _dtype(product: Product, kernels: Sequence[str]) -> str | None:
    """Return the type whose peak holds; float32 inputs may go over tensor cores as TF32."""
    if product.element_type in _DTYPES:
        return _DTYPES[product.element_type]
    kinds = {is_tensor_kernel(name) for name in kernels if _ADDS_UP not in name}
    if kinds == {True}:
        return "tf32"
    return "float32" if kinds == {False} else None


def _readings(
    product: Product, seconds: float, subject: str, dtype: str | None, hardware: Hardware | None
) -> Iterator[Reading]:
    rate = achieved_flops_per_second(flops=product.flops, seconds=seconds)
    intensity = arithmetic_intensity(flops=product.flops, bytes_moved=product.bytes)
    reading = partial(Reading, subject=subject, is_estimate=True)
    yield reading(name="achieved_flops", value=rate, unit="FLOP/s", source=SOURCE)
    source = f"{SOURCE} / each matrix moved once"
    yield reading(name="arithmetic_intensity", value=intensity, unit="FLOP/B", source=source)
    peak = peak_flops(hardware, dtype) if hardware is not None and dtype is not None else None
    if hardware is not None and peak is not None:
        attained = roofline_attained(
            flops_per_second=rate,
            intensity_flop_per_byte=intensity,
            peak_flops_per_second=peak,
            peak_bytes_per_second=hardware.memory_bytes_per_second,
        )
        source = f"achieved / min(peak of {dtype}, intensity x bandwidth) of {hardware.key}"
        yield reading(name="roofline_attained", value=attained, source=source)
