"""Holds the rules of advice on time off the device: input, host and collectives."""

import re
from collections.abc import Iterable
from functools import partial

from perfledger.profile import Operation
from perfledger.rounding import integer, percentage
from perfledger_profiles.bottleneck.advice import (
    MIN_SHARE,
    Advice,
    AdviceContext,
    Rule,
    first_names,
)
from perfledger_profiles.bottleneck.any_language_advice import (
    ASYNCHRONOUS_COPIES,
    BESIDE_COMPUTE,
    FEWER_LAUNCHES,
    FEWER_WAITS,
    HOST_CODE,
)
from perfledger_profiles.bottleneck.classification import (
    OF_THE_DEVICE,
    Bottleneck,
    BottleneckDetail,
    Recommendation,
)
from perfledger_profiles.bottleneck.communication_bound import communication_detail
from perfledger_profiles.bottleneck.host_bound import (
    host_kind,
    is_around_launches,
    is_capturing,
    is_launch_bound,
    may_be_python,
)
from perfledger_profiles.bottleneck.step_shares import (
    BOTTLENECKS,
    ON_DEVICE,
    OVERHEAD_THRESHOLDS,
)
from perfledger_profiles.timeline.trace import STACKS_RECORDED
from perfledger_profiles.xla.host_events import is_wait_for_arrays

_LOADED_AHEAD = "if every batch is ready when its step begins"
WORKERS = Advice(
    "load in worker processes: DataLoader(num_workers=4 or more, persistent_workers=True, "
    "pin_memory=True)",
    _LOADED_AHEAD,
)
MORE_WORKERS = Advice(
    "the workers are too slow: raise num_workers and prefetch_factor, keep persistent_workers, "
    "decode on the device (DALI) or ahead of time, and read larger shards",
    _LOADED_AHEAD,
)
PREFETCH = Advice(
    "prepare the next batch while this one computes: prefetch (grain, tf.data or a thread) to the "
    "device, in fewer and larger pieces",
    _LOADED_AHEAD,
)
_COMPILED_BEFORE = "if nothing compiles in the step"
RETRACE = Advice(
    "a function is traced and compiled in the step: call jax.jit once, outside of it, and keep the "
    "shapes, types and static arguments of its calls the same",
    _COMPILED_BEFORE,
)
RECOMPILE = Advice(
    "the step compiles again: TORCH_LOGS=recompiles says which guard failed; mark sizes that "
    "change as dynamic, keep types and flags the same, and warm up before measuring",
    _COMPILED_BEFORE,
)
WARM_UP = Advice(
    "record a program that has warmed up: the file holds first calls, which create the device's "
    "context and load the code of kernels",
    "if these calls came before the recording",
)
GRAPHS = Advice(
    "reduce launches: torch.compile(mode='reduce-overhead') or CUDA graphs, foreach or fused "
    "optimizers, and small operations batched into larger ones",
    "if the host's work around launches takes no time",
)
JIT = Advice(
    "jit the whole step instead of its parts, and put loops into jax.lax.scan or fori_loop",
    "if the host's work around launches takes no time",
)
PYTHON = Advice(
    "see in the trace what Python does there (with_stack=True records its calls), then move it out "
    "of the step: prepare data in workers, log and check rarely, gc.freeze() after warm-up",
    "if none of it stays in the step",
)
RECORDED_PYTHON = Advice(
    "see in the trace which of the recorded Python calls take this time, then move them out of the "
    "step: prepare data in workers, log and check rarely, gc.freeze() after warm-up",
    "if none of it stays in the step",
)
JAX_PYTHON = Advice(
    "see in the trace viewer what Python does there (jax.profiler records its calls at "
    "python_tracer_level=1), then move it out of the step: prepare data in a thread, log and check "
    "rarely",
    "if none of it stays in the step",
)
READ_BACK = Advice(
    "the host waits for the device in the step (.item(), .cpu(), print, nonzero, synchronize): "
    "keep values on the device and read them only every N steps",
    "if the host never waits",
)
BLOCKING_COPIES = Advice(
    "the host waits inside copies: pin the host's memory (pin_memory=True), copy asynchronously "
    "(non_blocking=True), and read results only every N steps",
    "if the host waits for no copy",
)
OPTIMIZER = Advice(
    "update all parameters at once: fused=True or foreach=True in the optimizer",
    "if one call takes a tenth of the time",
    saved=0.9,
)
ZERO_GRAD = Advice(
    "release gradients instead of filling them: zero_grad(set_to_none=True)",
    "if nothing is filled",
)
COLLECTIVES = {
    BottleneckDetail.STRAGGLER: Advice(
        "balance the ranks' work: collectives wait for the last rank",
        "if all ranks arrive together and collectives take no time",
    ),
    BottleneckDetail.SMALL_MESSAGES: Advice(
        "send fewer, larger messages: larger gradient buckets (bucket_cap_mb), fewer shards",
        "if half as many messages take half the time",
        saved=0.5,
    ),
    BottleneckDetail.BANDWIDTH: Advice(
        "the links are full: send less (bfloat16 gradients, compression, accumulation over several "
        "batches), keep tensor parallelism within the NVLink domain, or reduce in a hierarchy",
        "if half of the bytes take half the time",
        saved=0.5,
    ),
    BottleneckDetail.NO_OVERLAP: Advice(
        "let collectives run beside compute: DDP with gradient_as_bucket_view and smaller buckets, "
        "FSDP with prefetching, XLA's latency-hiding scheduler",
        BESIDE_COMPUTE,
        is_beside_compute=True,
    ),
}
SEND_LESS = Advice(
    "send less: larger batches or accumulation over several, bfloat16 gradients",
    "if half of the bytes take half the time",
    saved=0.5,
)
ANY_COLLECTIVE = Advice(
    "overlap collectives with compute or send less: larger batches or accumulation, bfloat16 "
    "gradients",
    BESIDE_COMPUTE,
    is_beside_compute=True,
)

# The parameter tensors of a small network; a fused optimizer needs a handful of launches.
MANY_UPDATES = 64
# With one, the step is jitted as a whole.
MIN_PROGRAMS = 2
# Many recordings have single first calls at their start.
FIRST_CALLS = 0.05

_DEVICE_BUCKETS = frozenset(
    bucket
    for bucket, bottleneck in BOTTLENECKS.items()
    if bottleneck in (ON_DEVICE, Bottleneck.COMMUNICATION, Bottleneck.TRANSFER)
)
_ONE_PROCESS = re.compile(r"_SingleProcessDataLoaderIter")
_WORKERS = re.compile(r"_MultiProcessingDataLoaderIter")
_UPDATE = re.compile(r"Optimizer\.step")
_FUSED_UPDATE = re.compile(r"_foreach_|_fused_|multi_tensor|FusedAdam|triton_")
_ZERO_GRAD = re.compile(r"Optimizer\.zero_grad")
_FILL = re.compile(r"aten::(zero_|fill_)|[Mm]emset|FillFunctor")


def _input(case: AdviceContext) -> Recommendation | None:
    share = case.overhead(Bottleneck.INPUT)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.INPUT].moderate:
        return None
    advice = PREFETCH
    if case.matching(_ONE_PROCESS):
        advice = WORKERS
    elif case.matching(_WORKERS):
        advice = MORE_WORKERS
    trigger = f"{percentage(share)} of {case.typical_step} waits for input"
    return case.recommendation(advice, trigger=trigger, share=share)


def _compile(case: AdviceContext) -> Recommendation | None:
    if not case.profile.has_steps:
        return None  # the compilation may be before the first step
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.COMPILE)
    return case.advise(RETRACE if case.is_jax else RECOMPILE, operations, "traces and compiles")


def _warm_up(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.START_UP)
    return case.advise(WARM_UP, operations, "is first calls", least=FIRST_CALLS)


def _read_back(case: AdviceContext) -> Recommendation | None:
    # Here the program waits for all devices: an idle one may be waiting for another.
    operations = case.select(
        lambda one: host_kind(one) is BottleneckDetail.SYNC and not is_wait_for_arrays(one.name)
    )
    advice = READ_BACK if may_be_python(case.profile) else FEWER_WAITS
    return case.advise(advice, operations, "waits for the device")


def _blocking_copies(case: AdviceContext) -> Recommendation | None:
    kind = BottleneckDetail.BLOCKING_COPY
    operations = case.select(lambda operation: host_kind(operation) is kind)
    advice = BLOCKING_COPIES if may_be_python(case.profile) else ASYNCHRONOUS_COPIES
    return case.advise(advice, operations, "waits inside blocking copies")


def _launch(case: AdviceContext) -> Recommendation | None:
    is_python = may_be_python(case.profile)
    operations = case.select(partial(is_around_launches, is_python=is_python))
    share = case.share(operations)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.HOST].moderate or not _is_launching(case):
        return None
    if is_capturing(case.profile):
        return None  # a graph is being captured, which replaces the launches
    if case.is_jax and 0 < _launches(operations) < MIN_PROGRAMS:
        return None
    trigger = (
        f"{percentage(share)} of the step is host work around {_launch_text(case, operations)}"
    )
    if is_launch_bound(case.profile):
        trigger += ", most of them below 10 us or shorter than their launch"
    advice = GRAPHS if is_python else FEWER_LAUNCHES
    return case.recommendation(JIT if case.is_jax else advice, trigger=trigger, share=share)


def _launch_text(case: AdviceContext, operations: Iterable[Operation]) -> str:
    """Return the amount of work launched; one launch of a graph runs many kernels."""
    on_device = [op.count for op in case.profile.operations if op.bucket in _DEVICE_BUCKETS]
    if on_device and case.profile.kernels:
        return f"{integer(sum(on_device))} kernels and copies"
    return f"{integer(_launches(operations))} launches"


def _launches(operations: Iterable[Operation]) -> float:
    return sum(one.count for one in operations if host_kind(one) is BottleneckDetail.LAUNCH)


def _is_launching(case: AdviceContext) -> bool:
    return case.classification.detail is BottleneckDetail.LAUNCH or is_launch_bound(case.profile)


def _python(case: AdviceContext) -> Recommendation | None:
    operations = case.select(lambda operation: host_kind(operation) is BottleneckDetail.PYTHON)
    share = case.share(operations)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.HOST].moderate or _is_launching(case):
        return None
    if case.classification.detail is BottleneckDetail.START_UP or is_capturing(case.profile):
        return None  # a warmed-up step, or one that runs the captured graph, is not known
    names = first_names(operations)
    trigger = f"{percentage(share)} of the step is spent outside operators: {names}"
    if not may_be_python(case.profile):
        return case.recommendation(HOST_CODE, trigger=trigger, share=share)
    advice = RECORDED_PYTHON if STACKS_RECORDED in case.profile.notes else PYTHON
    return case.recommendation(JAX_PYTHON if case.is_jax else advice, trigger=trigger, share=share)


def _optimizer(case: AdviceContext) -> Recommendation | None:
    operations = case.matching(_UPDATE)
    share = case.share(operations)
    calls = sum(operation.count for operation in operations)
    is_fused = any(_FUSED_UPDATE.search(f"{op.path}/{op.name}") for op in operations)
    if share < MIN_SHARE or calls < MANY_UPDATES or is_fused:
        return None
    trigger = (
        f"{percentage(share)} of the step updates parameters one by one, in {integer(calls)} calls"
    )
    return case.recommendation(OPTIMIZER, trigger=trigger, share=share)


def _zero_grad(case: AdviceContext) -> Recommendation | None:
    operations = case.matching(_ZERO_GRAD)
    if not any(_FILL.search(f"{op.path}/{op.name}") for op in operations):
        return None
    return case.advise(ZERO_GRAD, operations, "fills gradients with zeros")


def _collectives(case: AdviceContext) -> Recommendation | None:
    share = case.overhead(Bottleneck.COMMUNICATION)
    if share < OVERHEAD_THRESHOLDS[Bottleneck.COMMUNICATION].moderate:
        return None
    if not case.profile.each_step and not case.profile.has_steps:
        return None  # sums of kernels do not show which collectives compute hides
    detail = communication_detail(case.profile)
    cause = f": {detail}" if detail is not BottleneckDetail.NONE else ""
    trigger = f"{percentage(share)} of {case.typical_step} waits for exposed collectives{cause}"
    computes = any(case.overhead(part) >= MIN_SHARE for part in OF_THE_DEVICE)
    if not (computes or case.profile.is_host_known):
        return None  # a file of collectives alone does not show what hides them
    advice = COLLECTIVES.get(detail, ANY_COLLECTIVE if computes else SEND_LESS)
    hidden_share = case.hidden_collectives_share
    if advice.is_beside_compute and case.overlappable_share(hidden_share) < MIN_SHARE:
        advice = SEND_LESS  # collectives run beside all of the compute already
    return case.recommendation(advice, trigger=trigger, share=share, hidden_share=hidden_share)


RULES: tuple[Rule, ...] = (
    _input,
    _compile,
    _warm_up,
    _read_back,
    _blocking_copies,
    _launch,
    _python,
    _optimizer,
    _zero_grad,
    _collectives,
)
