"""Stores the branches that pull requests are to be merged into, and when these changed."""

from datetime import datetime

from sqlmodel import Field, Session

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.uploads import CheckedHead


class PullRequestBaseRow(StoreRow, table=True):
    """The base branch of a pull request, and when it last changed: None if it never did."""

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    pull_request: int = Field(primary_key=True)
    base_ref: str
    changed_at: datetime | None = Field(default=None, sa_type=UtcTime)


def note_base(
    session: Session,
    head: CheckedHead,
    base_ref: str,
    *,
    now: datetime,
    changed_at: datetime | None = None,
) -> None:
    """Record the base branch of a head's pull request; the caller holds the project's lock.

    One that was not known before last changed at `changed_at`, another one now.
    """
    key = (head.project_id, head.pull_request)
    row = session.get(PullRequestBaseRow, key)
    if row is None:
        row = PullRequestBaseRow(
            project_id=key[0], pull_request=key[1], base_ref=base_ref, changed_at=changed_at
        )
    elif row.base_ref != base_ref:
        row.base_ref, row.changed_at = base_ref, now
    session.add(row)
    session.flush()


def base_of(session: Session, head: CheckedHead) -> tuple[str, datetime | None]:
    """Return the base branch of a head's pull request, and when it last changed; "" if unknown."""
    row = session.get(PullRequestBaseRow, (head.project_id, head.pull_request))
    return ("", None) if row is None else (row.base_ref, row.changed_at)
