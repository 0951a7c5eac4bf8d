"""Holds the rules of advice on time off the device: input, host, copies and collectives."""

import re

from perfledger.profile import Bucket, Operation
from perfledger_profiles.bottleneck.advice import MIN_SHARE, AdviceContext, Rule
from perfledger_profiles.bottleneck.classification import (
    Bottleneck,
    BottleneckDetail,
    Recommendation,
)
from perfledger_profiles.bottleneck.communication_bound import communication_detail
from perfledger_profiles.bottleneck.host_bound import host_kind, is_launch_bound
from perfledger_profiles.bottleneck.step_shares import OVERHEAD_THRESHOLDS, is_on_cpu

WORKERS = (
    "load in worker processes: DataLoader(num_workers=4 or more, persistent_workers=True, "
    "pin_memory=True)"
)
MORE_WORKERS = (
    "the workers are too slow: raise num_workers and prefetch_factor, keep persistent_workers, "
    "decode on the device (DALI) or ahead of time, and read larger shards"
)
PREFETCH = (
    "prepare the next batch while this one computes: prefetch (grain, tf.data or a thread) to the "
    "device, in fewer and larger pieces"
)
RETRACE = (
    "a function is traced and compiled in the step: call jax.jit once, outside of it, and keep the "
    "shapes, types and static arguments of its calls the same"
)
RECOMPILE = (
    "the step compiles again: TORCH_LOGS=recompiles says which guard failed; mark sizes that "
    "change as dynamic, keep types and flags the same, and warm up before measuring"
)
GRAPHS = (
    "reduce launches: torch.compile(mode='reduce-overhead') or CUDA graphs, foreach or fused "
    "optimizers, and small operations batched into larger ones"
)
JIT = "jit the whole step instead of its parts, and put loops into jax.lax.scan or fori_loop"
PYTHON = (
    "take Python work out of the step: log and check rarely, gc.freeze() after warm-up, and pin "
    "the process to the cores next to its device"
)
READ_BACK = (
    "the host waits for the device in the step (.item(), .cpu(), print, nonzero, synchronize): "
    "keep values on the device and read them once in many steps"
)
BLOCKING_COPIES = (
    "the host waits inside copies: pin the host's memory (pin_memory=True), copy asynchronously "
    "(non_blocking=True), and read results once in many steps"
)
OPTIMIZER = "update all parameters at once: fused=True or foreach=True in the optimizer"
ALLOCATOR = (
    "memory is requested from the driver in the step: keep sizes the same, avoid empty_cache(), "
    "and set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
)
ZERO_GRAD = "release gradients instead of filling them: zero_grad(set_to_none=True)"
PINNED = (
    "copy from pinned memory, so that copies overlap compute: pin_memory=True and "
    ".to(device, non_blocking=True)"
)
TO_HOST = "keep results on the device, and read them back once in many steps"
FEWER_COPIES = "copy in one piece, and create tensors on the device (device=)"
OVERLAP_COPIES = "copy the next batch on a separate stream while this one computes"
OFFLOAD = (
    "start the copies from host memory earlier and keep more of them in flight, or offload less: "
    "the device waits for them"
)
COLLECTIVES = {
    BottleneckDetail.STRAGGLER: "balance the ranks' work: collectives wait for the last rank",
    BottleneckDetail.SMALL_MESSAGES: (
        "send fewer, larger messages: larger gradient buckets (bucket_cap_mb), fewer shards"
    ),
    BottleneckDetail.BANDWIDTH: (
        "the links are full: send less (bfloat16 gradients, compression, accumulation over several "
        "batches), keep tensor parallelism within the NVLink domain, or reduce in a hierarchy"
    ),
    BottleneckDetail.NO_OVERLAP: (
        "let collectives run beside compute: DDP with gradient_as_bucket_view and smaller buckets, "
        "FSDP with prefetching, XLA's latency-hiding scheduler"
    ),
}
ANY_COLLECTIVE = (
    "overlap collectives with compute or send less: larger batches or accumulation, bfloat16 "
    "gradients"
)

# A batch is copied in a few pieces; more copies are made value by value.
MANY_COPIES = 10
# The parameter tensors of a small network; a fused optimizer needs a handful of launches.
MANY_UPDATES = 64
MODERATE_TRANSFER = OVERHEAD_THRESHOLDS[Bottleneck.TRANSFER].moderate

_ONE_PROCESS = re.compile(r"_SingleProcessDataLoaderIter")
_WORKERS = re.compile(r"_MultiProcessingDataLoaderIter")
_ALLOCATE = re.compile(r"(?i)/(cuda|hip|cu)(Malloc|Free|HostAlloc|Mem(Alloc|Free|Map|Unmap))")
_UPDATE = re.compile(r"Optimizer\.step")
_FUSED_UPDATE = re.compile(r"_foreach_|_fused_|multi_tensor|FusedAdam|triton_")
_ZERO_GRAD = re.compile(r"Optimizer\.zero_grad")
_FILL = re.compile(r"aten::(zero_|fill_)|[Mm]emset|FillFunctor")
_HOST_COPY = re.compile(r"^copy-(done|start)")
_PAGEABLE = re.compile(r"(?i)pageable")
_TO_HOST = re.compile(r"(?i)DtoH|D2H")
_TO_DEVICE = re.compile(r"(?i)HtoD|H2D")


def _input(case: AdviceContext) -> Recommendation | None:
    share = case.overhead(Bottleneck.INPUT)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.INPUT].moderate:
        return None
    text = PREFETCH
    if case.matching(_ONE_PROCESS):
        text = WORKERS
    elif case.matching(_WORKERS):
        text = MORE_WORKERS
    trigger = f"{100 * share:.1f} % of the step waits for input"
    return case.recommendation(text, trigger=trigger, share=share)


def _compile(case: AdviceContext) -> Recommendation | None:
    if not case.profile.has_steps:
        return None  # the compilation may be before the first step
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.COMPILE)
    return case.advice(RETRACE if case.is_jax else RECOMPILE, operations, "traces and compiles")


def _read_back(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.SYNC)
    return case.advice(READ_BACK, operations, "waits for the device")


def _blocking_copies(case: AdviceContext) -> Recommendation | None:
    kind = BottleneckDetail.BLOCKING_COPY
    operations = case.select(lambda operation: host_kind(operation) is kind)
    return case.advice(BLOCKING_COPIES, operations, "waits inside blocking copies")


def _launch(case: AdviceContext) -> Recommendation | None:
    kinds = (BottleneckDetail.LAUNCH, BottleneckDetail.OPERATORS, BottleneckDetail.PYTHON)
    operations = case.select(lambda operation: host_kind(operation) in kinds)
    share = case.share(operations)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.HOST].moderate or not _is_launching(case):
        return None
    launch_calls = [
        operation for operation in operations if host_kind(operation) is BottleneckDetail.LAUNCH
    ]
    launches = sum(row.count for row in case.profile.kernels or launch_calls)
    trigger = f"{100 * share:.1f} % of the step is the host around {launches:,.0f} launches"
    if is_launch_bound(case.profile):
        trigger += ", most of them for kernels below 10 us or shorter than their launch"
    return case.recommendation(JIT if case.is_jax else GRAPHS, trigger=trigger, share=share)


def _is_launching(case: AdviceContext) -> bool:
    return case.classification.detail is BottleneckDetail.LAUNCH or is_launch_bound(case.profile)


def _python(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.PYTHON)
    share = case.share(operations)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.HOST].moderate or _is_launching(case):
        return None
    trigger = f"{100 * share:.1f} % of the step is spent outside operators"
    return case.recommendation(PYTHON, trigger=trigger, share=share)


def _optimizer(case: AdviceContext) -> Recommendation | None:
    operations = case.matching(_UPDATE)
    share = case.share(operations)
    calls = sum(operation.count for operation in operations)
    is_fused = any(_FUSED_UPDATE.search(f"{op.path}/{op.name}") for op in operations)
    if share < MIN_SHARE or calls < MANY_UPDATES or is_fused:
        return None
    trigger = (
        f"{100 * share:.1f} % of the step updates parameters one by one, in {calls:,.0f} calls"
    )
    return case.recommendation(OPTIMIZER, trigger=trigger, share=share)


def _allocator(case: AdviceContext) -> Recommendation | None:
    return case.advice(ALLOCATOR, case.matching(_ALLOCATE), "allocates driver memory")


def _zero_grad(case: AdviceContext) -> Recommendation | None:
    operations = case.matching(_ZERO_GRAD)
    if not any(_FILL.search(f"{op.path}/{op.name}") for op in operations):
        return None
    return case.advice(ZERO_GRAD, operations, "fills gradients with zeros")


def _pageable(case: AdviceContext) -> Recommendation | None:
    what = "is exposed copies from memory that is not pinned"
    return case.advice(PINNED, _exposed(case, _PAGEABLE), what)


def _to_host(case: AdviceContext) -> Recommendation | None:
    what = "is exposed copies to the host"
    return case.advice(TO_HOST, _exposed(case, _TO_HOST), what)


def _to_device(case: AdviceContext) -> Recommendation | None:
    operations = _exposed(case, _TO_DEVICE)
    is_many = sum(operation.count for operation in operations) > MANY_COPIES
    text = FEWER_COPIES if is_many else OVERLAP_COPIES
    what = "is exposed copies to the device"
    return case.advice(text, operations, what, least=MODERATE_TRANSFER)


def _offload(case: AdviceContext) -> Recommendation | None:
    operations = _exposed(case, _HOST_COPY)
    return case.advice(OFFLOAD, operations, "waits for copies", least=MODERATE_TRANSFER)


def _exposed(case: AdviceContext, pattern: re.Pattern[str]) -> tuple[Operation, ...]:
    if is_on_cpu(case.profile):
        return ()
    return case.select(lambda op: op.bucket is Bucket.COPY and bool(pattern.search(op.name)))


def _collectives(case: AdviceContext) -> Recommendation | None:
    share = case.overhead(Bottleneck.COMMUNICATION)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.COMMUNICATION].moderate:
        return None
    detail = communication_detail(case.profile)
    cause = f": {detail}" if detail is not BottleneckDetail.NONE else ""
    trigger = f"{100 * share:.1f} % of the step waits for exposed collectives{cause}"
    if not case.profile.each_step and not case.profile.has_steps:  # sums of kernels
        trigger = (
            f"{100 * share:.1f} % of the kernels' time is collectives, hidden by compute or not"
        )
    text = COLLECTIVES.get(detail, ANY_COLLECTIVE)
    return case.recommendation(text, trigger=trigger, share=share)


RULES: tuple[Rule, ...] = (
    _input,
    _compile,
    _read_back,
    _blocking_copies,
    _launch,
    _python,
    _optimizer,
    _allocator,
    _zero_grad,
    _pageable,
    _to_host,
    _to_device,
    _offload,
    _collectives,
)
