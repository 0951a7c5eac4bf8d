"""Derives achievable roofs from the hardware table."""

from collections.abc import Mapping
from functools import cache

from perfledger_cost_models.projection.roofline import DeviceRoofs
from perfledger_profiles.hardware.device_peaks import (
    ACHIEVABLE_BANDWIDTH_FRACTION,
    ACHIEVABLE_INTERCONNECT_FRACTION,
    HardwareSpec,
    achievable_fraction,
    known_hardware,
)


@cache
def known_roofs() -> Mapping[str, DeviceRoofs]:
    """Return the roofs of every device in the hardware table, by key."""
    return {hardware.key: roofs_of(hardware) for hardware in known_hardware()}


def roofs_of(hardware: HardwareSpec) -> DeviceRoofs:
    """Return a device's roofs for the cost models."""
    link = hardware.interconnect_bytes_per_second
    return DeviceRoofs(
        key=hardware.key,
        vendor=hardware.vendor,
        design=f"{hardware.vendor} {hardware.compute_capability or hardware.architecture}",
        flops_per_second={
            dtype: peak * achievable_fraction(hardware, dtype)
            for dtype, peak in hardware.peak_flops.items()
        },
        bytes_per_second=hardware.memory_bytes_per_second * ACHIEVABLE_BANDWIDTH_FRACTION,
        interconnect_bytes_per_second=None
        if link is None
        else link * ACHIEVABLE_INTERCONNECT_FRACTION,
    )
