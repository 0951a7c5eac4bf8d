"""Reads the rows of an export from the store, a few at a time, with their columns in order."""

from collections.abc import Callable, Iterator
from operator import attrgetter

from sqlmodel import Session

from perfledger_service.store.api_reads.events import count_events, events_page
from perfledger_service.store.api_reads.keysets import all_pages
from perfledger_service.store.api_reads.runs import count_runs, runs_page, verdicts_of_runs
from perfledger_service.store.api_reads.series import (
    count_series,
    points_of_series,
    series_page,
)
from perfledger_service.store.api_reads.values import KeysetPage, RunRead, SeriesRead
from perfledger_service.store.projects import Project
from perfledger_service.values.branch_views import EventView
from perfledger_service.values.storage.export_tables import (
    EVENT_SERIES,
    EVENTS,
    POINTS,
    RUNS,
    SERIES,
    VERDICTS,
    ExportTable,
)

# Series, runs or events requested in one query, with what belongs to them.
PAGE_ROWS = 200
ExportRow = tuple[object, ...]
# Called with the number of series, runs or events done.
RowReader = Callable[[Session, Project, Callable[[int], None]], Iterator[ExportRow]]


def count_progress(session: Session, project: Project, table: ExportTable) -> int:
    """Return the number of series, runs or events from which a table's rows are read."""
    return _COUNTS[table.name](session, project.id)


def read_rows(
    session: Session, project: Project, table: ExportTable, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    """Yield a project's rows of a table; `advanced` is called with how many more are done."""
    return _READERS[table.name](session, project, advanced)


def _values_of(table: ExportTable, first: int) -> Callable[[object], ExportRow]:
    """Return a function that reads the values of a table's columns, from the first column on."""
    return attrgetter(*(column.name for column in table.columns[first:]))


# The repository is in the first column; of a point its series follows.
_SERIES_VALUES = _values_of(SERIES, 1)
_POINT_VALUES = _values_of(POINTS, len(SERIES.columns))
_RUN_VALUES = _values_of(RUNS, 1)
_VERDICT_VALUES = _values_of(VERDICTS, 1)
_CHANGE_VALUES = _values_of(EVENT_SERIES, 2)


def _series_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _series_pages(session, project):
        for series in page.items:
            yield (project.repository, *_SERIES_VALUES(series))
        advanced(len(page.items))


def _point_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _series_pages(session, project):
        series = {one.id: (project.repository, *_SERIES_VALUES(one)) for one in page.items}
        for series_id, point in points_of_series(session, project.id, tuple(series)):
            yield (*series[series_id], *_POINT_VALUES(point))
        advanced(len(page.items))


def _run_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _run_pages(session, project):
        for run in page.items:
            yield (project.repository, *_RUN_VALUES(run))
        advanced(len(page.items))


def _verdict_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _run_pages(session, project):
        for verdict in verdicts_of_runs(session, [run.id for run in page.items]):
            yield (project.repository, *_VERDICT_VALUES(verdict))
        advanced(len(page.items))


def _event_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _event_pages(session, project):
        for view in page.items:
            yield (project.repository, *_event_values(view))
        advanced(len(page.items))


def _event_series_rows(
    session: Session, project: Project, advanced: Callable[[int], None]
) -> Iterator[ExportRow]:
    for page in _event_pages(session, project):
        for view in page.items:
            for series in view.event.series:
                yield (project.repository, view.event.id, *_CHANGE_VALUES(series))
        advanced(len(page.items))


def _event_values(view: EventView) -> ExportRow:
    event = view.event
    place = event.occurrences[-1] if event.occurrences else None
    return (
        event.id,
        event.harm,
        event.state,
        event.reason,
        event.owner,
        event.set_by,
        event.until,
        event.pull_request,
        place.after_sha if place else "",
        place.last_sha if place else "",
        event.merged_sha,
        event.fixed_sha,
        event.is_detected,
        view.opened_at,
        view.changed_at,
    )


def _series_pages(session: Session, project: Project) -> Iterator[KeysetPage[SeriesRead]]:
    return all_pages(lambda key: series_page(session, project.id, after=key, most=PAGE_ROWS))


def _run_pages(session: Session, project: Project) -> Iterator[KeysetPage[RunRead]]:
    return all_pages(lambda key: runs_page(session, project.id, after=key, most=PAGE_ROWS))


def _event_pages(session: Session, project: Project) -> Iterator[KeysetPage[EventView]]:
    return all_pages(lambda key: events_page(session, project.id, after=key, most=PAGE_ROWS))


_COUNTS: dict[str, Callable[[Session, int], int]] = {
    SERIES.name: count_series,
    POINTS.name: count_series,
    RUNS.name: count_runs,
    VERDICTS.name: count_runs,
    EVENTS.name: count_events,
    EVENT_SERIES.name: count_events,
}
_READERS: dict[str, RowReader] = {
    SERIES.name: _series_rows,
    POINTS.name: _point_rows,
    RUNS.name: _run_rows,
    VERDICTS.name: _verdict_rows,
    EVENTS.name: _event_rows,
    EVENT_SERIES.name: _event_series_rows,
}
