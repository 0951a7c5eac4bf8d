"""Turns what hours cost at each use, and what inputs do to it, into the shapes of two charts."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfledger_cost_models.comparison import Bar
from perfledger_service.cost_views import Curve
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks

CURVES_HEIGHT = 470.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 60.0, 640.0, 52.0, 420.0
_LABEL = 13.0  # between the lines of two labels
# What is shown above the dearest line at full use: commitments at little use are far beyond it.
_ROOM = 1.6
_ROW, _FIRST_BAR = 20.0, 48.0
_BARS_LEFT, _BARS_RIGHT = 360.0, 890.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One option's cost along the use; `band` is the outline of its interval, "" without one."""

    name: str
    tone: str
    width: float
    is_dashed: bool
    points: str
    band: str
    figure: str
    end_y: float
    label_y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Lines over the use, with dots where owning becomes cheaper."""

    left: float
    right: float
    top: float
    bottom: float
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    lines: tuple[Line, ...]
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TornadoBar:
    """One input's bar to either side of what the hour costs at all modes."""

    name: str
    y: float
    low_x: float
    low_width: float
    low_title: str
    high_x: float
    high_width: float
    high_title: str
    first_x: float
    last_x: float
    first: str  # the figures at the left and the right end
    last: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TornadoPlot:
    """Bars of the inputs, the widest first."""

    title: str
    middle: float
    height: float
    bars: tuple[TornadoBar, ...]


def curve_plot(curves: Sequence[Curve]) -> CurvePlot:
    """Return the break-even chart of an accelerator's options."""
    first, last = curves[0].points[0][0], curves[0].points[-1][0]
    most = max(curve.points[-1][2] for curve in curves) * _ROOM
    across, up = Scale(first, last, _LEFT, _RIGHT), Scale(0.0, most, _BOTTOM, _TOP)
    ordered = sorted(curves, key=lambda curve: -curve.points[-1][2])
    places = _spread([up.at(curve.points[-1][2]) for curve in ordered])
    lines = [
        _line(curve, across, up, label_y) for curve, label_y in zip(ordered, places, strict=True)
    ]
    owned = [curve for curve in curves if curve.is_owned]
    return CurvePlot(
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=_BOTTOM,
        x_title="share of the hours paid for that are useful",
        y_title="USD a useful hour",
        x_ticks=tuple(Tick(across.at(at), f"{at:.0%}") for at in (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)),
        y_ticks=tuple(Tick(up.at(at), f"{at:g}") for at in nice_ticks(0.0, most)),
        lines=tuple(sorted(lines, key=lambda line: line.width)),  # what is owned is drawn on top
        dots=tuple(dot for own in owned for dot in _crossings(own, curves, across, up)),
    )


def tornado_plot(bars: Sequence[Bar], *, mode_usd: float) -> TornadoPlot:
    """Return the tornado of the inputs that move the hour at all."""
    wide = [bar for bar in bars if bar.width_usd > 0]
    ends = [end for bar in wide for end in (bar.low_usd, bar.high_usd)] or [mode_usd * 0.9]
    scale = Scale(min(*ends, mode_usd), max(*ends, mode_usd * 1.001), _BARS_LEFT, _BARS_RIGHT)
    middle = scale.at(mode_usd)
    return TornadoPlot(
        title=f"{mode_usd:.2f} USD a useful hour",
        middle=middle,
        height=_FIRST_BAR + _ROW * len(wide) + 12.0,
        bars=tuple(
            _tornado_bar(bar, scale, middle, _FIRST_BAR + _ROW * place)
            for place, bar in enumerate(wide)
        ),
    )


def _line(curve: Curve, across: Scale, up: Scale, label_y: float) -> Line:
    def joined(places: Sequence[tuple[float, float]]) -> str:
        return " ".join(f"{across.at(use)},{up.at(usd)}" for use, usd in places)

    upper = [(use, high) for use, _, _, high in curve.points]
    lower = [(use, low) for use, low, _, _ in reversed(curve.points)]
    is_flat = curve.points[0][2] == curve.points[-1][2]
    end = curve.points[-1][2]
    return Line(
        name=curve.name,
        tone="compute" if curve.is_owned else "other" if is_flat else "input",
        width=2.5 if curve.is_owned else 1.2,
        is_dashed=not (curve.is_owned or is_flat),
        points=joined([(use, usd) for use, _, usd, _ in curve.points]),
        band=joined([*upper, *lower]) if curve.is_owned else "",
        figure=f"{end:.2f}",
        end_y=up.at(end),
        label_y=label_y,
    )


def _crossings(own: Curve, curves: Sequence[Curve], across: Scale, up: Scale) -> list[Dot]:
    """Return where the owned line falls below each other one, between two uses on a straight."""
    found: list[Dot] = []
    for other in curves:
        if other.is_owned:
            continue
        gaps = [
            (mine[0], mine[2] - theirs[2], mine[2])
            for mine, theirs in zip(own.points, other.points, strict=True)
        ]
        for (before, gap, usd), (after, next_gap, next_usd) in pairwise(gaps):
            if gap > 0 >= next_gap:
                share = gap / (gap - next_gap)
                use, at = before + share * (after - before), usd + share * (next_usd - usd)
                title = f"{own.name} is cheaper than {other.name} from {use:.0%} use"
                found.append(Dot(across.at(use), up.at(at), title))
    return found


def _spread(places: Sequence[float]) -> tuple[float, ...]:
    """Return the heights of labels that stand where their lines end, or as near as they can."""
    found: list[float] = []
    for place in places:  # from the top down
        found.append(max(place, found[-1] + _LABEL if found else _TOP))
    most = _BOTTOM
    for number in reversed(range(len(found))):  # what is below the chart pushes back up
        found[number] = min(found[number], most)
        most = found[number] - _LABEL
    return tuple(round(place, 2) for place in found)


def _tornado_bar(bar: Bar, scale: Scale, middle: float, y: float) -> TornadoBar:
    low, high = scale.at(bar.low_usd), scale.at(bar.high_usd)
    ends = sorted((bar.low_usd, bar.high_usd))
    return TornadoBar(
        name=bar.parameter.replace("_", " "),
        y=y,
        low_x=min(low, middle),
        low_width=round(abs(low - middle), 2),
        low_title=f"{bar.low_usd:.2f} USD at its low",
        high_x=min(high, middle),
        high_width=round(abs(high - middle), 2),
        high_title=f"{bar.high_usd:.2f} USD at its high",
        first_x=min(low, high, middle),
        last_x=max(low, high, middle),
        first=f"{ends[0]:.2f}",
        last=f"{ends[1]:.2f}",
    )
