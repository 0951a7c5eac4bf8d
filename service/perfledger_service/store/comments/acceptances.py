"""Stores accepted regressions of pull requests."""

import msgspec
from sqlalchemy import ColumnElement, update
from sqlmodel import Session, col, select

from perfledger_service.store.comments.tables import AcceptanceRow
from perfledger_service.store.events.merges import merged_sha_of
from perfledger_service.values.acceptance import Acceptance

# Per pull request; also the most rows on a project's page, newest first.
MAX_ACCEPTANCES = 100
MAX_LISTED = 200


_ACCEPTANCE_DECODER = msgspec.json.Decoder(Acceptance)


def add_acceptance(
    session: Session, project_id: int, acceptance: Acceptance, *, comment_id: int
) -> bool:
    """Store an acceptance, once for each comment; return whether it is stored.

    If its pull request has been merged, it names the merged commit. The caller holds the project's
    lock.
    """
    rows = session.exec(
        select(AcceptanceRow.comment_id).where(
            col(AcceptanceRow.project_id) == project_id,
            col(AcceptanceRow.pull_request) == acceptance.pull_request,
        )
    ).all()
    if comment_id in rows:
        return True
    if len(rows) >= MAX_ACCEPTANCES:
        return False
    session.add(
        AcceptanceRow(
            project_id=project_id,
            comment_id=comment_id,
            pull_request=acceptance.pull_request,
            head_sha=acceptance.head_sha,
            login=acceptance.login,
            workload=acceptance.workload,
            reason=acceptance.reason,
            accepted_at=acceptance.accepted_at,
            until=acceptance.until,
            merged_sha=merged_sha_of(session, project_id, acceptance.pull_request),
        )
    )
    session.flush()
    return True


def acceptances_of(
    session: Session, project_id: int, pull_request: int | None
) -> tuple[Acceptance, ...]:
    """Return the acceptances of a pull request, oldest first."""
    if pull_request is None:
        return ()
    is_of = col(AcceptanceRow.pull_request) == pull_request
    return tuple(reversed(_newest(session, project_id, is_of, most=MAX_ACCEPTANCES)))


def acceptances_of_project(session: Session, project_id: int) -> tuple[Acceptance, ...]:
    """Return a project's newest acceptances, newest first."""
    return _newest(session, project_id, most=MAX_LISTED)


def set_merged(session: Session, project_id: int, pull_request: int, merged_sha: str) -> None:
    """Record the commit as which a pull request with acceptances was merged."""
    session.exec(
        update(AcceptanceRow)
        .where(
            col(AcceptanceRow.project_id) == project_id,
            col(AcceptanceRow.pull_request) == pull_request,
        )
        .values(merged_sha=merged_sha)
    )


def _newest(
    session: Session, project_id: int, *conditions: ColumnElement[bool], most: int
) -> tuple[Acceptance, ...]:
    rows = session.exec(
        select(AcceptanceRow)
        .where(col(AcceptanceRow.project_id) == project_id, *conditions)
        .order_by(col(AcceptanceRow.id).desc())
        .limit(most)
    )
    return tuple(row.to_value(_ACCEPTANCE_DECODER) for row in rows)
