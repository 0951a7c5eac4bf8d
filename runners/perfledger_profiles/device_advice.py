"""Turn what a device's own time goes to into advice: memory, compute, latency and capacity."""

import re
from math import inf

from perfledger.profile import Bucket, Family, Operation
from perfledger_profiles.advice import MIN_SHARE, Case, Rule, counted, short_name
from perfledger_profiles.bottleneck import Bottleneck, Detail, Recommendation
from perfledger_profiles.matching import FUSED_ATTENTION
from perfledger_profiles.occupancy import kernel_occupancy
from perfledger_profiles.step_shares import is_on_cpu

FUSE = (
    "fuse what only moves data: torch.compile, or a Triton kernel for what stays; each of these "
    "operations reads and writes all of its tensors"
)
ATTENTION = (
    "call torch.nn.functional.scaled_dot_product_attention: its fused kernels never write the "
    "matrix of scores to memory"
)
CHANNELS_LAST = (
    "keep images in the format that the kernels work in: model.to(memory_format="
    "torch.channels_last), and the inputs too"
)
CONTIGUOUS = "avoid the copies: keep tensors in the layout that their users take, slice less"
TENSOR_CORES = (
    "use tensor cores: autocast to bfloat16 or float16, or allow TF32 "
    "(torch.set_float32_matmul_precision('high'))"
)
TENSOR_CORES_HALF = "use tensor cores: autocast to float16, which they take on this device"
FLOAT64 = "compute in float32 or less: float64 runs at half its rate at best"
MULTIPLE_OF_8 = (
    "pad the sizes of matrix products to multiples of 8 (16 for float8): others leave a part of "
    "each tensor core's tile empty"
)
AT_ROOF = (
    "this is as fast as the device gets: compute less, in a smaller type, or on more or larger "
    "devices"
)
MORE_BLOCKS = (
    "give the device more to do at once: larger batches, split-k or stream-k products, or several "
    "small kernels merged into one"
)
SMALLER_BLOCKS = (
    "let more blocks fit: fewer registers or less shared memory per block, smaller tiles"
)
FULL_WAVES = (
    "make the last wave of blocks full: another tile size, stream-k, or a batch that fills it"
)
CAPACITY = (
    "memory is nearly full: activation checkpointing, sharded or offloaded optimizer state, or "
    "smaller micro-batches with accumulation"
)
FRAGMENTED = (
    "memory is reserved but not used: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, and sizes "
    "that repeat"
)

# torch_tb_profiler warns when the peak is above 90 % of the device's memory.
NEARLY_FULL = 0.9
# The caching allocator keeps some slack; a tenth of what it holds is more than that.
FRAGMENTED_SHARE = 0.1
# Fusing half of a tenth of a step is worth the trouble.
FUSIBLE_SHARE = 0.1
# A kind of kernel that has less of the step than this is not what to work on first.
NOTABLE_SHARE = 0.05
TENSOR_MULTIPLE = 8
# NVIDIA's CUDA C++ Programming Guide, "Compute Capabilities": tensor cores came with Volta, and
# with Ampere those that take bfloat16 and TF32.
TENSOR_CAPABILITY, TF32_CAPABILITY = 7.0, 8.0

_VERSION = re.compile(r"\d{1,2}\.\d")
_MOVING = (Family.ELEMENTWISE, Family.NORMALIZATION, Family.REDUCTION)
_MATRIX = (Family.GEMM, Family.CONVOLUTION, Family.ATTENTION)
_SCORES = re.compile(r"aten::(baddbmm|bmm|_softmax|_softmax_backward_data)\b")
_SOFTMAX = re.compile(r"aten::_softmax")
_PRODUCT = re.compile(r"aten::(baddbmm|bmm)\b")
_LAYOUT = re.compile(r"(?i)nchwToNhwc|nhwcToNchw")
_CONTIGUOUS = re.compile(r"aten::(contiguous|clone)\b")
_FLOAT64 = re.compile(r"\b(double|float64|f64)\[")
_HALF_PRODUCT = re.compile(r"aten::(mm|addmm|bmm|baddbmm)\b")
_HALF = re.compile(r"\b(?:Half|BFloat16|float16|bfloat16)\[([\d,]+)\]")


def _fuse(case: Case) -> Recommendation | None:
    kernels = [kernel for kernel in case.profile.kernels if kernel.family in _MOVING]
    found = case.of_kernels(kernels)
    share = case.share(found)
    if case.is_jax or share < FUSIBLE_SHARE:
        return None
    trigger = f"{share:.1%} of the step is operations that mostly move data ({counted(found)})"
    return case.recommendation(FUSE, trigger=trigger, share=share)


def _attention(case: Case) -> Recommendation | None:
    if case.matching(FUSED_ATTENTION):
        return None
    if not (case.matching(_SOFTMAX) and case.matching(_PRODUCT)):
        return None
    found = case.matching(_SCORES)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step is attention in parts ({counted(found)})"
    return case.recommendation(ATTENTION, trigger=trigger, share=share)


def _channels_last(case: Case) -> Recommendation | None:
    found = case.matching(_LAYOUT)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step rearranges images ({counted(found)})"
    return case.recommendation(CHANNELS_LAST, trigger=trigger, share=share)


def _contiguous(case: Case) -> Recommendation | None:
    computing = case.chosen(lambda operation: operation.bucket is Bucket.COMPUTE)
    found = [op for op in computing if _CONTIGUOUS.search(f"{op.path}/{op.name}")]
    share = case.share(found)
    if share < NOTABLE_SHARE:
        return None
    trigger = f"{share:.1%} of the step copies tensors into another layout ({counted(found)})"
    return case.recommendation(CONTIGUOUS, trigger=trigger, share=share)


def _tensor_cores(case: Case) -> Recommendation | None:
    kernels = [k for k in case.profile.kernels if k.family in _MATRIX and k.is_tensor is False]
    found = case.of_kernels(kernels)
    share = case.share(found)
    if share < NOTABLE_SHARE:
        return None
    if _capability(case) < TENSOR_CAPABILITY:
        return None
    trigger = f"{share:.1%} of the step is matrix work off the tensor cores ({counted(found)})"
    text = TENSOR_CORES_HALF if _capability(case) < TF32_CAPABILITY else TENSOR_CORES
    return case.recommendation(text, trigger=trigger, share=share)


def _capability(case: Case) -> float:
    """Return a device's compute capability, of one that does not state it the newest."""
    device = case.profile.device
    stated = device.compute_capability if device is not None else ""
    known = case.hardware.compute_capability if case.hardware is not None else ""
    found = _VERSION.fullmatch(known or stated)
    return float(found[0]) if found else inf


def _float64(case: Case) -> Recommendation | None:
    found = case.chosen(lambda operation: _FLOAT64.search(operation.shapes) is not None)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step is in float64 ({counted(found)})"
    return case.recommendation(FLOAT64, trigger=trigger, share=share)


def _multiple_of_8(case: Case) -> Recommendation | None:
    found = [op for op in case.matching(_HALF_PRODUCT) if _has_odd_size(op)]
    share = case.share(found)
    if share < NOTABLE_SHARE or is_on_cpu(case.profile):
        return None
    trigger = f"{share:.1%} of the step multiplies half-precision matrices of odd sizes"
    return case.recommendation(MULTIPLE_OF_8, trigger=trigger, share=share)


def _has_odd_size(operation: Operation) -> bool:
    """Tell whether a matrix has a size that is no multiple of a tensor core's."""
    sizes = (size for shape in _HALF.findall(operation.shapes) for size in _last_two(shape))
    return any(size > 1 and size % TENSOR_MULTIPLE for size in sizes)


def _last_two(shape: str) -> list[int]:
    return [int(size) for size in shape.split(",")[-2:] if size]


def _at_roof(case: Case) -> Recommendation | None:
    if case.classification.detail is not Detail.AT_ROOF:
        return None
    trigger = f"the step is bound by {case.classification.primary}, at 0.9 of what is achievable"
    return case.recommendation(AT_ROOF, trigger=trigger, share=0.0)


def _few_blocks(case: Case) -> Recommendation | None:
    kernels = [
        kernel
        for kernel in case.profile.kernels
        if kernel.blocks_per_multiprocessor is not None and kernel.blocks_per_multiprocessor < 1
    ]
    found = [op for op in case.of_kernels(kernels) if op.bucket is Bucket.COMPUTE]
    share = case.share(found)
    if share < NOTABLE_SHARE:
        return None
    trigger = (
        f"{share:.1%} of the step is kernels with fewer blocks than the device has "
        f"multiprocessors ({counted(found)})"
    )
    return case.recommendation(MORE_BLOCKS, trigger=trigger, share=share)


def _latency(case: Case) -> Recommendation | None:
    texts = {Detail.OCCUPANCY: SMALLER_BLOCKS, Detail.TAIL: FULL_WAVES}
    text = texts.get(case.classification.detail)
    if text is None or case.classification.primary is not Bottleneck.LATENCY:
        return None
    for kernel in sorted(case.profile.kernels, key=lambda kernel: -kernel.seconds):
        occupancy = kernel_occupancy(kernel, case.profile.device)
        if occupancy is not None:
            limits = " and ".join(occupancy.limiters)
            trigger = (
                f"{short_name(kernel.name)} keeps {occupancy.theoretical:.1%} of the possible "
                f"warps, limited by {limits}, in {occupancy.waves:.2f} waves"
            )
            share = case.share(case.of_kernels([kernel]))
            return case.recommendation(text, trigger=trigger, share=share)
    return None


def _capacity(case: Case) -> Recommendation | None:
    share = case.memory_share
    if share is None or share <= NEARLY_FULL:
        return None
    trigger = f"peak memory is {share:.1%} of the device's"
    return case.recommendation(CAPACITY, trigger=trigger, share=0.0)


def _fragmented(case: Case) -> Recommendation | None:
    reserved = case.profile.reading("peak_mem_reserved")
    allocated = case.profile.reading("peak_mem_allocated")
    if not reserved or allocated is None or (case.memory_share or 0.0) <= NEARLY_FULL:
        return None
    unused = 1 - allocated / reserved
    if unused <= FRAGMENTED_SHARE:
        return None
    trigger = f"{unused:.1%} of the reserved memory is not allocated, with memory nearly full"
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
