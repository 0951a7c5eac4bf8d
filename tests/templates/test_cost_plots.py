"""The break-even chart and the tornado, as shapes."""

from itertools import pairwise

from hypothesis import given, strategies as st

from perfledger_cost_models.comparison import Bar
from perfledger_service.cost_views import Curve
from perfledger_service.pages.cost_plots import curve_plot, tornado_plot

USES = tuple(percent / 100 for percent in range(5, 101, 5))
prices = st.lists(st.floats(0.01, 100), min_size=1, max_size=25)


def flat(name, usd):
    return Curve(name=name, is_owned=False, points=tuple((use, usd, usd, usd) for use in USES))


def owned(usd):
    points = tuple((use, 0.8 * usd / use, usd / use, 1.2 * usd / use) for use in USES)
    return Curve(name="own", is_owned=True, points=points)


def test_owning_crosses_each_price_where_it_gets_cheaper():
    plot = curve_plot([owned(2.0), flat("dear", 8.0), flat("cheap", 1.0)])

    (dot,) = plot.dots
    assert dot.title == "own is cheaper than dear from 25% use"


@given(prices)
def test_labels_keep_their_order_and_their_distance(found):
    plot = curve_plot([flat(str(place), usd) for place, usd in enumerate(found)])

    labels = [line.label_y for line in plot.lines]
    assert all(after - before > 12.9 for before, after in pairwise(labels))
    assert [line.end_y for line in plot.lines] == sorted(line.end_y for line in plot.lines)
    assert max(labels) <= plot.bottom


def test_a_commitment_is_dashed_and_owning_has_a_band():
    committed = Curve(
        name="plan", is_owned=False, points=tuple((u, 1 / u, 1 / u, 1 / u) for u in USES)
    )

    lines = {line.name: line for line in curve_plot([owned(2.0), committed]).lines}

    assert (lines["plan"].is_dashed, lines["plan"].band) == (True, "")
    assert not lines["own"].is_dashed
    assert lines["own"].band


def test_an_input_that_lowers_the_cost_has_its_low_on_the_right():
    years = Bar(parameter="depreciation_years", low_usd=8.0, high_usd=6.0, rank_correlation=-0.5)

    (bar,) = tornado_plot([years], mode_usd=7.0).bars

    assert bar.low_x >= tornado_plot([years], mode_usd=7.0).middle
    assert (bar.first, bar.last) == ("6.00", "8.00")


def test_inputs_that_move_nothing_have_no_bar():
    still = Bar(parameter="wacc", low_usd=7.0, high_usd=7.0, rank_correlation=0.0)

    assert tornado_plot([still], mode_usd=7.0).bars == ()
