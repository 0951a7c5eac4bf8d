"""Renders the page of a series: its chart, with or without a script, its changes and commits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from perfledger.metrics import WorseDirection
from perfledger.records import Side, short_sha
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.change_rows import MIN_POINTS
from perfledger_service.rendering.history.series_plot import (
    common_commits,
    comparison_chart,
    series_chart,
)
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.values.upload_views import SeriesChange, SeriesHistory, SeriesSummary

# Commits on one page: two screens with the chart.
COMMITS_PER_PAGE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChangeRow:
    """A change of the series, as shown."""

    commits: str  # a git range
    size: str
    interval: str
    tone: str
    word: str
    has_new_environment: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesTransientRow:
    """An excursion of the series that came back, as shown."""

    commits: str  # its first and last one
    size: str
    length: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesComparison:
    """Another series, compared with the page's; `svg` is "" with too few common commits."""

    id: int
    name: str  # untrusted
    commits: int  # measured by both
    svg: str


def series_page(
    history: SeriesHistory,
    *,
    page: int = 1,
    siblings: Sequence[SeriesSummary] = (),
    second: SeriesHistory | None = None,
) -> str:
    """Return the page of one series, with one page of its commits, newest first.

    `siblings` are the series of its workload; `second` is the one that is compared with it.
    """
    series = history.series
    label = vocabulary.series_label(series.metric)
    chart = series_chart(history)
    spoken = f"{label} over commits; the table below has the same numbers"
    return render(
        "html/series.html.j2",
        view=series,
        label=label,
        title=label[:1].upper() + label[1:],
        device=stored_verdict_rows.device(series.machine_class),
        direction=stored_verdict_rows.direction(series.worse),
        branch_commits=sum(one.is_on_branch and not one.is_unattested for one in history.commits),
        unattested=_unattested_count(history),
        heads=sum(not one.is_on_branch for one in history.commits),
        svg="" if chart is None else embedded_svg(chart, label=spoken),
        changes=change_rows(history),
        transients=transient_rows(history),
        search=search_sentence(history),
        new_machines=[short_sha(sha) for sha in history.new_machines],
        commits=page_of(tuple(reversed(history.commits)), page, size=COMMITS_PER_PAGE),
        choices=[
            (one.id, _series_name(one.metric, one.machine_class))
            for one in siblings
            if one.id != series.id
        ],
        comparison=None if second is None else _comparison(history, second),
        before=_commits_before(history),
        moment=number_format.moment,
        value=vocabulary.value,
    )


def _comparison(history: SeriesHistory, second: SeriesHistory) -> SeriesComparison:
    names = tuple(
        _series_name(one.series.metric, one.series.machine_class) for one in (history, second)
    )
    chart = comparison_chart(history, second, names=(names[0], names[1]))
    count = len(common_commits(history, second))
    spoken = f"Both series over {quantity(count, 'commit')}, relative to the first"
    return SeriesComparison(
        id=second.series.id,
        name=names[1],
        commits=count,
        svg="" if chart is None else embedded_svg(chart, label=spoken),
    )


def _series_name(metric: str, machine_class: str) -> str:
    return f"{vocabulary.series_label(metric)} on {stored_verdict_rows.device(machine_class)}"


def _commits_before(history: SeriesHistory) -> dict[str, str]:
    """Return each branch commit's measured predecessor; both are heads of checks."""
    heads = {one.sha for one in history.series.points if one.side is Side.HEAD}
    branch = [one.sha for one in history.commits if one.is_on_branch and one.sha in heads]
    return {later: earlier for earlier, later in pairwise(branch)}


def search_sentence(history: SeriesHistory) -> str:
    """Return how far a series without changes was searched; "" without commits of the branch."""
    if history.searched >= MIN_POINTS:
        commits = quantity(history.searched, "commit")
        return f"No change of level found over {commits} of the default branch."
    if history.searched:
        commits = quantity(history.searched, "commit")
        return f"{commits} of the default branch: a search for changes needs {MIN_POINTS}."
    if _unattested_count(history):
        return (
            "Not searched for changes: only its bundles state that these commits are on the "
            f"default branch. perfledger server reorder {history.series.repository} looks up "
            "their places."
        )
    return ""


def _unattested_count(history: SeriesHistory) -> int:
    return sum(one.is_on_branch and one.is_unattested for one in history.commits)


def change_rows(history: SeriesHistory) -> tuple[SeriesChangeRow, ...]:
    """Return the changes of a series, newest first."""
    return tuple(_change_row(change, history.series.worse) for change in reversed(history.changes))


def transient_rows(history: SeriesHistory) -> tuple[SeriesTransientRow, ...]:
    """Return the excursions of a series, newest first."""
    return tuple(
        SeriesTransientRow(
            commits=" to ".join(
                dict.fromkeys(short_sha(sha) for sha in (one.first_sha, one.last_sha))
            ),
            size=number_format.percent(one.change),
            length=quantity(one.commits, "measured commit"),
        )
        for one in reversed(history.transients)
    )


def _change_row(change: SeriesChange, worse: WorseDirection) -> SeriesChangeRow:
    is_higher = not change.change < 0  # a change from zero has no relative size
    is_worse = is_higher is (worse is WorseDirection.HIGHER)
    size, bounds = number_format.change_and_bounds(change.change, change.low, change.high)
    first, last = (short_sha(sha) for sha in (change.after_sha, change.last_sha))
    return SeriesChangeRow(
        commits=f"{first}..{last}",
        size=size,
        interval="" if math.isnan(change.change) else bounds,
        tone="regressed" if is_worse else "improved",
        word="worse" if is_worse else "better",
        has_new_environment=change.has_new_environment,
    )
