"""Turns values into coordinates: the straight axis that every small chart is drawn along."""

import math
from dataclasses import dataclass

_TICKS = 5


@dataclass(frozen=True, slots=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    label: str


@dataclass(frozen=True, slots=True)
class Dot:
    """A point of a chart, with what it says when one asks."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from values in [low, high] to coordinates from start to end."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """Return the coordinate of `value`."""
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)


def nice_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return round numbers within [low, high], about five, each 1, 2 or 5 times a power of ten."""
    raw = (high - low) / _TICKS
    if not (math.isfinite(raw) and raw > 0):
        return (low,)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((power * factor for factor in (1, 2, 5) if power * factor >= raw), power * 10)
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(place * step for place in range(first, last + 1))
