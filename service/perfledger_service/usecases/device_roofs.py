"""The table of devices' facts in, what real programs reach of their peaks out."""

from collections.abc import Mapping
from functools import cache

from perfledger_cost_models.roofs import DeviceRoofs
from perfledger_profiles.hardware import (
    ACHIEVABLE_BANDWIDTH_FRACTION,
    ACHIEVABLE_INTERCONNECT_FRACTION,
    Hardware,
    achievable_fraction,
    known_hardware,
)


@cache
def known_roofs() -> Mapping[str, DeviceRoofs]:
    """Return the roofs of every device in the table, by its key."""
    return {hardware.key: roofs_of(hardware) for hardware in known_hardware()}


def roofs_of(hardware: Hardware) -> DeviceRoofs:
    """Return a device's roofs as the cost models take them."""
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
