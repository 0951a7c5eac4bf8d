"""Combines the activity of files into one table of samples by signal, without double counting."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import BoolArray, FloatArray, IntArray
from perfledger_cost_models.telemetry.activity_samples import Activity, ActivityExport, DeviceOwner
from perfledger_cost_models.telemetry.signals import Signal
from perfledger_cost_models.usage.device_spans import UsageFileError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleTable:
    """All samples of one signal by device, owner and time; codes index the table's lists.

    `seconds` are device-seconds: the time that a sample holds for, times its devices, divided by
    the owners that share the device at that time. `missing` are the unknown device-seconds after
    it, if its owner had the device again later.
    """

    device: IntArray
    owner: IntArray
    starts: FloatArray
    ends: FloatArray
    shares: FloatArray
    seconds: FloatArray
    missing: FloatArray
    is_peak: BoolArray

    def __len__(self) -> int:
        return len(self.starts)

    def take(self, rows: BoolArray | IntArray) -> "SampleTable":
        """Return some of the rows, in their order."""
        return SampleTable(
            **{column.name: getattr(self, column.name)[rows] for column in fields(self)}
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HourlyActivity:
    """Device-seconds, and those in use, by hours since 1970; an hour may have many rows.

    Samples longer than an hour do not show what happened in one hour and are excluded.
    """

    device: IntArray
    owner: IntArray
    hour: IntArray
    seconds: FloatArray
    used: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ActivityTable:
    """The combined activity of all files."""

    owners: tuple[DeviceOwner, ...]
    devices: tuple[str, ...]
    models: tuple[str, ...]  # of each device; "" is unknown
    sizes: FloatArray  # of each device: how many it stands for
    signals: Mapping[Signal, SampleTable]
    start: float
    end: float

    @property
    def hours(self) -> float:
        """Return the length of the files' period."""
        return (self.end - self.start) / SECONDS_PER_HOUR

    @property
    def device_count(self) -> float:
        """Return the most devices at one time: one job's devices may be the next job's, too."""
        first, last = np.full(len(self.devices), np.inf), np.full(len(self.devices), -np.inf)
        for samples in self.signals.values():
            np.minimum.at(first, samples.device, samples.starts)
            np.maximum.at(last, samples.device, samples.ends)
        moments = np.concatenate((last, first))  # at one moment ends are before starts
        changes = np.concatenate((-self.sizes, self.sizes))
        return float(np.cumsum(changes[np.argsort(moments, kind="stable")]).max())


def table_of(exports: Sequence[ActivityExport]) -> ActivityTable:
    """Return the combined activity of files, which may have different signals of the same devices.

    Raises UsageFileError where two files have the same signal of a device at the same time.
    """
    activities = [each for export in exports for each in export.activities]
    if not activities:
        msg = "no export of activity: give at least one"
        raise UsageFileError(msg)
    owners = tuple(sorted({each.owner for each in activities}))
    by_name = {each.device: each for each in activities}
    models = {each.device: each.model for each in activities if each.model}
    devices = tuple(sorted(by_name))
    owner_codes = {owner: index for index, owner in enumerate(owners)}
    device_codes = {device: index for index, device in enumerate(devices)}
    signals = {
        signal: _samples(signal_activities, owner_codes, device_codes)
        for signal in Signal
        if (signal_activities := [each for each in activities if each.signal is signal])
    }
    periods = [export.period for export in exports if export.period is not None]
    return ActivityTable(
        owners=owners,
        devices=devices,
        models=tuple(models.get(device, "") for device in devices),
        sizes=np.array([by_name[device].devices for device in devices]),
        signals=signals,
        start=min([float(each.starts.min()) for each in activities] + [a for a, _ in periods]),
        end=max([float(each.ends.max()) for each in activities] + [b for _, b in periods]),
    )


def group_samples(samples: SampleTable, groups: IntArray, count: int) -> tuple[SampleTable, ...]:
    """Return the samples of each of `count` groups; `groups` gives each owner's group."""
    of_sample = groups[samples.owner]
    order = np.argsort(of_sample, kind="stable")
    edges = np.searchsorted(of_sample[order], np.arange(count + 1))
    return tuple(samples.take(order[edges[at] : edges[at + 1]]) for at in range(count))


def sums_by(places: IntArray, weights: FloatArray, count: int = 0) -> FloatArray:
    """Return the sum of the weights at each index, for at least `count` indices."""
    return np.bincount(places, weights, count).astype(float)


def quantiles(samples: SampleTable, *at: float) -> tuple[float, ...]:
    """Return the shares that these fractions of the device-time do not exceed."""
    order = np.argsort(samples.shares, kind="stable")
    until = np.cumsum(samples.seconds[order])
    # Sums of seconds are inexact; the tolerance keeps half of them from exceeding half.
    bounds = (share * float(until[-1]) * (1 - 1e-12) for share in at)
    return tuple(float(samples.shares[order[np.searchsorted(until, each)]]) for each in bounds)


def hourly_activity(samples: SampleTable) -> HourlyActivity:
    """Return samples by hour; a sample of at most an hour that spans two is divided."""
    length = samples.ends - samples.starts
    short = (
        samples.take(length <= SECONDS_PER_HOUR * (1 + 1e-9))
        if (length > SECONDS_PER_HOUR).any()
        else samples
    )
    first = np.floor(short.starts / SECONDS_PER_HOUR).astype(np.int64)
    in_first = np.minimum(short.ends, (first + 1) * SECONDS_PER_HOUR) - short.starts
    share = in_first / (short.ends - short.starts)
    seconds = np.concatenate([short.seconds * share, short.seconds * (1 - share)])
    rows = seconds > 0
    return HourlyActivity(
        device=np.tile(short.device, 2)[rows],
        owner=np.tile(short.owner, 2)[rows],
        hour=np.concatenate([first, first + 1])[rows],
        seconds=seconds[rows],
        used=(np.tile(short.shares, 2) * seconds)[rows],
    )


def _samples(
    activities: Sequence[Activity], owners: Mapping[DeviceOwner, int], devices: Mapping[str, int]
) -> SampleTable:
    lengths = [len(each.starts) for each in activities]
    device = np.repeat(np.array([devices[each.device] for each in activities]), lengths)
    owner = np.repeat(np.array([owners[each.owner] for each in activities]), lengths)
    size = np.repeat(np.array([each.devices for each in activities]), lengths)
    is_peak = np.repeat(np.array([each.is_peak for each in activities]), lengths)
    starts, ends, shares = (
        np.concatenate([getattr(each, name) for each in activities])
        for name in ("starts", "ends", "shares")
    )
    order = np.lexsort((starts, owner, device))
    device, owner, size, is_peak = device[order], owner[order], size[order], is_peak[order]
    starts, ends, shares = starts[order], ends[order], shares[order]
    is_same = (device[1:] == device[:-1]) & (owner[1:] == owner[:-1])
    _check(device[1:], starts, ends, is_same, tuple(devices))
    ends[:-1] = np.where(is_same, np.minimum(ends[:-1], starts[1:]), ends[:-1])
    moments, counts = _moments(device, starts)
    # Time-slicing reports a device once for each of its owners, with the same value. Their shares
    # are unknown, so the time is split evenly.
    sharers = counts[moments]
    # Another owner had the device meanwhile if it has a moment between two of this owner's.
    is_gap = is_same & (moments[1:] == moments[:-1] + 1)
    missing = np.append(np.where(is_gap, starts[1:] - ends[:-1], 0.0), 0.0)
    return SampleTable(
        device=device,
        owner=owner,
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
    is_same: BoolArray,
    names: Sequence[str],
) -> None:
    # Two consecutive files may both cover the moment between them.
    twice = is_same & (starts[1:] < (starts[:-1] + ends[:-1]) / 2)
    if twice.any():
        name = names[int(device[twice][0])]
        msg = f"device {name[:60]!r} appears twice for the same time: remove one file or series"
        raise UsageFileError(msg)


def _moments(device: IntArray, starts: FloatArray) -> tuple[IntArray, IntArray]:
    """Return each sample's index in its device's times, and the number of samples at each time."""
    _, times = np.unique(starts, return_inverse=True)
    keys = device * (int(times.max()) + 1) + times.ravel()
    _, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return places.ravel(), counts
