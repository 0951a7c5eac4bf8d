"""Holds the axes of charts: a range of values, its labelled ticks and its title."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from perfledger import rounding

_TICKS = 5
_FACTORS = (1, 2, 5)  # times a power of ten: the steps of a logarithmic axis
# With more decades, a logarithmic axis only has room for the powers of ten.
_MAX_DECADES = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """A labelled value of an axis.

    The label of a row may have detail lines below it, and a figure with detail lines right of the
    plot.
    """

    label: str
    value: float = 0.0
    details: tuple[str, ...] = ()
    figure: str = ""
    figure_detail: str = ""
    title: str = ""
    is_strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A range of values. The rows axis counts from the top: its `low` is larger than its `high`."""

    low: float
    high: float
    ticks: tuple[Tick, ...] = ()
    title: str = ""
    is_log: bool = False
    has_grid: bool = True

    def share(self, value: float) -> float:
        """Return how far `value` is between the ends: 0 at the low one, 1 at the high one."""
        low, high, at = self.low, self.high, value
        if self.is_log:
            low, high, at = math.log(low), math.log(high), math.log(at)
        return (at / 2 - low / 2) / (high / 2 - low / 2)  # halved, because 1e308 - -1e308 overflows


def linear_axis(
    low: float,
    high: float,
    *,
    label: Callable[[float], str] = rounding.typed,
    factor: float = 1.0,
    title: str = "",
) -> Axis:
    """Return a linear axis; its ticks are round after multiplication by `factor`."""
    ticks = tuple(
        Tick(value=value / factor, label=label(value))
        for value in nice_ticks(low * factor, high * factor)
    )
    return Axis(low=low, high=high, ticks=ticks, title=title)


def log_axis(
    low: float, high: float, *, label: Callable[[float], str] = rounding.typed, title: str = ""
) -> Axis:
    """Return a logarithmic axis; ticks at 1, 2 and 5 times powers of ten, or only at the powers."""
    decades = math.log10(high / low)
    factors = _FACTORS if decades <= _MAX_DECADES else _FACTORS[:1]
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [factor * 10.0**power for power in powers for factor in factors]
    if decades <= 1:  # within one decade, linear ticks are about evenly spaced
        values = list(nice_ticks(low, high))
    ticks = tuple(Tick(value=value, label=label(value)) for value in values if low <= value <= high)
    return Axis(low=low, high=high, ticks=ticks, title=title, is_log=True)


def share_axis(*, title: str = "") -> Axis:
    """Return an axis from 0 to 1, in quarters."""
    ticks = tuple(Tick(value=at / 4, label=f"{at * 25} %") for at in range(5))
    return Axis(low=0.0, high=1.0, ticks=ticks, title=title)


def places_axis(labels: Sequence[str], *, most: int) -> Axis:
    """Return an axis of positions 0, 1, 2, …, with about `most` evenly spaced labels."""
    every = max(math.ceil(len(labels) / most), 1)
    ticks = tuple(Tick(value=at, label=labels[at]) for at in range(0, len(labels), every))
    return Axis(low=-0.5, high=len(labels) - 0.5, ticks=ticks, has_grid=False)


def rows_axis(rows: Sequence[str | Tick]) -> Axis:
    """Return an axis of rows from the top down, each 1 high, with its name at its middle."""
    ticks = [Tick(label=row) if isinstance(row, str) else row for row in rows]
    placed = tuple(replace(tick, value=number + 0.5) for number, tick in enumerate(ticks))
    return Axis(low=float(max(len(rows), 1)), high=0.0, ticks=placed, has_grid=False)


def nice_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return round numbers within [low, high], about five, each 1, 2 or 5 times a power of ten."""
    raw = (high - low) / _TICKS
    if not (math.isfinite(raw) and raw > 0):
        return (low,)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next((power * factor for factor in _FACTORS if power * factor >= raw), power * 10)
    first, last = math.ceil(low / step), math.floor(high / step)
    return tuple(index * step for index in range(first, last + 1))


def widen_range(low: float, high: float, *, share: float) -> tuple[float, float]:
    """Return the ends, moved apart by `share` of the range on each side; never a single point."""
    margin = (high - low) * share or abs(high) * share or 1.0
    return low - margin, high + margin
