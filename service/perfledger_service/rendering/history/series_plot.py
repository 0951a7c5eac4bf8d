"""Draws a series over commits, and prepares the same points for the page's script.

The default branch's commits are a line with a band of intervals; heads of pull requests are
separate dots, because they may never be merged.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from perfledger import rounding
from perfledger.records import short_sha
from perfledger_service.rendering.chart.axis import (
    Axis,
    Tick,
    linear_axis,
    places_axis,
    widen_range,
)
from perfledger_service.rendering.chart.marks import (
    BandMark,
    BarMark,
    DotMark,
    LineMark,
    Mark,
    RuleMark,
    Tone,
)
from perfledger_service.rendering.chart.picture import Chart, LegendKey
from perfledger_service.rendering.layout import number_format
from perfledger_service.values.upload_views import SeriesCommit, SeriesHistory

_MARGIN = 0.1  # of the range, above and below
_MAX_LABELS = 6  # hashes of commits that fit beside each other
# In the drawing without a script; with more, dots would cover each other.
MAX_DOTS = 300
# Of that drawing, about two pixels each: a column of several commits shows their extremes. The
# script and the data have all commits.
MAX_COLUMNS = 350
MIN_COMMON = 2  # commits of two series: a single one shows no trend
_FIGURES = ("center", "low", "high")


class PlacedCommit(NamedTuple):
    """A commit and its position on the axis: whole numbers count the branch's commits."""

    x: float
    commit: SeriesCommit


def placed_commits(commits: Iterable[SeriesCommit]) -> tuple[PlacedCommit, ...]:
    """Return the commits with finite values; heads are between their base and the next commit."""
    branch_commits = -1
    heads: dict[int, list[SeriesCommit]] = {}
    placed: list[PlacedCommit] = []
    for one in commits:
        if not all(map(math.isfinite, (one.low, one.center, one.high))):
            continue
        if one.is_on_branch:
            branch_commits += 1
            placed.append(PlacedCommit(branch_commits, one))
        else:
            heads.setdefault(branch_commits, []).append(one)
    for base, of_base in heads.items():
        step = 1 / (len(of_base) + 1)
        placed += [
            PlacedCommit(base + step * (number + 1), one) for number, one in enumerate(of_base)
        ]
    return tuple(sorted(placed, key=lambda one: one.x))


def series_chart(history: SeriesHistory) -> Chart | None:
    """Return the chart of a series, or None without a point to draw."""
    placed = placed_commits(history.commits)
    if not placed:
        return None
    factor, unit = _unit(history, placed)
    low = min(one.commit.low for one in placed) * factor
    high = max(one.commit.high for one in placed) * factor
    branch = [one for one in placed if one.commit.is_on_branch]
    marks: list[Mark] = [
        *_machine_bars(history, branch),
        BandMark(points=tuple((x, low * factor, high * factor) for x, low, high in _band(branch))),
        LineMark(points=tuple((p.x, p.commit.center * factor) for p in _extremes(branch))),
    ]
    for one in placed[-MAX_DOTS:]:
        commit, tone = one.commit, _tone(one.commit)
        if not commit.is_on_branch or len(branch) == 1:  # a band needs two
            ends = (one.x, commit.low * factor), (one.x, commit.high * factor)
            marks.append(LineMark(points=ends, tone=tone))
        title = f"{_name(commit)}: {rounding.digits(commit.center * factor)} {unit}".rstrip()
        marks.append(DotMark(x=one.x, y=commit.center * factor, tone=tone, title=title))
    marks += [
        RuleMark(x=x - 0.5, is_dashed=True, tone=Tone.RED, title=label, label=label)
        for x, label in change_places(history, placed)
    ]
    return Chart(
        x=_commits_axis(placed),
        y=linear_axis(*widen_range(low, high, share=_MARGIN), title=unit),
        marks=tuple(marks),
        height=220.0,
    )


def common_commits(
    history: SeriesHistory, second: SeriesHistory
) -> tuple[tuple[SeriesCommit, SeriesCommit], ...]:
    """Return both series' values of each common commit of the branch, in branch order."""
    theirs = {one.sha: one for one in second.commits if one.is_on_branch and _is_ratio(one)}
    return tuple(
        (one, theirs[one.sha])
        for one in history.commits
        if one.is_on_branch and one.sha in theirs and _is_ratio(one)
    )


def comparison_chart(
    history: SeriesHistory, second: SeriesHistory, *, names: tuple[str, str]
) -> Chart | None:
    """Return two series over their common commits, each relative to its first value there.

    None with fewer than two common commits.
    """
    pairs = common_commits(history, second)
    if len(pairs) < MIN_COMMON:
        return None
    marks: list[Mark] = []
    ends: list[float] = []
    for number, tone in enumerate((Tone.BLUE, Tone.ORANGE)):
        mine = [pair[number] for pair in pairs]
        first = mine[0].center
        low, high = ([100 * getattr(one, end) / first for one in mine] for end in ("low", "high"))
        ends += [*low, *high]
        centers = [100 * one.center / first for one in mine]
        marks += [
            BandMark(points=tuple(zip(range(len(mine)), low, high, strict=True)), tone=tone),
            LineMark(points=tuple(enumerate(centers)), tone=tone),
            *(
                DotMark(
                    x=index, y=value, tone=tone, title=f"{_name(one)}: {rounding.digits(value)} %"
                )
                for index, (one, value) in enumerate(zip(mine, centers, strict=True))
                if index >= len(mine) - MAX_DOTS
            ),
        ]
    shas = [short_sha(one.sha) for one, _ in pairs]
    return Chart(
        x=places_axis(shas, most=_MAX_LABELS),
        y=linear_axis(*widen_range(min(ends), max(ends), share=_MARGIN), title="% of the first"),
        marks=tuple(marks),
        legend=tuple(
            LegendKey(label=name, tone=tone)
            for name, tone in zip(names, (Tone.BLUE, Tone.ORANGE), strict=True)
        ),
        height=220.0,
    )


def _is_ratio(commit: SeriesCommit) -> bool:
    """Return whether values can be shown relative to this commit's."""
    return commit.center > 0 and all(map(math.isfinite, (commit.low, commit.center, commit.high)))


def series_data(history: SeriesHistory) -> Mapping[str, object]:
    """Return the same points as aligned columns for the chart's script; null for missing ones."""
    placed = placed_commits(history.commits)
    factor, unit = _unit(history, placed)
    columns = {
        f"{side}_{name}": [
            getattr(one.commit, name) * factor if one.commit.is_on_branch is is_branch else None
            for one in placed
        ]
        for side, is_branch in (("branch", True), ("head", False))
        for name in _FIGURES
    }
    branch = [one for one in placed if one.commit.is_on_branch]
    return {
        "unit": unit,
        "x": [one.x for one in placed],
        "labels": [_name(one.commit) for one in placed],
        "links": [f"/runs/{one.commit.upload_id}" for one in placed],
        "commits": [short_sha(one.commit.sha) for one in branch],
        "changes": [{"x": x - 0.5, "label": label} for x, label in change_places(history, placed)],
        "machines": [bar.x for bar in _machine_bars(history, branch)],
        **columns,
    }


def change_places(
    history: SeriesHistory, placed: Iterable[PlacedCommit]
) -> tuple[tuple[float, str], ...]:
    """Return the position and size of each change whose commit is drawn."""
    places = {one.commit.sha: one.x for one in placed if one.commit.is_on_branch}
    return tuple(
        (places[change.sha], number_format.percent(change.change))
        for change in history.changes
        if change.sha in places and math.isfinite(change.change)
    )


def _band(branch: Sequence[PlacedCommit]) -> Iterator[tuple[float, float, float]]:
    """Yield the lowest and highest interval ends of each column, at both of its sides."""
    for column in _columns(branch):
        low, high = min(one.commit.low for one in column), max(one.commit.high for one in column)
        for x in sorted({column[0].x, column[-1].x}):
            yield x, low, high


def _extremes(branch: Sequence[PlacedCommit]) -> Iterator[PlacedCommit]:
    """Yield the commits with the lowest and highest value of each column, in order."""
    for column in _columns(branch):
        ends = (pick(column, key=lambda one: one.commit.center) for pick in (min, max))
        yield from sorted({one.x: one for one in ends}.values(), key=lambda one: one.x)


def _columns(branch: Sequence[PlacedCommit]) -> Iterator[Sequence[PlacedCommit]]:
    """Yield the commits of each column of the drawing: one per column if there are few."""
    size = math.ceil(len(branch) / MAX_COLUMNS) or 1
    return (branch[first : first + size] for first in range(0, len(branch), size))


def _machine_bars(history: SeriesHistory, branch: Iterable[PlacedCommit]) -> list[BarMark]:
    """Return a shade over every second environment of the machine."""
    spans: list[tuple[float, float]] = []
    start, last, number = -0.5, -0.5, 0
    for one in branch:
        if one.commit.sha in history.new_machines:
            if number % 2:
                spans.append((start, one.x - 0.5))
            start, number = one.x - 0.5, number + 1
        last = one.x + 0.5
    if number % 2:
        spans.append((start, last))
    return [
        BarMark(x=span, tone=Tone.MUTED, opacity=0.12, title="another state of the machine")
        for span in spans
    ]


def _commits_axis(placed: Iterable[PlacedCommit]) -> Axis:
    branch = [one for one in placed if one.commit.is_on_branch] or list(placed)
    step = math.ceil(len(branch) / _MAX_LABELS)
    ticks = tuple(Tick(value=one.x, label=short_sha(one.commit.sha)) for one in branch[::step])
    xs = [one.x for one in placed]
    return Axis(low=min(xs) - 0.5, high=max(xs) + 0.5, ticks=ticks, has_grid=False)


def _unit(history: SeriesHistory, placed: Iterable[PlacedCommit]) -> tuple[float, str]:
    largest = max((abs(one.commit.center) for one in placed), default=0.0)
    return number_format.axis(largest, history.series.unit)


def _tone(commit: SeriesCommit) -> Tone:
    return Tone.BLUE if commit.is_on_branch else Tone.ORANGE


def _name(commit: SeriesCommit) -> str:
    sha = short_sha(commit.sha)
    return sha if commit.pull_request is None else f"{sha} of #{commit.pull_request}"
