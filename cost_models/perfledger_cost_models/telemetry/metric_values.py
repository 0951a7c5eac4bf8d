"""Converts metric values by device and owner to activity; bytes of memory become shares.

A device's memory is the sum of used and free memory at that time, else the reported total, else the
nominal size of a device that reports itself as one of the price sheets' accelerators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfledger_cost_models.prices.accelerator_names import nominal_bytes
from perfledger_cost_models.telemetry.activity_samples import (
    ActivityExport,
    ActivityTimeline,
    DeviceOwner,
    export_of,
)
from perfledger_cost_models.telemetry.metric_names import ActivityMetric, MetricMeaning
from perfledger_cost_models.telemetry.signals import Signal

# More than any device has; DCGM's code for "not supported" is larger, in MiB.
MAX_MEMORY_BYTES = 2.0**43
NO_MEMORY_SIZE = "memory is left out for devices of unknown size: export their free memory as well"

SHARES_NOT_PERCENT = (
    "no GPU-util is above 1 %: if the file has shares instead of percent, export them times 100"
)

_Samples = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValues:
    """The values of one metric of one device, as in the file, in the order of time."""

    metric: ActivityMetric
    owner: DeviceOwner
    device: str
    samples: _Samples
    model: str = ""
    devices: float = 1.0


@dataclass(slots=True)
class _Memory:
    """The reported memory of one device for one owner."""

    used: list[MetricValues] = field(default_factory=list[MetricValues])
    free: dict[float, float] = field(default_factory=dict[float, float])
    total_bytes: float | None = None


def export_of_values(
    name: str, kind: str, readings: Sequence[MetricValues], *, notes: Sequence[str] = ()
) -> ActivityExport:
    """Return the activity of a file's values; raise UsageFileError if there is none."""
    timelines: list[ActivityTimeline] = []
    memories: dict[tuple[DeviceOwner, str], _Memory] = {}
    for each in readings:
        samples = [(time, value * each.metric.factor) for time, value in each.samples]
        memory = memories.setdefault((each.owner, each.device), _Memory())
        match each.metric.meaning:
            case MetricMeaning.MEMORY_USED:
                memory.used.append(each)
            case MetricMeaning.MEMORY_FREE:
                memory.free.update(samples)
            case MetricMeaning.MEMORY_TOTAL:
                totals = [value for _, value in samples if 0 < value <= MAX_MEMORY_BYTES]
                memory.total_bytes = max(totals, default=None)
            case (
                MetricMeaning.GPU_UTIL
                | MetricMeaning.SM_ACTIVE
                | MetricMeaning.TENSOR_ACTIVE
                | MetricMeaning.MEMORY
                | MetricMeaning.ENGINE_ACTIVE
            ):
                timelines.append(_timeline(each, Signal(each.metric.meaning), samples))
    shares = [(each, _shares(each, memory)) for memory in memories.values() for each in memory.used]
    timelines += [
        _timeline(each, Signal.MEMORY, memory_shares)
        for each, memory_shares in shares
        if memory_shares
    ]
    missing = [NO_MEMORY_SIZE] if any(not memory_shares for _, memory_shares in shares) else []
    small = [SHARES_NOT_PERCENT] if _is_like_shares(readings) else []
    return export_of(name, kind, timelines, notes=(*notes, *missing, *small))


def _is_like_shares(readings: Sequence[MetricValues]) -> bool:
    """Return whether all percentages are at most 1, and some are not whole numbers."""
    values = [
        value
        for each in readings
        if each.metric.meaning is MetricMeaning.GPU_UTIL and each.metric.factor != 1
        for _, value in each.samples
        if value > 0
    ]
    return any(value < 1 for value in values) and max(values) <= 1


def _timeline(reading: MetricValues, signal: Signal, samples: _Samples) -> ActivityTimeline:
    return ActivityTimeline(
        owner=reading.owner,
        device=reading.device,
        signal=signal,
        samples=samples,
        model=reading.model,
        devices=reading.devices,
    )


def _shares(reading: MetricValues, memory: _Memory) -> _Samples:
    """Return the shares of used memory; none if the device's size is unknown."""
    nominal = memory.total_bytes
    if nominal is None and reading.devices == 1:  # a part of a device has less than its model
        nominal = nominal_bytes(reading.model)
    if nominal is None and not memory.free:
        return ()
    shares: list[tuple[float, float]] = []
    for time, value in reading.samples:
        used = value * reading.metric.factor
        free = _bytes_or_none(memory.free, time)
        size = nominal if free is None else used + free
        is_known = 0 <= used <= MAX_MEMORY_BYTES
        # A device has a little more than its nominal size, so the share is capped at 1.
        shares.append((time, min(used / size, 1.0) if is_known and size else np.nan))
    return shares


def _bytes_or_none(free: Mapping[float, float], time: float) -> float | None:
    value = free.get(time, np.nan)
    return value if 0 <= value <= MAX_MEMORY_BYTES else None
