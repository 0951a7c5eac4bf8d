"""Stores sessions of signed-in browsers, by hashes of their secrets."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from perfledger_service.store.people.tables import PersonSessionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A browser's session."""

    sha256: str
    person_id: int
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


_SESSION_DECODER = msgspec.json.Decoder(StoredSession)


def add_session(session: Session, stored: StoredSession) -> None:
    """Store a session; those that expired are forgotten."""
    session.exec(
        delete(PersonSessionRow).where(col(PersonSessionRow.expires_at) <= stored.created_at)
    )
    session.add(
        PersonSessionRow(
            sha256=stored.sha256,
            person_id=stored.person_id,
            created_at=stored.created_at,
            seen_at=stored.seen_at,
            expires_at=stored.expires_at,
        )
    )
    session.flush()


def session_of_hash(session: Session, sha256: str) -> StoredSession | None:
    """Return the session whose secret has this hash, None if there is none."""
    row = session.get(PersonSessionRow, sha256)
    return None if row is None else row.to_value(_SESSION_DECODER)


def note_seen(session: Session, sha256: str, *, now: datetime) -> None:
    """Record that a session was used."""
    session.exec(
        update(PersonSessionRow).where(col(PersonSessionRow.sha256) == sha256).values(seen_at=now)
    )


def end_session(session: Session, sha256: str) -> None:
    """Remove a session, if it is there."""
    session.exec(delete(PersonSessionRow).where(col(PersonSessionRow.sha256) == sha256))


def end_sessions(session: Session, person_id: int) -> int:
    """Remove all sessions of a person, and return how many there were."""
    of_person = col(PersonSessionRow.person_id) == person_id
    count = session.exec(select(func.count()).select_from(PersonSessionRow).where(of_person)).one()
    session.exec(delete(PersonSessionRow).where(of_person))
    return count
