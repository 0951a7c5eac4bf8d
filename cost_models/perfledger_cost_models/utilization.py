"""Samples of devices' activity into how well each holder used what it held, and all together.

Means are weighted by device-time. What is not known stays unknown: it is in `missing_hours`, and in
no mean. Levels of an hour are means over it; how they vary tells bursty use from steady.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from perfledger_cost_models.activity import FloatArray, Level, Signal
from perfledger_cost_models.activity_table import (
    HOUR,
    ActivityTable,
    Samples,
    grouped,
    hourly,
    quantiles,
    sums_by,
)
from perfledger_cost_models.usage import UsageFileError

# What exporters' own queries and a display make of an idle device, which is counted in percent.
IDLE_SHARE = 0.02
# A day has every hour; fewer do not show how use varies.
FEWEST_HOURS = 24
# Half as much spread as mean (see `burstiness`): devices for the mean then miss much of the peaks.
BURSTY_FROM = -1 / 3
WEEK_HOURS = 168
# 1970 began on a Thursday; weeks of the heat map begin on Monday.
_MONDAY = 4 * 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How one holder used its devices, by the signal that was asked for, and by all.

    `device_hours` are those that are known; of `missing_hours` nothing is. The mean is an upper
    bound (`is_upper_bound`) where a file has highest values only. Shares are None where the holder
    has no sample of the signal.
    """

    holder: str
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
        """Whether use varies much from hour to hour; None where that is not known."""
        return None if self.burstiness is None else self.burstiness >= BURSTY_FROM

    @property
    def range(self) -> tuple[float, float] | None:
        """Return the mean over known and missing hours: if those were all idle, or all busy."""
        if self.mean is None:
            return None
        known = self.device_hours / (self.device_hours + self.missing_hours)
        least = 0.0 if self.is_upper_bound else self.mean * known
        return least, self.mean * known + 1 - known


def use_of(table: ActivityTable, level: Level, signal: Signal) -> tuple[Use, ...]:
    """Return the use of each holder on a level, those with the most device-hours first."""
    names = [holder.at(level) for holder in table.holders]
    kept = sorted(set(names))
    places = {name: place for place, name in enumerate(kept)}
    groups = np.array([places[name] for name in names])
    parts = {each: grouped(samples, groups, len(kept)) for each, samples in table.signals.items()}
    found = [
        _use(name, {each: of[place] for each, of in parts.items() if len(of[place])}, signal)
        for name, place in places.items()
    ]
    return tuple(sorted(found, key=lambda use: (-use.device_hours - use.missing_hours, use.holder)))


def use_of_all(table: ActivityTable, signal: Signal) -> Use:
    """Return the use of all devices together, with those that nobody held."""
    return _use("all", table.signals, signal)


def best_signal(table: ActivityTable) -> Signal:
    """Return the signal that utilization is commonly told by, of those that there are.

    Raises UsageFileError where there is none of activity.
    """
    order = (Signal.GPU_UTIL, Signal.SM_ACTIVE, Signal.ENGINE_ACTIVE, Signal.TENSOR_ACTIVE)
    found = next((signal for signal in order if signal in table.signals), None)
    if found is None:
        msg = "the files tell of memory only: export how busy the devices were as well"
        raise UsageFileError(msg)
    return found


def burstiness(levels: FloatArray, weights: FloatArray) -> float | None:
    """Return B = (s - m) / (s + m) of levels with mean m and standard deviation s, by weight.

    Goh and Barabasi 2008, "Burstiness and memory in complex systems", eq. 1, of an hour's levels in
    place of times between events: -1 is constant, 0 as spread as the mean, 1 all in one moment.
    None of nothing but zeros.
    """
    mean = float(np.average(levels, weights=weights))
    if mean <= 0:
        return None
    deviation = sqrt(float(np.average((levels - mean) ** 2, weights=weights)))
    return (deviation - mean) / (deviation + mean)


def week_levels(table: ActivityTable, signal: Signal) -> tuple[float | None, ...]:
    """Return the mean level of each hour of the week, from Monday 00:00 UTC; None is not known.

    Samples that stand for more than an hour are not in it.
    """
    samples = table.signals.get(signal)
    if samples is None:
        return (None,) * WEEK_HOURS
    found = hourly(samples)
    places = (found.hour - _MONDAY) % WEEK_HOURS
    known = sums_by(places, found.seconds, WEEK_HOURS)
    total = sums_by(places, found.used, WEEK_HOURS)
    return tuple(float(u / s) if s > 0 else None for u, s in zip(total, known, strict=True))


def _use(name: str, found: Mapping[Signal, Samples], signal: Signal) -> Use:
    means = {each: _mean(samples) for each, samples in found.items()}
    samples = found.get(signal)
    if samples is None:  # all its hours are unknown by this signal, and as many as by another
        known = max(float(each.seconds.sum() + each.missing.sum()) for each in found.values())
        return Use(
            holder=name,
            device_hours=0.0,
            missing_hours=known / HOUR,
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
    return Use(
        holder=name,
        device_hours=seconds / HOUR,
        missing_hours=float(samples.missing.sum()) / HOUR,
        mean=means[signal],
        is_upper_bound=bool(samples.is_peak.any()),
        p50=p50,
        p95=p95,
        idle_share=float(idle) / seconds,
        burstiness=_burstiness(samples),
        signals=means,
    )


def _mean(samples: Samples) -> float:
    return float((samples.shares * samples.seconds).sum() / samples.seconds.sum())


def _burstiness(samples: Samples) -> float | None:
    found = hourly(samples)
    hours, places = np.unique(found.hour, return_inverse=True)
    if len(hours) < FEWEST_HOURS:
        return None
    known = sums_by(places.reshape(-1), found.seconds)
    return burstiness(sums_by(places.reshape(-1), found.used) / known, known)
