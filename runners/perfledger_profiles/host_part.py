"""Turn what a profile says of the host into which part of it holds the step back."""

import re
from collections.abc import Iterable

from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.bottleneck import Detail
from perfledger_profiles.breakdown import FOLDED
from perfledger_profiles.xla_host import COMPILING, TRACING

# A kernel this short is over before the next launch is: the device waits for the host.
SHORT_KERNEL_SECONDS = 10e-6
# More than half of the kernels, each as often as it is launched: the median one is among them.
MOST_KERNELS = 0.5

# XLA's compiler as the reader names it; what torch.compile times itself is marked by it.
COMPILE = re.compile(
    rf"(^|/)({re.escape(COMPILING)}|{re.escape(TRACING)})|\(dynamo_timed\)|CUDAGraph::?capture"
)
LAUNCH = re.compile(r"(?i)(cuda|hip|cu)(Graph|Module)?Launch|LaunchKernel|zeEnqueue|PjitFunction")
READ_BACK = re.compile(r"aten::(item|_local_scalar_dense|is_nonzero|nonzero|equal)\b")
OPERATOR = re.compile(r"::|Backward\d*$")

_KINDS: tuple[Detail, ...] = (
    Detail.COMPILE,
    Detail.SYNC,
    Detail.LAUNCH,
    Detail.PYTHON,
    Detail.OPERATORS,
    Detail.NONE,
)


def host_detail(profile: Profile) -> Detail:
    """Return which kind of host time it is: compiling, waiting, launching, operators or Python.

    Compiling and explicit waits are what they are where they take the most. Else it is launching
    when the kernels are so short that the device waits for each, then what takes the most.
    """
    seconds = host_seconds(profile)
    largest = max(seconds, key=lambda detail: seconds[detail])
    if seconds[largest] <= 0:
        return Detail.NONE
    if largest not in (Detail.COMPILE, Detail.SYNC) and is_launch_bound(profile):
        return Detail.LAUNCH
    return largest


def host_seconds(profile: Profile) -> dict[Detail, float]:
    """Return the host's exclusive seconds per step by kind; NONE is the rest of the runtime."""
    seconds: dict[Detail, float] = dict.fromkeys(_KINDS, 0.0)
    for operation in profile.operations:
        detail = host_kind(operation)
        if detail is not None:
            seconds[detail] += operation.seconds
    return seconds


def host_kind(operation: Operation) -> Detail | None:
    """Return which kind of host time an operation is, None for what is not the host's."""
    if operation.bucket not in (Bucket.SYNC, Bucket.RUNTIME, Bucket.CPU, Bucket.OTHER):
        return None
    where = f"{operation.path}/{operation.name}"
    if COMPILE.search(where):
        return Detail.COMPILE
    if operation.bucket is Bucket.SYNC or READ_BACK.search(where):
        return Detail.SYNC
    if operation.name == FOLDED:
        return Detail.NONE
    if operation.bucket is Bucket.RUNTIME:
        return Detail.LAUNCH if LAUNCH.search(operation.name) else Detail.NONE
    return Detail.OPERATORS if OPERATOR.search(operation.name) else Detail.PYTHON


def is_launch_bound(profile: Profile) -> bool:
    """Tell whether kernels are so short that launching them is what takes the time.

    The median kernel is below 10 us, or more than half of them are shorter than a launch; and the
    busiest stream, where streams are known, stands still because its launches come late.
    """
    if profile.streams:
        busiest = max(profile.streams, key=lambda stream: stream.busy_seconds)
        if busiest.host_wait_seconds <= busiest.kernel_wait_seconds + busiest.other_seconds:
            return False
    durations = [(k.seconds / k.count, k.count) for k in profile.kernels if k.count > 0]
    launches = sum(count for _, count in durations)
    if launches <= 0:
        return False
    launch_seconds = _launch_seconds(profile.operations)
    short = sum(count for seconds, count in durations if seconds < SHORT_KERNEL_SECONDS)
    shorter = sum(count for seconds, count in durations if seconds < launch_seconds)
    return max(short, shorter) > MOST_KERNELS * launches


def _launch_seconds(operations: Iterable[Operation]) -> float:
    """Return the mean time of a launch, at least: what a kernel hides of it is the kernel's."""
    found = [(op.seconds, op.count) for op in operations if LAUNCH.search(op.name)]
    calls = sum(count for _, count in found)
    return sum(seconds for seconds, _ in found) / calls if calls > 0 else 0.0
