from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from perfledger_service.rendering.chart.marks import (
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    RuleMark,
    Tone,
)
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.history.series_plot import (
    MAX_COLUMNS,
    MAX_DOTS,
    change_places,
    common_commits,
    comparison_chart,
    placed_commits,
    series_chart,
    series_data,
)


def sides(history):
    branch = [one for one in history.commits if one.is_on_branch]
    return branch, [one for one in history.commits if not one.is_on_branch]


def test_the_branch_is_a_line_with_a_band_and_heads_are_bars_beside_it(history, marks_of):
    chart = series_chart(history)

    assert chart is not None
    line, *bars = marks_of(chart, LineMark)
    (band,) = marks_of(chart, BandMark)
    branch, heads = sides(history)
    assert [y for _, y in line.points] == pytest.approx([one.center * 1000 for one in branch])
    assert [low for _, low, _ in band.points] == pytest.approx([one.low * 1000 for one in branch])
    assert [y for bar in bars for _, y in bar.points] == pytest.approx(
        [end * 1000 for one in heads for end in (one.low, one.high)]
    )
    assert {bar.tone for bar in bars} == {Tone.ORANGE}
    assert len(marks_of(chart, DotMark)) == len(history.commits)
    assert chart.y.title == "ms"


def test_of_a_long_history_the_line_has_all_commits_and_the_newest_have_dots(history, marks_of):
    branch, _ = sides(history)
    count = MAX_DOTS + 2
    commits = tuple(replace(branch[0], sha=f"{number:040x}") for number in range(count))

    chart = series_chart(replace(history, commits=commits))

    assert chart is not None
    (line,) = marks_of(chart, LineMark)
    assert len(line.points) == count
    assert [dot.x for dot in marks_of(chart, DotMark)] == list(range(2, count))


def test_of_more_commits_than_a_drawing_has_columns_the_extremes_are_drawn(history, marks_of):
    branch, _ = sides(history)
    usual = replace(branch[0], low=0.9, center=1.0, high=1.1)
    odd = {1234: replace(usual, center=1.05, high=1.5), 1235: replace(usual, center=0.95, low=0.5)}
    commits = tuple(replace(odd.get(number, usual), sha=f"{number:040x}") for number in range(5000))
    long_history = replace(history, commits=commits)

    chart = series_chart(long_history)

    assert chart is not None
    (line,) = marks_of(chart, LineMark)
    (band,) = marks_of(chart, BandMark)
    assert len(line.points) <= 2 * MAX_COLUMNS
    assert line.points == tuple(sorted(line.points))
    assert {1234: 1.05, 1235: 0.95}.items() <= dict(line.points).items()
    assert (min(low for _, low, _ in band.points), max(high for *_, high in band.points)) == (
        0.5,
        1.5,
    )
    assert (band.points[0][0], band.points[-1][0]) == (0, 4999)
    centers = series_data(long_history)["branch_center"]
    assert isinstance(centers, list)
    assert len(centers) == 5000


def test_a_commit_of_the_branch_has_a_whole_place_and_a_head_one_behind_its_base(history):
    placed = placed_commits(history.commits)

    assert [one.x for one in placed if one.commit.is_on_branch] == list(range(12))
    assert [one.x for one in placed if not one.commit.is_on_branch] == [2.5, 5.5, 8.5, 11.5]


def test_heads_of_one_base_stand_side_by_side(history):
    branch, heads = sides(history)
    placed = placed_commits((branch[0], *heads[:3], branch[1]))

    assert [one.x for one in placed] == [0, 0.25, 0.5, 0.75, 1]


def test_a_change_is_a_rule_before_its_commit(history, marks_of):
    chart = series_chart(history)

    assert chart is not None
    (rule,) = marks_of(chart, RuleMark)
    assert (rule.x, rule.label) == (6.5, "+14.6\u00a0%")
    assert change_places(history, placed_commits(history.commits)) == ((7, "+14.6\u00a0%"),)


def test_every_second_state_of_the_machine_is_shaded(history, marks_of):
    chart = series_chart(history)

    assert chart is not None
    assert [bar.x for bar in marks_of(chart, BarMark)] == [(2.5, 8.5)]


def test_the_newest_state_is_shaded_to_the_end(history, marks_of):
    chart = series_chart(replace(history, new_machines=history.new_machines[1:]))

    assert chart is not None
    assert [bar.x for bar in marks_of(chart, BarMark)] == [(8.5, 11.5)]


def test_a_lone_commit_has_a_bar_for_a_band_needs_two(history, marks_of):
    chart = series_chart(replace(history, commits=history.commits[:1]))

    assert chart is not None
    _, bar = marks_of(chart, LineMark)
    assert bar.tone is Tone.BLUE


def test_a_flat_series_has_room_above_and_below(history, marks_of):
    flat = tuple(replace(one, center=0.0, low=0.0, high=0.0) for one in history.commits)

    chart = series_chart(replace(history, commits=flat))

    assert chart is not None
    assert {chart.y.share(dot.y) for dot in marks_of(chart, DotMark)} == {0.5}


def test_what_is_no_number_is_not_drawn(history):
    broken = replace(history.commits[0], high=float("nan"))
    alone = replace(history, commits=(broken,))

    assert [one.commit for one in placed_commits((broken, *history.commits[1:2]))] == [
        history.commits[1]
    ]
    assert series_chart(alone) is None
    assert series_data(alone)["x"] == []


def test_a_series_of_heads_alone_is_drawn_too(history, marks_of):
    chart = series_chart(replace(history, commits=tuple(sides(history)[1])))

    assert chart is not None
    assert "NaN" not in embedded_svg(chart, label="l")
    assert {dot.tone for dot in marks_of(chart, DotMark)} == {Tone.ORANGE}


def test_the_script_gets_the_points_of_the_picture_with_nothing_where_a_side_has_none(history):
    data: Mapping[str, Any] = series_data(history)

    on_branch = [one.commit.is_on_branch for one in placed_commits(history.commits)]
    assert data["unit"] == "ms"
    assert data["x"] == sorted(data["x"])
    assert [each is not None for each in data["branch_center"]] == on_branch
    assert [each is None for each in data["head_center"]] == on_branch
    assert data["labels"][:1] == ["1b0000000000"]
    assert "300000000000 of #42" in data["labels"]
    assert data["changes"] == [{"x": 6.5, "label": "+14.6\u00a0%"}]
    assert len(data["commits"]) == 12


def test_a_series_is_drawn_as_agreed(history, matches_golden):
    chart = series_chart(history)

    assert chart is not None
    matches_golden("series.svg", embedded_svg(chart, label="series"))


def measured(history, metric="other", **values):
    """Return a history of another series with the same commits, each value doubled."""
    commits = tuple(
        replace(one, center=2 * one.center, low=2 * one.low, high=2 * one.high)
        for one in history.commits
    )
    series = replace(history.series, id=2, metric=metric)
    return replace(history, series=series, commits=commits, **values)


def test_two_series_are_shown_over_the_commits_of_the_branch_that_both_measured(history, marks_of):
    branch = [one for one in history.commits if one.is_on_branch]
    other = measured(history)
    fewer = replace(other, commits=other.commits[2:])

    assert len(common_commits(history, other)) == len(branch)
    assert len(common_commits(history, fewer)) < len(branch)
    chart = comparison_chart(history, other, names=("a", "b"))

    assert chart is not None
    one, two = marks_of(chart, LineMark)
    assert one.points[0] == two.points[0] == (0, 100.0)
    ours, theirs = ([y for _, y in line.points] for line in (one, two))
    assert ours == pytest.approx(theirs)  # relative to its own first, each is the same
    assert [key.label for key in chart.legend] == ["a", "b"]


def test_too_few_common_commits_and_values_without_a_ratio_have_no_comparison(history):
    lone = replace(measured(history), commits=history.commits[:1])
    zero = tuple(replace(one, center=0.0) for one in history.commits)

    pair = replace(measured(history), commits=history.commits[:2])

    assert comparison_chart(history, lone, names=("a", "b")) is None
    assert len(common_commits(history, pair)) == 2
    assert comparison_chart(history, pair, names=("a", "b")) is not None
    assert common_commits(history, replace(measured(history), commits=zero)) == ()
