"""Holds the rules of advice on a device's own time: memory, compute, latency and capacity."""

import re
from math import inf

from perfledger.profile import Bucket, Operation, OperationFamily
from perfledger_profiles.bottleneck.advice import (
    AdviceContext,
    Rule,
    short_name,
)
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckDetail,
    Recommendation,
)
from perfledger_profiles.bottleneck.step_shares import is_on_cpu
from perfledger_profiles.hardware.occupancy import kernel_occupancy
from perfledger_profiles.parsing.operation_family import FUSED_ATTENTION

FUSE = (
    "fuse operations that only move data: torch.compile, or a Triton kernel for the rest; each of "
    "them reads and writes all of its tensors"
)
ATTENTION = (
    "call torch.nn.functional.scaled_dot_product_attention: its fused kernels never write the "
    "matrix of scores to memory"
)
CHANNELS_LAST = (
    "keep images in the kernels' memory format: model.to(memory_format=torch.channels_last), and "
    "the inputs too"
)
CONTIGUOUS = (
    "avoid the copies: keep tensors in the layout that the next operations need, slice less"
)
TENSOR_CORES = (
    "use tensor cores: autocast to bfloat16 or float16, or allow TF32 "
    "(torch.set_float32_matmul_precision('high'))"
)
TENSOR_CORES_HALF = "use tensor cores: autocast to float16, which they support on this device"
FLOAT64 = "compute in float32 or less: float64 runs at most at half its rate"
MULTIPLE_OF_8 = (
    "pad the inner and output sizes (K, N) of matrix products to multiples of 8 (16 for float8): "
    "their rows are the leading dimensions, and unaligned ones take slower kernels"
)
AT_ROOF = (
    "the device is at its limit: compute less, in a smaller type, or on more or larger devices"
)
MORE_BLOCKS = (
    "give the device more parallel work: larger batches, split-k or stream-k products, or small "
    "kernels merged into one"
)
SMALLER_BLOCKS = (
    "let more blocks fit: fewer registers or less shared memory per block, smaller tiles"
)
FULL_WAVES = "fill the last wave of blocks: another tile size, stream-k, or a batch that fills it"
CAPACITY = (
    "memory is nearly full: activation checkpointing, sharded or offloaded optimizer state, or "
    "smaller micro-batches with accumulation"
)
FRAGMENTED = (
    "memory is reserved but unused: set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True and keep "
    "sizes the same"
)

# torch_tb_profiler warns when the peak is above 90 % of the device's memory.
NEARLY_FULL = 0.9
# The caching allocator keeps some slack; a tenth of its memory is more than that.
FRAGMENTED_SHARE = 0.1
# Fusing half of a tenth of a step is worth the trouble.
FUSIBLE_SHARE = 0.1
# Kernels with a smaller share of the step are not worth working on first.
NOTABLE_SHARE = 0.05
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
_LAYOUT = re.compile(r"(?i)nchwToNhwc|nhwcToNchw")
_CONTIGUOUS = re.compile(r"aten::(contiguous|clone)\b")
FLOAT64_SHAPES = re.compile(r"\b(double|float64|f64)\[")
# CUTLASS names the elements of its vectorized reads: 8 of 16 bits are the widest.
_ALIGNED_KERNEL = re.compile(r"_align(8|16)\b")
_DIMENSIONS = 2
# Evidence of training: only then there are activations to checkpoint and optimizer state to shard.
_TRAINS = re.compile(r"(?i)backward|optimizer\.step|transpose\(jvp")
_HALF_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm)\b")
_HALF = re.compile(r"\b(?:Half|BFloat16|float16|bfloat16)\[([\d,]+)\]")


def _fuse(case: AdviceContext) -> Recommendation | None:
    kernels = [kernel for kernel in case.profile.kernels if kernel.family in _MOVING]
    operations = case.of_kernels(kernels)
    if case.is_jax:
        return None
    what = "is operations that mostly move data"
    return case.advice(FUSE, operations, what, least=FUSIBLE_SHARE)


def _attention(case: AdviceContext) -> Recommendation | None:
    if case.matching(FUSED_ATTENTION):
        return None
    if not (case.matching(_SOFTMAX) and case.matching(_PRODUCT)):
        return None
    return case.advice(ATTENTION, case.matching(_SCORES), "is unfused attention")


def _channels_last(case: AdviceContext) -> Recommendation | None:
    return case.advice(CHANNELS_LAST, case.matching(_LAYOUT), "converts the layout of images")


def _contiguous(case: AdviceContext) -> Recommendation | None:
    computing = case.select(lambda operation: operation.bucket is Bucket.COMPUTE)
    operations = [op for op in computing if _CONTIGUOUS.search(f"{op.path}/{op.name}")]
    what = "copies tensors into another layout"
    return case.advice(CONTIGUOUS, operations, what, least=NOTABLE_SHARE)


def _tensor_cores(case: AdviceContext) -> Recommendation | None:
    kernels = [k for k in case.profile.kernels if k.family in _MATRIX and k.is_tensor is False]
    if _capability(case) < TENSOR_CAPABILITY:
        return None
    text = TENSOR_CORES_HALF if _capability(case) < TF32_CAPABILITY else TENSOR_CORES
    what = "is matrix work without tensor cores"
    return case.advice(text, case.of_kernels(kernels), what, least=NOTABLE_SHARE)


def _capability(case: AdviceContext) -> float:
    """Return a device's compute capability, the newest if it is unknown."""
    device = case.profile.device
    profile_version = device.compute_capability if device is not None else ""
    table_version = case.hardware.compute_capability if case.hardware is not None else ""
    match = _VERSION.fullmatch(table_version or profile_version)
    return float(match[0]) if match else inf


def _float64(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda operation: FLOAT64_SHAPES.search(operation.shapes) is not None)
    return case.advice(FLOAT64, operations, "is in float64")


def _multiple_of_8(case: AdviceContext) -> Recommendation | None:
    operations = [op for op in case.matching(_HALF_PRODUCT) if _is_unaligned(op)]
    share = case.share(operations)
    if share < NOTABLE_SHARE or is_on_cpu(case.profile):
        return None
    trigger = (
        f"{100 * share:.1f} % of the step multiplies half-precision matrices with K or N no "
        "multiple of 8"
    )
    return case.recommendation(MULTIPLE_OF_8, trigger=trigger, share=share)


def _is_unaligned(operation: Operation) -> bool:
    """Return whether K or N of a product is not a multiple of a tensor core's size.

    The rows of all three matrices have a length of K or N; M is only their number. A kernel whose
    name says that it reads aligned rows got them.
    """
    if _ALIGNED_KERNEL.search(operation.name):
        return False
    matrices = [_last_two(shape) for shape in _HALF.findall(operation.shapes)]
    rows = [shape[-1] for shape in matrices if len(shape) == _DIMENSIONS][-2:]
    return any(size > 1 and size % TENSOR_MULTIPLE for size in rows)


def _last_two(shape: str) -> list[int]:
    return [int(size) for size in shape.split(",")[-2:] if size]


def _at_roof(case: AdviceContext) -> Recommendation | None:
    if case.classification.detail is not BottleneckDetail.AT_ROOF:
        return None
    trigger = f"the step is bound by {case.classification.primary}, at 0.9 of what is achievable"
    return case.recommendation(AT_ROOF, trigger=trigger, share=0.0)


def _few_blocks(case: AdviceContext) -> Recommendation | None:
    kernels = [
        kernel
        for kernel in case.profile.kernels
        if kernel.blocks_per_multiprocessor is not None and kernel.blocks_per_multiprocessor < 1
    ]
    operations = [op for op in case.of_kernels(kernels) if op.bucket is Bucket.COMPUTE]
    what = "is kernels with fewer blocks than the device has multiprocessors"
    return case.advice(MORE_BLOCKS, operations, what, least=NOTABLE_SHARE)


def _latency(case: AdviceContext) -> Recommendation | None:
    texts = {BottleneckDetail.OCCUPANCY: SMALLER_BLOCKS, BottleneckDetail.TAIL: FULL_WAVES}
    text = texts.get(case.classification.detail)
    if text is None or case.classification.primary is not Bottleneck.LATENCY:
        return None
    for kernel in sorted(case.profile.kernels, key=lambda kernel: -kernel.seconds):
        occupancy = kernel_occupancy(kernel, case.profile.device)
        if occupancy is not None:
            limits = " and ".join(occupancy.limiters)
            trigger = (
                f"{short_name(kernel.name)} keeps {100 * occupancy.theoretical:.1f} % of the "
                f"possible warps, limited by {limits}, in {occupancy.waves:.2f} waves"
            )
            share = case.share(case.of_kernels([kernel]))
            return case.recommendation(text, trigger=trigger, share=share)
    return None


def _capacity(case: AdviceContext) -> Recommendation | None:
    share = case.memory_share
    if share is None or share <= NEARLY_FULL or not case.matching(_TRAINS):
        return None  # a server allocates nearly all of the memory when it starts
    trigger = f"peak memory is {100 * share:.1f} % of the device's"
    return case.recommendation(CAPACITY, trigger=trigger, share=0.0)


def _fragmented(case: AdviceContext) -> Recommendation | None:
    reserved = case.profile.reading("peak_mem_reserved")
    allocated = case.profile.reading("peak_mem_allocated")
    if not reserved or allocated is None or (case.memory_share or 0.0) <= NEARLY_FULL:
        return None
    unused = 1 - allocated / reserved
    if unused <= FRAGMENTED_SHARE:
        return None
    trigger = (
        f"{100 * unused:.1f} % of the reserved memory is not allocated, with memory nearly full"
    )
    return case.recommendation(FRAGMENTED, trigger=trigger, share=0.0)


RULES: tuple[Rule, ...] = (
    _fuse,
    _attention,
    _channels_last,
    _contiguous,
    _tensor_cores,
    _float64,
    _multiple_of_8,
    _at_roof,
    _few_blocks,
    _latency,
    _capacity,
    _fragmented,
)
