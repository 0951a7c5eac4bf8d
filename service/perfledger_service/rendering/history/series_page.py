"""Renders the page of a series: its chart, with and without a script, its changes and commits."""

from dataclasses import dataclass

from perfledger.metrics import WorseDirection
from perfledger_service.rendering.chart.svg import embedded_svg
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.change_rows import FEWEST_POINTS
from perfledger_service.rendering.history.series_plot import series_chart
from perfledger_service.rendering.layout import number_format, provenance_facts, vocabulary
from perfledger_service.rendering.layout.environment import render
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.layout.paging import page_of
from perfledger_service.values.upload_views import SeriesChange, SeriesHistory

# Commits on one page: with the chart they fill two screens.
COMMITS_PER_PAGE = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesChangeRow:
    """A change of the series as shown."""

    commits: str  # a range of git
    size: str
    interval: str
    tone: str
    word: str


def series_page(history: SeriesHistory, *, page: int = 1) -> str:
    """Return the page of one series, with one page of its commits, newest first."""
    series = history.series
    label = vocabulary.series_label(series.metric)
    chart = series_chart(history)
    spoken = f"{label} over commits; the table below has the same numbers"
    return render(
        "html/series.html.j2",
        view=series,
        label=label,
        title=label[:1].upper() + label[1:],
        device=stored_verdict_rows.device(series.device_class),
        direction=stored_verdict_rows.direction(series.worse),
        branch_commits=sum(one.is_on_branch and not one.is_unattested for one in history.commits),
        unattested=_unattested(history),
        heads=sum(not one.is_on_branch for one in history.commits),
        svg="" if chart is None else embedded_svg(chart, label=spoken),
        changes=change_rows(history),
        search=search_sentence(history),
        new_machines=[provenance_facts.short_sha(sha)[:10] for sha in history.new_machines],
        commits=page_of(tuple(reversed(history.commits)), page, size=COMMITS_PER_PAGE),
        moment=number_format.moment,
        short_sha=provenance_facts.short_sha,
        value=vocabulary.value,
    )


def search_sentence(history: SeriesHistory) -> str:
    """Return how far a series without a change was searched for one; "" without a branch."""
    if history.searched >= FEWEST_POINTS:
        commits = quantity(history.searched, "commit")
        return f"No change of its level was found over {commits} of the default branch."
    if history.searched:
        commits = quantity(history.searched, "commit")
        return f"{commits} of the default branch: a search for changes needs {FEWEST_POINTS}."
    if _unattested(history):
        return (
            "Not searched for changes: only its bundles say that these commits are of the default "
            f"branch. perfledger server reorder {history.series.repository} asks for their places."
        )
    return ""


def _unattested(history: SeriesHistory) -> int:
    return sum(one.is_on_branch and one.is_unattested for one in history.commits)


def change_rows(history: SeriesHistory) -> tuple[SeriesChangeRow, ...]:
    """Return the changes of a series, newest first."""
    return tuple(_change_row(change, history.series.worse) for change in reversed(history.changes))


def _change_row(change: SeriesChange, worse: WorseDirection) -> SeriesChangeRow:
    is_higher = not change.change < 0  # from nothing to something is no share of it
    is_worse = is_higher is (worse is WorseDirection.HIGHER)
    size, interval = number_format.change(change.change, change.low, change.high)
    first, last = (
        provenance_facts.short_sha(sha)[:10] for sha in (change.after_sha, change.last_sha)
    )
    return SeriesChangeRow(
        commits=f"{first}..{last}",
        size=size,
        interval=interval,
        tone="regressed" if is_worse else "improved",
        word="worse" if is_worse else "better",
    )
