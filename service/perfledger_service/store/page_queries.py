"""Queries the values that the web pages show."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from typing import cast

import msgspec
from sqlalchemy import ColumnElement, func
from sqlalchemy.orm import QueryableAttribute, defer
from sqlmodel import Session, col, select

from perfledger_service.errors import NotFoundError
from perfledger_service.store.branch_commits import branch_places
from perfledger_service.store.expected_classes import expected_classes, missing_classes
from perfledger_service.store.projects import project_named, projects
from perfledger_service.store.tables import (
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    RevisionRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.store.uploads import (
    StoredUpload,
    upload_by_id,
    uploads_of_head,
    verdict_of,
)
from perfledger_service.values.upload_views import (
    IndexView,
    MissingClassView,
    PullRequestView,
    SeriesPoint,
    SeriesSummary,
    SeriesView,
    UploadSender,
    UploadStatus,
    UploadView,
    VerdictView,
)

# Most rows on one page; older uploads are reached through their pull request.
MAX_UPLOADS = 50
MAX_SERIES = 500
MAX_POINTS = 5000
# Uploads whose numbers count: refused ones are about other code, failed ones have no numbers.
COUNTED_STATUSES = (UploadStatus.JUDGED, UploadStatus.POSTED)
# In the branch's history: what a run of anything else measured there is shown, and no baseline.
IS_BELIEVED = col(UploadRow.sender) != UploadSender.OTHER_RUN
_NEWEST_FIRST = (col(ObservationRow.position).desc(), col(UploadRow.created_at).desc())


_SERIES_VIEW_DECODER = msgspec.json.Decoder(SeriesView)
_UPLOAD_VIEW_DECODER = msgspec.json.Decoder(UploadView)
_VERDICT_VIEW_DECODER = msgspec.json.Decoder(VerdictView)
_SERIES_POINT_DECODER = msgspec.json.Decoder(SeriesPoint)
_SERIES_SUMMARY_DECODER = msgspec.json.Decoder(SeriesSummary)


def index_view(session: Session) -> IndexView:
    """Return the front page's values."""
    return IndexView(
        repositories=tuple(project.repository for project in projects(session)),
        uploads=_uploads(session),
        series=_summaries(session),
        uploads_left_out=_left_out(session, UploadRow, MAX_UPLOADS),
        series_left_out=_left_out(session, SeriesRow, MAX_SERIES),
    )


def upload_counts(session: Session) -> tuple[tuple[str, int, datetime], ...]:
    """Return the number of uploads with each status, and when the newest of them arrived."""
    rows = session.exec(
        select(UploadRow.status, func.count(), func.max(col(UploadRow.created_at)))
        .group_by(UploadRow.status)
        .order_by(UploadRow.status)
    )
    return tuple((status, count, newest) for status, count, newest in rows)


def pull_request_view(
    session: Session, repository: str, number: int, *, now: datetime
) -> PullRequestView:
    """Return a pull request's uploads with their verdicts; raise NotFoundError without any."""
    project = project_named(session, repository)
    uploads = _uploads(
        session, col(UploadRow.project_id) == project.id, col(UploadRow.pull_request) == number
    )
    if not uploads:
        where = f"{project.repository}#{number}"
        msg = f"nothing was uploaded for {where} yet: run a check with --upload-url"
        raise NotFoundError(msg)
    return PullRequestView(
        repository=project.repository,
        number=number,
        uploads=tuple(_with_verdicts(session, upload) for upload in uploads),
        missing_classes=_missing_classes(session, upload_by_id(session, uploads[0].id), now=now),
    )


def upload_view(session: Session, upload_id: str) -> UploadView:
    """Return one upload with its verdicts; raise NotFoundError for an unknown id."""
    uploads = _uploads(session, col(UploadRow.id) == upload_id)
    if not uploads:
        msg = f"no upload {upload_id[:80]!r}"
        raise NotFoundError(msg)
    return _with_verdicts(session, uploads[0])


def series_view(session: Session, series_id: int) -> SeriesView:
    """Return a series with its newest points; raise NotFoundError for an unknown id."""
    row = session.exec(
        select(SeriesRow, ProjectRow).join(ProjectRow).where(col(SeriesRow.id) == series_id)
    ).first()
    if row is None:
        msg = f"no series {series_id}"
        raise NotFoundError(msg)
    series, project = row
    points = _points(session, series)
    return series.to_value(_SERIES_VIEW_DECODER, repository=project.repository, points=points)


def _uploads(session: Session, *conditions: ColumnElement[bool]) -> tuple[UploadView, ...]:
    rows = session.exec(
        select(UploadRow, ProjectRow, EnvironmentRow.device_class)
        .join(ProjectRow)
        .join(EnvironmentRow)
        .where(*conditions)
        .order_by(col(UploadRow.created_at).desc(), col(UploadRow.id))
        .limit(MAX_UPLOADS)
    )
    return tuple(
        upload.to_value(
            _UPLOAD_VIEW_DECODER,
            repository=project.repository,
            device_class=device_class,
            created_at=upload.measured_at,
        )
        for upload, project, device_class in rows
    )


def _left_out(session: Session, table: type[UploadRow | SeriesRow], limit: int) -> int:
    return max(0, session.exec(select(func.count()).select_from(table)).one() - limit)


def _missing_classes(
    session: Session, upload: StoredUpload, *, now: datetime
) -> tuple[MissingClassView, ...]:
    """Return the expected classes that have no upload of the same head."""
    if upload.head is None:
        return ()
    arrived = {one.device_class for one in uploads_of_head(session, upload.head)}
    return tuple(
        MissingClassView(
            machine_class=one.machine_class,
            deadline=one.deadline,
            is_overdue=now >= one.deadline,
        )
        for one in missing_classes(expected_classes(session, upload.head), arrived)
    )


def _with_verdicts(session: Session, upload: UploadView) -> UploadView:
    rows = session.exec(
        select(VerdictRow)
        .where(col(VerdictRow.upload_id) == upload.id)
        .order_by(col(VerdictRow.position))
    ).all()
    observed = session.exec(
        select(SeriesRow.workload, SeriesRow.metric, SeriesRow.id)
        .join(ObservationRow)
        .where(col(ObservationRow.upload_id) == upload.id)
        .order_by(col(ObservationRow.side))  # where the sides are of two classes, head's
    )
    ids = {(workload, metric): series for workload, metric, series in observed}
    verdicts = tuple(
        _verdict_view(row, series_id=ids.get((row.workload, row.metric))) for row in rows
    )
    return replace(upload, verdicts=verdicts)


def _verdict_view(row: VerdictRow, *, series_id: int | None) -> VerdictView:
    """Return a stored verdict with the interval that decided it."""
    estimate = verdict_of(row).shown_estimate
    return row.to_value(
        _VERDICT_VIEW_DECODER,
        change=estimate and estimate.change,
        low=estimate and estimate.low,
        high=estimate and estimate.high,
        series_id=series_id,
    )


def _points(session: Session, series: SeriesRow) -> tuple[SeriesPoint, ...]:
    """Return the series' newest points, oldest first, with one scan of the primary key."""
    rows = session.exec(
        select(ObservationRow, UploadRow, RevisionRow)
        .options(defer(cast("QueryableAttribute[bytes]", ObservationRow.samples)))
        .join(UploadRow)
        .join(
            RevisionRow,
            (col(RevisionRow.position) == col(ObservationRow.position))
            & (col(RevisionRow.project_id) == series.project_id),
        )
        .where(
            col(ObservationRow.series_id) == series.id, col(UploadRow.status).in_(COUNTED_STATUSES)
        )
        .order_by(*_NEWEST_FIRST)
        .limit(MAX_POINTS)
    ).all()
    places = branch_places(session, series.project_id)
    placed_points: list[tuple[tuple[int, bool], SeriesPoint]] = []
    for row, upload, revision in reversed(rows):
        place = places.get(revision.sha) if revision.is_claimed else None
        at = places.get(upload.base_sha, -1) if place is None else place
        point = row.to_value(
            _SERIES_POINT_DECODER,
            sha=revision.sha,
            pull_request=upload.pull_request,
            created_at=upload.measured_at,
            committed_at=revision.committed_at,
            is_unattested=upload.sender == UploadSender.OTHER_RUN
            or (revision.is_claimed and place is None),
        )
        placed_points.append(((at, place is None), point))
    return _with_distances(sorted(placed_points, key=itemgetter(0)))


def _with_distances(
    placed_points: Sequence[tuple[tuple[int, bool], SeriesPoint]],
) -> tuple[SeriesPoint, ...]:
    """Return points in their order, with the commits between neighbours on the branch."""
    points: list[SeriesPoint] = []
    earlier, last = None, None
    for (place, is_off_branch), point in placed_points:
        if is_off_branch:
            points.append(point)
            continue
        if place != last:
            earlier, last = last, place
        points.append(replace(point, distance=0 if earlier is None else place - earlier))
    return tuple(points)


def _summaries(session: Session) -> tuple[SeriesSummary, ...]:
    rows = session.exec(
        select(SeriesRow, ProjectRow)
        .join(ProjectRow)
        .order_by(
            col(ProjectRow.repository_key),
            col(SeriesRow.workload),
            col(SeriesRow.metric),
            col(SeriesRow.device_class),
        )
        .limit(MAX_SERIES)
    ).all()
    summaries = (_summary(session, series, project) for series, project in rows)
    return tuple(summary for summary in summaries if summary is not None)


def _summary(session: Session, series: SeriesRow, project: ProjectRow) -> SeriesSummary | None:
    """Return a series with its newest value, or None if no observation counts."""
    where = (
        col(ObservationRow.series_id) == series.id,
        col(UploadRow.status).in_(COUNTED_STATUSES),
    )
    count = select(func.count()).select_from(ObservationRow).join(UploadRow).where(*where)
    newest = (
        select(ObservationRow.center)
        .join(UploadRow)
        .where(*where, IS_BELIEVED)
        .order_by(*_NEWEST_FIRST)
    )
    last = session.exec(newest.limit(1)).first()
    if last is None:
        return None
    points = session.exec(count).one()
    return series.to_value(
        _SERIES_SUMMARY_DECODER, repository=project.repository, points=points, last=last
    )
