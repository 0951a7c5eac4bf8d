"""Finds the jobs with a high GPU-util on a mostly idle device.

GPU-util is the share of time in which any kernel ran: one thread is enough. SM-active is the share
of multiprocessors with work. Where it is unknown, engine-active, dcgm-exporter's default metric, is
its upper bound. Both are compared hour by hour where both are known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.telemetry.activity_samples import DeviceOwner
from perfledger_cost_models.telemetry.sample_table import (
    ActivityTable,
    HourlyActivity,
    SampleTable,
    hourly_activity,
    sums_by,
)
from perfledger_cost_models.telemetry.signals import Signal

# A common target: jobs above it draw no attention.
HIGH_GPU_UTIL = 0.7
# SM activity below which a GPU is used ineffectively. NVIDIA's DCGM user guide, "Profiling
# metrics", SM activity: below 0.5 a GPU is likely used ineffectively, 0.8 and more is necessary for
# effective use.
LOW_SM_ACTIVE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MisleadingUtilization:
    """A job that only looks busy: both means over the device-hours in which both are known."""

    owner: DeviceOwner
    device_hours: float
    gpu_util: float
    sm_active: float | None  # None if only engine-active is known
    tensor_active: float | None
    engine_active: float | None  # None if SM-active is known

    @property
    def active(self) -> float:
        """Return SM-active, or its upper bound engine-active."""
        return next(each for each in (self.sm_active, self.engine_active) if each is not None)

    @property
    def hours_apart(self) -> float:
        """Return the device-hours that GPU-util counts as used and the other signal does not."""
        return self.device_hours * (self.gpu_util - self.active)


def misleading_utilizations(table: ActivityTable) -> tuple[MisleadingUtilization, ...]:
    """Return the jobs with a high GPU-util and a low SM-active, the most hours apart first."""
    by_owner: dict[DeviceOwner, MisleadingUtilization] = {}
    for signal in (Signal.ENGINE_ACTIVE, Signal.SM_ACTIVE):  # SM-active replaces its bound
        by_owner |= {each.owner: each for each in _compare_signals(table, signal)}
    misleading = [
        each
        for each in by_owner.values()
        if each.gpu_util >= HIGH_GPU_UTIL and each.active < LOW_SM_ACTIVE
    ]
    return tuple(sorted(misleading, key=lambda each: (-each.hours_apart, each.owner)))


def _compare_signals(table: ActivityTable, signal: Signal) -> Sequence[MisleadingUtilization]:
    """Return each job's GPU-util and another signal, over the hours in which both are known."""
    util, active = (table.signals.get(each) for each in (Signal.GPU_UTIL, signal))
    if util is None or active is None:
        return ()
    keys, util_seconds, util_used = _cells(table, hourly_activity(util))
    active_keys, seconds, used = _cells(table, hourly_activity(active))
    _, left, right = np.intersect1d(keys, active_keys, assume_unique=True, return_indices=True)
    owners = keys[left] // _spread(table)
    weights = np.minimum(util_seconds[left], seconds[right])
    count = len(table.owners)
    shared_seconds, gpu_util, level = (
        sums_by(owners, weights * each, count)
        for each in (1.0, (util_used / util_seconds)[left], (used / seconds)[right])
    )
    tensor = _means(table.signals.get(Signal.TENSOR_ACTIVE), count)
    is_engine = signal is Signal.ENGINE_ACTIVE
    means = np.divide(
        level, shared_seconds, out=np.zeros_like(level), where=shared_seconds.astype(bool)
    )
    return [
        MisleadingUtilization(
            owner=table.owners[code],
            device_hours=float(shared_seconds[code]) / SECONDS_PER_HOUR,
            gpu_util=float(gpu_util[code] / shared_seconds[code]),
            sm_active=None if is_engine else float(means[code]),
            tensor_active=None if np.isnan(tensor[code]) else float(tensor[code]),
            engine_active=float(means[code]) if is_engine else None,
        )
        for code in np.flatnonzero(shared_seconds)
    ]


def _spread(table: ActivityTable) -> int:
    """Return the distance between the keys of consecutive owners."""
    return len(table.devices) * (int(table.hours) + 3)


def _cells(
    table: ActivityTable, activity: HourlyActivity
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the key, device-seconds and used device-seconds of each owner, device and hour."""
    hours = activity.hour - int(table.start // SECONDS_PER_HOUR)
    keys = activity.owner * _spread(table) + activity.device * (int(table.hours) + 3) + hours
    kinds, places = np.unique(keys, return_inverse=True)
    places = places.ravel()
    return kinds, sums_by(places, activity.seconds), sums_by(places, activity.used)


def _means(samples: SampleTable | None, count: int) -> FloatArray:
    """Return each owner's mean, NaN where it is unknown."""
    if samples is None:
        return np.full(count, np.nan)
    seconds = sums_by(samples.owner, samples.seconds, count)
    used = sums_by(samples.owner, samples.shares * samples.seconds, count)
    means = np.full(count, np.nan)
    means[seconds > 0] = used[seconds > 0] / seconds[seconds > 0]
    return means
