"""Holds the rules of advice on a device's own time: memory, compute and latency."""

import re

from perfledger.profile import Bucket, Kernel, Operation, OperationFamily
from perfledger.rounding import integer, percentage
from perfledger_profiles.bottleneck.advice import Advice, AdviceContext, Rule
from perfledger_profiles.bottleneck.classification import Recommendation
from perfledger_profiles.bottleneck.step_shares import whole_name
from perfledger_profiles.parsing.operation_family import (
    DECODE_ATTENTION,
    FUSED_ATTENTION,
    MATRIX_VECTOR,
)

FUSE = Advice(
    "fuse operations that only move data: torch.compile, or a Triton kernel for the rest; each of "
    "them reads and writes all of its tensors",
    "if fusing halves their time",
    saved=0.5,
)
ATTENTION = Advice(
    "call torch.nn.functional.scaled_dot_product_attention: its fused kernels never write the "
    "matrix of scores to memory",
    "if it takes half the time",
    saved=0.5,
)
CONTIGUOUS = Advice(
    "avoid the copies: keep tensors in the layout that the next operations need, slice less",
    "if nothing is copied",
)
TENSOR_CORES = Advice(
    "use tensor cores: autocast to bfloat16 or float16, or allow TF32 "
    "(torch.set_float32_matmul_precision('high'))",
    "if they take half the time",
    saved=0.5,
)
TENSOR_CORES_HALF = Advice(
    "use tensor cores: autocast to float16, which they support on this device",
    "if they take half the time",
    saved=0.5,
)
FLOAT64 = Advice(
    "compute in float32 or less: float64 moves twice the bytes, at half the rate or less on most "
    "devices",
    "if float32 takes half the time",
    saved=0.5,
)
MULTIPLE_OF_8 = Advice(
    "pad the inner and output sizes (K, N) of matrix products to multiples of 8 (16 for float8): "
    "their rows are the leading dimensions, and unaligned ones take slower kernels",
    "if aligned kernels take half the time",
    saved=0.5,
)
MORE_BLOCKS = Advice(
    "give the device more parallel work: larger batches, split-k or stream-k products, or small "
    "kernels merged into one",
    "if the idle multiprocessors worked as fast as the others",
)

# Fusing half of a tenth of a step is worth the effort.
FUSIBLE_SHARE = 0.1
# Kernels with a smaller share of the step are not worth working on first.
NOTABLE_SHARE = 0.05
# A grid for a larger share of the multiprocessors may be a persistent kernel's.
MAX_MULTIPROCESSORS = 0.8
TENSOR_MULTIPLE = 8
# NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities": tensor cores exist since Volta, with
# bfloat16 and TF32 since Ampere.
TENSOR_CAPABILITY, TF32_CAPABILITY = 7.0, 8.0

_VERSION = re.compile(r"\d{1,2}\.\d")
_MOVING = (OperationFamily.ELEMENTWISE, OperationFamily.NORMALIZATION, OperationFamily.REDUCTION)
_MATRIX = (OperationFamily.GEMM, OperationFamily.CONVOLUTION, OperationFamily.ATTENTION)
_SCORES = re.compile(r"aten::(baddbmm|bmm|_softmax|_softmax_backward_data)\b")
_SOFTMAX = re.compile(r"aten::_softmax")
_PRODUCT = re.compile(r"aten::(baddbmm|bmm)\b")
_CONTIGUOUS = re.compile(r"aten::(contiguous|clone)\b")
FLOAT64_SHAPES = re.compile(r"\b(double|float64|f64)\[")
# CUTLASS names the number of elements per vectorized read: 8 of 16 bits are the widest.
_ALIGNED_KERNEL = re.compile(r"_align(8|16)\b")
_DIMENSIONS = 2
_HALF_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm)\b")
_HALF = re.compile(r"\b(?:Half|BFloat16|float16|bfloat16)\[([\d,]+)\]")


def _fuse(case: AdviceContext) -> Recommendation | None:
    kernels = [kernel for kernel in case.profile.kernels if kernel.family in _MOVING]
    operations = case.of_kernels(kernels)
    if case.is_jax:
        return None
    what = "is operations that mostly move data"
    return case.advise(FUSE, operations, what, least=FUSIBLE_SHARE)


def _attention(case: AdviceContext) -> Recommendation | None:
    if case.matching(FUSED_ATTENTION):
        return None
    if not (case.matching(_SOFTMAX) and case.matching(_PRODUCT)):
        return None
    return case.advise(ATTENTION, case.matching(_SCORES), "is unfused attention")


def _contiguous(case: AdviceContext) -> Recommendation | None:
    computing = case.select(lambda operation: operation.bucket is Bucket.COMPUTE)
    operations = [op for op in computing if _CONTIGUOUS.search(f"{op.path}/{op.name}")]
    what = "copies tensors into another layout"
    return case.advise(CONTIGUOUS, operations, what, least=NOTABLE_SHARE)


def _tensor_cores(case: AdviceContext) -> Recommendation | None:
    kernels = [
        kernel
        for kernel in case.profile.kernels
        if kernel.family in _MATRIX and kernel.is_tensor is False and not _reads_once(kernel.name)
    ]
    capability = _nvidia_capability(case)
    if capability is None or capability < TENSOR_CAPABILITY:
        return None
    advice = TENSOR_CORES_HALF if capability < TF32_CAPABILITY else TENSOR_CORES
    what = "is matrix work without tensor cores"
    return case.advise(advice, case.of_kernels(kernels), what, least=NOTABLE_SHARE)


def _reads_once(name: str) -> bool:
    """Return whether memory limits a kernel's products, whichever unit multiplies."""
    return bool(MATRIX_VECTOR.search(name) or DECODE_ATTENTION.search(name))


def _nvidia_capability(case: AdviceContext) -> float | None:
    """Return a device's compute capability, or None if it is unknown or the GPU is not NVIDIA's."""
    device = case.profile.device
    profile_version = device.compute_capability if device is not None else ""
    table_version = case.hardware.compute_capability if case.hardware is not None else ""
    match = _VERSION.fullmatch(table_version or profile_version)
    return float(match[0]) if match else None


def _float64(case: AdviceContext) -> Recommendation | None:
    """Return advice on float64; on the host, the type does not change the cost of launches."""
    computing = case.select(lambda operation: operation.bucket is Bucket.COMPUTE)
    operations = [op for op in computing if FLOAT64_SHAPES.search(op.shapes)]
    return case.advise(FLOAT64, operations, "is in float64")


def _multiple_of_8(case: AdviceContext) -> Recommendation | None:
    operations = [op for op in case.matching(_HALF_PRODUCT) if _is_unaligned(op)]
    share = case.alone_share(operations)
    if share < NOTABLE_SHARE or _nvidia_capability(case) is None:
        return None
    trigger = (
        f"{percentage(share)} of the step multiplies half-precision matrices whose K or N "
        "is not a multiple of 8"
    )
    return case.recommendation(MULTIPLE_OF_8, trigger=trigger, share=share)


def _is_unaligned(operation: Operation) -> bool:
    """Return whether K or N of a product is not a multiple of a tensor core's size.

    The rows of all three matrices have K or N elements; M is only the number of rows. If the
    kernel's name says that it reads aligned rows, the rows were aligned.
    """
    if _ALIGNED_KERNEL.search(operation.name):
        return False
    matrices = [_last_two(shape) for shape in _HALF.findall(operation.shapes)]
    rows = [shape[-1] for shape in matrices if len(shape) == _DIMENSIONS][-2:]
    return any(size > 1 and size % TENSOR_MULTIPLE for size in rows)


def _last_two(shape: str) -> list[int]:
    return [int(size) for size in shape.split(",")[-2:] if size]


def _few_blocks(case: AdviceContext) -> Recommendation | None:
    """Return advice on launches that leave multiprocessors idle.

    A kernel may have launches of several shapes, so its time is divided among them. A grid as large
    as almost all multiprocessors belongs to a persistent kernel, which loops over the rest.
    """
    share = saved_share = calls = 0.0
    for kernel in case.profile.kernels:
        filled = kernel.blocks_per_multiprocessor
        if filled is not None and filled < MAX_MULTIPROCESSORS:
            mine = _share_of_launch(case, kernel)
            share += mine
            saved_share += mine * (1 - filled)
            calls += kernel.count if mine else 0.0
    if share < NOTABLE_SHARE:
        return None
    trigger = (
        f"{percentage(share)} of {whole_name(case.profile)} is kernels with blocks for less than "
        f"{percentage(MAX_MULTIPROCESSORS)} of the multiprocessors; "
        f"{integer(calls)} call{'' if calls == 1 else 's'}"
    )
    return case.recommendation(MORE_BLOCKS, trigger=trigger, share=share, saved_share=saved_share)


def _share_of_launch(case: AdviceContext, kernel: Kernel) -> float:
    """Return the exclusive share of a kernel's launches of one shape."""
    operations = [op for op in case.of_kernels([kernel]) if op.bucket is Bucket.COMPUTE]
    of_name = sum(row.seconds for row in case.profile.kernels if row.name == kernel.name)
    return case.alone_share(operations) * kernel.seconds / of_name if of_name > 0 else 0.0


RULES: tuple[Rule, ...] = (
    _fuse,
    _attention,
    _contiguous,
    _tensor_cores,
    _float64,
    _multiple_of_8,
    _few_blocks,
)
