"""Finds the reason for a device's lower utilization: time without work, or its kernels."""

from collections import defaultdict
from collections.abc import Sequence

from perfledger.profile import Bucket, Kernel, Profile
from perfledger.rounding import digits, percentage
from perfledger_profiles.timeline.breakdown import BETWEEN_KERNELS

# The work of multiprocessors; other engines copy to and from the host.
WORK = frozenset({Bucket.COMPUTE, Bucket.COMMUNICATION, Bucket.DEVICE_COPY, Bucket.MEMSET})
# Share of the fall in utilization from which time without work is the reason.
MOSTLY = 0.5
# With fewer blocks than multiprocessors, some multiprocessors have nothing to do.
FULL = 1.0
MAX_NAMED = 2

_NEXT_KERNELS = "its next kernels"
NOT_ATTRIBUTABLE = "the lower use of the device is not attributable"


def utilization_note(base: Profile, head: Profile, *, shares: tuple[float, float]) -> str:
    """Return the reason for a lower utilization, or what would show it.

    `shares` are the utilization on base and head. If the share of the step in which the device
    works fell at least half as much, time without work is the reason; otherwise it is what the
    kernels use.
    """
    if not (base.kernels and head.kernels):
        return f"{NOT_ATTRIBUTABLE}: the profiles list no kernels"
    before, after = map(_busy_share, (base, head))
    if before <= 0:
        return f"{NOT_ATTRIBUTABLE}: the profile of base shows no work of the device"
    works = f"the device works for {percentage(after)} of a step, {percentage(before)} before"
    if after / before - 1 <= MOSTLY * (shares[1] / shares[0] - 1):
        waits = _largest_waits(base, head)
        return f"{works}, and mostly waits for {waits}" if waits else works
    kernels = _small_kernels(base.kernels, head.kernels)
    if not kernels:
        return (
            f"{NOT_ATTRIBUTABLE}: {works}, and no kernel is new or has fewer blocks than the "
            "device has multiprocessors; Nsight Compute shows what each kernel uses"
        )
    return f"{works}, but these kernels use less of it: {kernels}"


def _busy_share(profile: Profile) -> float:
    """Return the share of the step in which the device works; its time between kernels is none."""
    seconds = profile.bucket_seconds()
    between_s = sum(one.seconds for one in profile.operations if one.name == BETWEEN_KERNELS.name)
    return (sum(seconds[bucket] for bucket in WORK) - between_s) / profile.step_seconds


def _largest_waits(base: Profile, head: Profile) -> str:
    """Return the operations off the device that grew most: "aten::item (+1.20 ms)"."""
    grown: defaultdict[str, float] = defaultdict(float)
    for side, sign in ((base, -1.0), (head, 1.0)):
        for operation in side.operations:
            if operation.bucket not in WORK or operation.name == BETWEEN_KERNELS.name:
                grown[operation.name] += sign * operation.seconds
    longest = sorted(grown.items(), key=lambda each: -each[1])[:MAX_NAMED]
    return " and ".join(
        f"{_NEXT_KERNELS if name == BETWEEN_KERNELS.name else name} "
        f"(+{digits(1e3 * seconds, 3)} ms a step)"
        for name, seconds in longest
        if seconds > 0
    )


def _small_kernels(base: Sequence[Kernel], head: Sequence[Kernel]) -> str:
    """Return the longest kernels that are new, or whose blocks no longer fill the device."""
    filled = {kernel.name for kernel in base if _is_full(kernel)}
    same = {kernel.name for kernel in base}
    small = [
        kernel
        for kernel in head
        if kernel.name not in same or (kernel.name in filled and not _is_full(kernel))
    ]
    return " and ".join(
        f"{kernel.name} ({_blocks(kernel)}{digits(1e3 * kernel.seconds, 3)} ms a step)"
        for kernel in sorted(small, key=lambda kernel: -kernel.seconds)[:MAX_NAMED]
    )


def _is_full(kernel: Kernel) -> bool:
    blocks = kernel.blocks_per_multiprocessor
    return blocks is None or blocks >= FULL


def _blocks(kernel: Kernel) -> str:
    blocks = kernel.blocks_per_multiprocessor
    return "" if blocks is None else f"{digits(blocks, 2)} blocks a multiprocessor, "
