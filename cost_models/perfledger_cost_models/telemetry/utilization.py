"""Computes how well each owner used its devices, and all owners together.

Means are weighted by device-time. Unknown time stays unknown: it is in `missing_hours` and in no
mean. The level of an hour is its mean; the variation of levels distinguishes bursty from steady
use.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from perfledger.time_units import HOURS_PER_DAY, HOURS_PER_WEEK, SECONDS_PER_HOUR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.telemetry.sample_table import (
    ActivityTable,
    SampleTable,
    group_samples,
    hourly_activity,
    quantiles,
    sums_by,
)
from perfledger_cost_models.telemetry.signals import OwnerLevel, Signal
from perfledger_cost_models.usage.device_spans import UsageFileError

# An idle device shows up to this much: exporters' own queries and a display use it a little.
IDLE_SHARE = 0.02
# A day has every hour; a shorter period does not show how use varies.
MIN_HOURS = 24
# Half as much spread as mean (see `burstiness`): devices sized for the mean then miss the peaks.
BURSTY_FROM = -1 / 3
# 1970 began on a Thursday; weeks of the heat map begin on Monday.
_MONDAY = 4 * HOURS_PER_DAY


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerUtilization:
    """How well one owner used its devices, by the chosen signal and by all signals.

    `device_hours` are the known hours, `missing_hours` the unknown ones. The mean is an upper bound
    (`is_upper_bound`) if a file only has peak values. Shares are None if the owner has no sample of
    the signal.
    """

    owner: str
    device_hours: float
    missing_hours: float
    mean: float | None
    is_upper_bound: bool
    p50: float | None
    p95: float | None
    idle_share: float | None  # of its known device-hours
    burstiness: float | None  # -1 constant, 0 as spread as the mean; None of less than a day
    signals: Mapping[Signal, float]  # means of all that are known

    @property
    def is_bursty(self) -> bool | None:
        """Return whether use varies much from hour to hour; None if unknown."""
        return None if self.burstiness is None else self.burstiness >= BURSTY_FROM

    @property
    def range(self) -> tuple[float, float] | None:
        """Return the mean's bounds: with the missing hours all idle, and all busy."""
        if self.mean is None:
            return None
        known_share = self.device_hours / (self.device_hours + self.missing_hours)
        least = 0.0 if self.is_upper_bound else self.mean * known_share
        return least, self.mean * known_share + 1 - known_share


def utilization_by_owner(
    table: ActivityTable, level: OwnerLevel, signal: Signal
) -> tuple[OwnerUtilization, ...]:
    """Return the utilization of each owner on a level, the most device-hours first."""
    names = [owner.at(level) for owner in table.owners]
    unique_names = sorted(set(names))
    codes = {name: code for code, name in enumerate(unique_names)}
    groups = np.array([codes[name] for name in names])
    parts = {
        each: group_samples(samples, groups, len(unique_names))
        for each, samples in table.signals.items()
    }
    utilizations = [
        _use(name, {each: of[code] for each, of in parts.items() if len(of[code])}, signal)
        for name, code in codes.items()
    ]
    return tuple(
        sorted(utilizations, key=lambda use: (-use.device_hours - use.missing_hours, use.owner))
    )


def total_utilization(table: ActivityTable, signal: Signal) -> OwnerUtilization:
    """Return the utilization of all devices, including free ones."""
    return _use("all", table.signals, signal)


def best_signal(table: ActivityTable) -> Signal:
    """Return the most common signal of utilization among those available.

    Raises UsageFileError if none shows activity.
    """
    order = (Signal.GPU_UTIL, Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE, Signal.TENSOR_ACTIVE)
    best = next((signal for signal in order if signal in table.signals), None)
    if best is None:
        msg = "the files have only memory: export a signal of activity as well"
        raise UsageFileError(msg)
    return best


def burstiness(levels: FloatArray, weights: FloatArray) -> float | None:
    """Return B = (s - m) / (s + m) of levels with mean m and standard deviation s, by weight.

    Goh and Barabasi 2008, "Burstiness and memory in complex systems", eq. 1, with hourly levels in
    place of times between events: -1 is constant, 0 has a spread equal to the mean, 1 is all in one
    moment. None for all zeros.
    """
    mean = float(np.average(levels, weights=weights))
    if mean <= 0:
        return None
    deviation = sqrt(float(np.average((levels - mean) ** 2, weights=weights)))
    return (deviation - mean) / (deviation + mean)


def week_levels(table: ActivityTable, signal: Signal) -> tuple[float | None, ...]:
    """Return the mean level of each hour of the week, from Monday 00:00 UTC; None is unknown.

    Samples longer than an hour are excluded.
    """
    samples = table.signals.get(signal)
    if samples is None:
        return (None,) * HOURS_PER_WEEK
    activity = hourly_activity(samples)
    places = (activity.hour - _MONDAY) % HOURS_PER_WEEK
    seconds = sums_by(places, activity.seconds, HOURS_PER_WEEK)
    total = sums_by(places, activity.used, HOURS_PER_WEEK)
    return tuple(float(u / s) if s > 0 else None for u, s in zip(total, seconds, strict=True))


def _use(
    name: str, samples_by_signal: Mapping[Signal, SampleTable], signal: Signal
) -> OwnerUtilization:
    means = {each: _mean(samples) for each, samples in samples_by_signal.items()}
    samples = samples_by_signal.get(signal)
    if samples is None:  # all its hours are unknown by this signal
        missing_seconds = max(
            float(each.seconds.sum() + each.missing.sum()) for each in samples_by_signal.values()
        )
        return OwnerUtilization(
            owner=name,
            device_hours=0.0,
            missing_hours=missing_seconds / SECONDS_PER_HOUR,
            mean=None,
            is_upper_bound=False,
            p50=None,
            p95=None,
            idle_share=None,
            burstiness=None,
            signals=means,
        )
    seconds = float(samples.seconds.sum())
    p50, p95 = quantiles(samples, 0.5, 0.95)
    idle = samples.seconds[samples.shares <= IDLE_SHARE].sum()
    return OwnerUtilization(
        owner=name,
        device_hours=seconds / SECONDS_PER_HOUR,
        missing_hours=float(samples.missing.sum()) / SECONDS_PER_HOUR,
        mean=means[signal],
        is_upper_bound=bool(samples.is_peak.any()),
        p50=p50,
        p95=p95,
        idle_share=float(idle) / seconds,
        burstiness=_burstiness(samples),
        signals=means,
    )


def _mean(samples: SampleTable) -> float:
    return float((samples.shares * samples.seconds).sum() / samples.seconds.sum())


def _burstiness(samples: SampleTable) -> float | None:
    activity = hourly_activity(samples)
    hours, places = np.unique(activity.hour, return_inverse=True)
    if len(hours) < MIN_HOURS:
        return None
    seconds = sums_by(places.ravel(), activity.seconds)
    return burstiness(sums_by(places.ravel(), activity.used) / seconds, seconds)
