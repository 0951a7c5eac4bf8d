from dataclasses import replace
from xml.etree import ElementTree

import pytest

from perfledger_service.rendering.chart.bar_rows import BarRow, bar_rows_chart
from perfledger_service.rendering.chart.marks import BarMark, TextMark, Tone
from perfledger_service.rendering.chart.svg import embedded_svg

SVG = "{http://www.w3.org/2000/svg}"
ROW = BarRow(
    name="void gemm<float>",
    short="gemm",
    part=0.5,
    figure="3 ms",
    share="42 %",
    detail="48 calls",
    tone=Tone.BLUE,
)


@pytest.mark.parametrize(("is_numbered", "name"), [(False, "gemm"), (True, "1 gemm")])
def test_a_row_has_its_name_above_its_bar_and_its_figures_beside_it(is_numbered, name):
    chart = bar_rows_chart("", [ROW], is_numbered=is_numbered)

    root = ElementTree.fromstring(embedded_svg(chart, label="l"))

    labels = {text: each for each in root.iter(f"{SVG}text") if (text := each.text)}
    (bar,) = root.iter(f"{SVG}rect")
    assert list(labels) == [name, "3 ms", "42 %", "48 calls"]
    assert float(labels[name].get("y", "")) < float(bar.get("y", ""))
    assert float(bar.get("x", "")) + float(bar.get("width", "")) < float(
        labels["48 calls"].get("x", "")
    )
    assert labels[name].find(f"{SVG}title").text == "void gemm<float>"


def test_bars_are_as_long_as_their_part_of_the_longest_and_below_each_other(marks_of):
    rows = [ROW, replace(ROW, part=1.0, tone=Tone.RED)]

    first, second = marks_of(bar_rows_chart("Kernels", rows), BarMark)

    assert (first.x, second.x) == ((0.0, 0.5), (0.0, 1.0))
    assert first.y[1] < 1.0 < second.y[0]
    assert (first.tone, second.tone, second.title) == (Tone.BLUE, Tone.RED, "void gemm<float>")


def test_more_rows_make_the_chart_higher_and_no_narrower():
    one, two = (bar_rows_chart("", [ROW] * count) for count in (1, 2))

    assert two.height == 2 * (one.height or 0)
    assert (one.left, one.right, one.width) == (two.left, two.right, two.width)


def test_without_shares_the_details_move_to_their_place(marks_of):
    def starts(*rows):
        marks = marks_of(bar_rows_chart("", rows), TextMark)
        return [mark.dx for mark in marks if mark.text == ROW.detail]

    without = replace(ROW, share="")

    assert starts(without)[0] < starts(ROW)[0]
    assert starts(without, ROW) == starts(ROW) * 2


def test_what_is_empty_has_no_mark(marks_of):
    bare = replace(ROW, share="", detail="")

    assert [mark.text for mark in marks_of(bar_rows_chart("", [bare]), TextMark)] == [
        "gemm",
        "3 ms",
    ]


def test_rows_are_drawn_as_agreed(matches_golden):
    rows = [ROW, replace(ROW, part=1.0, share="", detail="")]

    matches_golden("bar_rows.svg", embedded_svg(bar_rows_chart("Kernels", rows), label="l"))
