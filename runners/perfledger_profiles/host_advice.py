"""Turn what a step spends off the device into advice: input, host, copies and collectives."""

import re

from perfledger.profile import Bucket, Operation
from perfledger_profiles.advice import MIN_SHARE, Case, Rule, counted
from perfledger_profiles.bottleneck import Bottleneck, Detail, Recommendation
from perfledger_profiles.communication_part import communication_detail
from perfledger_profiles.host_part import host_kind, is_launch_bound
from perfledger_profiles.step_shares import MARKS, is_on_cpu

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
    "launch the step's kernels together: torch.compile(mode='reduce-overhead') or CUDA graphs, "
    "foreach or fused optimizers, and small operations batched into larger ones"
)
JIT = "jit the whole step rather than its parts, and put loops into jax.lax.scan or fori_loop"
PYTHON = (
    "take Python work out of the step: log and check rarely, gc.freeze() after warm-up, and pin "
    "the process to the cores next to its device"
)
READ_BACK = (
    "the host waits for the device in the step (.item(), .cpu(), print, nonzero, synchronize): "
    "keep values on the device and read them once in many steps"
)
OPTIMIZER = "update the parameters together: fused=True or foreach=True in the optimizer"
ALLOCATOR = (
    "memory is requested from the driver in the step: keep sizes the same, avoid empty_cache(), "
    "and set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
)
ZERO_GRAD = "let go of gradients instead of filling them: zero_grad(set_to_none=True)"
PINNED = (
    "copy from pinned memory, so that it can run beside compute: pin_memory=True and "
    ".to(device, non_blocking=True)"
)
TO_HOST = "keep results on the device, and read them back once in many steps"
FEWER_COPIES = "copy once what is copied in pieces, and create tensors on the device (device=)"
OVERLAP_COPIES = "copy the next batch on a stream of its own while this one computes"
OFFLOAD = (
    "start the copies from host memory earlier and keep more of them in flight, or offload less: "
    "the device waits for them to be done"
)
COLLECTIVES = {
    Detail.STRAGGLER: "balance the ranks' work: the collectives wait for the last one to come",
    Detail.SMALL_MESSAGES: (
        "send fewer, larger messages: larger gradient buckets (bucket_cap_mb), fewer shards"
    ),
    Detail.BANDWIDTH: (
        "the links are full: send less (bfloat16 gradients, compression, accumulation over several "
        "batches), keep tensor parallelism within the NVLink domain, or reduce in a hierarchy"
    ),
    Detail.NO_OVERLAP: (
        "let collectives run beside compute: DDP with gradient_as_bucket_view and smaller buckets, "
        "FSDP with prefetching, XLA's latency-hiding scheduler"
    ),
}
ANY_COLLECTIVE = (
    "hide collectives behind compute or send less: overlap, larger batches or accumulation, "
    "bfloat16 gradients"
)

# A step copies a batch in a few pieces; what takes more is copied value by value.
MANY_COPIES = 10
# Parameter tensors of a small network; a fused optimizer takes a handful of launches for all.
MANY_UPDATES = 64

_ONE_PROCESS = re.compile(r"_SingleProcessDataLoaderIter")
_WORKERS = re.compile(r"_MultiProcessingDataLoaderIter")
_ALLOCATE = re.compile(r"(?i)/(cuda|hip|cu)(Malloc|Free|HostAlloc|Mem(Alloc|Free|Map|Unmap))")
_UPDATE = re.compile(r"Optimizer\.step")
_TOGETHER = re.compile(r"_foreach_|_fused_|multi_tensor|FusedAdam|triton_")
_ZERO_GRAD = re.compile(r"Optimizer\.zero_grad")
_FILL = re.compile(r"aten::(zero_|fill_)|[Mm]emset|FillFunctor")
_HOST_COPY = re.compile(r"^copy-(done|start)")
_PAGEABLE = re.compile(r"(?i)pageable")
_TO_HOST = re.compile(r"(?i)DtoH|D2H")
_TO_DEVICE = re.compile(r"(?i)HtoD|H2D")


def _input(case: Case) -> Recommendation | None:
    share = case.overhead(Bottleneck.INPUT)
    if share < MARKS[Bottleneck.INPUT].moderate:
        return None
    text = PREFETCH
    if case.matching(_ONE_PROCESS):
        text = WORKERS
    elif case.matching(_WORKERS):
        text = MORE_WORKERS
    trigger = f"{share:.1%} of the step waits for input"
    return case.recommendation(text, trigger=trigger, share=share)


def _compile(case: Case) -> Recommendation | None:
    if not case.profile.has_steps:
        return None  # what compiled may have done so before the first step
    found = case.chosen(lambda operation: host_kind(operation) is Detail.COMPILE)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step traces and compiles ({counted(found)})"
    return case.recommendation(RETRACE if case.is_jax else RECOMPILE, trigger=trigger, share=share)


def _read_back(case: Case) -> Recommendation | None:
    found = case.chosen(lambda operation: host_kind(operation) is Detail.SYNC)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step waits for the device ({counted(found)})"
    return case.recommendation(READ_BACK, trigger=trigger, share=share)


def _launch(case: Case) -> Recommendation | None:
    kinds = (Detail.LAUNCH, Detail.OPERATORS, Detail.PYTHON)
    found = case.chosen(lambda operation: host_kind(operation) in kinds)
    share = case.share(found)
    if share < MARKS[Bottleneck.HOST].moderate or not _is_launching(case):
        return None
    called = [operation for operation in found if host_kind(operation) is Detail.LAUNCH]
    launches = sum(row.count for row in case.profile.kernels or called)
    trigger = f"{share:.1%} of the step is the host around {launches:,.0f} launches"
    if is_launch_bound(case.profile):
        trigger += ", most of kernels below 10 us or shorter than their launch"
    return case.recommendation(JIT if case.is_jax else GRAPHS, trigger=trigger, share=share)


def _is_launching(case: Case) -> bool:
    return case.classification.detail is Detail.LAUNCH or is_launch_bound(case.profile)


def _python(case: Case) -> Recommendation | None:
    found = case.chosen(lambda operation: host_kind(operation) is Detail.PYTHON)
    share = case.share(found)
    if share < MARKS[Bottleneck.HOST].moderate or _is_launching(case):
        return None
    trigger = f"{share:.1%} of the step is spent outside of operators"
    return case.recommendation(PYTHON, trigger=trigger, share=share)


def _optimizer(case: Case) -> Recommendation | None:
    found = case.matching(_UPDATE)
    share = case.share(found)
    calls = sum(operation.count for operation in found)
    is_together = any(_TOGETHER.search(f"{op.path}/{op.name}") for op in found)
    if share < MIN_SHARE or calls < MANY_UPDATES or is_together:
        return None
    trigger = f"{share:.1%} of the step updates parameters one by one, in {calls:,.0f} calls"
    return case.recommendation(OPTIMIZER, trigger=trigger, share=share)


def _allocator(case: Case) -> Recommendation | None:
    found = case.matching(_ALLOCATE)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step asks the driver for memory ({counted(found)})"
    return case.recommendation(ALLOCATOR, trigger=trigger, share=share)


def _zero_grad(case: Case) -> Recommendation | None:
    found = case.matching(_ZERO_GRAD)
    share = case.share(found)
    if share < MIN_SHARE or not any(_FILL.search(f"{op.path}/{op.name}") for op in found):
        return None
    trigger = f"{share:.1%} of the step fills gradients with zeros ({counted(found)})"
    return case.recommendation(ZERO_GRAD, trigger=trigger, share=share)


def _pageable(case: Case) -> Recommendation | None:
    return _copies(case, _PAGEABLE, PINNED, "copies from memory that is not pinned")


def _to_host(case: Case) -> Recommendation | None:
    return _copies(case, _TO_HOST, TO_HOST, "copies to the host")


def _copies(case: Case, pattern: re.Pattern[str], text: str, what: str) -> Recommendation | None:
    found = _exposed(case, pattern)
    share = case.share(found)
    if share < MIN_SHARE:
        return None
    trigger = f"{share:.1%} of the step is {what} that nothing hides ({counted(found)})"
    return case.recommendation(text, trigger=trigger, share=share)


def _to_device(case: Case) -> Recommendation | None:
    found = _exposed(case, _TO_DEVICE)
    share = case.share(found)
    if share < MARKS[Bottleneck.TRANSFER].moderate:
        return None
    is_many = sum(operation.count for operation in found) > MANY_COPIES
    trigger = f"{share:.1%} of the step is copies to the device that nothing hides"
    return case.recommendation(
        FEWER_COPIES if is_many else OVERLAP_COPIES,
        trigger=f"{trigger} ({counted(found)})",
        share=share,
    )


def _offload(case: Case) -> Recommendation | None:
    found = _exposed(case, _HOST_COPY)
    share = case.share(found)
    if share < MARKS[Bottleneck.TRANSFER].moderate:
        return None
    trigger = f"{share:.1%} of the step waits for copies ({counted(found)})"
    return case.recommendation(OFFLOAD, trigger=trigger, share=share)


def _exposed(case: Case, pattern: re.Pattern[str]) -> tuple[Operation, ...]:
    if is_on_cpu(case.profile):
        return ()
    return case.chosen(lambda op: op.bucket is Bucket.COPY and bool(pattern.search(op.name)))


def _collectives(case: Case) -> Recommendation | None:
    share = case.overhead(Bottleneck.COMMUNICATION)
    if share < MARKS[Bottleneck.COMMUNICATION].moderate:
        return None
    detail = communication_detail(case.profile)
    why = f": {detail}" if detail is not Detail.NONE else ""
    trigger = f"{share:.1%} of the step waits for collectives that nothing hides{why}"
    text = COLLECTIVES.get(detail, ANY_COLLECTIVE)
    return case.recommendation(text, trigger=trigger, share=share)


RULES: tuple[Rule, ...] = (
    _input,
    _compile,
    _read_back,
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
