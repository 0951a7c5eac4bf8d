"""A series as it was measured in, its observations on the scale on which they are compared out."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# A level that no float can be the value of is an estimate between values that one can be.
LARGEST_LOG = math.log(sys.float_info.max)


class SeriesError(ValueError):
    """The series holds nothing that can be searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observations:
    """What was measured of one series, without its gaps.

    `places` are the indices in the series that was given. `levels` are natural logs if
    `is_relative`, else values divided by `unit`, the largest absolute value. The middle of the
    levels, `origin`, is taken off, so that sums over long series keep their digits.
    """

    places: NDArray[np.int64]
    levels: NDArray[np.float64]
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
    values: Sequence[float] | NDArray[np.float64], *, name: str = "the series"
) -> Observations:
    """Return the observations of a series with one value per commit, NaN where none was measured.

    Logs if every value is positive: a change is then as large upward as back. A zero or a negative
    value puts the whole series on the linear scale. Raises SeriesError for an infinite value and
    if there is no value at all: what was not measured must not read as "nothing changed".
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
        origin=origin,
        unit=unit,
        is_relative=is_relative,
    )
