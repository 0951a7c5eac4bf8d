"""Decides what limits a kernel by its arithmetic intensity, counted or from operator shapes."""

from collections import defaultdict
from collections.abc import Mapping

from perfledger.profile import Kernel, Profile
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_profiles.hardware.roofline import RooflineCeilings, ceilings_of

# The types that matrix units are rated for, most common first.
MATRIX_TYPES = ("bfloat16", "float16")
VECTOR_TYPE = "float32"
# Shares of the ridge's intensity; between them either roof may be the limit.
COMPUTE_RIDGE_SHARE = 0.8
MEMORY_RIDGE_SHARE = 0.5
# Share of a kernel's time: if less has known shapes, the rest may have another limit.
MIN_KNOWN_SHARE = 0.5
_INTENSITY = "arithmetic_intensity"  # the reading of a product, by operator and shapes


def limit_of_intensity(
    intensity_flop_per_byte: float, ceilings: RooflineCeilings
) -> Bottleneck | None:
    """Return what limits work of this intensity, or None near the ridge."""
    share = intensity_flop_per_byte / ceilings.ridge_flop_per_byte
    if share >= COMPUTE_RIDGE_SHARE:
        return Bottleneck.COMPUTE
    return Bottleneck.MEMORY if share <= MEMORY_RIDGE_SHARE else None


def roofs_of_kernel(
    kernel: Kernel, profile: Profile, hardware: HardwareSpec | None
) -> RooflineCeilings | None:
    """Return the roofs of the unit that a kernel runs on, matrix or vector."""
    types = (VECTOR_TYPE,) if kernel.is_tensor is False else MATRIX_TYPES
    candidates = (ceilings_of(profile, hardware, dtype=dtype) for dtype in types)
    return next((ceilings for ceilings in candidates if ceilings is not None), None)


def product_limits(profile: Profile, hardware: HardwareSpec | None) -> Mapping[str, Bottleneck]:
    """Return what limits each matrix-product kernel, by the shapes of most of its time.

    The intensity assumes that each matrix is moved once, so it is an upper bound.
    """
    intensities = {one.subject: one.value for one in profile.readings if one.name == _INTENSITY}
    if not intensities:
        return {}
    kernels = {kernel.name: kernel for kernel in profile.kernels}
    seconds: dict[str, dict[Bottleneck | None, float]] = defaultdict(lambda: defaultdict(float))
    for operation in profile.operations:
        kernel = kernels.get(operation.name)
        if kernel is None:
            continue
        operator = operation.path.rpartition("/")[2]
        intensity = intensities.get(f"{operator} {operation.shapes}")
        ceilings = roofs_of_kernel(kernel, profile, hardware)
        limit = None
        if intensity is not None and ceilings is not None:
            limit = limit_of_intensity(intensity, ceilings)
        seconds[operation.name][limit] += operation.seconds
    limits: dict[str, Bottleneck] = {}
    for name, by_limit in seconds.items():
        largest = max(by_limit, key=lambda each: by_limit[each])
        if largest is not None and by_limit[largest] >= MIN_KNOWN_SHARE * sum(by_limit.values()):
            limits[name] = largest
    return limits
