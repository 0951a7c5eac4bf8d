"""Values of metrics by device and holder into what a file tells of activity; bytes become shares.

How much memory a device has is what is used and free at that time, else the total that is told,
else the nominal size of a device that names itself as one of the price sheets' accelerators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfledger_cost_models.accelerator import ACCELERATORS, BYTES_PER_GB
from perfledger_cost_models.activity import Export, Holder, Signal, Timeline, export_of
from perfledger_cost_models.activity_metrics import Metric, Tells

# No device has so much; what DCGM says for "not supported" is more, in MiB.
MAX_MEMORY_BYTES = 2.0**43
NO_MEMORY_SIZE = (
    "memory is left out where nothing tells how much the device has: export what is free as well"
)

SHARES_NOT_PERCENT = (
    "no GPU-util is above 1 %: if the file has shares and not percent, export them times 100"
)

_Samples = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The values of one metric of one device, as the file has them, in the order of time."""

    metric: Metric
    holder: Holder
    device: str
    samples: _Samples
    model: str = ""
    devices: float = 1.0


@dataclass(slots=True)
class _Memory:
    """What is told of one device's memory while one holder has it."""

    used: list[Reading] = field(default_factory=list[Reading])
    free: dict[float, float] = field(default_factory=dict[float, float])
    total_bytes: float | None = None


def export_of_readings(
    name: str, kind: str, readings: Sequence[Reading], *, notes: Sequence[str] = ()
) -> Export:
    """Return what a file's values tell; raises UsageFileError where that is nothing."""
    timelines: list[Timeline] = []
    memories: dict[tuple[Holder, str], _Memory] = {}
    for each in readings:
        samples = [(time, value * each.metric.factor) for time, value in each.samples]
        memory = memories.setdefault((each.holder, each.device), _Memory())
        match each.metric.tells:
            case Tells.MEMORY_USED:
                memory.used.append(each)
            case Tells.MEMORY_FREE:
                memory.free.update(samples)
            case Tells.MEMORY_TOTAL:
                known = [value for _, value in samples if 0 < value <= MAX_MEMORY_BYTES]
                memory.total_bytes = max(known, default=None)
            case (
                Tells.GPU_UTIL
                | Tells.SM_ACTIVE
                | Tells.TENSOR_ACTIVE
                | Tells.MEMORY
                | Tells.ENGINE_ACTIVE
            ):
                timelines.append(_timeline(each, Signal(each.metric.tells), samples))
    shares = [(each, _shares(each, memory)) for memory in memories.values() for each in memory.used]
    timelines += [_timeline(each, Signal.MEMORY, found) for each, found in shares if found]
    missing = [NO_MEMORY_SIZE] if any(not found for _, found in shares) else []
    small = [SHARES_NOT_PERCENT] if _is_like_shares(readings) else []
    return export_of(name, kind, timelines, notes=(*notes, *missing, *small))


def nominal_bytes(model: str) -> float | None:
    """Return the memory that a device of this name is sold with, None where it is not known."""
    known = ACCELERATORS.get(model.strip().casefold().removeprefix("nvidia "))
    return None if known is None else float(known[1] * BYTES_PER_GB)


def _is_like_shares(readings: Sequence[Reading]) -> bool:
    """Whether all that should be percent is at most 1, and not only whole numbers."""
    values = [
        value
        for each in readings
        if each.metric.tells is Tells.GPU_UTIL and each.metric.factor != 1
        for _, value in each.samples
        if value > 0
    ]
    return any(value < 1 for value in values) and max(values) <= 1


def _timeline(reading: Reading, signal: Signal, samples: _Samples) -> Timeline:
    return Timeline(
        holder=reading.holder,
        device=reading.device,
        signal=signal,
        samples=samples,
        model=reading.model,
        devices=reading.devices,
    )


def _shares(reading: Reading, memory: _Memory) -> _Samples:
    """Return the shares of memory that are held; none at all where its size is not known."""
    nominal = memory.total_bytes
    if nominal is None and reading.devices == 1:  # a part of a device has less than the model says
        nominal = nominal_bytes(reading.model)
    if nominal is None and not memory.free:
        return ()
    shares: list[tuple[float, float]] = []
    for time, value in reading.samples:
        used = value * reading.metric.factor
        free = _bytes_or_none(memory.free, time)
        size = nominal if free is None else used + free
        is_known = 0 <= used <= MAX_MEMORY_BYTES and size is not None and size > 0
        # A device has a little more than its nominal size; what is used is then all of it.
        shares.append((time, min(used / size, 1.0) if is_known and size else np.nan))
    return shares


def _bytes_or_none(free: Mapping[float, float], time: float) -> float | None:
    value = free.get(time, np.nan)
    return value if 0 <= value <= MAX_MEMORY_BYTES else None
