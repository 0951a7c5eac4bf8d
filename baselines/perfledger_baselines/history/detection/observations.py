"""Puts the values of a series on the scale on which they are compared."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray

# Estimates may exceed the levels of values that a float can hold.
MAX_LOG = math.log(sys.float_info.max)

# A standard error of a factor of a thousand says nothing, and a larger one only overflows.
MAX_ERROR = math.log(1000)


class SeriesError(ValueError):
    """A series that cannot be searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """The measured values of one series, without its gaps.

    `places` are their indices in the original series. `levels` are natural logs if `is_relative`,
    else values divided by `unit`, the largest absolute value. The middle of the levels, `origin`,
    is subtracted, so that sums over long series keep their digits. `errors` are the standard errors
    of the levels, all zero if unknown. `times` are when each was measured, in seconds since the
    epoch, NaN where unknown.
    """

    places: IntArray
    levels: FloatArray
    errors: FloatArray
    times: FloatArray
    origin: float
    unit: float
    is_relative: bool

    @property
    def middle(self) -> float:
        """Return the value whose level is 0, in the metric's own unit."""
        return self.value(0.0)

    @property
    def is_never_negative(self) -> bool:
        """Return whether no value is below zero, so that none can fall by more than 100 %."""
        return self.is_relative or self.value(float(self.levels.min())) >= 0

    def value(self, level: float) -> float:
        """Return a level in the metric's own unit."""
        if self.is_relative:
            return math.exp(min(level + self.origin, MAX_LOG))
        return (level + self.origin) * self.unit

    def ratio(self, level: float, *, before: float) -> float:
        """Return the relative change of a value whose level changes by `level`.

        On the log scale this needs no `before`. Otherwise it is relative to `before`, and NaN where
        that is not positive.
        """
        if self.is_relative:
            # No float holds the ratio of 1e300 to 1e-300.
            return math.expm1(level) if level < MAX_LOG else math.inf
        return level * self.unit / before if before > 0 else math.nan


def observe(
    values: Sequence[float] | FloatArray,
    *,
    errors: Sequence[float] | FloatArray = (),
    times: Sequence[float] | FloatArray = (),
    name: str = "the series",
) -> Observations:
    """Return the observations of a series with one value per commit, NaN where none was measured.

    `errors` are the values' standard errors in their unit, `times` when they were measured, NaN
    where unknown. The scale is logarithmic if every value is positive, so that a change and its
    reversal are equally large; a zero or a negative value puts the whole series on the linear
    scale. Raises SeriesError for an infinite value, for invalid errors or times, and for a series
    without any value: a series that was not measured must not read as "nothing changed".
    """
    series = np.asarray(values, dtype=np.float64)
    places = (
        np.arange(len(series)) if np.isfinite(series).all() else np.flatnonzero(~np.isnan(series))
    )
    readings = series[places] if len(places) < len(series) else series
    if len(readings) == 0:
        msg = f"{name} holds no value among {len(series)} commits: measure it first"
        raise SeriesError(msg)
    low, high = float(readings.min()), float(readings.max())
    if math.isinf(low) or math.isinf(high):
        index = int(places[np.isinf(readings)][0])
        msg = f"{name} is infinite at index {index}: use NaN where nothing was measured"
        raise SeriesError(msg)
    is_relative = low > 0
    unit = max(abs(low), abs(high)) or 1.0
    levels = np.log(readings) if is_relative else readings / unit
    middle = len(levels) // 2
    origin = float(np.partition(levels, middle)[middle])
    return Observations(
        places=places,
        levels=levels - origin,
        errors=_on_scale(
            _errors(errors, series, name=name)[places], readings if is_relative else unit
        ),
        times=_times(times, count=len(series), name=name)[places],
        origin=origin,
        unit=unit,
        is_relative=is_relative,
    )


def _errors(errors: Sequence[float] | FloatArray, values: FloatArray, *, name: str) -> FloatArray:
    """Return a standard error for each value; the typical one where it is unknown."""
    standard_errors = np.asarray(errors, dtype=np.float64)
    if len(standard_errors) == 0:
        return np.zeros_like(values)
    if len(standard_errors) != len(values):
        msg = (
            f"{name} has {len(standard_errors)} standard errors for {len(values)} values: "
            "use one for each"
        )
        raise SeriesError(msg)
    is_known = ~np.isnan(standard_errors)
    if not (np.isfinite(standard_errors[is_known]) & (standard_errors[is_known] >= 0)).all():
        msg = f"{name} has a standard error that is negative or infinite: use NaN for unknown"
        raise SeriesError(msg)
    return np.where(
        is_known, standard_errors, np.median(standard_errors[is_known]) if is_known.any() else 0.0
    )


def _times(times: Sequence[float] | FloatArray, *, count: int, name: str) -> FloatArray:
    """Return a time for each of `count` values, NaN where unknown."""
    seconds = np.asarray(times, dtype=np.float64)
    if len(seconds) == 0:
        return np.full(count, math.nan)
    if len(seconds) != count:
        msg = f"{name} has {len(seconds)} times for {count} values: use one for each"
        raise SeriesError(msg)
    if np.isinf(seconds).any():
        msg = f"{name} has an infinite time: use NaN for unknown"
        raise SeriesError(msg)
    return seconds


def _on_scale(errors: FloatArray, unit: FloatArray | float) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.minimum(errors / unit, MAX_ERROR)
