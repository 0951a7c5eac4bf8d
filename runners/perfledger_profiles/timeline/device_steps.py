"""Compares the devices of one recording and averages their metrics."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from perfledger.profile import Bucket, CollectiveTimes, DeviceStep, Profile, ProfileReading
from perfledger.rounding import percentage

# Beyond this difference the mean describes none of the devices.
MAX_SPREAD = 0.1

_DIFFERENT = "the devices differ: {} is {} of the step of {} and {} of that of {}"
# Times per step: a device without such work spent 0.
_TIMES = ("comm_time", "h2d_time", "d2h_time")
# Ratios are weighted by the time that they refer to.
_WEIGHTS = {"comm_overlap": "comm_time", "h2d_bw": "h2d_time", "d2h_bw": "d2h_time"}
_MAXIMA = ("queue_len_max",)


def device_step(
    profile: Profile,
    *,
    name: str,
    model: str,
    rank: int | None,
    collectives: Sequence[CollectiveTimes] = (),
) -> DeviceStep:
    """Return the step of one device, from a profile of that device alone."""
    return DeviceStep(
        name=name,
        model=model,
        rank=rank,
        steps=profile.steps,
        step_seconds=profile.step_seconds,
        buckets=tuple(profile.bucket_seconds().values()),
        communication_seconds=profile.reading("comm_time"),
        overlap=profile.reading("comm_overlap"),
        collectives=tuple(collectives),
    )


def note_on_devices(devices: Sequence[DeviceStep]) -> tuple[str, ...]:
    """Return a note on the bucket whose share differs most between devices, if it differs much."""
    if len(devices) <= 1 or not all(device.step_seconds > 0 for device in devices):
        return ()
    spread, bucket = max((_spread(devices, bucket), bucket) for bucket in Bucket)
    if spread <= MAX_SPREAD:
        return ()
    ranked = sorted(devices, key=lambda device: _share(device, bucket))
    least, most = ranked[0], ranked[-1]
    return (
        _DIFFERENT.format(
            bucket,
            percentage(_share(most, bucket)),
            most.name,
            percentage(_share(least, bucket)),
            least.name,
        ),
    )


def mean_readings(
    readings: Sequence[Iterable[ProfileReading]],
) -> tuple[ProfileReading, ...]:
    """Return the mean of each metric over the devices that have it, in order of first appearance.

    A device without collectives or copies spent no time on them. Ratios are weighted by the time
    that they refer to, which gives the ratio over all devices.
    """
    tables = [{(one.name, one.subject): one for one in each} for each in readings]
    if len(tables) == 1:
        return tuple(tables[0].values())
    keys = dict.fromkeys(key for table in tables for key in table)
    return tuple(_mean(key, tables) for key in keys)


_Table = Mapping[tuple[str, str], ProfileReading]


def _mean(key: tuple[str, str], tables: Sequence[_Table]) -> ProfileReading:
    mine = [(table[key], _weight(key[0], table)) for table in tables if key in table]
    first = mine[0][0]
    if key[0] in _MAXIMA:
        return replace(first, value=max(one.value for one, _ in mine))
    total = sum(weight for _, weight in mine)
    count = len(tables) if key[0] in _TIMES else total
    value = sum(one.value * weight for one, weight in mine) / count
    source = f"{first.source}; mean of the devices" if first.source else "mean of the devices"
    return replace(first, value=value, source=source)


def _weight(name: str, table: _Table) -> float:
    about = table.get((_WEIGHTS.get(name, ""), ""))
    return about.value if about is not None and about.value > 0 else 1.0


def _spread(devices: Sequence[DeviceStep], bucket: Bucket) -> float:
    shares = [_share(device, bucket) for device in devices]
    return max(shares) - min(shares)


def _share(device: DeviceStep, bucket: Bucket) -> float:
    return device.seconds(bucket) / device.step_seconds
