"""Samples of devices' activity into the jobs whose GPU-util says busy while the device is not.

GPU-util is the share of time in which any kernel ran: one thread is enough. SM-active is how many
of the multiprocessors had work; where it is not known, engine-active is a bound of it: what
dcgm-exporter has unless told otherwise. Both are held together hour by hour, where both are known.
"""

from collections.abc import Sequence
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
    sm_active: float | None  # None where engine-active alone is known
    tensor_active: float | None
    engine_active: float | None  # None where SM-active is known

    @property
    def active(self) -> float:
        """Return SM-active, or the engine-active that it never exceeds."""
        return next(each for each in (self.sm_active, self.engine_active) if each is not None)

    @property
    def hours_apart(self) -> float:
        """Return the device-hours that GPU-util counts as used and the other does not."""
        return self.device_hours * (self.gpu_util - self.active)


def red_herrings(table: ActivityTable) -> tuple[RedHerring, ...]:
    """Return the jobs with a high GPU-util and a low SM-active, the most hours apart first."""
    found: dict[Holder, RedHerring] = {}
    for signal in (Signal.ENGINE_ACTIVE, Signal.SM_ACTIVE):  # SM-active takes its bound's place
        found |= {each.holder: each for each in _compared(table, signal)}
    misleading = [
        each
        for each in found.values()
        if each.gpu_util >= HIGH_GPU_UTIL and each.active < LOW_SM_ACTIVE
    ]
    return tuple(sorted(misleading, key=lambda each: (-each.hours_apart, each.holder)))


def _compared(table: ActivityTable, signal: Signal) -> Sequence[RedHerring]:
    """Return each job's GPU-util beside another signal, where both are known."""
    util, active = (table.signals.get(each) for each in (Signal.GPU_UTIL, signal))
    if util is None or active is None:
        return ()
    keys, util_seconds, util_used = _cells(table, hourly(util))
    others, seconds, used = _cells(table, hourly(active))
    _, left, right = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    holders = keys[left] // _spread(table)
    weights = np.minimum(util_seconds[left], seconds[right])
    count = len(table.holders)
    known, gpu_util, level = (
        sums_by(holders, weights * each, count)
        for each in (1.0, (util_used / util_seconds)[left], (used / seconds)[right])
    )
    tensor = _means(table.signals.get(Signal.TENSOR_ACTIVE), count)
    is_engine = signal is Signal.ENGINE_ACTIVE
    means = level / np.where(known > 0, known, 1.0)
    return [
        RedHerring(
            holder=table.holders[place],
            device_hours=float(known[place]) / HOUR,
            gpu_util=float(gpu_util[place] / known[place]),
            sm_active=None if is_engine else float(means[place]),
            tensor_active=None if np.isnan(tensor[place]) else float(tensor[place]),
            engine_active=float(means[place]) if is_engine else None,
        )
        for place in np.flatnonzero(known)
    ]


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
