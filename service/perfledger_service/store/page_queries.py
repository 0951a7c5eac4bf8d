"""Queries the values that the web pages show."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, case, distinct, func
from sqlalchemy.orm import aliased
from sqlmodel import Session, col, select

from perfledger.bundle import CLASS_DEADLINE_S
from perfledger.records import Side
from perfledger_service.errors import NotFoundError
from perfledger_service.store.expected_classes import expected_classes, missing_classes
from perfledger_service.store.heads.reported_progress import progress_of_pull_request
from perfledger_service.store.heads.uploads import head_of, uploads_of_head
from perfledger_service.store.imported_history import IS_FAMILY_SERIES, IS_IMPORTED
from perfledger_service.store.observations import is_attested, select_points
from perfledger_service.store.projects import project_named, projects
from perfledger_service.store.removals.reads import removals_of
from perfledger_service.store.tables import (
    BranchCommitRow,
    EnvironmentRow,
    ObservationRow,
    ProjectRow,
    SeriesRow,
    UploadRow,
    VerdictRow,
)
from perfledger_service.store.uploads import (
    StoredUpload,
    upload_by_id,
    verdict_of,
)
from perfledger_service.values.upload_views import (
    IndexView,
    MissingClassView,
    PullRequestsView,
    PullRequestView,
    SeriesPoint,
    SeriesSummary,
    SeriesView,
    UploadSender,
    UploadStatus,
    UploadView,
    VerdictView,
    WorkloadsView,
)

# Most rows on one page; older uploads are reached through their pull request.
MAX_UPLOADS = 50
NEWEST_UPLOADS = 15  # on the front page
MAX_SERIES = 500
MAX_POINTS = 5000
# Statuses whose numbers count: refused uploads are about other code, failed ones have no numbers.
COUNTED_STATUSES = (UploadStatus.JUDGED, UploadStatus.POSTED)
# In the branch's history: measurements there by runs of anything else are shown, but are not a
# baseline.
IS_BELIEVED = col(UploadRow.sender) != UploadSender.OTHER_RUN
WORKLOADS_PER_PAGE = 8
PULL_REQUESTS_PER_PAGE = 20
_SIDES = {str(side): side for side in Side}
_NEWEST_FIRST = (col(ObservationRow.position).desc(), col(UploadRow.created_at).desc())
_BELIEVED_FIRST = (IS_BELIEVED.desc(), *_NEWEST_FIRST)


_SERIES_VIEW_DECODER = msgspec.json.Decoder(SeriesView)
_UPLOAD_VIEW_DECODER = msgspec.json.Decoder(UploadView)
_VERDICT_VIEW_DECODER = msgspec.json.Decoder(VerdictView)
_SERIES_SUMMARY_DECODER = msgspec.json.Decoder(SeriesSummary)


def index_view(session: Session) -> IndexView:
    """Return the front page's values; years of an import are not news there."""
    return IndexView(
        repositories=tuple(project.repository for project in projects(session)),
        uploads=uploads_where(session, ~IS_IMPORTED, most=NEWEST_UPLOADS),
        uploads_left_out=_left_out(session),
    )


def workloads_view(
    session: Session, repository: str, *, text: str = "", page: int = 1
) -> WorkloadsView:
    """Return a page of a project's workloads whose names contain a text; past the end, the last."""
    project = project_named(session, repository)
    is_listed = (
        col(SeriesRow.project_id) == project.id,
        col(SeriesRow.workload).contains(text, autoescape=True),
    )
    count = select(func.count(distinct(col(SeriesRow.workload)))).where(*is_listed)
    total = session.exec(count).one()
    page = min(page, -(-total // WORKLOADS_PER_PAGE) or 1)
    of_page = (
        select(SeriesRow.workload)
        .where(*is_listed)
        .distinct()
        .order_by(col(SeriesRow.workload))
        .offset((page - 1) * WORKLOADS_PER_PAGE)
        .limit(WORKLOADS_PER_PAGE)
    )
    return WorkloadsView(
        repository=project.repository,
        text=text,
        series=_summaries(session, project.id, session.exec(of_page).all()),
        workloads=total,
        page=page,
    )


def workload_view(session: Session, repository: str, workload: str) -> WorkloadsView:
    """Return the series of one workload; raise NotFoundError if it has none."""
    project = project_named(session, repository)
    series = _summaries(session, project.id, (workload,))
    if not series:
        msg = f"no workload {workload[:200]!r} was measured in {project.repository}"
        raise NotFoundError(msg)
    return WorkloadsView(
        repository=project.repository, text=workload, series=series, workloads=1, page=1
    )


def pull_requests_view(session: Session, repository: str, *, page: int = 1) -> PullRequestsView:
    """Return a page of a project's pull requests, last measured first; past the end, the last."""
    project = project_named(session, repository)
    is_listed = (
        col(UploadRow.project_id) == project.id,
        col(UploadRow.pull_request).is_not(None),
        col(UploadRow.status) != UploadStatus.REFUSED,
    )
    count = select(func.count(distinct(col(UploadRow.pull_request)))).where(*is_listed)
    total = session.exec(count).one()
    page = min(page, -(-total // PULL_REQUESTS_PER_PAGE) or 1)
    numbers = session.exec(
        select(UploadRow.pull_request)
        .where(*is_listed)
        .group_by(col(UploadRow.pull_request))
        .order_by(func.max(UploadRow.measured_at).desc())
        .offset((page - 1) * PULL_REQUESTS_PER_PAGE)
        .limit(PULL_REQUESTS_PER_PAGE)
    ).all()
    uploads = uploads_where(
        session, *is_listed, col(UploadRow.pull_request).in_(numbers), most=None
    )
    heads: dict[int | None, str] = {}
    for upload in uploads:
        heads.setdefault(upload.pull_request, upload.head_sha)
    return PullRequestsView(
        repository=project.repository,
        uploads=tuple(one for one in uploads if heads[one.pull_request] == one.head_sha),
        pull_requests=total,
        page=page,
    )


def uploads_where(
    session: Session, *conditions: ColumnElement[bool], most: int | None = MAX_UPLOADS
) -> tuple[UploadView, ...]:
    """Return the uploads that meet some conditions, newest first, without their verdicts."""
    rows = session.exec(
        select(UploadRow, ProjectRow, EnvironmentRow.machine_class)
        .join(ProjectRow)
        .join(EnvironmentRow)
        .where(*conditions)
        .order_by(col(UploadRow.created_at).desc(), col(UploadRow.id))
        .limit(most)
    )
    return tuple(
        upload.to_value(
            _UPLOAD_VIEW_DECODER,
            repository=project.repository,
            machine_class=machine_class,
            created_at=upload.measured_at,
        )
        for upload, project, machine_class in rows
    )


def upload_counts(session: Session) -> tuple[tuple[str, int, datetime], ...]:
    """Return the number of uploads with each status, and when the newest arrived."""
    rows = session.exec(
        select(UploadRow.status, func.count(), func.max(col(UploadRow.created_at)))
        .group_by(UploadRow.status)
        .order_by(UploadRow.status)
    )
    return tuple((status, count, newest) for status, count, newest in rows)


def pull_request_view(
    session: Session, repository: str, number: int, *, now: datetime
) -> PullRequestView:
    """Return a pull request's uploads with their verdicts, and what is measured of it now.

    Raise NotFoundError if there is neither.
    """
    project = project_named(session, repository)
    uploads = uploads_where(
        session, col(UploadRow.project_id) == project.id, col(UploadRow.pull_request) == number
    )
    since = now - timedelta(seconds=CLASS_DEADLINE_S)
    progress = progress_of_pull_request(session, project.id, number, since=since, now=now)
    if not (uploads or progress):
        where = f"{project.repository}#{number}"
        msg = f"nothing was uploaded for {where} yet: run a check with --upload-url"
        raise NotFoundError(msg)
    return PullRequestView(
        repository=project.repository,
        number=number,
        uploads=tuple(with_verdicts(session, upload) for upload in uploads),
        missing_classes=_missing_classes(session, upload_by_id(session, uploads[0].id), now=now)
        if uploads
        else (),
        progress=progress,
    )


def upload_view(session: Session, upload_id: str) -> UploadView:
    """Return one upload without its verdicts; raise NotFoundError for an unknown id."""
    uploads = uploads_where(session, col(UploadRow.id) == upload_id)
    if not uploads:
        msg = f"no upload {upload_id[:80]!r}"
        raise NotFoundError(msg)
    return replace(uploads[0], removals=removals_of(session, upload_id))


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


def _left_out(session: Session) -> int:
    count = session.exec(select(func.count()).select_from(UploadRow).where(~IS_IMPORTED)).one()
    return max(0, count - NEWEST_UPLOADS)


def _missing_classes(
    session: Session, upload: StoredUpload, *, now: datetime
) -> tuple[MissingClassView, ...]:
    """Return the expected classes that have no upload of the same head."""
    head = head_of(session, upload)
    if head is None:
        return ()
    arrived = {one.machine_class for one in uploads_of_head(session, head)}
    return tuple(
        MissingClassView(
            machine_class=one.machine_class,
            deadline=one.deadline,
            is_overdue=now >= one.deadline,
        )
        for one in missing_classes(expected_classes(session, head), arrived)
    )


def with_verdicts(session: Session, upload: UploadView) -> UploadView:
    """Return an upload with its verdicts, in the report's order."""
    rows = session.exec(
        select(VerdictRow)
        .where(col(VerdictRow.upload_id) == upload.id)
        .order_by(col(VerdictRow.position))
    ).all()
    observed = session.exec(
        select(SeriesRow.workload, SeriesRow.metric, SeriesRow.id)
        .join(ObservationRow)
        .where(col(ObservationRow.upload_id) == upload.id)
        .order_by(col(ObservationRow.side))  # if the sides are of two classes, head's
    )
    ids = {(workload, metric): series for workload, metric, series in observed}
    verdicts = tuple(
        _verdict_view(row, series_id=ids.get((row.workload, row.metric))) for row in rows
    )
    return replace(upload, verdicts=verdicts, removals=removals_of(session, upload.id))


def _verdict_view(row: VerdictRow, *, series_id: int | None) -> VerdictView:
    """Return a stored verdict with the interval that decided it."""
    verdict = verdict_of(row)
    estimate = verdict.shown_estimate
    return row.to_value(
        _VERDICT_VIEW_DECODER,
        excludes_waits=verdict.excludes_waits,
        includes_waits=verdict.includes_waits,
        change=estimate and estimate.change,
        low=estimate and estimate.low,
        high=estimate and estimate.high,
        series_id=series_id,
    )


def _points(session: Session, series: SeriesRow) -> tuple[SeriesPoint, ...]:
    """Return the series' newest points with one scan of the primary key, in the branch's order.

    Each has the number of branch commits since the previous point.
    """
    base = aliased(BranchCommitRow)
    query = (
        select_points(
            col(ObservationRow.series_id) == series.id,
            series.project_id,
            col(UploadRow.status).in_(COUNTED_STATUSES),
        )
        .add_columns(func.coalesce(base.place, -1).label("base_place"))
        .outerjoin(
            base,
            (col(base.sha) == col(UploadRow.base_sha))
            & (col(base.project_id) == series.project_id),
        )
        .order_by(*_NEWEST_FIRST)
        .limit(MAX_POINTS)
    )
    rows = session.connection().execute(query).all()
    points: list[SeriesPoint] = []
    earlier: int | None = None
    last: int | None = None
    oldest_first = rows[::-1]
    for row in sorted(oldest_first, key=_place_of_point):
        # By index: thousands of rows are read, and access by name takes several times as long.
        (position, upload_id, side), figures = row[:3], row[3:7]
        pull_request, measured_at, sender, sha, is_claimed, committed_at, place, _ = row[7:]
        distance: int | None = None
        if place is not None:
            if place != last:
                earlier, last = last, place
            distance = 0 if earlier is None else place - earlier
        is_unattested = not is_attested(sender, place, is_claimed=is_claimed)
        point = (position, sha, _SIDES[side], pull_request, upload_id, *figures, measured_at)
        points.append(SeriesPoint._make((*point, committed_at, distance, is_unattested)))
    return tuple(points)


def _place_of_point(row: Any) -> tuple[int, bool]:  # noqa: ANN401 - a row of columns has no type
    """Return a place on the branch: a pull request's head is after its base."""
    place, base_place = row[-2:]
    return (base_place, True) if place is None else (place, False)


def _summaries(
    session: Session, project_id: int, workloads: Sequence[str]
) -> tuple[SeriesSummary, ...]:
    """Return the series of workloads with their newest trusted values, in two queries."""
    rows = session.exec(
        select(SeriesRow)
        .where(
            col(SeriesRow.project_id) == project_id,
            col(SeriesRow.workload).in_(workloads),
            ~IS_FAMILY_SERIES,
        )
        .order_by(col(SeriesRow.workload), col(SeriesRow.machine_class), col(SeriesRow.metric))
        .limit(MAX_SERIES)
    ).all()
    ranked = (
        select(
            ObservationRow.series_id,
            case((IS_BELIEVED, col(ObservationRow.center))).label("center"),
            func.row_number()
            .over(partition_by=col(ObservationRow.series_id), order_by=(*_BELIEVED_FIRST,))
            .label("rank"),
            func.count().over(partition_by=col(ObservationRow.series_id)).label("points"),
        )
        .add_columns(col(UploadRow.measured_at))
        .join(UploadRow)
        .where(
            col(ObservationRow.series_id).in_([row.id for row in rows]),
            col(UploadRow.status).in_(COUNTED_STATUSES),
        )
        .subquery()
    )
    newest = session.connection().execute(
        select(ranked.c.series_id, ranked.c.center, ranked.c.points, ranked.c.measured_at).where(
            ranked.c.rank == 1, ranked.c.center.is_not(None)
        )
    )
    values = {
        series_id: {"last": center, "points": points, "measured_at": measured_at}
        for series_id, center, points, measured_at in newest
    }
    return tuple(
        row.to_value(_SERIES_SUMMARY_DECODER, **values[row.id]) for row in rows if row.id in values
    )
