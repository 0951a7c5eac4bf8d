"""Stores sign-ins that began and sessions of signed-in browsers, by hashes of their secrets."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from sqlalchemy import delete, func, update
from sqlmodel import Session, col, select

from perfledger_service.store.people.people_tables import PersonSessionRow, SignInAttemptRow

# Sign-ins at a time that have not ended: the oldest of more than these have to begin again.
MAX_ATTEMPTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A browser's session."""

    sha256: str
    person_id: int
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """A sign-in that began; `next_path` is the page that it leads to."""

    state_sha256: str
    browser_sha256: str
    next_path: str
    expires_at: datetime


_SESSION_DECODER = msgspec.json.Decoder(StoredSession)
_ATTEMPT_DECODER = msgspec.json.Decoder(SignInAttempt)


def add_attempt(session: Session, attempt: SignInAttempt, *, now: datetime) -> None:
    """Store a sign-in that begins; those that ended, and the oldest of too many, are forgotten."""
    session.exec(delete(SignInAttemptRow).where(col(SignInAttemptRow.expires_at) <= now))
    count = session.exec(select(func.count()).select_from(SignInAttemptRow)).one()
    if count >= MAX_ATTEMPTS:
        oldest = (
            select(SignInAttemptRow.state_sha256)
            .order_by(col(SignInAttemptRow.expires_at))
            .limit(count - MAX_ATTEMPTS + 1)
        )
        session.exec(delete(SignInAttemptRow).where(col(SignInAttemptRow.state_sha256).in_(oldest)))
    session.add(
        SignInAttemptRow(
            state_sha256=attempt.state_sha256,
            browser_sha256=attempt.browser_sha256,
            next_path=attempt.next_path,
            expires_at=attempt.expires_at,
        )
    )
    session.flush()


def take_attempt(session: Session, state_sha256: str) -> SignInAttempt | None:
    """Remove and return a sign-in that began; None for one that is unknown, or was taken."""
    row = session.get(SignInAttemptRow, state_sha256, with_for_update=True)
    if row is None:
        return None
    attempt = row.to_value(_ATTEMPT_DECODER)
    session.delete(row)
    session.flush()
    return attempt


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
