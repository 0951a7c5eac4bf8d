"""Reads a project's series, and the points of each."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import tuple_
from sqlmodel import Session, col, func, select

from perfledger.metrics import WorseDirection
from perfledger.records import Side
from perfledger_service.errors import NotFoundError
from perfledger_service.store.api_reads.keysets import ROWS_IN_MEMORY, page_of
from perfledger_service.store.api_reads.values import Key, KeysetPage, PointRead, SeriesRead
from perfledger_service.store.observations import is_attested, select_points
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.tables import (
    BranchCommitRow,
    ObservationRow,
    SeriesRow,
    UploadRow,
)

_IS_COUNTED = col(UploadRow.status).in_(COUNTED_STATUSES)
# An expression: by an index of the column, SQLite would read all uploads first.
_IS_COUNTED_POINT = (col(UploadRow.status) + "").in_(COUNTED_STATUSES)
_POINT_KEY = (col(ObservationRow.position), col(ObservationRow.upload_id))
_IS_ON_BRANCH = col(BranchCommitRow.place).is_not(None)


def series_page(
    session: Session,
    project_id: int,
    *,
    workload: str | None = None,
    metric: str | None = None,
    machine_class: str | None = None,
    is_on_branch: bool = False,
    after: Key | None = None,
    most: int,
) -> KeysetPage[SeriesRead]:
    """Return a project's series in the order in which they were first measured.

    With `is_on_branch`, only those measured at a commit of the default branch.
    """
    query = select(SeriesRow).where(col(SeriesRow.project_id) == project_id)
    filters = {
        SeriesRow.workload: workload,
        SeriesRow.metric: metric,
        SeriesRow.machine_class: machine_class,
    }
    for column, value in filters.items():
        if value is not None:
            query = query.where(col(column) == value)
    if is_on_branch:
        is_of_series = col(ObservationRow.series_id) == SeriesRow.id
        points = select_points(is_of_series, project_id, _IS_COUNTED, _IS_ON_BRANCH)
        query = query.where(points.correlate(SeriesRow).exists())
    if after is not None:
        query = query.where(col(SeriesRow.id) > after[0])
    rows = session.exec(query.order_by(col(SeriesRow.id)).limit(most + 1)).all()
    return page_of(rows, most=most, key=lambda row: (row.id or 0,), read=_series)


def series_by_id(session: Session, project_id: int, series_id: int) -> SeriesRead:
    """Return a project's series; raise NotFoundError if it has none with this id."""
    row = session.get(SeriesRow, series_id)
    if row is None or row.project_id != project_id:
        msg = f"no series {series_id}"
        raise NotFoundError(msg)
    return _series(row)


def points_page(
    session: Session,
    project_id: int,
    series_id: int,
    *,
    is_on_branch: bool = False,
    after: Key | None = None,
    most: int,
) -> KeysetPage[PointRead]:
    """Return points of a project's series, in the order in which their commits were first seen."""
    conditions = (_IS_COUNTED, _IS_ON_BRANCH) if is_on_branch else (_IS_COUNTED,)
    query = select_points(col(ObservationRow.series_id) == series_id, project_id, *conditions)
    if after is not None:
        query = query.where(tuple_(*_POINT_KEY) > after)
    rows = session.connection().execute(query.order_by(*_POINT_KEY).limit(most + 1)).all()
    return page_of(rows, most=most, key=lambda row: (row.position, row.upload_id), read=_point)


def points_of_series(
    session: Session, project_id: int, series_ids: Sequence[int]
) -> Iterator[tuple[int, PointRead]]:
    """Yield all points of some series of a project, each with its series' id, in batches."""
    series_id = col(ObservationRow.series_id)
    query = (
        select_points(series_id.in_(series_ids), project_id, _IS_COUNTED_POINT)
        .add_columns(series_id)
        .order_by(series_id, *_POINT_KEY)
        .execution_options(yield_per=ROWS_IN_MEMORY)
    )
    for row in session.connection().execute(query):
        yield row.series_id, _point(row)


def count_series(session: Session, project_id: int) -> int:
    """Return how many series a project has."""
    is_of_project = col(SeriesRow.project_id) == project_id
    return session.exec(select(func.count()).select_from(SeriesRow).where(is_of_project)).one()


def _series(row: SeriesRow) -> SeriesRead:
    return SeriesRead(
        id=row.id or 0,
        workload=row.workload,
        metric=row.metric,
        unit=row.unit,
        worse=WorseDirection(row.worse),
        machine_class=row.machine_class,
    )


def _point(row: Any) -> PointRead:  # noqa: ANN401 - a row of columns has no type
    return PointRead(
        sha=row.sha,
        side=Side(row.side),
        run_id=row.upload_id,
        pull_request=row.pull_request,
        processes=row.processes,
        center=row.center,
        low=row.low,
        high=row.high,
        measured_at=row.measured_at,
        committed_at=row.committed_at,
        branch_place=row.place,
        is_attested=is_attested(row.sender, row.place, is_claimed=row.is_claimed),
    )
