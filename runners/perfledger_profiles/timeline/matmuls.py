"""Estimates FLOP rate, intensity and roofline share of matrix products from their shapes.

A timeline counts neither FLOPs nor bytes. For a product they follow from its operator's inputs: two
FLOPs for each multiply-add, and each matrix moved once. Tiling moves more, so the intensity is an
upper bound and the share of the roof a lower bound. All three are estimates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

import msgspec
import numpy as np

from perfledger.profile import OperationFamily, ProfileReading
from perfledger_profiles.hardware.device_peaks import HardwareSpec, peak_flops
from perfledger_profiles.hardware.efficiency_metrics import (
    achieved_flops_per_second,
    arithmetic_intensity,
    roofline_attained,
)
from perfledger_profiles.parsing.chrome_trace_events import UNREADABLE
from perfledger_profiles.parsing.input_shapes import shapes_of
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    sum_by_index,
    to_list,
)
from perfledger_profiles.timeline.trace import Trace

# The longest ten take most of the products' time in every step seen so far.
MAX_PRODUCTS = 10
# Larger than any tensor's side.
MAX_SIZE = 2**40

SOURCE = "2 FLOPs for each multiplication and addition of the operator's shapes"
# The index of the first factor among an operator's inputs; an earlier input is added to the
# product.
_FIRST = {"aten::mm": 0, "aten::bmm": 0, "aten::addmm": 1, "aten::baddbmm": 1}
_BYTES = {"float": 4, "double": 8, "c10::Half": 2, "c10::BFloat16": 2}
_DTYPES = {"double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16"}
_MATRIX = (2, 3)  # dimensions, with a batch or not
_ADDS_UP = "splitKreduce"  # a kernel that sums other kernels' partial products


@dataclass(frozen=True, slots=True)
class Matmul:
    """The FLOPs of one product, and the fewest bytes that it moves."""

    flops: float
    bytes: float
    element_type: str


def matmul_of(name: str, dims: bytes, types: bytes) -> Matmul | None:
    """Return an operator's product by its recorded inputs, or None if they do not show it."""
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
    moved_bytes = _BYTES[kind] * (prod(left) + prod(right) + prod(left[:-1]) * right[-1])
    return Matmul(2.0 * prod(left) * right[-1], float(moved_bytes), kind)


def matmul_readings(
    trace: Trace, work: BoolArray, operator: IntArray, hardware: HardwareSpec | None
) -> Iterator[ProfileReading]:
    """Yield the rates of the longest products, by operator and shapes.

    `work` and `operator` have shape (n,): which calls count, and the operator that launched each. A
    product takes the time of all its operator's kernels: a split-K product has a second kernel that
    adds up the parts.
    """
    multiplies = trace.find_by_name(
        [family_of(name) is OperationFamily.GEMM for name in trace.names]
    )
    calls = np.flatnonzero(work & multiplies & (operator != NO_CALL))
    by = operator[calls]
    keys, place = np.unique(
        trace.name[by] * len(trace.inputs) + trace.input[by], return_inverse=True
    )
    length = sum_by_index(place, trace.end_ns[calls] - trace.start_ns[calls], size=keys.size)
    reported = 0
    for n in to_list(np.argsort(-length, kind="stable")):
        name, inputs = divmod(int(keys[n]), len(trace.inputs))
        product = matmul_of(trace.names[name], *trace.inputs[inputs])
        if product is None or length[n] <= 0:
            continue
        kernels = [trace.names[one] for one in to_list(np.unique(trace.name[calls[place == n]]))]
        subject = clean_name(f"{trace.names[name]} {shapes_of(*trace.inputs[inputs])}")
        seconds = int(length[n]) / np.unique(by[place == n]).size / NS_PER_S
        yield from _readings(product, seconds, subject, _dtype(product, kernels), hardware)
        reported += 1
        if reported == MAX_PRODUCTS:
            return


def _dtype(product: Matmul, kernels: Sequence[str]) -> str | None:
    """Return the type whose peak applies; float32 inputs may run on tensor cores as TF32."""
    if product.element_type in _DTYPES:
        return _DTYPES[product.element_type]
    kinds = {is_tensor_kernel(name) for name in kernels if _ADDS_UP not in name}
    if kinds == {True}:
        return "tf32"
    return "float32" if kinds == {False} else None


def _readings(
    product: Matmul, seconds: float, subject: str, dtype: str | None, hardware: HardwareSpec | None
) -> Iterator[ProfileReading]:
    rate = achieved_flops_per_second(flops=product.flops, seconds=seconds)
    intensity = arithmetic_intensity(flops=product.flops, bytes_moved=product.bytes)
    reading = partial(ProfileReading, subject=subject, is_estimate=True)
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
