"""Draws kernels in a roofline chart: FLOP per byte on x, FLOP per second on y.

Both axes are logarithmic. The roof is min(peak, intensity x bandwidth): Williams, Waterman and
Patterson, "Roofline", CACM 52 (2009).
"""

import math
from collections.abc import Callable, Sequence

from perfledger import rounding
from perfledger_profiles.hardware.roofline import Roofline, RooflinePoint
from perfledger_service.rendering.chart.axis import Axis, Tick
from perfledger_service.rendering.chart.marks import Anchor, DotMark, LineMark, TextMark, Tone
from perfledger_service.rendering.chart.picture import WIDTH, Chart, KeyShape, LegendKey
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.escape import clean

_MAX_NAME = 120
_MAX_POINTS = 200
_SMALLEST, _LARGEST = 3.5, 13.0  # radius of a kernel with no time, and of one with all of it
# Kernels beyond these bounds are not drawn: no device reaches them, and they would squeeze the
# others together. An axis extends up to a decade further, and needs a prefix there.
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
_DECADES = 1.0  # at least this many on either side of the ridge
_MAX_TICKS = 8
_HEIGHT = 260.0
_LABEL_HEIGHT = 12.0  # closer labels are illegible
_LEGEND = (
    LegendKey(label="bound by memory", tone=Tone.ORANGE, shape=KeyShape.DOT),
    LegendKey(label="bound by compute", tone=Tone.BLUE, shape=KeyShape.DOT),
)


def roofline_chart(roof: Roofline, *, names: Sequence[str] = ()) -> Chart | None:
    """Return the chart, None without a roof or a kernel to place.

    Dots of kernels in `names` are numbered by their position there, from 1.
    """
    peak = roof.ceilings.peak_flops_per_second
    bandwidth = roof.ceilings.peak_bytes_per_second
    points = [point for point in roof.points if _is_drawable(point)]
    if not (_is_known(peak) and _is_known(bandwidth) and points):
        return None
    ridge = roof.ceilings.ridge_flop_per_byte
    x = _decades_axis(
        [ridge, *(point.intensity_flop_per_byte for point in points)],
        label=lambda power: rounding.typed(10.0**power),
        title="FLOP per byte moved",
    )
    y = _decades_axis(
        [peak, *(point.flops_per_second for point in points)],
        label=lambda power: f"{_power(power)}FLOP/s",
    )
    foot = max(x.low, y.low / bandwidth)  # where the sloped roof enters the plot
    roof_points = ((foot, foot * bandwidth), (ridge, peak), (x.high, peak))
    slope = f"{number_format.bytes_per_second(bandwidth)} up to {number_format.count(ridge)} FLOP/B"
    flat = number_format.flops_per_second(peak)
    end = Anchor.END
    return Chart(
        x=x,
        y=y,
        marks=(
            LineMark(points=roof_points, tone=Tone.INK),
            LineMark(
                points=((ridge, y.low), (ridge, peak)), tone=Tone.MUTED, width=1.0, is_dashed=True
            ),
            TextMark(x=x.high, y=peak, text=flat, dx=-4.0, dy=-10.0, anchor=end),
            TextMark(x=ridge, y=peak, text=slope, dx=-6.0, dy=-10.0, anchor=end),
            *_dots(points, x, y, names),
        ),
        caption=f"{len(points)} kernels under the roof of {roof.dtype}",
        legend=_LEGEND,
        height=_HEIGHT,
    )


def _is_known(value: float) -> bool:
    return _LOWEST < value < _HIGHEST


def _is_drawable(point: RooflinePoint) -> bool:
    return _is_known(point.intensity_flop_per_byte) and _is_known(point.flops_per_second)


def _decades_axis(values: Sequence[float], *, label: Callable[[int], str], title: str = "") -> Axis:
    """Return an axis that begins and ends with a whole power of ten."""
    low = math.floor(math.log10(min(values)) - _DECADES / 2)
    high = math.ceil(math.log10(max(values)) + _DECADES / 2)
    every = 1 if high - low <= _MAX_TICKS else 2
    ticks = tuple(
        Tick(value=10.0**power, label=label(power)) for power in range(low, high + 1, every)
    )
    return Axis(low=10.0**low, high=10.0**high, ticks=ticks, title=title, is_log=True)


def _dots(
    points: Sequence[RooflinePoint], x: Axis, y: Axis, names: Sequence[str]
) -> tuple[DotMark, ...]:
    """Return the kernels' dots, the largest first, so that small ones are on top."""
    ordered = sorted(points, key=lambda point: -point.seconds)[:_MAX_POINTS]
    total = sum(point.seconds for point in ordered)
    labels = _labels(ordered, x, y, names)
    return tuple(
        DotMark(
            x=point.intensity_flop_per_byte,
            y=point.flops_per_second,
            tone=Tone.ORANGE if point.is_memory_side else Tone.BLUE,
            radius=_radius(point.seconds / total if total > 0 else 0.0),
            opacity=0.85,
            title=_title(point),
            label=label,
        )
        for point, label in zip(ordered, labels, strict=True)
    )


def _labels(points: Sequence[RooflinePoint], x: Axis, y: Axis, names: Sequence[str]) -> list[str]:
    """Return the label of each dot; the first of overlapping dots has all their numbers."""
    numbers = {name: str(number) for number, name in enumerate(names, start=1)}
    positions = [
        (x.share(one.intensity_flop_per_byte) * WIDTH, y.share(one.flops_per_second) * _HEIGHT)
        for one in points
    ]
    beside: dict[int, dict[str, None]] = {}
    for at, point in enumerate(points):
        if point.name in numbers:
            near = (
                other
                for other in beside
                if math.dist(positions[other], positions[at]) < _LABEL_HEIGHT
            )
            beside.setdefault(next(near, at), {})[numbers[point.name]] = None
    return [", ".join(beside.get(at, ())) for at in range(len(points))]


def _radius(share: float) -> float:
    """Return a radius whose circle's area grows with the share of the time."""
    return round(math.sqrt(_SMALLEST**2 + share * (_LARGEST**2 - _SMALLEST**2)), 2)


def _title(point: RooflinePoint) -> str:
    return (
        f"{clean(point.name, limit=_MAX_NAME)}: "
        f"{number_format.flops_per_second(point.flops_per_second)} at "
        f"{number_format.count(point.intensity_flop_per_byte)} FLOP/B, "
        f"{number_format.whole_share(point.attained)} of the roof there"
    )


def _power(exponent: int) -> str:
    """Return a whole power of ten with its prefix: "10 T"."""
    thousands, tens = divmod(exponent, 3)
    return f"{10**tens}{number_format.NBSP}{_PREFIXES[thousands]}"
