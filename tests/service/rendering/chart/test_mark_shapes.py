"""Marks as elements of SVG: where they stand, and which words stand at them."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest

from perfledger_service.rendering.chart.axis import Axis
from perfledger_service.rendering.chart.mark_shapes import end_labels, mark_label, mark_shape
from perfledger_service.rendering.chart.marks import (
    Anchor,
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    RuleMark,
    TextMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart
from perfledger_service.rendering.chart.plot_area import LABEL_HEIGHT, plot_area

UNIT = Axis(low=0.0, high=1.0)
NASTY = "</text><script>\u202e"


def area_of(*marks, **values):
    """Return an area of 100 by 100 units, whose lower left corner is at (10, 110)."""
    sizes = {"width": 210.0, "height": 100.0, "left": 10.0, "right": 100.0}
    return plot_area(Chart(x=UNIT, y=UNIT, marks=marks, **sizes | values), top=10.0)


AREA = area_of()


def shape(mark):
    return ElementTree.fromstring(mark_shape(mark, AREA))


def label(mark):
    return ElementTree.fromstring(mark_label(mark, AREA))


def test_a_line_runs_through_its_points_with_y_upwards():
    line = shape(LineMark(points=((0.0, 0.0), (0.5, 1.0), (1.0, 0.25)), is_dashed=True, width=3))

    assert line.tag == "polyline"
    assert line.get("points") == "10,110 60,10 110,85"
    assert (line.get("class"), line.get("stroke-width")) == ("line blue dashes", "3")


def test_a_band_goes_along_its_upper_edge_and_back_along_its_lower_one():
    band = shape(BandMark(points=((0.0, 0.1, 0.2), (1.0, 0.4, 0.9)), tone=Tone.RED, opacity=0.5))

    assert (band.tag, band.get("points")) == ("polygon", "10,90 110,20 110,70 10,100")
    assert (band.get("class"), band.get("fill-opacity")) == ("fill red", "0.5")


@pytest.mark.parametrize(("is_open", "kind"), [(True, "line green"), (False, "dot green")])
def test_a_dot_is_full_or_a_ring(is_open, kind):
    dot = shape(DotMark(x=0.5, y=0.5, tone=Tone.GREEN, radius=4, is_open=is_open, title=NASTY))

    assert (dot.get("cx"), dot.get("cy"), dot.get("r")) == ("60", "60", "4")
    assert dot.get("class") == kind
    assert dot.get("fill-opacity") is None
    assert dot[0].text == "</text><script>"


@pytest.mark.parametrize(
    ("x", "y", "place"),
    [
        ((0.2, 0.4), (0.5, 1.0), ("30", "10", "20", "50")),
        ((0.4, 0.2), (1.0, 0.5), ("30", "10", "20", "50")),
        (None, (0.0, 0.1), ("10", "100", "100", "10")),
        ((0.0, 0.1), None, ("10", "10", "10", "100")),
        ((0.5, 0.5), (0.0, 1.0), ("60", "10", "0.75", "100")),
    ],
)
def test_a_bar_is_a_rectangle_that_can_be_seen(x, y, place):
    bar = shape(BarMark(x=x, y=y))

    assert tuple(bar.get(name) for name in ("x", "y", "width", "height")) == place
    assert (bar.get("rx") is None) is (x is None or y is None)


def test_an_open_bar_is_its_outline():
    bar = shape(BarMark(x=(0.0, 1.0), y=(0.0, 1.0), is_open=True, opacity=0.5))

    assert (bar.get("class"), bar.get("fill-opacity")) == ("line dashes blue", "0.5")


@pytest.mark.parametrize(
    ("mark", "points"),
    [
        (RuleMark(x=0.3), "40,110 40,10"),
        (RuleMark(y=0.3), "10,80 110,80"),
        (RuleMark(), "10,110 110,110"),
    ],
)
def test_a_rule_crosses_the_whole_plot(mark, points):
    assert shape(mark).get("points") == points


def test_words_have_no_shape_and_other_marks_no_words_unless_given():
    assert mark_shape(TextMark(x=0.0, y=0.0, text="a"), AREA) == ""
    for mark in (
        DotMark(x=0.0, y=0.0),
        BarMark(),
        RuleMark(x=0.0),
        LineMark(points=((0.0, 0.0),), label="at the end of the line"),
        BandMark(points=((0.0, 0.0, 1.0),)),
    ):
        assert mark_label(mark, AREA) == ""


def test_words_stand_at_their_point_moved_by_so_much():
    text = label(
        TextMark(x=0.5, y=1.0, text=NASTY, dx=3.0, dy=-2.0, anchor=Anchor.END, is_soft=False)
    )

    assert (text.get("x"), text.get("y")) == ("63", "12")  # the baseline is 4 below the middle
    assert (text.get("text-anchor"), text.get("class")) == ("end", None)
    assert text.text == "</text><script>"


def test_a_dots_words_stand_right_of_it():
    text = label(DotMark(x=0.5, y=0.5, radius=4, label="p50"))

    assert (text.get("x"), text.get("y"), text.text) == ("67", "64", "p50")


def test_a_wide_bar_holds_its_label_and_a_narrow_one_a_part_of_it_or_nothing():
    words = [
        mark_label(BarMark(x=(0.0, width), y=(0.0, 1.0), label="aten::addmm"), AREA)
        for width in (1.0, 0.5, 0.2)
    ]

    assert [">aten::addmm<" in words[0], ">aten::…<" in words[1], words[2]] == [True, True, ""]


@pytest.mark.parametrize(("opacity", "kind"), [(1.0, "inside"), (0.6, "inside"), (0.59, "upon")])
def test_words_in_a_pale_bar_are_dark(opacity, kind):
    text = label(BarMark(x=(0.0, 1.0), y=(0.0, 1.0), opacity=opacity, label="compute"))

    assert (text.get("class"), text.get("x"), text.get("y")) == (kind, "60", "64")


@pytest.mark.parametrize(
    ("mark", "x", "y"),
    [
        (RuleMark(x=0.5, label="now"), "60", "6"),
        (RuleMark(x=0.0, label="a name"), "22.5", "6"),  # moved into the picture
        (RuleMark(y=0.5, label="limit"), "16", "55"),
        (RuleMark(label="nothing"), "16", "105"),
    ],
)
def test_a_rules_words_stand_above_it_or_on_it(mark, x, y):
    text = label(mark)

    assert (text.get("x"), text.get("y")) == (x, y)
    assert text.get("class") == "soft tinted muted"


def test_labels_at_the_ends_of_lines_do_not_touch_and_keep_the_order_of_the_lines():
    ends = (0.50, 0.52, 0.51, 2.0)
    lines = [
        LineMark(points=((0.0, 0.0), (1.0, end)), label=f"to {end}", tone=Tone.RED) for end in ends
    ]
    area = area_of(*lines, LineMark(points=((0.0, 0.0), (1.0, 1.0))), RuleMark(x=0.0, label="r"))

    roots = [ElementTree.fromstring(part) for part in end_labels(area)]

    leaders, words = roots[::2], roots[1::2]
    places = [float(text.get("y", "")) for text in words]
    assert [(text.text, text[0].text) for text in words] == [
        (f"to {end}", f"to {end}") for end in (2.0, 0.52, 0.51, 0.5)
    ]
    assert all(after - before >= LABEL_HEIGHT - 0.01 for before, after in pairwise(places))
    assert [leader.get("y1") for leader in leaders] == ["10", "58", "59", "60"]
    assert {leader.get("x1") for leader in leaders} == {"111"}


def test_a_label_is_cut_to_the_margin_and_said_whole_under_the_pointer():
    line = LineMark(points=((0.0, 0.0), (1.0, 1.0)), label="benchmarks.gpt:train_step[batch=8]")

    _, words = (ElementTree.fromstring(part) for part in end_labels(area_of(line)))

    assert (words.text, words[0].text) == ("benc…ch=8]", line.label)
