"""Decides what a device's own time is bound by; kernels are weighted by their time."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from perfledger.profile import Kernel, OperationFamily, Profile
from perfledger.rounding import percentage
from perfledger_profiles.bottleneck.classification import Bottleneck, BottleneckDetail
from perfledger_profiles.bottleneck.product_limits import (
    MATRIX_TYPES,
    limit_of_intensity,
    product_limits,
    roofs_of_kernel,
)
from perfledger_profiles.bottleneck.step_shares import BOTTLENECKS, ON_DEVICE
from perfledger_profiles.hardware.device_peaks import (
    ACHIEVABLE_BANDWIDTH_FRACTION,
    ACHIEVABLE_MATRIX_FRACTION,
    HardwareSpec,
    achievable_fraction,
)
from perfledger_profiles.hardware.occupancy import Occupancy, kernel_occupancy
from perfledger_profiles.hardware.roofline import kernel_point
from perfledger_profiles.parsing.copy_names import copy_bucket
from perfledger_profiles.parsing.operation_family import (
    DECODE_ATTENTION,
    MATRIX_VECTOR,
    MOVING_FUSION,
    SPLIT_ATTENTION,
)

# Counters, as readings of a kernel or of the whole device, 0 to 1.
TENSOR_ACTIVE = "tensor_active"
DRAM_UTILIZATION = "dram_bw_util"
COMPUTE_SOL = "compute_sol"
MEMORY_SOL = "memory_sol"

# xprof: bound by one counter if it is above the first value and the other below the second.
BUSY_COUNTER, IDLE_COUNTER = 0.7, 0.5
# Nsight Compute's rule "SOLBottleneck": with both below it the kernel is latency-bound.
LATENCY_SOL = 0.6
# A share of what real programs achieve, not of the data sheet's peak, which no program reaches.
AT_ROOF_SHARE = 0.9
# A label for the device must cover at least half of its time.
MIN_COVERED_SHARE = 0.5
# A wave that leaves a fifth of the slots empty costs more than occupancy usually gains.
TAIL_SHARE = 0.2
# Below this share of the possible warps, latencies may not be hidden.
LOW_OCCUPANCY = 0.5

# A smaller remainder is left out of the sentence.
_MIN_SHOWN = 0.005
# The driver's copies, which some tools list among the kernels.
_DRIVER_COPY = re.compile(r"(?i)\[?((CUDA|HIP) )?memcpy")

_MATRIX = (OperationFamily.GEMM, OperationFamily.ATTENTION)
_READ_ONCE = (MATRIX_VECTOR, DECODE_ATTENTION, MOVING_FUSION)
SHAPES_UNKNOWN = (
    "whether compute or memory limits matrix products and attention with few rows, as in a decode "
    "step, is not known without their shapes; record_shapes=True of torch.profiler or ncu shows it"
)
# The value of a counter by its name and subject; estimates are left out.
_Counters = Mapping[tuple[str, str], float]


class VoteBasis(StrEnum):
    """The basis of a kernel's vote, most reliable first."""

    COUNTERS = "counters"
    INTENSITY = "arithmetic intensity"
    SHAPES = "shapes of products"
    FAMILY = "kernel names"

    @property
    def is_estimate(self) -> bool:
        """Return whether the kernels' work was not counted."""
        return self in (VoteBasis.SHAPES, VoteBasis.FAMILY)


@dataclass(frozen=True, slots=True)
class VotePart:
    """The kernels that are bound by one thing."""

    bottleneck: Bottleneck
    share: float  # of the kernels' time, 0 to 1
    basis: VoteBasis  # of most of their time


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceVote:
    """What the device's own time is bound by: COMPUTE, MEMORY or LATENCY, else DEVICE.

    `parts` cover all kernels that show their limit, the largest part first.
    """

    bottleneck: Bottleneck
    parts: tuple[VotePart, ...] = ()
    detail: BottleneckDetail = BottleneckDetail.NONE
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Vote:
    bottleneck: Bottleneck
    basis: VoteBasis


def device_vote(profile: Profile, hardware: HardwareSpec | None) -> DeviceVote:
    """Return the bottleneck of the kernels with the most time.

    Each kernel votes with its time: by its counters, else by its arithmetic intensity against the
    ridge of the unit it runs on, else by its family. The subject of a counter is the kernel,
    "kernel <grid> <block>" if it has several launch shapes, or "" for all kernels.
    """
    kernels = _computing(profile)
    is_decoding = any(DECODE_ATTENTION.search(kernel.name) for kernel in kernels)
    products = product_limits(profile, hardware)
    counters = {(r.name, r.subject): r.value for r in profile.readings if not r.is_estimate}
    votes = [
        (
            kernel,
            _vote(kernel, counters, profile, hardware)
            or _by_product(products, kernel)
            or _by_name(kernel, is_decoding=is_decoding),
        )
        for kernel in kernels
    ]
    by_bottleneck: dict[Bottleneck, list[tuple[Kernel, _Vote]]] = defaultdict(list)
    for kernel, vote in votes:
        if vote is not None:
            by_bottleneck[vote.bottleneck].append((kernel, vote))
    parts = _parts(by_bottleneck, sum(kernel.seconds for kernel in kernels))
    if not parts:
        reason = "no kernel shows whether compute or memory limits it"
        return DeviceVote(bottleneck=Bottleneck.DEVICE, reason=reason)
    largest = parts[0]
    is_known = largest.share >= MIN_COVERED_SHARE and not largest.basis.is_estimate
    winner = largest.bottleneck if is_known else Bottleneck.DEVICE
    mine = [kernel for kernel, _ in by_bottleneck[winner]]
    return DeviceVote(
        bottleneck=winner,
        parts=parts,
        detail=_detail(winner, mine, profile, hardware),
        reason=_sentence(parts, _rest_reason(votes)),
    )


def _parts(
    votes: Mapping[Bottleneck, Sequence[tuple[Kernel, _Vote]]], total: float
) -> tuple[VotePart, ...]:
    """Return what the kernels are bound by, the largest part first."""
    parts = [
        VotePart(name, sum(kernel.seconds for kernel, _ in mine) / total, _main_basis(mine))
        for name, mine in votes.items()
    ]
    return tuple(sorted(parts, key=lambda part: -part.share))


def _rest_reason(votes: Sequence[tuple[Kernel, _Vote | None]]) -> str:
    """Return why the limit of matrix work is unknown, and how to find it; "" without such work."""
    unknown = [kernel for kernel, vote in votes if vote is None]
    is_matrix = any(kernel.family in _MATRIX for kernel in unknown)
    return SHAPES_UNKNOWN if is_matrix else ""


def _sentence(parts: Sequence[VotePart], rest_reason: str) -> str:
    """Return a sentence with each bound's share of the kernels' time and its evidence."""
    bound = [f"{percentage(part.share)} by {part.bottleneck} ({part.basis})" for part in parts]
    rest = 1 - sum(part.share for part in parts)
    if rest >= _MIN_SHOWN:
        bound.append(f"{percentage(rest)} by an unknown limit")
    sentence = f"the kernels' time is bound {', '.join(bound)}"
    return f"{sentence}: {rest_reason}" if rest_reason and rest >= _MIN_SHOWN else sentence


def _computing(profile: Profile) -> list[Kernel]:
    """Return the kernels of the device's own time, without collectives and transfers.

    Copies within the device and memsets are included, because they use its memory.
    """
    moving = [op for op in profile.operations if BOTTLENECKS[op.bucket] is not ON_DEVICE]
    names = {name for op in moving for name in (op.name, f"{op.path}:{op.name}")}
    return [
        kernel
        for kernel in profile.kernels
        if kernel.seconds > 0
        and kernel.name not in names
        and kernel.family is not OperationFamily.COMMUNICATION
        and not _is_transfer(kernel.name)
    ]


def _is_transfer(name: str) -> bool:
    is_copy = _DRIVER_COPY.match(name) is not None
    return is_copy and BOTTLENECKS[copy_bucket(name)] is not ON_DEVICE


def _main_basis(votes: Sequence[tuple[Kernel, _Vote]]) -> VoteBasis:
    seconds: dict[VoteBasis, float] = defaultdict(float)
    for kernel, vote in votes:
        seconds[vote.basis] += kernel.seconds
    return max(seconds, key=lambda basis: seconds[basis])


def _vote(
    kernel: Kernel, counters: _Counters, profile: Profile, hardware: HardwareSpec | None
) -> _Vote | None:
    launch = f"{kernel.name} <{kernel.grid}> <{kernel.block}>"
    for subject in (launch, kernel.name, ""):
        by_counters = _by_counters(counters, subject)
        if by_counters is not None:
            return _Vote(by_counters, VoteBasis.COUNTERS)
    by_intensity = _by_intensity(kernel, profile, hardware)
    if by_intensity is not None:
        return _Vote(by_intensity, VoteBasis.INTENSITY)
    return None


def _by_product(products: Mapping[str, Bottleneck], kernel: Kernel) -> _Vote | None:
    limit = products.get(kernel.name)
    return None if limit is None else _Vote(limit, VoteBasis.SHAPES)


def _by_name(kernel: Kernel, *, is_decoding: bool) -> _Vote | None:
    """Return a kernel's vote by its name, or None if the name does not show it.

    Matrix-vector products, the attention of a decode step and a compiler's fusions of elementwise
    work read each number once, so memory limits them. The other products of a decode step have one
    row per request, and the number of requests may be small or large.
    """
    if any(pattern.search(kernel.name) for pattern in _READ_ONCE):
        limit: Bottleneck | None = Bottleneck.MEMORY
    elif kernel.family in _MATRIX and (is_decoding or SPLIT_ATTENTION.search(kernel.name)):
        limit = None
    else:
        limit = _by_family(kernel.family)
    return None if limit is None else _Vote(limit, VoteBasis.FAMILY)


def _by_counters(counters: _Counters, subject: str) -> Bottleneck | None:
    """Return the bottleneck by a kernel's counters ("": the device's), or None if unclear."""
    tensor = counters.get((TENSOR_ACTIVE, subject))
    memory = counters.get((DRAM_UTILIZATION, subject))
    if tensor is not None and memory is not None:
        if memory > BUSY_COUNTER and tensor < IDLE_COUNTER:
            return Bottleneck.MEMORY
        if tensor > BUSY_COUNTER and memory < IDLE_COUNTER:
            return Bottleneck.COMPUTE
    return _by_speed_of_light(counters, subject)


def _by_speed_of_light(counters: _Counters, subject: str) -> Bottleneck | None:
    compute = counters.get((COMPUTE_SOL, subject))
    memory = counters.get((MEMORY_SOL, subject))
    if compute is None or memory is None:
        return None
    if max(compute, memory) < LATENCY_SOL:
        return Bottleneck.LATENCY
    if memory > BUSY_COUNTER and compute < IDLE_COUNTER:
        return Bottleneck.MEMORY
    if compute > BUSY_COUNTER and memory < IDLE_COUNTER:
        return Bottleneck.COMPUTE
    return None


def _by_intensity(
    kernel: Kernel, profile: Profile, hardware: HardwareSpec | None
) -> Bottleneck | None:
    ceilings = roofs_of_kernel(kernel, profile, hardware)
    point = kernel_point(kernel, ceilings) if ceilings is not None else None
    if ceilings is None or point is None:
        return None
    return limit_of_intensity(point.intensity_flop_per_byte, ceilings)


def _by_family(family: OperationFamily) -> Bottleneck | None:
    match family:
        case OperationFamily.GEMM | OperationFamily.CONVOLUTION | OperationFamily.ATTENTION:
            return Bottleneck.COMPUTE
        case (
            OperationFamily.NORMALIZATION
            | OperationFamily.REDUCTION
            | OperationFamily.ELEMENTWISE
            | OperationFamily.EMBEDDING
            | OperationFamily.OPTIMIZER
            | OperationFamily.COPY
            | OperationFamily.MEMSET
        ):
            return Bottleneck.MEMORY
        case (
            OperationFamily.POOLING
            | OperationFamily.SORTING
            | OperationFamily.COMMUNICATION
            | OperationFamily.FUSION
            | OperationFamily.OTHER
        ):
            return None


def _detail(
    winner: Bottleneck, kernels: Sequence[Kernel], profile: Profile, hardware: HardwareSpec | None
) -> BottleneckDetail:
    if winner is Bottleneck.LATENCY:
        return _latency_detail(kernels, profile)
    return (
        BottleneckDetail.AT_ROOF
        if _is_at_roof(kernels, profile, hardware)
        else BottleneckDetail.NONE
    )


def _latency_detail(kernels: Sequence[Kernel], profile: Profile) -> BottleneckDetail:
    """Return why there is too little parallel work, judged by the longest kernel."""
    for kernel in sorted(kernels, key=lambda kernel: -kernel.seconds):
        occupancy = kernel_occupancy(kernel, profile.device)
        if occupancy is not None:
            return _of_launch(occupancy)
    return BottleneckDetail.NONE


def _of_launch(occupancy: Occupancy) -> BottleneckDetail:
    if occupancy.idle_wave_share >= TAIL_SHARE:
        return BottleneckDetail.TAIL
    return (
        BottleneckDetail.OCCUPANCY
        if occupancy.theoretical < LOW_OCCUPANCY
        else BottleneckDetail.NONE
    )


def _is_at_roof(kernels: Sequence[Kernel], profile: Profile, hardware: HardwareSpec | None) -> bool:
    """Return whether the kernels reach the achievable rate, if most of their time is known."""
    counted = attained = 0.0
    for kernel in kernels:
        ceilings = roofs_of_kernel(kernel, profile, hardware)
        point = kernel_point(kernel, ceilings) if ceilings is not None else None
        if point is not None:
            achievable = (
                ACHIEVABLE_BANDWIDTH_FRACTION if point.is_memory_side else _matrix(hardware)
            )
            counted += kernel.seconds
            attained += kernel.seconds * point.attained / achievable
    if counted < MIN_COVERED_SHARE * sum(kernel.seconds for kernel in kernels):
        return False
    return counted > 0 and attained / counted >= AT_ROOF_SHARE


def _matrix(hardware: HardwareSpec | None) -> float:
    if hardware is None:
        return ACHIEVABLE_MATRIX_FRACTION
    return achievable_fraction(hardware, MATRIX_TYPES[0])
