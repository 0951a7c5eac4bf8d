"""Builds the history of one series: its commits, its changes and those of its machine."""

from collections.abc import Sequence

from sqlmodel import Session

from perfledger_baselines.history.detection.changes import ChangePoint
from perfledger_baselines.history.detection.detect import detect
from perfledger_service.store.default_branch import branch_series, commits_of_branch
from perfledger_service.store.page_queries import series_view
from perfledger_service.store.projects import project_named
from perfledger_service.values.upload_views import SeriesChange, SeriesHistory, commits_of


def series_history(session: Session, series_id: int) -> SeriesHistory:
    """Return a series' history; raise NotFoundError for an unknown id."""
    view = series_view(session, series_id)
    project = project_named(session, view.repository)
    commits = commits_of_branch(session, project.id)
    changes: list[SeriesChange] = []
    new_machines: list[str] = []
    searched = 0
    for series in branch_series(session, project.id, series_id=series_id):
        shas = [commits[position] for position in series.positions]
        searched += len(shas)
        findings = detect(series.values, times=series.times)
        changes += [series_change(one, shas) for one in findings.changes]
        new_machines += [
            sha
            for sha, earlier, later in zip(
                shas[1:], series.environments, series.environments[1:], strict=False
            )
            if earlier != later
        ]
    return SeriesHistory(
        series=view,
        commits=commits_of(view.points),
        changes=tuple(changes),
        new_machines=tuple(new_machines),
        searched=searched,
    )


def series_change(change: ChangePoint, commits: Sequence[str]) -> SeriesChange:
    """Return a change of a series that was measured at these commits, oldest first."""
    return SeriesChange(
        sha=commits[change.index],
        after_sha=commits[max(0, change.earliest - 1)],
        last_sha=commits[change.latest],
        change=change.change,
        low=change.low,
        high=change.high,
    )
