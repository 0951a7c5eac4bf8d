"""Classifies which part of the host limits a step."""

import re
from collections.abc import Iterable

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.bottleneck.classification import BottleneckDetail
from perfledger_profiles.parsing.copy_names import is_copy_call
from perfledger_profiles.timeline.breakdown import OTHER_OPERATIONS
from perfledger_profiles.timeline.call_labels import KERNEL_LAUNCH, LONG_LAUNCH
from perfledger_profiles.xla.host_events import COMPILING_LABEL, TRACING_LABEL

# A shorter kernel ends before the next launch does, so the device waits for the host.
SHORT_KERNEL_SECONDS = 10e-6
# A launch and the operator around it take 5 to 500 us: a millisecond means other work.
MAX_LAUNCH_SECONDS = 1e-3
# An allocation takes the driver 0.1 to 3 ms; the first call creates the device's context.
MAX_ALLOCATION_SECONDS = 10e-3
# More than half of the launches, so the median kernel is among them.
MAX_KERNELS = 0.5
# Otherwise the host spends its time on other work than launches.
MAX_HOST_TIME = 0.5

# With a smaller share of first calls, other work takes the host's time.
MIN_START_UP = 0.25

# The reader's labels of XLA's compiler, and torch.compile's own timers.
COMPILE = re.compile(
    rf"(^|/)({re.escape(COMPILING_LABEL)}|{re.escape(TRACING_LABEL)})|\(dynamo_timed\)|CUDAGraph::?capture"
)
LAUNCH = re.compile(r"(?i)(cuda|hip|cu)(Graph|Module)?Launch|LaunchKernel|zeEnqueue|PjitFunction")
# torch.compile's own annotations: their exclusive time is the code around compiled kernels'
# launches.
COMPILED_CALL = re.compile(r"## Call CompiledFxGraph \w+ ##|Torch-Compiled Region: [\d/]+")
JIT_CALL = re.compile(r"PjitFunction")
ALLOCATION = re.compile(r"(?i)^(cuda|hip|cu)(Malloc|Free|StreamCreate|ModuleLoad|Init)")
CAPTURE = re.compile(r"(?i)StreamBeginCapture|StreamEndCapture|GraphInstantiate")
READ_BACK = re.compile(r"aten::(item|_local_scalar_dense|is_nonzero|nonzero|equal)\b")
OPERATOR = re.compile(r"::|Backward\d*$")

_KINDS: tuple[BottleneckDetail, ...] = (
    BottleneckDetail.COMPILE,
    BottleneckDetail.SYNC,
    BottleneckDetail.BLOCKING_COPY,
    BottleneckDetail.START_UP,
    BottleneckDetail.LAUNCH,
    BottleneckDetail.PYTHON,
    BottleneckDetail.OPERATORS,
    BottleneckDetail.NONE,
)
# Tools that record programs in any language: without torch's operators it may not be Python.
_OF_ANY_LANGUAGE = frozenset({"nsys", "rocprof"})
_TORCH = re.compile(r"\b(?:aten|autograd|c10d|torch)::|Optimizer\.")
# The host's work around the launches of an eager step.
AROUND_LAUNCHES = (
    BottleneckDetail.LAUNCH,
    BottleneckDetail.OPERATORS,
    BottleneckDetail.PYTHON,
)
# Regardless of the kernels' lengths, these are what the host does.
_DECISIVE = (
    BottleneckDetail.COMPILE,
    BottleneckDetail.SYNC,
    BottleneckDetail.BLOCKING_COPY,
    BottleneckDetail.START_UP,
)


def host_detail(profile: Profile) -> BottleneckDetail:
    """Return the kind of host time: compiling, waiting, copying, launching, operators or Python.

    Compiling, waits, blocking copies or first calls are returned if they are largest; first calls
    also from a quarter of the host's time on, because loading takes time around them as well.
    Otherwise the kind is launching if the kernels are so short that the device waits for each, else
    the largest kind.
    """
    seconds = host_seconds(profile)
    largest = max(seconds, key=lambda detail: seconds[detail])
    if seconds[largest] <= 0:
        return BottleneckDetail.NONE
    if largest in _DECISIVE:
        return largest
    if seconds[BottleneckDetail.START_UP] >= MIN_START_UP * sum(seconds.values()):
        return BottleneckDetail.START_UP
    if is_launch_bound(profile):
        return BottleneckDetail.LAUNCH
    is_unknown = largest is BottleneckDetail.PYTHON and not may_be_python(profile)
    return BottleneckDetail.NONE if is_unknown else largest


def may_be_python(profile: Profile) -> bool:
    """Return whether the host's code between calls may be Python, as far as the file shows."""
    if profile.tool not in _OF_ANY_LANGUAGE:
        return True
    return any(_TORCH.search(f"{one.path}/{one.name}") for one in profile.operations)


def host_seconds(profile: Profile) -> dict[BottleneckDetail, float]:
    """Return the host's exclusive seconds per step by kind; NONE is the rest of the runtime."""
    seconds: dict[BottleneckDetail, float] = dict.fromkeys(_KINDS, 0.0)
    for operation in profile.operations:
        detail = host_kind(operation)
        if detail is not None:
            seconds[detail] += operation.seconds
    return seconds


def host_kind(operation: Operation) -> BottleneckDetail | None:
    """Return an operation's kind of host time, or None if it is not the host's."""
    if operation.bucket not in (Bucket.SYNC, Bucket.RUNTIME, Bucket.CPU, Bucket.OTHER):
        return None
    where = f"{operation.path}/{operation.name}"
    if COMPILE.search(where):
        return BottleneckDetail.COMPILE
    if operation.bucket is Bucket.SYNC or READ_BACK.search(where):
        is_copy = is_copy_call(operation.name) and READ_BACK.search(where) is None
        return BottleneckDetail.BLOCKING_COPY if is_copy else BottleneckDetail.SYNC
    if operation.name == OTHER_OPERATIONS:
        return BottleneckDetail.NONE
    if operation.bucket is Bucket.RUNTIME:
        return _runtime_kind(operation)
    return _code_kind(operation)


def is_around_launches(operation: Operation, *, is_python: bool = True) -> bool:
    """Return whether an operation belongs to the host's work around launches.

    An operator that takes the host longer than a launch does something else: it waits, allocates or
    loads code. The same holds for the time between calls of a program that is not in Python.
    """
    kind = host_kind(operation)
    if kind is BottleneckDetail.PYTHON and not is_python:
        return False
    is_long = operation.seconds > MAX_LAUNCH_SECONDS * operation.count
    return kind in AROUND_LAUNCHES and not (kind is BottleneckDetail.OPERATORS and is_long)


def is_capturing(profile: Profile) -> bool:
    """Return whether the step captures a CUDA graph, whose kernels do not run meanwhile."""
    return any(CAPTURE.search(operation.name) for operation in profile.operations)


def _code_kind(operation: Operation) -> BottleneckDetail:
    """Return the kind of an operator, an annotation, or time outside both."""
    if COMPILED_CALL.fullmatch(operation.name):
        return BottleneckDetail.LAUNCH
    # Custom operators may have any name, but only operators have inputs with shapes.
    is_operator = operation.shapes or OPERATOR.search(operation.name)
    return BottleneckDetail.OPERATORS if is_operator else BottleneckDetail.PYTHON


def _runtime_kind(operation: Operation) -> BottleneckDetail:
    if _is_first_call(operation):
        return BottleneckDetail.START_UP
    is_long = operation.seconds > MAX_LAUNCH_SECONDS * operation.count
    if JIT_CALL.match(operation.name) and is_long:
        return BottleneckDetail.NONE  # it compiles, waits or copies
    return BottleneckDetail.LAUNCH if LAUNCH.search(operation.name) else BottleneckDetail.NONE


def _is_first_call(operation: Operation) -> bool:
    """Return whether calls take so long that they must load code or create a context.

    A call that began before the step is not counted in it.
    """
    seconds = operation.seconds / max(operation.count, 1.0)
    if KERNEL_LAUNCH.match(operation.name):
        return seconds > MAX_LAUNCH_SECONDS or operation.name.endswith(LONG_LAUNCH)
    return seconds > MAX_ALLOCATION_SECONDS and ALLOCATION.search(operation.name) is not None


def is_launch_bound(profile: Profile) -> bool:
    """Return whether kernels are so short that launching them determines the time.

    The median kernel is below 10 us, or more than half of the kernels are shorter than a launch. If
    streams are known, the busiest one must also be idle mainly because of late launches. False if
    the host spends over a millisecond per launch, or less than half of its time around launches:
    then it does something else.
    """
    if profile.streams:
        busiest = max(profile.streams, key=lambda stream: stream.busy_seconds)
        if busiest.host_wait_seconds <= busiest.kernel_wait_seconds + busiest.other_seconds:
            return False
    durations = [(k.seconds / k.count, k.count) for k in profile.kernels if k.count]
    launches = sum(count for _, count in durations)
    is_python = may_be_python(profile)
    around = sum(
        one.seconds for one in profile.operations if is_around_launches(one, is_python=is_python)
    )
    if launches <= 0 or around > MAX_LAUNCH_SECONDS * launches:
        return False
    if around < MAX_HOST_TIME * sum(host_seconds(profile).values()):
        return False
    launch_seconds = _launch_seconds(profile.operations)
    short = sum(count for seconds, count in durations if seconds < SHORT_KERNEL_SECONDS)
    shorter = sum(count for seconds, count in durations if seconds < launch_seconds)
    return max(short, shorter) > MAX_KERNELS * launches


def _launch_seconds(operations: Iterable[Operation]) -> float:
    """Return a lower bound of the mean launch time, without the part behind a running kernel."""
    launches = [
        (one.seconds, one.count)
        for one in operations
        if LAUNCH.search(one.name) and not one.name.endswith(LONG_LAUNCH)
    ]
    calls = sum(count for _, count in launches)
    return sum(seconds for seconds, _ in launches) / calls if calls else 0.0
