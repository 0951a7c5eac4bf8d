"""Builds the history of one series: its commits, its changes and its machine's changes."""

from collections.abc import Iterator

from sqlmodel import Session

from perfledger.metrics import FAMILY_PREFIX
from perfledger_baselines.history.commits.attribution import (
    attributed_changes,
    begins_environment,
)
from perfledger_service.store.default_branch import branch_series, commits_of_branch
from perfledger_service.store.page_queries import series_view
from perfledger_service.store.projects import project_named
from perfledger_service.usecases.history.kernels import kernel_histories
from perfledger_service.usecases.history.observed_series import observed_series
from perfledger_service.usecases.history.series_change import series_change
from perfledger_service.values.upload_views import (
    FamilyHistory,
    SeriesChange,
    SeriesHistory,
    SeriesTransient,
    SeriesView,
    commits_of,
)


def series_history(session: Session, series_id: int) -> SeriesHistory:
    """Return a series' history; raise NotFoundError for an unknown id.

    A kernel family's changes are those significant among its workload's families.
    """
    view = series_view(session, series_id)
    project = project_named(session, view.repository)
    commits = commits_of_branch(session, project.id)
    changes: list[SeriesChange] = []
    transients: list[SeriesTransient] = []
    new_machines: list[str] = []
    searched = 0
    for series in branch_series(session, project.id, series_id=series_id):
        shas = [commits[position] for position in series.positions]
        searched += len(shas)
        (observed,) = observed_series([series])
        changes += [series_change(one, shas) for one in attributed_changes(observed)]
        transients += [
            SeriesTransient(
                first_sha=shas[one.first],
                last_sha=shas[one.last],
                commits=one.last - one.first + 1,
                change=one.change,
            )
            for one in observed.transients
        ]
        new_machines += [
            sha
            for index, sha in enumerate(shas)
            if index > 0 and begins_environment(series.environments, index)
        ]
    for family in _families(session, project.id, view):
        if family.series_id == series_id:
            changes, transients = [one.change for one in family.changes], []
            searched = len(family.places)
    return SeriesHistory(
        series=view,
        commits=commits_of(view.points),
        changes=tuple(changes),
        transients=tuple(transients),
        new_machines=tuple(new_machines),
        searched=searched,
    )


def _families(session: Session, project_id: int, series: SeriesView) -> Iterator[FamilyHistory]:
    if series.metric.startswith(FAMILY_PREFIX):
        for history in kernel_histories(session, project_id, series.workload):
            yield from history.families
