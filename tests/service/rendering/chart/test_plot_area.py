from itertools import pairwise

from hypothesis import given, strategies as st

from perfledger_service.rendering.chart.axis import Axis, linear_axis, rows_axis
from perfledger_service.rendering.chart.marks import LineMark
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.chart.plot_area import (
    EDGE,
    LABEL_HEIGHT,
    fit_text,
    plot_area,
    spread_labels,
)

UNIT = Axis(low=0.0, high=1.0)


def test_a_value_lies_where_its_axis_says():
    area = plot_area(Chart(x=UNIT, y=UNIT, marks=(), left=100.0, right=20.0), top=50.0)

    assert (area.across(0.0), area.across(1.0)) == (100.0, 700.0)
    assert (area.down(0.0), area.down(1.0)) == (250.0, 50.0)


def test_margins_have_room_for_what_stands_in_them():
    line = LineMark(points=((0.0, 0.0), (1.0, 1.0)), label="a name of some length")
    bare = plot_area(Chart(x=UNIT, y=UNIT, marks=()), top=0.0)
    named = plot_area(Chart(x=UNIT, y=rows_axis(["a name of some length"]), marks=()), top=0.0)
    labelled = plot_area(Chart(x=UNIT, y=linear_axis(0, 1e6), marks=(line,)), top=0.0)

    assert bare.left < labelled.left < named.left
    assert labelled.right < bare.right


@given(st.lists(st.floats(0, 300), max_size=20))
def test_labels_keep_their_order_and_their_distance(positions):
    places = spread_labels(sorted(positions), top=0.0, bottom=300.0)

    assert all(after - before > LABEL_HEIGHT - 0.01 for before, after in pairwise(places))
    assert max(places, default=0.0) <= 300.0


@given(st.text(max_size=100), st.floats(10, 700))
def test_a_text_is_cut_to_its_room(text, width):
    shown_fit_text = fit_text(text, width=width)

    assert len(shown_fit_text) <= max(width / 7, 7)


def test_of_a_long_name_both_ends_are_shown():
    assert fit_text("benchmarks.gpt:train_step[batch=8]", width=120.0) == "benchma…batch=8]"
    assert EDGE > 0
