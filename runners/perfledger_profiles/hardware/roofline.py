"""Builds rooflines from a profile's kernels and a device's peaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger.profile import Kernel, Profile
from perfledger_profiles.hardware.device_peaks import HardwareSpec, peak_flops
from perfledger_profiles.hardware.efficiency_metrics import (
    achieved_flops_per_second,
    arithmetic_intensity,
    roofline_attained,
)

# XLA states a device's peak for this type.
STATED_DTYPE = "bfloat16"
STEP = "step"


@dataclass(frozen=True, slots=True)
class RooflineCeilings:
    """The two roofs of a device: its dense peak for a type and its memory bandwidth."""

    peak_flops_per_second: float
    peak_bytes_per_second: float

    @property
    def ridge_flop_per_byte(self) -> float:
        """Return the intensity at which the two roofs meet."""
        return self.peak_flops_per_second / self.peak_bytes_per_second


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePoint:
    """A kernel or the step: its intensity, its rate, and the attained share of the roof."""

    name: str
    seconds: float  # per step
    intensity_flop_per_byte: float
    flops_per_second: float
    attained: float  # of min(peak, intensity x bandwidth)
    is_memory_side: bool  # left of the ridge, where bandwidth is the roof


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """A device's roofs and the points below them, longest kernel first.

    `step` is the work of all points over the whole step; `covered_share` is the share of the
    kernels' time that has points. Other kernels are missing from both.
    """

    device: str
    dtype: str
    ceilings: RooflineCeilings
    points: tuple[RooflinePoint, ...]
    step: RooflinePoint | None
    covered_share: float


def roofline_of(profile: Profile, hardware: HardwareSpec | None, *, dtype: str) -> Roofline | None:
    """Return the roofline of one device for a type's dense peak.

    None if the peak is unknown, or if no kernel has both FLOPs and bytes.
    """
    ceilings = ceilings_of(profile, hardware, dtype=dtype)
    if ceilings is None:
        return None
    points = [(kernel, kernel_point(kernel, ceilings)) for kernel in profile.kernels]
    counted = [(kernel, point) for kernel, point in points if point is not None]
    if not counted:
        return None
    covered_seconds = sum(kernel.seconds for kernel, _ in counted)
    return Roofline(
        device=_name(profile, hardware),
        dtype=dtype,
        ceilings=ceilings,
        points=tuple(sorted((point for _, point in counted), key=lambda p: -p.seconds)),
        step=_step([kernel for kernel, _ in counted], profile.step_seconds, ceilings),
        covered_share=covered_seconds / sum(kernel.seconds for kernel in profile.kernels),
    )


def ceilings_of(
    profile: Profile, hardware: HardwareSpec | None, *, dtype: str
) -> RooflineCeilings | None:
    """Return the roofs for a type: the profile's, else those of the hardware table.

    XLA states a TPU's bfloat16 peak with more digits than its data sheet.
    """
    device = profile.device
    if device is not None and dtype == STATED_DTYPE:
        flops, rate = device.peak_flops, device.peak_bytes_per_second
        if flops and rate and _is_positive(flops) and _is_positive(rate):
            return RooflineCeilings(flops, rate)
    peak = None if hardware is None else peak_flops(hardware, dtype)
    if hardware is None or peak is None:
        return None
    return RooflineCeilings(peak, hardware.memory_bytes_per_second)


def kernel_point(kernel: Kernel, ceilings: RooflineCeilings) -> RooflinePoint | None:
    """Return a kernel's point, or None if its FLOPs, bytes or time are unknown."""
    return _point(
        kernel.name,
        flops=kernel.flops,
        bytes_moved=kernel.bytes,
        seconds=kernel.seconds,
        ceilings=ceilings,
    )


def _is_positive(value: float | None) -> bool:
    return value is not None and isfinite(value) and value > 0


def _name(profile: Profile, hardware: HardwareSpec | None) -> str:
    if profile.device is not None and profile.device.name:
        return profile.device.name
    return hardware.key if hardware is not None else ""


def _step(
    counted: Sequence[Kernel], step_seconds: float, ceilings: RooflineCeilings
) -> RooflinePoint | None:
    return _point(
        STEP,
        flops=sum(kernel.flops for kernel in counted if kernel.flops),
        bytes_moved=sum(kernel.bytes for kernel in counted if kernel.bytes),
        seconds=step_seconds,
        ceilings=ceilings,
    )


def _point(
    name: str,
    *,
    flops: float | None,
    bytes_moved: float | None,
    seconds: float,
    ceilings: RooflineCeilings,
) -> RooflinePoint | None:
    if flops is None or bytes_moved is None:
        return None
    if not all(_is_positive(value) for value in (flops, bytes_moved, seconds)):
        return None
    rate = achieved_flops_per_second(flops=flops, seconds=seconds)
    intensity = arithmetic_intensity(flops=flops, bytes_moved=bytes_moved)
    if not (_is_positive(rate) and _is_positive(intensity)):
        return None  # no device reaches such values: the file is broken
    return RooflinePoint(
        name=name,
        seconds=seconds,
        intensity_flop_per_byte=intensity,
        flops_per_second=rate,
        attained=roofline_attained(
            flops_per_second=rate,
            intensity_flop_per_byte=intensity,
            peak_flops_per_second=ceilings.peak_flops_per_second,
            peak_bytes_per_second=ceilings.peak_bytes_per_second,
        ),
        is_memory_side=intensity < ceilings.ridge_flop_per_byte,
    )
