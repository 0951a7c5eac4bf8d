"""Derives a device's clock, memory use and faults from a profile's readings.

Measurements on a throttled or faulty device say nothing about the code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Profile
from perfledger.rounding import integer, percentage
from perfledger_profiles.hardware.device_peaks import HardwareSpec
from perfledger_profiles.parsing.units import MEGA

POWER_CAP = "its power cap"
# The reading of a device's compute clock, in hertz.
SM_CLOCK = "sm_clock"

# nvbench discards measurements below this share of the default clock.
MIN_CLOCK_SHARE = 0.75
# A board that draws nearly its power limit is limited by it; readings are accurate to about 3 %.
AT_POWER_LIMIT = 0.97
# An idle device lowers its clock; one that is busy half of the time is not idle.
BUSY_SHARE = 0.5
# torch_tb_profiler warns if the peak is above 90 % of the device's memory.
NEARLY_FULL = 0.9

_POWER = "power"
_LIMITS = ("power_limit", "power_cap")
_BUSY = ("gr_engine_active", "gpu_busy")
# Counters that are zero on a healthy device, and what any other value means.
_FAULTS = {
    "ecc_double_volatile": "its memory had errors that could not be corrected",
    "row_remap_failed": "a broken row of its memory could not be replaced",
}

# NVML clock event reasons (bits) that slow a device whatever it runs, and their meaning (nvml.h; an
# idle clock, application clocks, a power cap and sync boost are not faults).
_EVENTS = {
    0x08: "its hardware lowers its clock: too hot, or too much power",
    0x20: "its driver lowers its clock: too hot",
    0x40: "its hardware lowers its clock: too hot",
    0x80: "its hardware lowers its clock: the power supply requests it",
}

_Readings = Mapping[tuple[str, str], float]  # a reading's name and its subject


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """A device's clock while computing, and the reasons why it was slowed."""

    clock_hertz: float
    slowed_by: tuple[str, ...] = ()


def device_state(profile: Profile) -> DeviceState | None:
    """Return a profile's clock, the median of several, or None if it has none."""
    clocks = [reading.value for reading in profile.readings if reading.name == SM_CLOCK]
    return DeviceState(clock_hertz=median(clocks)) if clocks and median(clocks) > 0 else None


def used_memory_share(profile: Profile) -> float | None:
    """Return the highest used share of the device's memory (0 to 1), or None if unknown."""
    values = _readings(profile)
    shares = [one.value for one in profile.readings if one.name == "memory_used_share"]
    for one in profile.readings:
        free = values.get(("memory_free", one.subject))
        if one.name == "memory_used" and free is not None and one.value + free > 0:
            shares.append(one.value / (one.value + free))
    total = profile.device.memory_bytes if profile.device is not None else None
    if total:
        points = [point for point in profile.memory if not point.device.startswith("cpu")]
        shares += [(point.reserved_bytes or point.allocated_bytes) / total for point in points]
    return max(shares, default=None)


def memory_notes(profile: Profile) -> tuple[str, ...]:
    """Return a note if the device's memory is nearly full, with how much of it is unallocated.

    No advice is given: a server fills the memory on purpose, and a training step may need all of
    it.
    """
    share = used_memory_share(profile)
    if share is None or share <= NEARLY_FULL:
        return ()
    note = f"{percentage(share)} of the device's memory is in use at the peak"
    reserved = profile.reading("peak_mem_reserved")
    allocated = profile.reading("peak_mem_allocated")
    if not reserved or allocated is None:
        return (note,)
    unused = percentage(1 - allocated / reserved)
    return (f"{note}; of what is reserved, {unused} is not allocated",)


def disturbances(profile: Profile, hardware: HardwareSpec | None) -> tuple[str, ...]:
    """Return what makes a profile's devices unfit for measuring; empty if nothing does."""
    values = _readings(profile)
    return tuple(
        f"{subject or 'the device'}: {wrong}"
        for subject in dict.fromkeys(subject for _, subject in values)
        for wrong in (*_slowdown(values, subject, hardware), *_faults(values, subject))
    )


def _readings(profile: Profile) -> _Readings:
    return {(reading.name, reading.subject): reading.value for reading in profile.readings}


def _slowdown(values: _Readings, subject: str, hardware: HardwareSpec | None) -> Iterator[str]:
    clock = values.get((SM_CLOCK, subject))
    full = hardware.clock_hz if hardware is not None else None
    if clock is None or full is None or clock >= MIN_CLOCK_SHARE * full:
        return
    at = f"it runs at {integer(clock / MEGA)} of {integer(full / MEGA)} MHz"
    power = values.get((_POWER, subject))
    limits = (values.get((name, subject)) for name in _LIMITS)
    limit = next((watts for watts in limits if watts), hardware.tdp_w if hardware else None)
    if power and limit and power >= AT_POWER_LIMIT * limit:
        yield f"{at} and draws {integer(power)} of {integer(limit)} W: its power limit slows it"
        return
    busy = (values.get((name, subject)) for name in _BUSY)
    if any(share is not None and share >= BUSY_SHARE for share in busy):
        yield f"{at} while it is busy: it is too hot, or its clock is locked"


def _faults(values: _Readings, subject: str) -> Iterator[str]:
    for name, words in _FAULTS.items():
        if values.get((name, subject), 0.0) > 0:
            yield words
    reasons = values.get(("clock_event_reasons", subject), 0.0)
    for bit, words in _EVENTS.items():
        if int(reasons) & bit:
            yield words
