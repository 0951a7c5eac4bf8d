from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from perfledger.records import Side
from perfledger_service.rendering.chart.marks import BandMark, DotMark, LineMark, Tone
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.history.series_plot import drawable, series_chart, series_data


def test_bases_are_a_line_with_a_band_and_heads_are_bars_beside_it(series, marks_of):
    chart = series_chart(series)

    assert chart is not None
    line, *bars = marks_of(chart, LineMark)
    (band,) = marks_of(chart, BandMark)
    base = [point for point in series.points if point.side is Side.BASE]
    head = [point for point in series.points if point.side is Side.HEAD]
    assert [y for _, y in line.points] == pytest.approx([point.center * 1000 for point in base])
    assert [low for _, low, _ in band.points] == pytest.approx([p.low * 1000 for p in base])
    assert [y for bar in bars for _, y in bar.points] == pytest.approx(
        [end * 1000 for point in head for end in (point.low, point.high)]
    )
    assert {bar.tone for bar in bars} == {Tone.ORANGE}
    assert len(marks_of(chart, DotMark)) == len(series.points)
    assert chart.y.title == "ms"


def test_a_lone_base_has_a_bar_for_a_band_needs_two(series, marks_of):
    chart = series_chart(replace(series, points=series.points[:1]))

    assert chart is not None
    _, bar = marks_of(chart, LineMark)
    assert bar.tone is Tone.BLUE


def test_a_flat_series_has_room_above_and_below(series, marks_of):
    flat = tuple(
        replace(point, center=value, low=value, high=value)
        for point, value in zip(series.points, (0.0,) * 99, strict=False)
    )

    chart = series_chart(replace(series, points=flat))

    assert chart is not None
    assert {chart.y.share(dot.y) for dot in marks_of(chart, DotMark)} == {0.5}


def test_what_is_no_number_is_not_drawn(series):
    broken = replace(series.points[0], high=float("nan"))

    assert drawable((broken, *series.points[1:])) == series.points[1:]
    assert series_chart(replace(series, points=(broken,))) is None
    assert series_data(replace(series, points=(broken,)))["x"] == []


def test_a_series_of_heads_alone_is_drawn_too(series, marks_of):
    heads = tuple(point for point in series.points if point.side is Side.HEAD)

    chart = series_chart(replace(series, points=heads))

    assert chart is not None
    assert "NaN" not in embedded_svg(chart, label="l")
    assert {dot.tone for dot in marks_of(chart, DotMark)} == {Tone.ORANGE}


def test_the_script_gets_the_points_of_the_picture_with_nothing_where_a_side_has_none(series):
    data: Mapping[str, Any] = series_data(series)

    sides = [point.side for point in series.points]
    assert data["unit"] == "ms"
    assert data["x"] == list(range(len(sides)))
    for side in Side:
        centers = data[f"{side}_center"]
        assert [each is not None for each in centers] == [each is side for each in sides]
    assert data["labels"][0] == "1b00000 base"
