"""Samples of devices' activity into the jobs whose GPU-util says busy while the device is not.

GPU-util is the share of time in which any kernel ran: one thread is enough. SM-active is how many
of the multiprocessors had work. Both are held together hour by hour, where both are known.
"""

from dataclasses import dataclass

import numpy as np

from perfledger_cost_models.activity import FloatArray, Holder, Signal
from perfledger_cost_models.activity_table import (
    HOUR,
    ActivityTable,
    Hourly,
    IntArray,
    Samples,
    hourly,
    sums_by,
)

# What is commonly aimed at: a job above it is asked no questions.
HIGH_GPU_UTIL = 0.7
# NVIDIA's DCGM user guide, "Profiling metrics", SM activity: below 0.5 a GPU is likely used
# ineffectively, 0.8 and more is necessary for effective use.
LOW_SM_ACTIVE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class RedHerring:
    """A job that looks busy: both means over the device-hours in which both are known."""

    holder: Holder
    device_hours: float
    gpu_util: float
    sm_active: float
    tensor_active: float | None

    @property
    def hours_apart(self) -> float:
        """Return the device-hours that GPU-util counts as used and SM-active does not."""
        return self.device_hours * (self.gpu_util - self.sm_active)


def red_herrings(table: ActivityTable) -> tuple[RedHerring, ...]:
    """Return the jobs with a high GPU-util and a low SM-active, the most hours apart first."""
    util, active = (table.signals.get(each) for each in (Signal.GPU_UTIL, Signal.SM_ACTIVE))
    if util is None or active is None:
        return ()
    keys, util_seconds, util_used = _cells(table, hourly(util))
    others, seconds, used = _cells(table, hourly(active))
    _, left, right = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    holders = keys[left] // _spread(table)
    weights = np.minimum(util_seconds[left], seconds[right])
    count = len(table.holders)
    known, gpu_util, sm_active = (
        sums_by(holders, weights * level, count)
        for level in (1.0, (util_used / util_seconds)[left], (used / seconds)[right])
    )
    tensor = _means(table.signals.get(Signal.TENSOR_ACTIVE), count)
    found = [
        RedHerring(
            holder=table.holders[place],
            device_hours=float(known[place]) / HOUR,
            gpu_util=float(gpu_util[place] / known[place]),
            sm_active=float(sm_active[place] / known[place]),
            tensor_active=None if np.isnan(tensor[place]) else float(tensor[place]),
        )
        for place in np.flatnonzero(known)
    ]
    misleading = [
        each for each in found if each.gpu_util >= HIGH_GPU_UTIL and each.sm_active < LOW_SM_ACTIVE
    ]
    return tuple(sorted(misleading, key=lambda each: (-each.hours_apart, each.holder)))


def _spread(table: ActivityTable) -> int:
    """Return by how much the keys of two holders lie apart."""
    return len(table.devices) * (int(table.hours) + 3)


def _cells(table: ActivityTable, found: Hourly) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return for each holder, device and hour its key, device-seconds and those in use."""
    hours = found.hour - int(table.start // HOUR)
    keys = found.holder * _spread(table) + found.device * (int(table.hours) + 3) + hours
    kinds, places = np.unique(keys, return_inverse=True)
    places = places.reshape(-1)
    return kinds, sums_by(places, found.seconds), sums_by(places, found.used)


def _means(samples: Samples | None, count: int) -> FloatArray:
    """Return each holder's mean, NaN where it is not known."""
    if samples is None:
        return np.full(count, np.nan)
    seconds = sums_by(samples.holder, samples.seconds, count)
    used = sums_by(samples.holder, samples.shares * samples.seconds, count)
    means = np.full(count, np.nan)
    means[seconds > 0] = used[seconds > 0] / seconds[seconds > 0]
    return means
