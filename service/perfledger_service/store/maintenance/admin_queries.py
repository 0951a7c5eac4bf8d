"""Lists projects with their counts, tokens and waiting uploads, for the administration pages."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from sqlalchemy import or_
from sqlmodel import Session, col, func, select

from perfledger_service.store.maintenance.service_counts import FIRST_MOMENT
from perfledger_service.store.tables import (
    PersonRow,
    ProjectRow,
    SeriesRow,
    TokenRow,
    UploadRow,
)
from perfledger_service.values.people.person import Person
from perfledger_service.values.service_views.admin import (
    ProjectSummary,
    TokenState,
    TokenSummary,
    WaitingUpload,
)
from perfledger_service.values.upload_views import UploadStatus

_Uploads = tuple[int, int, datetime | None]  # their number, failures, and newest arrival
NO_UPLOADS: _Uploads = (0, 0, None)
_PERSON_DECODER = msgspec.json.Decoder(Person)
_TOKEN_DECODER = msgspec.json.Decoder(TokenSummary)
_WAITING_UPLOAD_DECODER = msgspec.json.Decoder(WaitingUpload)


def project_summaries(
    session: Session, *, page: int, size: int, now: datetime
) -> tuple[tuple[ProjectSummary, ...], int]:
    """Return one page of the projects by name, and how many there are."""
    total = session.exec(select(func.count()).select_from(ProjectRow)).one()
    rows = session.exec(
        select(ProjectRow)
        .order_by(col(ProjectRow.repository_key))
        .offset((page - 1) * size)
        .limit(size)
    ).all()
    ids = [row.id for row in rows if row.id is not None]
    uploads = _uploads(session, ids)
    series = _counts(session, SeriesRow, ids)
    tokens = _live_tokens(session, ids, now=now)
    return tuple(
        ProjectSummary(
            repository=row.repository,
            created_at=row.created_at,
            follows_renames=row.actions_repository_id is not None,
            trust_runners=row.trust_runners,
            uploads=uploads.get(row.id, NO_UPLOADS)[0],
            failed=uploads.get(row.id, NO_UPLOADS)[1],
            newest_upload_at=uploads.get(row.id, NO_UPLOADS)[2],
            series=series.get(row.id, 0),
            tokens=tokens.get(row.id, 0),
        )
        for row in rows
    ), total


def waiting_uploads(
    session: Session, *, has_github: bool, most: int
) -> tuple[tuple[WaitingUpload, ...], int]:
    """Return uploads that are not judged, not posted or failed, and their number.

    Without GitHub nothing is posted, so no judged upload waits for it.
    """
    status = col(UploadRow.status)
    is_to_post = (status == UploadStatus.JUDGED) & (col(UploadRow.pull_request) > 0)
    is_waiting = or_(  # each part by an index
        status.in_((UploadStatus.RECEIVED, UploadStatus.FAILED)),
        col(UploadRow.retry_at) > FIRST_MOMENT,
        *((is_to_post,) if has_github else ()),
    )
    # An expression, so that no index applies: with the column's index, SQLite would read all
    # uploads.
    arrival = func.coalesce(col(UploadRow.created_at), col(UploadRow.created_at))
    rows = session.exec(
        select(UploadRow, ProjectRow.repository)
        .join(ProjectRow)
        .where(is_waiting)
        .order_by(arrival, col(UploadRow.id))
        .limit(most)
    )
    uploads = tuple(
        row.to_value(_WAITING_UPLOAD_DECODER, repository=repository) for row, repository in rows
    )
    total = session.exec(select(func.count()).select_from(UploadRow).where(is_waiting)).one()
    return uploads, total


def token_summaries(session: Session, *, now: datetime) -> tuple[TokenSummary, ...]:
    """Return all tokens without their secrets, valid ones first, then by project."""
    rows = session.exec(
        select(TokenRow, ProjectRow.repository, PersonRow)
        .join(ProjectRow)
        .outerjoin(PersonRow, col(PersonRow.id) == col(TokenRow.person_id))
        .order_by(col(ProjectRow.repository_key), col(TokenRow.id))
    )
    summaries = [_token_summary(*row, now=now) for row in rows]
    order = tuple(TokenState)
    return tuple(sorted(summaries, key=lambda one: order.index(one.state)))


def _token_summary(
    row: TokenRow, repository: str, person: PersonRow | None, *, now: datetime
) -> TokenSummary:
    return row.to_value(
        _TOKEN_DECODER,
        repository=repository,
        person="" if person is None else person.to_value(_PERSON_DECODER).name,
        state=_state(row, now=now),
    )


def _state(row: TokenRow, *, now: datetime) -> TokenState:
    if row.revoked_at is not None:
        return TokenState.REVOKED
    is_expired = row.expires_at is not None and row.expires_at <= now
    return TokenState.EXPIRED if is_expired else TokenState.LIVE


def _uploads(session: Session, project_ids: Sequence[int]) -> dict[int | None, _Uploads]:
    """Return the uploads of each project that has any."""
    newest: dict[int | None, _Uploads] = {}
    for project_id, status, number, arrived in session.exec(
        select(UploadRow.project_id, UploadRow.status, func.count(), func.max(UploadRow.created_at))
        .where(col(UploadRow.project_id).in_(project_ids))
        .group_by(col(UploadRow.project_id), col(UploadRow.status))
    ):
        total, failed, last = newest.get(project_id, NO_UPLOADS)
        newest[project_id] = (
            total + number,
            failed + (number if status == UploadStatus.FAILED else 0),
            max(arrived, last or arrived),
        )
    return newest


def _counts(
    session: Session, row: type[SeriesRow], project_ids: Sequence[int]
) -> dict[int | None, int]:
    return dict(
        session.exec(
            select(row.project_id, func.count())
            .where(col(row.project_id).in_(project_ids))
            .group_by(col(row.project_id))
        ).all()
    )


def _live_tokens(
    session: Session, project_ids: Sequence[int], *, now: datetime
) -> dict[int | None, int]:
    return dict(
        session.exec(
            select(TokenRow.project_id, func.count())
            .where(
                col(TokenRow.project_id).in_(project_ids),
                col(TokenRow.revoked_at).is_(None),
                col(TokenRow.expires_at).is_(None) | (col(TokenRow.expires_at) > now),
            )
            .group_by(col(TokenRow.project_id))
        ).all()
    )
