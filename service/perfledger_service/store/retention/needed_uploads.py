"""Selects the uploads of which nothing may be removed: judging, reviews and pages read them."""

from collections.abc import Collection, Iterator
from datetime import UTC, date, datetime, time

from sqlalchemy import and_, func, or_
from sqlmodel import Session, col, select

from perfledger_cost_models.review.quarter import FIRST_YEAR, LAST_YEAR, MONTHS, Quarter
from perfledger_service.store.comments.tables import AcceptanceRow
from perfledger_service.store.costs.changed_uploads import changed_uploads
from perfledger_service.store.events.tables import MergeRow
from perfledger_service.store.fleet.device_utilization import stored_utilization
from perfledger_service.store.gate_checks import HAS_VERDICTS, MAX_CHECKS
from perfledger_service.store.imported_history import IS_IMPORTED
from perfledger_service.store.page_queries import COUNTED_STATUSES
from perfledger_service.store.quarter_queries import stored_quarter
from perfledger_service.store.tables import EnvironmentRow, UploadRow


def uploads_of_all_projects(session: Session) -> frozenset[str]:
    """Return the uploads that the review of any quarter and the page of the fleet read."""
    upload_ids = {one.upload_id for one in stored_utilization(session)}
    for start, end in _quarters(session):
        quarter = stored_quarter(session, start=start, end=end)
        upload_ids.update(one.upload_id for one in quarter.speeds)
        upload_ids.update(one.upload_id for one in quarter.changes)
        newest = select(UploadRow.id).where(
            col(UploadRow.bundle_sha256).in_(quarter.newest.values())
        )
        upload_ids.update(session.exec(newest))
    return frozenset(upload_ids)


def uploads_of_one_project(
    session: Session,
    project_id: int,
    *,
    open_pull_requests: Collection[int] | None,
    most_changed: int,
) -> frozenset[str]:
    """Return the uploads that the checks and pages of a project read.

    They are the newest checks that gates, machines and costs are computed from, the heads of open
    pull requests, and those with an accepted regression. Without `open_pull_requests`, every pull
    request that is not known to be merged counts as open. `most_changed` is the number of checks
    that the page of costs reads.
    """
    return frozenset(
        (
            *_newest_checks(session, project_id),
            *(one.upload.id for one in changed_uploads(session, project_id, most=most_changed)),
            *_open_heads(session, project_id, open_pull_requests),
            *_accepted_heads(session, project_id),
        )
    )


def _quarters(session: Session) -> Iterator[tuple[datetime, datetime]]:
    """Yield begin and end of each quarter in which something was measured, if reviews accept it."""
    end, last = (_midnight(date(year, 1, 1)) for year in (FIRST_YEAR, LAST_YEAR + 1))
    while True:
        first = session.exec(
            select(UploadRow.measured_at)
            .where(col(UploadRow.measured_at) >= end, col(UploadRow.measured_at) < last)
            .order_by(col(UploadRow.measured_at))
            .limit(1)
        ).one_or_none()
        if first is None:
            return
        quarter = Quarter(first.year, (first.month - 1) // MONTHS + 1)
        end = _midnight(quarter.after.first)
        yield _midnight(quarter.first), end


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _newest_checks(session: Session, project_id: int) -> Iterator[str]:
    """Yield the newest checks: of the project, by arrival and by measurement, and of each class."""
    of_project = (
        col(UploadRow.project_id) == project_id,
        col(UploadRow.status).in_(COUNTED_STATUSES),
        ~IS_IMPORTED,
    )
    arrival = (col(UploadRow.created_at).desc(), col(UploadRow.id))
    yield from session.exec(
        select(UploadRow.id)
        .where(*of_project)
        .order_by(col(UploadRow.measured_at).desc(), col(UploadRow.id))
        .limit(MAX_CHECKS)
    )
    yield from session.exec(
        select(UploadRow.id).where(*of_project, HAS_VERDICTS).order_by(*arrival).limit(MAX_CHECKS)
    )
    ranked = (
        select(
            UploadRow.id,
            func.row_number()
            .over(partition_by=col(EnvironmentRow.machine_class), order_by=arrival)
            .label("rank"),
        )
        .join(EnvironmentRow)
        .where(*of_project, HAS_VERDICTS)
        .subquery()
    )
    yield from session.exec(select(ranked.c.id).where(ranked.c.rank <= MAX_CHECKS))


def _open_heads(
    session: Session, project_id: int, open_pull_requests: Collection[int] | None
) -> Iterator[str]:
    """Yield the uploads of the newest head of each open pull request."""
    number = col(UploadRow.pull_request)
    merged = select(MergeRow.pull_request).where(
        col(MergeRow.project_id) == project_id, col(MergeRow.merged_sha) != ""
    )
    rows = session.exec(
        select(UploadRow.id, UploadRow.pull_request, UploadRow.head_sha)
        .where(col(UploadRow.project_id) == project_id, number.is_not(None), number.not_in(merged))
        .order_by(col(UploadRow.created_at), col(UploadRow.id))
    ).all()
    newest_heads = {pull_request: head_sha for _, pull_request, head_sha in rows}
    for upload_id, pull_request, head_sha in rows:
        is_open = open_pull_requests is None or pull_request in open_pull_requests
        if is_open and newest_heads[pull_request] == head_sha:
            yield upload_id


def _accepted_heads(session: Session, project_id: int) -> Iterator[str]:
    """Yield the uploads of the heads whose regressions somebody accepted."""
    yield from session.exec(
        select(UploadRow.id)
        .join(
            AcceptanceRow,
            and_(
                col(AcceptanceRow.project_id) == col(UploadRow.project_id),
                or_(
                    col(AcceptanceRow.head_sha) == col(UploadRow.head_sha),
                    col(AcceptanceRow.merged_sha) == col(UploadRow.head_sha),
                ),
            ),
        )
        .where(col(UploadRow.project_id) == project_id)
    )
