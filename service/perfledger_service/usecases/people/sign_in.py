"""Signs people in and out: the sessions of browsers.

A browser holds a random secret in a cookie; only its hash is stored. A session gets a new secret at
each sign-in, and ends when unused for a while, at the latest after its lifetime.
"""

import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from ipaddress import IPv4Network, IPv6Network

from sqlalchemy import Engine

from perfledger_service.github.sign_in import SignInProvider
from perfledger_service.store.database import read_session, write_if_free, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.people.persons import person_by_id, person_for, person_named, persons
from perfledger_service.store.people.sessions import (
    StoredSession,
    add_session,
    end_session,
    end_sessions,
    note_seen,
    session_of_hash,
)
from perfledger_service.usecases.server.token import SECRET_BYTES, token_hash
from perfledger_service.values.people.person import Actor, AuditAction, Person, PersonProvider

# Between two records of a session's use, so that not every page read writes.
SEEN_STEP = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOptions:
    """How people sign in: with GitHub, or at a proxy that sends their names in a header.

    `proxy_addresses` are trusted; with `is_public` anyone who reaches the service can read pages.
    """

    idle: timedelta
    lifetime: timedelta
    github: SignInProvider | None = None
    proxy_header: str = ""
    proxy_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class ProvenAccount:
    """An account that a provider vouches for; its subject survives renaming."""

    provider: PersonProvider
    subject: str
    login: str


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser: its person, and the secret in its cookie."""

    person: Person
    secret: str

    @property
    def form_token(self) -> str:
        """Return the value that its forms send back, unknown to other sites and sessions."""
        return hmac.digest(self.secret.encode(), b"perfledger form", "sha256").hex()


def start_session(
    engine: Engine,
    options: SignInOptions,
    account: ProvenAccount,
    *,
    address: str,
    replaced_secret: str = "",
    now: datetime,
) -> BrowserSession:
    """Start a session for a signed-in person; the browser's earlier one ends."""
    secret = new_secret()
    with write_session(engine) as session:
        person = person_for(
            session, account.provider, account.subject, login=account.login, now=now
        )
        end_session(session, token_hash(replaced_secret))
        stored = StoredSession(
            sha256=token_hash(secret),
            person_id=person.id,
            created_at=now,
            seen_at=now,
            expires_at=now + options.lifetime,
        )
        add_session(session, stored)
        add_audit_entry(session, AuditAction.SIGN_IN, person.actor(address), now=now)
        session.commit()
    return BrowserSession(person, secret)


def session_of(
    engine: Engine, secret: str, options: SignInOptions, *, now: datetime
) -> BrowserSession | None:
    """Return the session of a cookie's secret; None for none, and for one that ended."""
    key = token_hash(secret)
    with read_session(engine) as session:
        stored = session_of_hash(session, key)
        if stored is None or now >= min(stored.expires_at, stored.seen_at + options.idle):
            return None
        person = person_by_id(session, stored.person_id)
    if now - stored.seen_at >= SEEN_STEP:
        write_if_free(engine, partial(note_seen, sha256=key, now=now))
    return BrowserSession(person, secret)


def sign_out(engine: Engine, browser: BrowserSession, *, address: str, now: datetime) -> None:
    """End the session of a browser."""
    actor = browser.person.actor(address)
    with write_session(engine) as session:
        end_session(session, token_hash(browser.secret))
        add_audit_entry(session, AuditAction.SIGN_OUT, actor, now=now)
        session.commit()


def sign_out_everywhere(engine: Engine, name: str, *, actor: Actor, now: datetime) -> int:
    """End all sessions of a person; return how many there were, or raise NotFoundError."""
    with write_session(engine) as session:
        person = person_named(session, name)
        count = end_sessions(session, person.id)
        detail = f"{person.name} everywhere"
        add_audit_entry(session, AuditAction.SIGN_OUT, actor, detail=detail, now=now)
        session.commit()
    return count


def list_persons(engine: Engine) -> tuple[Person, ...]:
    """Return everyone who has signed in, by login."""
    with read_session(engine) as session:
        return persons(session)


def new_secret() -> str:
    """Return a fresh random secret."""
    return secrets.token_urlsafe(SECRET_BYTES)
