"""Turn what a profile reads of its device into its clock, its memory's use, and what is wrong.

What a throttled or faulty device measures says nothing of the code that ran on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from perfledger.profile import Profile
from perfledger_profiles.hardware import Hardware

POWER_CAP = "its power cap"
# The reading of the clock that a device computes at, in hertz.
SM_CLOCK = "sm_clock"

# nvbench discards what was measured at less of the default clock.
MIN_CLOCK_SHARE = 0.75
# A board that draws nearly its limit is held down by it; readings of power are good to some 3 %.
AT_POWER_LIMIT = 0.97
# An idle device clocks itself down; one that is busy half of the time is not idle.
BUSY_SHARE = 0.5

_MEGA = 1e6
_POWER = "power"
_LIMITS = ("power_limit", "power_cap")
_BUSY = ("gr_engine_active", "gpu_busy")
# Counters that are zero on a healthy device, and what another value means.
_FAULTS = {
    "ecc_double_volatile": "its memory had errors that could not be corrected",
    "row_remap_failed": "a broken row of its memory could not be replaced",
}

# Bits of NVML's clock event reasons that slow a device whatever runs on it, and what they mean
# (nvml.h; an idle clock, application clocks, a power cap and sync boost are no faults).
_EVENTS = {
    0x08: "its hardware cuts its clock: too hot, or too much power",
    0x20: "its driver cuts its clock: too hot",
    0x40: "its hardware cuts its clock: too hot",
    0x80: "its hardware cuts its clock: the power supply asked for it",
}

_Readings = Mapping[tuple[str, str], float]  # a reading's name and its subject


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """At what clock a device computed, and what held it down, in words."""

    clock_hertz: float
    slowed_by: tuple[str, ...] = ()


def device_state(profile: Profile) -> DeviceState | None:
    """Return the clock that a profile states, the median of several; None if it has none."""
    clocks = [reading.value for reading in profile.readings if reading.name == SM_CLOCK]
    return DeviceState(clock_hertz=median(clocks)) if clocks and median(clocks) > 0 else None


def used_memory_share(profile: Profile) -> float | None:
    """Return how much of its device's memory a profile saw in use at most, 0 to 1; else None."""
    known = _readings(profile)
    shares = [one.value for one in profile.readings if one.name == "memory_used_share"]
    for one in profile.readings:
        free = known.get(("memory_free", one.subject))
        if one.name == "memory_used" and free is not None and one.value + free > 0:
            shares.append(one.value / (one.value + free))
    total = profile.device.memory_bytes if profile.device is not None else None
    if total:
        held = [point for point in profile.memory if not point.device.startswith("cpu")]
        shares += [(point.reserved_bytes or point.allocated_bytes) / total for point in held]
    return max(shares, default=None)


def disturbances(profile: Profile, hardware: Hardware | None) -> tuple[str, ...]:
    """Say what keeps a profile's devices from being fit to measure on; nothing if they are."""
    known = _readings(profile)
    return tuple(
        f"{subject or 'the device'}: {wrong}"
        for subject in dict.fromkeys(subject for _, subject in known)
        for wrong in (*_slowdown(known, subject, hardware), *_faults(known, subject))
    )


def _readings(profile: Profile) -> _Readings:
    return {(reading.name, reading.subject): reading.value for reading in profile.readings}


def _slowdown(known: _Readings, subject: str, hardware: Hardware | None) -> Iterator[str]:
    clock = known.get((SM_CLOCK, subject))
    full = hardware.clock_hz if hardware is not None else None
    if clock is None or full is None or clock >= MIN_CLOCK_SHARE * full:
        return
    at = f"it runs at {clock / _MEGA:,.0f} of {full / _MEGA:,.0f} MHz"
    power = known.get((_POWER, subject))
    limits = (known.get((name, subject)) for name in _LIMITS)
    limit = next((watts for watts in limits if watts), hardware.tdp_w if hardware else None)
    if power and limit and power >= AT_POWER_LIMIT * limit:
        yield f"{at} and draws {power:.0f} of {limit:.0f} W, so that its power limit sets the pace"
        return
    busy = (known.get((name, subject)) for name in _BUSY)
    if any(share is not None and share >= BUSY_SHARE for share in busy):
        yield f"{at} while it is busy, so that it is too hot, or its clock is locked"


def _faults(known: _Readings, subject: str) -> Iterator[str]:
    for name, words in _FAULTS.items():
        if known.get((name, subject), 0.0) > 0:
            yield words
    reasons = known.get(("clock_event_reasons", subject), 0.0)
    for bit, words in _EVENTS.items():
        if int(reasons) & bit:
            yield words
