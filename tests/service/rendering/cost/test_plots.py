"""The break-even chart and the tornado."""

from perfledger_cost_models.money import Usd
from perfledger_cost_models.tco.buy_vs_rent import CostSwing
from perfledger_service.rendering.chart.marks import (
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    TextMark,
    Tone,
)
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.cost.plots import break_even_chart, tornado_chart
from perfledger_service.values.cost_views import BreakEvenCurve

USES = tuple(percent / 100 for percent in range(5, 101, 5))


def flat(name, usd):
    return BreakEvenCurve(
        name=name, is_owned=False, points=tuple((use, usd, usd, usd) for use in USES)
    )


def owned(usd):
    points = tuple((use, 0.8 * usd / use, usd / use, 1.2 * usd / use) for use in USES)
    return BreakEvenCurve(name="own", is_owned=True, points=points)


def test_owning_crosses_each_price_where_it_gets_cheaper(marks_of):
    chart = break_even_chart([owned(2.0), flat("dear", 8.0), flat("cheap", 1.0)])

    (dot,) = marks_of(chart, DotMark)
    assert dot.title == "own is cheaper than dear from 25\N{NO-BREAK SPACE}% use"
    assert (dot.x, dot.y) == (0.25, 8.0)


def test_where_owning_gets_cheaper_is_of_the_middles_whatever_the_intervals(marks_of):
    points = tuple((use, 2.0, 8.0, 90.0) for use in USES)
    wide = BreakEvenCurve(name="wide", is_owned=False, points=points)

    (dot,) = marks_of(break_even_chart([owned(2.0), wide]), DotMark)

    assert (dot.x, dot.y) == (0.25, 8.0)


def test_lines_have_their_names_and_what_is_owned_is_drawn_last(marks_of):
    chart = break_even_chart([owned(2.0), flat("dear", 8.0), flat("cheap", 1.0)])

    labels = [line.label for line in marks_of(chart, LineMark)]
    assert labels == ["8.00 dear", "1.00 cheap", "2.00 own"]
    assert chart.y.high == 8.0 * 1.6


def test_a_commitment_is_dashed_and_owning_has_a_band(marks_of):
    committed = BreakEvenCurve(
        name="plan", is_owned=False, points=tuple((u, 1 / u, 1 / u, 1 / u) for u in USES)
    )

    chart = break_even_chart([owned(2.0), committed])

    lines = {line.title: line for line in marks_of(chart, LineMark)}
    (band,) = marks_of(chart, BandMark)
    assert (lines["plan"].is_dashed, lines["own"].is_dashed) == (True, False)
    assert band.points[-1] == (1.0, 1.6, 2.4)


def test_an_input_that_lowers_the_cost_has_its_low_on_the_right(marks_of):
    years = CostSwing(
        parameter="depreciation_years", low_usd=Usd(8.0), high_usd=Usd(6.0), rank_correlation=-0.5
    )

    chart = tornado_chart([years], mode_usd=7.0)

    bars = {bar.tone: sorted(bar.x) for bar in marks_of(chart, BarMark)}
    assert bars == {Tone.GREEN: [7.0, 8.0], Tone.RED: [6.0, 7.0]}
    assert [text.text for text in marks_of(chart, TextMark)] == ["6.00", "8.00"]
    assert {bar.y for bar in marks_of(chart, BarMark)} == {(0.15, 0.85)}  # of the row's height


def test_inputs_that_move_nothing_have_no_bar(marks_of):
    still = CostSwing(parameter="wacc", low_usd=Usd(7.0), high_usd=Usd(7.0), rank_correlation=0.0)

    assert marks_of(tornado_chart([still], mode_usd=7.0), BarMark) == []


def test_the_charts_are_drawn_as_agreed(matches_golden):
    years, still = (
        CostSwing(parameter=name, low_usd=Usd(low), high_usd=Usd(6.0), rank_correlation=-0.5)
        for name, low in (("depreciation_years", 8.0), ("wacc", 6.5))
    )
    curves = break_even_chart([owned(2.0), flat("dear", 8.0), flat("cheap", 1.0)])

    matches_golden("break_even.svg", embedded_svg(curves, label="break-even"))
    swings = tornado_chart([years, still], mode_usd=7.0)
    matches_golden("tornado.svg", embedded_svg(swings, label="tornado"))
