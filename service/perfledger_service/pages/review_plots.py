"""Turns a review's figures into shapes: intervals of cost, swings, curves of use and of money.

What is recommended and what is done today have colours of their own, all others are grey: a chart
of ten options is read for two of them. Coordinates are in the plot's own units, y downwards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from perfledger_cost_models.review import OptionFacts, Review, Unknown
from perfledger_service.pages.escape import clean
from perfledger_service.pages.scale import Scale, Tick, nice_ticks

WIDTH = 900
_LEFT, _RIGHT = 300.0, 860.0  # of bars: names stand on the left
_ROW = 26.0
_TOP = 18.0
_CURVE_LEFT, _CURVE_RIGHT = 64.0, 640.0  # of curves: names stand on the right
_CURVE_TOP, _CURVE_BOTTOM = 24.0, 304.0
_LABEL_GAP = 15.0
_MAX_BARS = 12
_MAX_NAME = 44
_LEAST_SWING = Decimal("0.01")  # of the widest: less cannot be seen
# A curve at a tenth of the use would press all others together: the axis ends at so many times
# the price of today's hour.
_MAX_TIMES_KEPT = 3
_MILLION, _THOUSAND = 1_000_000, 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotBar:
    """One row: a thin line from low to high, a mark in between, and words."""

    y: float
    low: float
    high: float
    mark: float
    name: str
    value: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPlot:
    """Rows over one axis; `zero` is where nothing is, None where that is not on the axis."""

    title: str
    unit: str
    height: float
    bottom: float
    bars: tuple[PlotBar, ...]
    ticks: tuple[Tick, ...]
    zero: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotCurve:
    """One line with its name at its end; `band` is the polygon of its interval, "" without one."""

    points: str
    band: str
    name: str
    label_y: float
    end: tuple[float, float]
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Lines over two axes."""

    title: str
    unit: str
    below: str
    curves: tuple[PlotCurve, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    """A line in its own units; `band` has the ends of each point's interval, or nothing."""

    name: str
    tone: str
    points: tuple[tuple[float, float], ...]
    band: tuple[tuple[float, float], ...] = ()

    def scaled(self, factor: float) -> "_Line":
        """Return it with other units along y."""
        return replace(
            self,
            points=tuple((at, value * factor) for at, value in self.points),
            band=tuple((low * factor, high * factor) for low, high in self.band),
        )


def npv_plot(review: Review) -> BarPlot:
    """Return each option's cost over three years: 5 to 95 %, the median marked."""
    order = sorted(review.options, key=lambda one: one.outcome.npv_mean)
    rows: list[tuple[str, float, float, float, str]] = []
    for one in order:
        low, mark, high = map(float, one.outcome.npv_band)
        rows.append((one.outcome.way.name, low, high, mark, _tone(review, one)))
    return _bars(
        "What each option costs over three years, in today's money (5 to 95 %, median)",
        rows,
        span=(0.0, max(high for _, _, high, _, _ in rows)),
    )


def tornado_plot(review: Review) -> BarPlot | None:
    """Return what each input alone does to the saving; None where no input is uncertain."""
    found = review.decision.swings[:_MAX_BARS]
    if not found or not found[0].width:
        return None
    swings = [one for one in found if one.width >= found[0].width * _LEAST_SWING]
    best = review.decision.of(review.decision.best_mean)
    middle = float(review.kept.npv - best.npv)
    ends = [float(end) for one in swings for end in (one.at_low, one.at_high)]
    rows = [
        (one.input.words, float(one.at_low), float(one.at_high), middle, "other") for one in swings
    ]
    return _bars(
        f"What {clean(best.way.name)} saves against today, when one input goes from low to high",
        rows,
        span=(min(0.0, *ends), max(0.0, *ends)),
    )


def carbon_plot(review: Review) -> BarPlot | None:
    """Return the first year's emissions by option, location-based; None where none is known."""
    known = [one for one in review.options if not isinstance(one.carbon, Unknown)]
    rows = [
        (one.outcome.way.name, 0.0, kg / 1000, kg / 1000, _tone(review, one))
        for one in known
        if not isinstance(one.carbon, Unknown) and (kg := one.carbon.location_kg) is not None
    ]
    if not rows or max(high for _, _, high, _, _ in rows) <= 0:
        return None
    return _bars(
        "CO2 of the first year's hours beyond the supply, location-based",
        rows,
        span=(0.0, max(high for _, _, high, _, _ in rows)),
        unit="t CO2",
    )


def use_plot(review: Review) -> CurvePlot:
    """Return what a useful hour costs by the share of hours that are useful, a line an option."""
    kept = next(one for one in review.options if one.outcome.way.key == review.model.keep.key)
    most = _MAX_TIMES_KEPT * max(float(usd) for _, usd in kept.curve)
    lines = [
        _Line(
            name=one.outcome.way.name,
            tone=_tone(review, one),
            points=tuple((use, float(usd)) for use, usd in one.curve if float(usd) <= most),
        )
        for one in review.options
    ]
    return _curves(
        "USD per useful hour, by the share of held hours that is useful",
        [line for line in lines if line.points],
        y_span=(0.0, most),
        x_ticks=[(use / 10, f"{use * 10} %") for use in range(1, 11)],
        unit="USD",
        below="share of the hours paid for that is useful",
    )


def cash_plot(review: Review) -> CurvePlot:
    """Return what was paid so far over the years: medians, of two options with 5 to 95 %."""
    lines: list[_Line] = []
    for one in review.options:
        tone = _tone(review, one)
        bands = [
            (float(low), float(mark), float(high)) for low, mark, high in one.outcome.cumulated
        ]
        lines.append(
            _Line(
                name=one.outcome.way.name,
                tone=tone,
                points=tuple((float(year), mark) for year, (_, mark, _) in enumerate(bands)),
                band=tuple((low, high) for low, _, high in bands) if tone != "other" else (),
            )
        )
    values = [mark for line in lines for _, mark in line.points]
    values += [end for line in lines for ends in line.band for end in ends]
    factor, unit = _money(max(values))
    return _curves(
        "Paid so far, not discounted",
        [line.scaled(1 / factor) for line in lines],
        y_span=(min(0.0, min(values) / factor), max(values) / factor),
        x_ticks=[(0.0, "start"), *((float(year), f"year {year}") for year in (1, 2, 3))],
        unit=unit,
        below="paid at the start and at the end of each year; shaded: 5 to 95 %",
    )


def _tone(review: Review, facts: OptionFacts) -> str:
    key = facts.outcome.way.key
    return {review.decision.take: "taken", review.model.keep.key: "kept"}.get(key, "other")


def _money(largest: float) -> tuple[float, str]:
    if largest >= _MILLION:
        return _MILLION, "million USD"
    return (_THOUSAND, "thousand USD") if largest >= _THOUSAND else (1.0, "USD")


def _bars(
    title: str,
    rows: Sequence[tuple[str, float, float, float, str]],
    *,
    span: tuple[float, float],
    unit: str = "",
) -> BarPlot:
    """Return rows of (name, low, high, mark, tone) over one axis; without a unit it is money."""
    low, high = span
    factor, shown = (1.0, unit) if unit else _money(max(abs(low), abs(high)))
    x = Scale(low, high or 1.0, _LEFT, _RIGHT)
    bottom = _TOP + _ROW * len(rows)
    return BarPlot(
        title=title,
        unit=shown,
        height=bottom + 34,
        bottom=bottom,
        bars=tuple(
            PlotBar(
                y=round(_TOP + _ROW * (place + 0.5), 2),
                low=x.at(min(start, end)),
                high=x.at(max(start, end)),
                mark=x.at(mark),
                name=clean(name, limit=_MAX_NAME),
                value=_span_words(start / factor, end / factor, mark / factor, shown),
                tone=tone,
            )
            for place, (name, start, end, mark, tone) in enumerate(rows)
        ),
        ticks=tuple(
            Tick(x.at(at * factor), f"{at:,.6g}")
            for at in nice_ticks(low / factor, (high or 1.0) / factor)
        ),
        zero=x.at(0.0) if low < 0 else None,
    )


def _span_words(start: float, end: float, mark: float, unit: str) -> str:
    if start == 0 and end == mark:
        return f"{mark:,.3g} {unit}"
    return f"{mark:,.3g} {unit} ({start:,.3g} to {end:,.3g})"


def _curves(
    title: str,
    lines: Sequence[_Line],
    *,
    y_span: tuple[float, float],
    x_ticks: Sequence[tuple[float, str]],
    unit: str,
    below: str,
) -> CurvePlot:
    x = Scale(x_ticks[0][0], x_ticks[-1][0], _CURVE_LEFT, _CURVE_RIGHT)
    y = Scale(*y_span, _CURVE_BOTTOM, _CURVE_TOP)
    order = sorted(lines, key=lambda line: line.points[-1][1], reverse=True)
    places = _spread([y.at(line.points[-1][1]) for line in order])
    curves = [
        PlotCurve(
            points=" ".join(f"{x.at(at):g},{y.at(value):g}" for at, value in line.points),
            band=_band(line, x, y),
            name=clean(line.name, limit=_MAX_NAME),
            label_y=place,
            end=(x.at(line.points[-1][0]), y.at(line.points[-1][1])),
            tone=line.tone,
        )
        for line, place in zip(order, places, strict=True)
    ]
    return CurvePlot(
        title=title,
        unit=unit,
        below=below,
        # What matters is drawn last, over the others.
        curves=tuple(sorted(curves, key=lambda one: ("other", "kept", "taken").index(one.tone))),
        x_ticks=tuple(Tick(x.at(at), label) for at, label in x_ticks),
        y_ticks=tuple(Tick(y.at(at), f"{at:,.6g}") for at in nice_ticks(*y_span)),
    )


def _band(line: _Line, x: Scale, y: Scale) -> str:
    places = [(x.at(at), *ends) for (at, _), ends in zip(line.points, line.band, strict=False)]
    upper = [(left, y.at(high)) for left, _, high in places]
    lower = [(left, y.at(low)) for left, low, _ in places]
    return " ".join(f"{left:g},{top:g}" for left, top in (*upper, *reversed(lower)))


def _spread(wanted: Sequence[float]) -> list[float]:
    """Return places of labels near those wanted, from the top down, none upon another."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + _LABEL_GAP) if places else place)
    over = (places[-1] - _CURVE_BOTTOM) if places else 0.0
    if over > 0:  # push the lowest ones up again
        floor = _CURVE_BOTTOM
        for index in range(len(places) - 1, -1, -1):
            places[index] = min(places[index], floor)
            floor = places[index] - _LABEL_GAP
    return [round(place, 2) for place in places]
