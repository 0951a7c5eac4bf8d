"""Draws the charts of a review: cost intervals, sensitivities, and curves of use and of money.

The recommended and today's option have their own colours and all others are grey, because these two
matter in a chart of ten options.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from perfledger.rounding import digits
from perfledger_cost_models.procurement.commitment_sweep import CommitmentSweep
from perfledger_cost_models.procurement.cost_model import PLAN_YEARS, YEARS
from perfledger_cost_models.review.document import OptionFacts, Review, UnknownFigure
from perfledger_cost_models.units import MILLION, THOUSAND
from perfledger_service.rendering.chart.axis import Axis, Tick, linear_axis, rows_axis
from perfledger_service.rendering.chart.marks import (
    BandMark,
    BarMark,
    LineMark,
    Mark,
    RuleMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.layout.escape import clean

_CURVES_HEIGHT = 280.0
_MAX_BARS = 12
_MIN_SWING = Decimal("0.01")  # of the widest; a smaller one is invisible
# Upper end of the axis, relative to today's price of an hour: a curve at a tenth of the use would
# flatten the rest.
_MAX_TIMES_TODAY = 3
_KG_PER_TONNE = 1000
# From the bottom layer to the top.
_ORDER = (Tone.MUTED, Tone.ORANGE, Tone.BLUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class _IntervalRow:
    """A bar from low to high with a mark in between, in axis units."""

    name: str
    low: float
    high: float
    mark: float
    tone: Tone


def review_charts(review: Review) -> tuple[Chart, ...]:
    """Return the charts in reading order, except those of unknown figures."""
    return (
        npv_chart(review),
        *_tornado(review),
        useful_hour_chart(review),
        cumulative_cash_chart(review),
        *_carbon(review),
    )


def sweep_chart(sweep: CommitmentSweep) -> Chart:
    """Return an option's cost by number of devices: on average, and at the most likely inputs."""
    sizes = [float(one.devices) for one in sweep.sizes]
    mean = tuple((size, float(one.npv_mean)) for size, one in zip(sizes, sweep.sizes, strict=True))
    likely = tuple((size, float(one.npv)) for size, one in zip(sizes, sweep.sizes, strict=True))
    values = [usd for _, usd in (*mean, *likely)]
    factor, unit = _money(max(values))
    best = sweep.best
    return Chart(
        x=linear_axis(0.0, max(sizes), title="devices"),
        y=linear_axis(0.0, max(values), factor=factor, title=unit),
        marks=(
            LineMark(points=likely, tone=Tone.MUTED, width=1.4, label="at the most likely inputs"),
            LineMark(points=mean, tone=Tone.BLUE, width=2.8, label="on average"),
            RuleMark(x=float(best.devices), label=f"lowest average: {best.devices:,}"),
        ),
        title=f"Cost over {YEARS} years by the number of devices: {clean(sweep.option.name)}",
        height=_CURVES_HEIGHT,
    )


def npv_chart(review: Review) -> Chart:
    """Return each option's cost over three years: 5 to 95 %, with the median marked."""
    rows: list[_IntervalRow] = []
    for one in sorted(review.options, key=lambda one: one.outcome.npv_mean):
        low, mark, high = map(float, one.outcome.npv_band)
        name, tone = one.outcome.option.name, _tone(review, one)
        rows.append(_IntervalRow(name=name, low=low, high=high, mark=mark, tone=tone))
    return _interval_chart(
        "Cost of each option over three years, in today's money (median, 5 to 95 %)", rows
    )


def useful_hour_chart(review: Review) -> Chart:
    """Return the cost of an hour by commitment utilization, one line per option."""
    today = next(one for one in review.options if one.outcome.option.key == review.model.keep.key)
    most = _MAX_TIMES_TODAY * max(float(usd) for _, usd in today.curve)
    lines: list[LineMark] = []
    for one in review.options:
        points = tuple((use, float(usd)) for use, usd in one.curve if float(usd) <= most)
        if points:
            lines.append(_line(review, one, points))
    ticks = tuple(Tick(value=use / 10, label=f"{use * 10} %") for use in range(1, 11))
    title = "commitment utilization"
    return Chart(
        x=Axis(low=0.1, high=1.0, ticks=ticks, title=title, has_grid=False),
        y=linear_axis(0.0, most, title="USD"),
        marks=tuple(_on_top(lines)),
        title=f"USD per hour needed over {YEARS} years, by the commitment utilization",
        height=_CURVES_HEIGHT,
    )


def cumulative_cash_chart(review: Review) -> Chart:
    """Return cumulative payments over the years: medians, and 5 to 95 % for two options."""
    bands: list[BandMark] = []
    lines: list[LineMark] = []
    for one in review.options:
        years = [
            (float(year), *map(float, ends)) for year, ends in enumerate(one.outcome.cumulated)
        ]
        lines.append(_line(review, one, tuple((year, middle) for year, _, middle, _ in years)))
        if (tone := _tone(review, one)) is not Tone.MUTED:
            points = tuple((year, low, high) for year, low, _, high in years)
            bands.append(BandMark(points=points, tone=tone, opacity=0.13))
    values = [value for line in lines for _, value in line.points]
    values += [end for band in bands for _, *ends in band.points for end in ends]
    factor, unit = _money(max(values))
    names = ("start", *(f"year {year}" for year in PLAN_YEARS))
    ticks = tuple(Tick(value=float(year), label=name) for year, name in enumerate(names))
    title = "paid until the start and until the end of each year; shaded: 5 to 95 %"
    return Chart(
        x=Axis(low=0.0, high=float(YEARS), ticks=ticks, title=title, has_grid=False),
        y=linear_axis(min(0.0, *values), max(values), factor=factor, title=unit),
        marks=(*bands, *_on_top(lines)),
        title="Paid so far, not discounted",
        height=_CURVES_HEIGHT,
    )


def _tornado(review: Review) -> Iterator[Chart]:
    """Yield the effect of each single input on the saving; nothing if no input is uncertain."""
    swings = review.decision.swings[:_MAX_BARS]
    if not swings or not swings[0].width:
        return
    best = review.decision.of(review.decision.best_mean)
    mark = float(review.status_quo.npv - best.npv)
    rows = [
        _IntervalRow(
            name=one.input.label,
            low=float(min(one.at_low, one.at_high)),
            high=float(max(one.at_low, one.at_high)),
            mark=mark,
            tone=Tone.MUTED,
        )
        for one in swings
        if one.width >= swings[0].width * _MIN_SWING
    ]
    yield _interval_chart(
        f"Saving of {clean(best.option.name)} over today's option, as one input goes from low to "
        "high",
        rows,
    )


def _carbon(review: Review) -> Iterator[Chart]:
    """Yield the first year's location-based emissions by option; nothing if none are known."""
    rows: list[_IntervalRow] = []
    for one in review.options:
        if not isinstance(one.carbon, UnknownFigure) and one.carbon.location_kg is not None:
            tonnes = one.carbon.location_kg / _KG_PER_TONNE
            name, tone = one.outcome.option.name, _tone(review, one)
            rows.append(_IntervalRow(name=name, low=0.0, high=tonnes, mark=tonnes, tone=tone))
    if any(row.high > 0 for row in rows):
        yield _interval_chart(
            "CO2 of the first year's hours beyond the supply, location-based", rows, unit="t CO2"
        )


def _tone(review: Review, option: OptionFacts) -> Tone:
    key = option.outcome.option.key
    return {review.decision.recommendation: Tone.BLUE, review.model.keep.key: Tone.ORANGE}.get(
        key, Tone.MUTED
    )


def _money(largest: float) -> tuple[float, str]:
    if largest >= MILLION:
        return 1 / MILLION, "million USD"
    return (1 / THOUSAND, "thousand USD") if largest >= THOUSAND else (1.0, "USD")


def _interval_chart(title: str, rows: Sequence[_IntervalRow], *, unit: str = "") -> Chart:
    """Return rows over one axis that includes zero; without a unit, values are money."""
    low = min(0.0, *(row.low for row in rows))
    high = max(0.0, *(row.high for row in rows)) or 1.0
    factor, scaled_unit = (1.0, unit) if unit else _money(max(abs(low), abs(high)))
    names = [Tick(label=row.name, is_strong=row.tone is not Tone.MUTED) for row in rows]
    marks: list[Mark] = [RuleMark(x=0.0)]
    for number, row in enumerate(rows):
        title_of_row = f"{row.name}: {_interval_text(row, factor, scaled_unit)}"
        y = (number + 0.23, number + 0.77)
        marks.append(
            BarMark(x=(row.low, row.high), y=y, tone=row.tone, opacity=0.42, title=title_of_row)
        )
        upright = ((row.mark, number + 0.15), (row.mark, number + 0.85))
        marks.append(LineMark(points=upright, tone=row.tone, width=2.5))
    return Chart(
        x=linear_axis(low, high, factor=factor, title=scaled_unit),
        y=rows_axis(names),
        marks=tuple(marks),
        title=title,
    )


def _interval_text(row: _IntervalRow, factor: float, unit: str) -> str:
    low, mark, high = (value * factor for value in (row.low, row.mark, row.high))
    if low == 0 and high == mark:
        return f"{digits(mark, 3)} {unit}"
    return f"{digits(mark, 3)} {unit} ({digits(low, 3)} to {digits(high, 3)})"


def _line(review: Review, option: OptionFacts, points: tuple[tuple[float, float], ...]) -> LineMark:
    tone, name = _tone(review, option), option.outcome.option.name
    width = 1.4 if tone is Tone.MUTED else 2.8
    return LineMark(points=points, tone=tone, width=width, label=name, title=name)


def _on_top(lines: Sequence[LineMark]) -> list[LineMark]:
    """Return the lines in drawing order, with important ones on top."""
    return sorted(lines, key=lambda line: _ORDER.index(line.tone))
