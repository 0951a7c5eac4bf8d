"""The chart of a history, as agreed, and that it shows what was measured."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from perfledger_baselines.history.detection.changes import ChangePoint, SeriesFindings, Transient
from perfledger_service.rendering.chart.marks import BarMark, DotMark, LineMark, RuleMark
from perfledger_service.rendering.history.plot import history_chart, history_svg
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries

SVG = "{http://www.w3.org/2000/svg}"
BASE = (0.100, 0.101, 0.099, 0.100, 0.102, 0.100)


@pytest.fixture
def searched():
    values = (*BASE, 0.131, *BASE, math.nan, *(1.1 * value for value in BASE), *BASE)
    change = ChangePoint(
        index=14,
        earliest=13,
        latest=15,
        before=0.1,
        after=0.11,
        change=0.1,
        low=0.09,
        high=0.11,
        confidence=0.99999,
    )
    return SearchedSeries(
        MeasuredSeries(
            name="gpt:step <p50> & more",
            unit="s",
            values=values,
            labels=tuple(f"c{place:03d}" for place in range(len(values))),
            epochs=(20,),
        ),
        SeriesFindings(changes=(change,), transients=(Transient(first=6, last=6, change=0.3),)),
    )


def test_a_history_is_drawn_as_agreed(searched, matches_golden):
    matches_golden("history.svg", history_svg(searched))


def test_a_drawings_dots_are_the_points_that_were_measured(searched):
    root = ElementTree.fromstring(history_svg(searched))
    texts = [each for each in root.iter(f"{SVG}text") if each.get("text-anchor") == "end"]
    ticks = [(float(each.attrib["y"]) - 4, float(each.text or "")) for each in texts]
    (first, low), *_, (last, high) = ticks
    dots = [(float(dot.attrib["cx"]), float(dot.attrib["cy"])) for dot in root.iter(f"{SVG}circle")]

    heights = [low + (y - first) / (last - first) * (high - low) for _, y in dots]

    known_values = [value * 1000 for value in searched.series.values if not math.isnan(value)]
    assert heights == pytest.approx(known_values, abs=0.01)
    assert all(before < after for (before, _), (after, _) in pairwise(dots))


def test_levels_changes_excursions_and_epochs_are_marks(searched, marks_of):
    chart = history_chart(searched)

    first, second, third = marks_of(chart, LineMark)
    assert [line.points[0][1] for line in (first, second, third)] == pytest.approx([100, 110, 100])
    assert [bar.x for bar in marks_of(chart, BarMark)] == [(5.5, 6.5), (12.5, 14.5)]
    assert [(rule.x, rule.label) for rule in marks_of(chart, RuleMark)] == [(19.5, ""), (13.5, "1")]
    assert [key.label for key in chart.legend] == [
        "median",
        "change point",
        "excursion",
        "new epoch",
    ]


def charted(values, **fields):
    series = MeasuredSeries(name="", unit="s", values=tuple(values))
    return history_chart(SearchedSeries(series, SeriesFindings(**{"changes": ()} | fields)))


def test_a_chart_of_many_points_keeps_every_spike_and_stays_small(marks_of):
    values = [10.0] * 100_000
    values[777] = 99.0

    dots = marks_of(charted(values), DotMark)

    assert len(dots) < 1000
    assert any(dot.title.startswith("point 778: 99") for dot in dots)


def test_a_chart_leaves_out_gaps_and_excursions_from_the_levels(marks_of):
    back = (Transient(first=0, last=1, change=9.0),)
    chart = charted([0.099, 0.099, math.nan, 0.01, 0.01], transients=back)
    alone = charted([0.099, 0.099, math.nan], transients=(Transient(first=0, last=1, change=1.0),))

    dots, (level,) = marks_of(chart, DotMark), marks_of(chart, LineMark)
    assert (chart.y.title, len(dots)) == ("ms", 4)
    assert {y for _, y in level.points} == {dots[-1].y}
    assert marks_of(alone, LineMark) == []


@pytest.mark.parametrize(
    "values", [[1e-300, 1e300], [-1e308, 1e308], [0.0, -0.0], [1e-320] * 3, [1.7e308] * 2]
)
def test_a_chart_of_extremes_has_places(values, marks_of):
    chart = charted(values)

    shares = [chart.y.share(dot.y) for dot in marks_of(chart, DotMark)]
    assert all(0 <= share <= 1 for share in shares)
