"""Stores the branches that pull requests are to be merged into, and when these changed."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlmodel import Field, Session

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow
from perfledger_service.store.uploads import CheckedHead


class PullRequestBaseRow(StoreRow, table=True):
    """The base branch of a pull request, and when it last changed: None if it never did.

    `changed_head` is the pull request's head when that was noticed, "" if it is not known.
    """

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    pull_request: int = Field(primary_key=True)
    base_ref: str
    changed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    changed_head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownBase:
    """The base branch of a pull request, when it last changed, and at which head; "" if unknown."""

    base_ref: str = ""
    changed_at: datetime | None = None
    changed_head: str = ""


_KNOWN_BASE_DECODER = msgspec.json.Decoder(KnownBase)


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
            project_id=key[0],
            pull_request=key[1],
            base_ref=base_ref,
            changed_at=changed_at,
            changed_head="" if changed_at is None else head.head_sha,
        )
    elif row.base_ref != base_ref:
        row.base_ref, row.changed_at, row.changed_head = base_ref, now, head.head_sha
    session.add(row)
    session.flush()


def note_head_of_change(session: Session, head: CheckedHead) -> None:
    """Record a head as that at which the base changed if only the time of the change is known."""
    row = session.get(PullRequestBaseRow, (head.project_id, head.pull_request))
    if row is not None and row.changed_at is not None and not row.changed_head:
        row.changed_head = head.head_sha
        session.add(row)
        session.flush()


def base_of(session: Session, head: CheckedHead) -> KnownBase:
    """Return the base branch of a head's pull request, as far as it is known."""
    row = session.get(PullRequestBaseRow, (head.project_id, head.pull_request))
    return KnownBase() if row is None else row.to_value(_KNOWN_BASE_DECODER)
