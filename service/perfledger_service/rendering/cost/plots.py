"""Draws the cost of hours by utilization, its sensitivity to inputs, and all options as rows."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from perfledger import rounding
from perfledger_cost_models.tco.buy_vs_rent import CostSwing
from perfledger_cost_models.tco.input_phrases import input_phrase
from perfledger_service.rendering.chart.axis import Axis, Tick, linear_axis, rows_axis, widen_range
from perfledger_service.rendering.chart.bar_rows import BarRow, bar_rows_chart
from perfledger_service.rendering.chart.marks import (
    Anchor,
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    Mark,
    RuleMark,
    TextMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey, Picture
from perfledger_service.rendering.chart.plot_area import LABEL_HEIGHT
from perfledger_service.rendering.chart.svg import picture_svg
from perfledger_service.rendering.cost.answer import usd_text
from perfledger_service.rendering.cost.compare import (
    amount_interval,
    break_even_phrase,
    chance_cheapest,
    notes_of,
    shown_cost,
    shown_rows,
    title_of,
)
from perfledger_service.rendering.cost.tco import (
    owning_notes,
    title_of_owning,
    useful_hour_sentence,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.cost_views import BreakEvenCurve, CostRow, CostView, OwningView

# Upper end of the axis, relative to the most expensive line at full use: at low use, commitments
# are far above it.
_MAX_TIMES_FULL_USE = 1.6
_CURVES_HEIGHT = 330.0
_FIGURES = 0.13  # of the range, on either side of the bars
_USES = (0.05, 0.2, 0.4, 0.6, 0.8, 1.0)
_LEGEND = (
    LegendKey(label="owned, 5 to 95 %", tone=Tone.BLUE, shape=KeyShape.LINE),
    LegendKey(label="paid by the hour", tone=Tone.MUTED, shape=KeyShape.LINE),
    LegendKey(label="commitment", tone=Tone.ORANGE, shape=KeyShape.DASHES),
    LegendKey(label="owning is cheaper from here", tone=Tone.BLUE, shape=KeyShape.DOT),
)

_SWINGS = (
    LegendKey(label="at its low", tone=Tone.GREEN),
    LegendKey(label="at its high", tone=Tone.RED),
)


def costs_svg(view: CostView) -> str:
    """Return the break-even chart of the first accelerator that can be owned, and all options."""
    visible_rows = shown_rows(view)
    longest = max(shown_cost(row).p50_usd for row in visible_rows)
    rows = [_cost_row(row, longest) for row in visible_rows]
    title = "USD, chance of being the cheapest, break-even share, 5 and 95 % quantiles"
    charts = [bar_rows_chart(title, rows)]
    names = {row.cost.name for row in visible_rows}
    if curves := [curve for curve in view.curves if curve.name in names]:
        title = f"{view.owner} against rental options"
        charts.insert(0, break_even_chart(curves, title=title))
    return picture_svg(
        Picture(
            title=title_of(view),
            summary=f"Prices: {view.sheet}",
            charts=tuple(charts),
            notes=tuple(notes_of(view)),
        )
    )


def owning_svg(view: OwningView) -> str:
    """Return the tornado chart of an owned server and the parts of its yearly cost."""
    most = max(likely for _, _, likely, _ in view.parts) or 1.0
    rows = [
        BarRow(
            name=name,
            short=name,
            part=likely / most,
            figure=rounding.integer(likely),
            share="",
            detail=f"{rounding.integer(p5)} to {rounding.integer(p95)}",
            tone=Tone.BLUE,
        )
        for name, p5, likely, p95 in view.parts
    ]
    return picture_svg(
        Picture(
            title=title_of_owning(view),
            summary=useful_hour_sentence(view),
            charts=(
                bar_rows_chart("USD a year, most likely, with 5 and 95 % quantiles", rows),
                tornado_chart(view.bars, mode_usd=view.hour.mode_usd),
            ),
            notes=tuple(owning_notes(view)),
        )
    )


def break_even_chart(curves: Sequence[BreakEvenCurve], *, title: str = "") -> Chart:
    """Return the break-even chart of an accelerator's options."""
    first, last = curves[0].points[0][0], curves[0].points[-1][0]
    most = max(curve.points[-1][2] for curve in curves) * _MAX_TIMES_FULL_USE
    owned = [curve for curve in curves if curve.is_owned]
    rented = [curve for curve in curves if not curve.is_owned]
    # Owned hardware is drawn on top.
    lines = [mark for curve in (*rented, *owned) for mark in _curve_marks(curve)]
    return Chart(
        x=Axis(
            low=first,
            high=last,
            ticks=tuple(Tick(value=at, label=number_format.whole_share(at)) for at in _USES),
            title="allocated share of the paid hours",
        ),
        y=linear_axis(0.0, most, title="USD per useful hour"),
        marks=(*lines, *(dot for own in owned for dot in _crossings(own, rented))),
        title=title,
        legend=_LEGEND,
        height=max(_CURVES_HEIGHT, LABEL_HEIGHT * len(curves)),
    )


def tornado_chart(swings: Sequence[CostSwing], *, mode_usd: float) -> Chart:
    """Return the effects of inputs on the cost of an hour, as bars around the most likely cost."""
    wide = [swing for swing in swings if swing.width_usd > 0]
    ends = [end for swing in wide for end in (float(swing.low_usd), float(swing.high_usd))]
    ends = ends or [mode_usd * 0.9]
    marks = [mark for row, one in enumerate(wide) for mark in _swing_marks(row, one, mode_usd)]
    low, high = widen_range(min(*ends, mode_usd), max(*ends, mode_usd * 1.001), share=_FIGURES)
    label = f"{number_format.cents(mode_usd)} USD per useful hour"
    return Chart(
        x=Axis(low=low, high=high),
        y=rows_axis([input_phrase(swing.parameter) for swing in wide]),
        marks=(*marks, RuleMark(x=mode_usd, label=label)),
        title="Effect of each input on the cost of a useful hour",
        legend=_SWINGS,
    )


def _curve_marks(curve: BreakEvenCurve) -> Iterator[Mark]:
    is_flat = curve.points[0][2] == curve.points[-1][2]
    if curve.is_owned:
        yield BandMark(points=tuple((use, low, high) for use, low, _, high in curve.points))
    yield LineMark(
        points=tuple((use, usd) for use, _, usd, _ in curve.points),
        tone=Tone.BLUE if curve.is_owned else Tone.MUTED if is_flat else Tone.ORANGE,
        width=2.5 if curve.is_owned else 1.2,
        is_dashed=not (curve.is_owned or is_flat),
        title=curve.name,
        label=f"{number_format.cents(curve.points[-1][2])} {curve.name}",
    )


def _crossings(owned: BreakEvenCurve, rented: Sequence[BreakEvenCurve]) -> Iterator[DotMark]:
    """Yield the points where the owned line falls below each other line, by interpolation."""
    for other in rented:
        gaps = [
            (mine[0], mine[2] - theirs[2], mine[2])
            for mine, theirs in zip(owned.points, other.points, strict=True)
        ]
        for (before, gap, usd), (after, next_gap, next_usd) in pairwise(gaps):
            if gap > 0 >= next_gap:
                share = gap / (gap - next_gap)
                use, at = before + share * (after - before), usd + share * (next_usd - usd)
                least = number_format.whole_share(use)
                title = f"{owned.name} is cheaper than {other.name} from {least} use"
                yield DotMark(x=use, y=at, radius=4.0, title=title)


def _swing_marks(row: int, swing: CostSwing, mode_usd: float) -> Iterator[Mark]:
    y = (row + 0.15, row + 0.85)
    low, high = swing.low_usd, swing.high_usd
    title = f"{number_format.cents(low)} USD at its low"
    yield BarMark(x=(low, mode_usd), y=y, tone=Tone.GREEN, title=title)
    title = f"{number_format.cents(high)} USD at its high"
    yield BarMark(x=(mode_usd, high), y=y, tone=Tone.RED, title=title)
    first, last = min(low, high), max(low, high)
    left, right = min(first, mode_usd), max(last, mode_usd)
    middle = row + 0.5
    yield TextMark(x=left, y=middle, text=number_format.cents(first), dx=-6.0, anchor=Anchor.END)
    yield TextMark(x=right, y=middle, text=number_format.cents(last), dx=6.0)


def _cost_row(row: CostRow, longest: float) -> BarRow:
    cost = shown_cost(row)
    name = f"{cost.name}{' ?' if row.is_doubtful else ''}"
    return BarRow(
        name=name,
        short=name,
        part=cost.p50_usd / longest,
        figure=usd_text(cost.p50_usd),
        share=chance_cheapest(row),
        detail=", ".join(filter(None, (break_even_phrase(row.break_even), amount_interval(cost)))),
        tone=Tone.BLUE if row.price is None else Tone.MUTED,
    )
