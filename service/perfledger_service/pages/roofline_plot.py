"""Turns what kernels attain into a roofline chart: work per byte along, work per second up.

Both axes are logarithmic. The roof is min(peak, intensity x bandwidth): Williams, Waterman and
Patterson, "Roofline", CACM 52 (2009).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from perfledger_profiles.roofline import Roofline, RooflinePoint
from perfledger_service.pages import figures
from perfledger_service.pages.escape import clean
from perfledger_service.pages.scale import Scale, Tick

# As the template draws it.
_LEFT, _RIGHT = 84.0, 944.0
_TOP, _BOTTOM = 56.0, 316.0

_MAX_POINTS = 200
_SMALLEST, _LARGEST = 3.5, 13.0  # radius of a kernel without time, and of one that has all of it
# What is beyond these is no kernel of any device, and would press the others together. An axis
# begins and ends up to a decade further out, which has to have a prefix.
_LOWEST, _HIGHEST = 1e-5, 1e24
_PREFIXES = {
    -2: "µ",
    -1: "m",
    0: "",
    1: "k",
    2: "M",
    3: "G",
    4: "T",
    5: "P",
    6: "E",
    7: "Z",
    8: "Y",
}
_LABEL_HEIGHT = 10.0  # nearer ones cannot be read
_DECADES = 1.0  # at least so many on either side of the ridge


@dataclass(frozen=True, slots=True, kw_only=True)
class RoofDot:
    """One kernel; `number` is its row in a table of kernels, "" where that has no such row.

    Of dots that lie on each other one has the numbers of all: "5, 6".
    """

    x: float
    y: float
    radius: float
    number: str
    is_memory_bound: bool
    title: str  # foreign


@dataclass(frozen=True, slots=True, kw_only=True)
class RooflinePlot:
    """A roofline as shapes."""

    device: str  # foreign
    summary: str
    slope: tuple[float, float, float, float]  # x1, y1, x2, y2
    flat: tuple[float, float, float, float]
    ridge_x: float
    ridge: str
    peak: str
    bandwidth: str
    dots: tuple[RoofDot, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def roofline_plot(roof: Roofline, *, names: Sequence[str] = ()) -> RooflinePlot | None:
    """Return the chart, None without a roof or without a kernel that can be placed under it.

    Dots of the kernels in `names` have their place there as a number, from 1.
    """
    peak = roof.ceilings.peak_flops_per_second
    bandwidth = roof.ceilings.peak_bytes_per_second
    points = [point for point in roof.points if _is_drawable(point)]
    if not (_is_known(peak) and _is_known(bandwidth) and points):
        return None
    ridge = roof.ceilings.ridge_flop_per_byte
    intensities = [ridge, *(point.intensity_flop_per_byte for point in points)]
    rates = [peak, *(point.flops_per_second for point in points)]
    x = _log_scale(min(intensities), max(intensities), _LEFT, _RIGHT)
    y = _log_scale(min(rates), max(rates), _BOTTOM, _TOP)
    foot = max(x.low, y.low - math.log10(bandwidth))  # where the slope enters the picture
    slope = (x.at(foot), y.at(foot + math.log10(bandwidth)))
    corner = (x.at(math.log10(ridge)), y.at(math.log10(peak)))
    return RooflinePlot(
        device=roof.device,
        summary=f"{len(points)} kernels under the roof of {roof.dtype}",
        slope=(*slope, *corner),
        flat=(*corner, _RIGHT, corner[1]),
        ridge_x=corner[0],
        ridge=f"{figures.count(ridge)} FLOP/B",
        peak=figures.flops_per_second(peak),
        bandwidth=figures.bytes_per_second(bandwidth),
        dots=_dots(points, x, y, names),
        x_ticks=tuple(Tick(x.at(power), f"{10.0**power:g}") for power in _powers(x)),
        y_ticks=tuple(Tick(y.at(power), f"{_power(power)}FLOP/s") for power in _powers(y)),
    )


def _is_known(value: float) -> bool:
    return _LOWEST < value < _HIGHEST


def _is_drawable(point: RooflinePoint) -> bool:
    return _is_known(point.intensity_flop_per_byte) and _is_known(point.flops_per_second)


def _log_scale(low: float, high: float, start: float, end: float) -> Scale:
    """Return a scale of powers of ten that begins and ends with a whole one."""
    return Scale(
        math.floor(math.log10(low) - _DECADES / 2),
        math.ceil(math.log10(high) + _DECADES / 2),
        start,
        end,
    )


def _dots(
    points: Sequence[RooflinePoint], x: Scale, y: Scale, names: Sequence[str]
) -> tuple[RoofDot, ...]:
    """Return the kernels' dots, the largest first, so that small ones lie on top."""
    ordered = sorted(points, key=lambda point: -point.seconds)[:_MAX_POINTS]
    total = sum(point.seconds for point in ordered)
    numbers = {name: str(place) for place, name in enumerate(names, start=1)}
    dots = [
        RoofDot(
            x=x.at(math.log10(point.intensity_flop_per_byte)),
            y=y.at(math.log10(point.flops_per_second)),
            radius=_radius(point.seconds / total if total > 0 else 0.0),
            number=numbers.get(point.name, ""),
            is_memory_bound=point.is_memory_side,
            title=_title(point),
        )
        for point in ordered
    ]
    return tuple(_labelled_once(dots))


def _labelled_once(dots: Sequence[RoofDot]) -> Iterator[RoofDot]:
    """Yield the dots with the numbers of those that lie on each other beside the first of them."""
    beside: dict[int, list[RoofDot]] = {}
    for place, dot in enumerate(dots):
        if dot.number:
            near = (at for at in beside if _is_near(dots[at], dot))
            beside.setdefault(next(near, place), []).append(dot)
    for place, dot in enumerate(dots):
        numbers = dict.fromkeys(one.number for one in beside.get(place, ()))
        yield replace(dot, number=", ".join(numbers))


def _is_near(one: RoofDot, other: RoofDot) -> bool:
    return max(abs(one.x - other.x), abs(one.y - other.y)) < _LABEL_HEIGHT


def _radius(share: float) -> float:
    """Return a radius whose circle's area grows with the share of the time."""
    return round(math.sqrt(_SMALLEST**2 + share * (_LARGEST**2 - _SMALLEST**2)), 2)


def _title(point: RooflinePoint) -> str:
    return (
        f"{clean(point.name, limit=120)}: {figures.flops_per_second(point.flops_per_second)} at "
        f"{figures.count(point.intensity_flop_per_byte)} FLOP/B, "
        f"{figures.whole_share(point.attained)} of the roof there"
    )


def _powers(scale: Scale) -> range:
    """Return the whole powers of ten on an axis, every second one where they are many."""
    low, high = int(scale.low), int(scale.high)
    return range(low, high + 1, 1 if high - low <= 8 else 2)  # noqa: PLR2004 - as many labels fit


def _power(exponent: int) -> str:
    """Return a whole power of ten with its prefix: "10 T"."""
    thousands, tens = divmod(exponent, 3)
    return f"{10**tens}{figures.NBSP}{_PREFIXES[thousands]}"
