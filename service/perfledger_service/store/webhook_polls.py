"""Stores until when GitHub's deliveries were read, and what was found there."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import update
from sqlmodel import Session, col

from perfledger_service.store.tables import WebhookPollRow, add_if_new

# There is one App, and so one row.
_ONLY = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookPoll:
    """What the polls of GitHub's deliveries found so far.

    `redelivered` counts all repetitions that were asked for, `abandoned` the events of the last
    poll that too many of them did not deliver, `failures` the polls in a row that failed.
    """

    read_until: datetime
    due_at: datetime
    polled_at: datetime | None
    failures: int
    redelivered: int
    abandoned: int
    problem: str


_WEBHOOK_POLL_DECODER = msgspec.json.Decoder(WebhookPoll)


def webhook_poll(session: Session) -> WebhookPoll | None:
    """Return what the polls found so far, None before the first."""
    row = session.get(WebhookPollRow, _ONLY)
    return None if row is None else row.to_value(_WEBHOOK_POLL_DECODER)


def claim_poll(session: Session, *, due_at: datetime, now: datetime) -> WebhookPoll | None:
    """Take a poll that is due, and let the next be due later; None where none is, or another did.

    The first is about what comes from now on.
    """
    first = {"id": _ONLY, "read_until": now, "due_at": now, "problem": ""}
    add_if_new(session, WebhookPollRow, first)
    claimed = session.exec(
        update(WebhookPollRow)
        .where(col(WebhookPollRow.id) == _ONLY, col(WebhookPollRow.due_at) <= now)
        .values(due_at=due_at)
    )
    return webhook_poll(session) if claimed.rowcount else None


def save_poll(session: Session, poll: WebhookPoll) -> None:
    """Store what a poll found."""
    values = {name: getattr(poll, name) for name in WebhookPoll.__dataclass_fields__}
    session.exec(update(WebhookPollRow).where(col(WebhookPollRow.id) == _ONLY).values(**values))
