from dataclasses import replace
from xml.etree import ElementTree

from perfledger_service.rendering.bench.load_plot import load_chart, load_svg
from perfledger_service.rendering.chart.marks import DotMark, LineMark


def test_a_picture_has_a_line_for_each_quantile_of_each_loop_and_batch(view):
    chart = load_chart(view)

    lines = [mark for mark in chart.marks if isinstance(mark, LineMark)]
    curves = [
        line for line in lines if line.points[0][0] != line.points[-1][0] or len(line.points) == 1
    ]
    dots = [mark for mark in chart.marks if isinstance(mark, DotMark)]
    assert len(curves) == len(dots) == 9
    assert {dot.is_open for dot in dots} == {True, False}
    assert sorted(dot.y for dot in dots) == sorted(
        each.seconds for one in view.points for each in (one.p50, one.p95, one.p99)
    )


def test_a_single_point_can_be_drawn(view):
    ElementTree.fromstring(load_svg(replace(view, points=view.points[:1])))


def test_a_queue_that_grew_is_said(view, queued):
    assert "the queue grew" in load_svg(replace(view, points=(queued,)))
    assert "the queue grew" not in load_svg(view)


def test_a_name_is_text_of_the_picture(view):
    svg = load_svg(replace(view, workload="[red]\x1b[31m<script>", device="\x1b]0;x</title>"))

    tags = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(svg).iter()}
    assert "script" not in tags
    assert "\x1b" not in svg


def test_a_load_test_is_drawn_as_agreed(view, matches_golden):
    matches_golden("load.svg", load_svg(view))
