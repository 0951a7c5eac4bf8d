"""A series as it was measured in, its observations on the scale on which they are compared out."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A level that no float can be the value of is an estimate between values that one can be.
LARGEST_LOG = math.log(sys.float_info.max)

# A level that is known to a factor of a thousand is as good as not known: more only overflows.
LARGEST_ERROR = math.log(1000)


class SeriesError(ValueError):
    """The series holds nothing that can be searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was measured of one series, without its gaps.

    `places` are the indices in the series that was given. `levels` are natural logs if
    `is_relative`, else values divided by `unit`, the largest absolute value. The middle of the
    levels, `origin`, is taken off, so that sums over long series keep their digits. `errors` are
    the standard errors of the levels, all zero where nobody told them.
    """

    places: NDArray[np.int64]
    levels: NDArray[np.float64]
    errors: NDArray[np.float64]
    origin: float
    unit: float
    is_relative: bool

    def value(self, level: float) -> float:
        """Return a level in the metric's own unit."""
        if self.is_relative:
            return math.exp(min(level + self.origin, LARGEST_LOG))
        return (level + self.origin) * self.unit

    def ratio(self, level: float, *, before: float) -> float:
        """Return by what share a value moves if its level moves by `level`.

        On the log scale this needs no `before`. Otherwise it is relative to `before`, and NaN where
        that is not positive: relative to nothing no size can be told.
        """
        if self.is_relative:
            # From 1e-300 to 1e300 is a ratio that no float holds.
            return math.expm1(level) if level < LARGEST_LOG else math.inf
        return level * self.unit / before if before > 0 else math.nan


def observe(
    values: Sequence[float] | NDArray[np.float64],
    *,
    errors: Sequence[float] | NDArray[np.float64] = (),
    name: str = "the series",
) -> Observations:
    """Return the observations of a series with one value per commit, NaN where none was measured.

    `errors` are the values' standard errors in their unit, NaN where one is not known. Logs if
    every value is positive: a change is then as large upward as back. A zero or a negative value
    puts the whole series on the linear scale. Raises SeriesError for an infinite value, for errors
    that are none, and if there is no value at all: what was not measured must not read as "nothing
    changed".
    """
    given = np.asarray(values, dtype=np.float64)
    places = np.arange(len(given)) if np.isfinite(given).all() else np.flatnonzero(~np.isnan(given))
    known = given[places] if len(places) < len(given) else given
    if len(known) == 0:
        msg = f"{name} holds no value among {len(given)} commits: measure before you search it"
        raise SeriesError(msg)
    low, high = float(known.min()), float(known.max())
    if math.isinf(low) or math.isinf(high):
        index = int(places[np.isinf(known)][0])
        msg = f"{name} is infinite at index {index}: give NaN where nothing was measured"
        raise SeriesError(msg)
    is_relative = low > 0
    unit = 1.0 if is_relative else max(abs(low), abs(high)) or 1.0
    levels = np.log(known) if is_relative else known / unit
    middle = len(levels) // 2
    origin = float(np.partition(levels, middle)[middle])
    return Observations(
        places=places,
        levels=levels - origin,
        errors=_on_scale(_errors(errors, given, name=name)[places], known if is_relative else unit),
        origin=origin,
        unit=unit,
        is_relative=is_relative,
    )


def _errors(
    errors: Sequence[float] | NDArray[np.float64], values: NDArray[np.float64], *, name: str
) -> NDArray[np.float64]:
    """Return a standard error for each value: of one that is not known, the typical one."""
    told = np.asarray(errors, dtype=np.float64)
    if len(told) == 0:
        return np.zeros_like(values)
    if len(told) != len(values):
        msg = f"{name} has {len(told)} standard errors for {len(values)} values: one for each"
        raise SeriesError(msg)
    is_known = ~np.isnan(told)
    if not (np.isfinite(told[is_known]) & (told[is_known] >= 0)).all():
        msg = f"{name} has a standard error that is negative or infinite: give NaN for unknown"
        raise SeriesError(msg)
    return np.where(is_known, told, np.median(told[is_known]) if is_known.any() else 0.0)


def _on_scale(
    errors: NDArray[np.float64], unit: NDArray[np.float64] | float
) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.minimum(errors / unit, LARGEST_ERROR)
