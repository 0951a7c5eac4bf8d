"""Files' activity into one table of samples by signal, in which no device's time counts twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.activity import Activity, Export, FloatArray, Holder, Signal
from perfledger_cost_models.usage import UsageFileError

HOUR = 3600.0

IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Samples:
    """All samples of one signal, by device, holder and time; a code is a place in the table's list.

    `seconds` are device-seconds: the time that a sample stands for, times the devices that it is
    of, divided by the holders that a shared device had at that time. `missing` are the
    device-seconds after it of which nothing is known, though its holder had the device again.
    """

    device: IntArray
    holder: IntArray
    starts: FloatArray
    ends: FloatArray
    shares: FloatArray
    seconds: FloatArray
    missing: FloatArray
    is_peak: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.starts)

    def taken(self, rows: NDArray[np.bool_] | IntArray) -> "Samples":
        """Return some of the rows, in their order."""
        return Samples(
            device=self.device[rows],
            holder=self.holder[rows],
            starts=self.starts[rows],
            ends=self.ends[rows],
            shares=self.shares[rows],
            seconds=self.seconds[rows],
            missing=self.missing[rows],
            is_peak=self.is_peak[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Hourly:
    """Device-seconds, and those in use, by hours since 1970; an hour may have many rows.

    Samples that stand for more than an hour do not tell what happened in one, and are not in it.
    """

    device: IntArray
    holder: IntArray
    hour: IntArray
    seconds: FloatArray
    used: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActivityTable:
    """What all files tell."""

    holders: tuple[Holder, ...]
    devices: tuple[str, ...]
    models: tuple[str, ...]  # of each device; "" is not told
    sizes: FloatArray  # of each device: how many it stands for
    signals: Mapping[Signal, Samples]
    start: float
    end: float

    @property
    def hours(self) -> float:
        """Return how long the files' period is."""
        return (self.end - self.start) / HOUR


def table_of(exports: Sequence[Export]) -> ActivityTable:
    """Return what files tell together; they may have different signals of the same devices.

    Raises UsageFileError where two of them tell the same of one device and time.
    """
    activities = [each for export in exports for each in export.activities]
    if not activities:
        msg = "no export of activity: give at least one"
        raise UsageFileError(msg)
    holders = tuple(sorted({each.holder for each in activities}))
    known = {each.device: each for each in activities}
    models = {each.device: each.model for each in activities if each.model}
    devices = tuple(sorted(known))
    by_holder = {holder: place for place, holder in enumerate(holders)}
    by_device = {device: place for place, device in enumerate(devices)}
    signals = {
        signal: _samples(found, by_holder, by_device)
        for signal in Signal
        if (found := [each for each in activities if each.signal is signal])
    }
    return ActivityTable(
        holders=holders,
        devices=devices,
        models=tuple(models.get(device, "") for device in devices),
        sizes=np.array([known[device].devices for device in devices]),
        signals=signals,
        start=min(float(each.starts.min()) for each in activities),
        end=max(float(each.ends.max()) for each in activities),
    )


def grouped(samples: Samples, groups: IntArray, count: int) -> tuple[Samples, ...]:
    """Return the samples of each of `count` groups; `groups` is that of each holder."""
    of_sample = groups[samples.holder]
    order = np.argsort(of_sample, kind="stable")
    edges = np.searchsorted(of_sample[order], np.arange(count + 1))
    return tuple(samples.taken(order[edges[at] : edges[at + 1]]) for at in range(count))


def sums_by(places: IntArray, weights: FloatArray, count: int = 0) -> FloatArray:
    """Return the sum of the weights at each place, for `count` places at least."""
    sums: FloatArray = np.bincount(places, weights, count).astype(float)
    return sums


def quantiles(samples: Samples, *at: float) -> tuple[float, ...]:
    """Return the shares that so much of the device-time does not exceed."""
    order = np.argsort(samples.shares, kind="stable")
    until = np.cumsum(samples.seconds[order])
    # Sums of seconds are inexact; half of them must not come to lie beyond half.
    bounds = (share * float(until[-1]) * (1 - 1e-12) for share in at)
    return tuple(float(samples.shares[order[np.searchsorted(until, each)]]) for each in bounds)


def hourly(samples: Samples) -> Hourly:
    """Return the hours of samples; one of at most an hour that lies in two is divided."""
    length = samples.ends - samples.starts
    short = samples.taken(length <= HOUR * (1 + 1e-9)) if (length > HOUR).any() else samples
    first = np.floor(short.starts / HOUR).astype(np.int64)
    in_first = np.minimum(short.ends, (first + 1) * HOUR) - short.starts
    share = in_first / (short.ends - short.starts)
    seconds = np.concatenate([short.seconds * share, short.seconds * (1 - share)])
    rows = seconds > 0
    return Hourly(
        device=np.tile(short.device, 2)[rows],
        holder=np.tile(short.holder, 2)[rows],
        hour=np.concatenate([first, first + 1])[rows],
        seconds=seconds[rows],
        used=(np.tile(short.shares, 2) * seconds)[rows],
    )


def _samples(
    activities: Sequence[Activity], holders: Mapping[Holder, int], devices: Mapping[str, int]
) -> Samples:
    lengths = [len(each.starts) for each in activities]
    device = np.repeat(np.array([devices[each.device] for each in activities]), lengths)
    holder = np.repeat(np.array([holders[each.holder] for each in activities]), lengths)
    size = np.repeat(np.array([each.devices for each in activities]), lengths)
    is_peak = np.repeat(np.array([each.is_peak for each in activities]), lengths)
    starts, ends, shares = (
        np.concatenate([getattr(each, name) for each in activities])
        for name in ("starts", "ends", "shares")
    )
    order = np.lexsort((starts, holder, device))
    device, holder, size, is_peak = device[order], holder[order], size[order], is_peak[order]
    starts, ends, shares = starts[order], ends[order], shares[order]
    is_same = (device[1:] == device[:-1]) & (holder[1:] == holder[:-1])
    _check(device[1:], starts, ends, is_same, tuple(devices))
    ends[:-1] = np.where(is_same, np.minimum(ends[:-1], starts[1:]), ends[:-1])
    moments, counts = _moments(device, starts)
    # Time-slicing shows a device once for each of its holders, with the same value; who did how
    # much of it nobody knows, so that its time is split evenly.
    sharers = counts[moments]
    # Somebody else had the device meanwhile where it has a moment between two of its holder.
    is_gap = is_same & (moments[1:] == moments[:-1] + 1)
    missing = np.append(np.where(is_gap, starts[1:] - ends[:-1], 0.0), 0.0)
    return Samples(
        device=device,
        holder=holder,
        starts=starts,
        ends=ends,
        shares=shares,
        seconds=(ends - starts) * size / sharers,
        missing=missing * size,
        is_peak=is_peak,
    )


def _check(
    device: IntArray,
    starts: FloatArray,
    ends: FloatArray,
    is_same: NDArray[np.bool_],
    names: Sequence[str],
) -> None:
    # Two files that follow each other may both stand for the moment between them.
    twice = is_same & (starts[1:] < (starts[:-1] + ends[:-1]) / 2)
    if twice.any():
        name = names[int(device[twice][0])]
        msg = f"device {name[:60]!r} is told twice for the same time: leave one file or series out"
        raise UsageFileError(msg)


def _moments(device: IntArray, starts: FloatArray) -> tuple[IntArray, IntArray]:
    """Return each sample's place among its device's moments, and how many samples each has."""
    _, times = np.unique(starts, return_inverse=True)
    keys = device * (int(times.max()) + 1) + times.reshape(-1)
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return places.reshape(-1), counts
