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

# Under load a board runs at the clock that its power allows. Its operations per second, relative to
# the board of the same process with the most watts per operation, scale with watts per operation to
# this power: of 0.3 to 0.5, 0.4 has the smallest median error from the SXM to the PCIe versions of
# A100 and H100.
POWER_EXPONENT = 0.4
# Architectures made in the same process, where an operation takes about the same energy.
_PROCESSES = {"Volta": "TSMC 12 nm", "Turing": "TSMC 12 nm", "Hopper": "TSMC 4N", "Ada": "TSMC 4N"}


@cache
def known_roofs() -> Mapping[str, DeviceRoofs]:
    """Return the roofs of every device in the hardware table, by key."""
    return {hardware.key: roofs_of(hardware) for hardware in known_hardware()}


def roofs_of(hardware: HardwareSpec) -> DeviceRoofs:
    """Return a device's roofs for the cost models, with the clock that its power allows."""
    link = hardware.interconnect_bytes_per_second
    clock = _power_limited_clock(hardware)
    return DeviceRoofs(
        key=hardware.key,
        vendor=hardware.vendor,
        design=_design(hardware),
        flops_per_second={
            dtype: peak * achievable_fraction(hardware, dtype) * clock
            for dtype, peak in hardware.peak_flops.items()
        },
        bytes_per_second=hardware.memory_bytes_per_second * ACHIEVABLE_BANDWIDTH_FRACTION,
        interconnect_bytes_per_second=None
        if link is None
        else link * ACHIEVABLE_INTERCONNECT_FRACTION,
    )


def _power_limited_clock(hardware: HardwareSpec) -> float:
    """Return the share of its clock that a board sustains under load; 1 where it is unknown."""
    watts = _watts_per_operation(hardware)
    if watts is None:
        return 1.0
    most = max(
        peer_watts
        for each in known_hardware()
        if _process(each) == _process(hardware)
        and (peer_watts := _watts_per_operation(each)) is not None
    )
    return float(min(1.0, watts / most) ** POWER_EXPONENT)


def _watts_per_operation(hardware: HardwareSpec) -> float | None:
    peak = hardware.peak_flops.get("bfloat16", hardware.peak_flops.get("float16"))
    return None if hardware.tdp_w is None or peak is None else hardware.tdp_w / peak


def _process(hardware: HardwareSpec) -> str:
    return _PROCESSES.get(hardware.architecture, _design(hardware))


def _design(hardware: HardwareSpec) -> str:
    return f"{hardware.vendor} {hardware.compute_capability or hardware.architecture}"
