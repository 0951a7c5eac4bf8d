"""Signs people in and out: the state of a sign-in, and the sessions of browsers.

A browser holds random secrets in cookies; only their hashes are stored. The state of a sign-in is
bound to the browser that began, is used once and for a few minutes. A session has a new secret at
each sign-in, and ends when it is unused, and at the latest after its lifetime.
"""

import hmac
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256
from ipaddress import IPv4Network, IPv6Network

from sqlalchemy import Engine

from perfledger_service.errors import RefusedError
from perfledger_service.github.sign_in import SignInProvider
from perfledger_service.store.database import read_session, write_if_free, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.people.persons import person_by_id, person_for, person_named, persons
from perfledger_service.store.people.sessions import (
    SignInAttempt,
    StoredSession,
    add_attempt,
    add_session,
    end_session,
    end_sessions,
    note_seen,
    session_of_hash,
    take_attempt,
)
from perfledger_service.values.people.person import Actor, AuditAction, Person, PersonProvider

ATTEMPT_LIFETIME = timedelta(minutes=10)
# Between two records of a session's use, so that reading pages does not write each time.
SEEN_STEP = timedelta(minutes=1)
SECRET_BYTES = 32
MAX_NEXT_PATH = 2000
HOME = "/"


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInOptions:
    """How people sign in: with GitHub, or at a proxy, which sends their names in a header.

    `proxy_addresses` are believed; with `is_public` whoever reaches the service reads pages.
    """

    idle: timedelta
    lifetime: timedelta
    github: SignInProvider | None = None
    proxy_header: str = ""
    proxy_addresses: tuple[IPv4Network | IPv6Network, ...] = ()
    is_public: bool = False


@dataclass(frozen=True, slots=True)
class ProvenAccount:
    """An account that a provider vouches for; no renaming changes its subject."""

    provider: PersonProvider
    subject: str
    login: str


@dataclass(frozen=True, slots=True)
class NewAttempt:
    """A sign-in that begins: the browser's new secret, and GitHub's page to go to."""

    browser_secret: str
    url: str


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """A signed-in browser: its person, and the secret in its cookie."""

    person: Person
    secret: str

    @property
    def form_token(self) -> str:
        """Return what its forms send back, which no other site and no other session knows."""
        return hmac.digest(self.secret.encode(), b"perfledger form", "sha256").hex()


def begin_sign_in(
    engine: Engine, github: SignInProvider, *, next_path: str, now: datetime
) -> NewAttempt:
    """Begin to sign a browser in, and then lead it to a page of the service."""
    state, browser_secret = _new_secret(), _new_secret()
    attempt = SignInAttempt(
        state_sha256=_hash(state),
        browser_sha256=_hash(browser_secret),
        next_path=local_path(next_path),
        expires_at=now + ATTEMPT_LIFETIME,
    )
    with write_session(engine) as session:
        add_attempt(session, attempt, now=now)
        session.commit()
    digest = sha256(_verifier(browser_secret, state).encode()).digest()
    url = github.authorize_url(state=state, challenge=_base64(digest))
    return NewAttempt(browser_secret, url)


def finish_sign_in(
    engine: Engine,
    github: SignInProvider,
    *,
    state: str,
    code: str,
    browser_secret: str,
    now: datetime,
) -> tuple[ProvenAccount, str]:
    """Return who signed in, and the page to go to.

    Raises RefusedError for a state that is unknown, used, too old or another browser's, and for a
    code that GitHub does not accept.
    """
    with write_session(engine) as session:
        attempt = take_attempt(session, _hash(state))
        session.commit()
    expected = attempt.browser_sha256 if attempt else _hash("")
    is_same = hmac.compare_digest(_hash(browser_secret), expected)
    if attempt is None or not is_same or now >= attempt.expires_at:
        msg = "this sign-in was not begun in this browser, or too long ago: sign in again"
        raise RefusedError(msg)
    account = github.account(code, verifier=_verifier(browser_secret, state))
    proven = ProvenAccount(PersonProvider.GITHUB, str(account.id), account.login)
    return proven, attempt.next_path


def start_session(
    engine: Engine,
    options: SignInOptions,
    account: ProvenAccount,
    *,
    address: str,
    replaced_secret: str = "",
    now: datetime,
) -> BrowserSession:
    """Start a session of whoever signed in; the browser's earlier one ends."""
    secret = _new_secret()
    with write_session(engine) as session:
        person = person_for(
            session, account.provider, account.subject, login=account.login, now=now
        )
        end_session(session, _hash(replaced_secret))
        stored = StoredSession(
            sha256=_hash(secret),
            person_id=person.id,
            created_at=now,
            seen_at=now,
            expires_at=now + options.lifetime,
        )
        add_session(session, stored)
        add_audit_entry(
            session, AuditAction.SIGN_IN, Actor(name=person.name, address=address), now=now
        )
        session.commit()
    return BrowserSession(person, secret)


def session_of(
    engine: Engine, secret: str, options: SignInOptions, *, now: datetime
) -> BrowserSession | None:
    """Return the session of the secret in a cookie; None for none, and for one that ended."""
    key = _hash(secret)
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
    actor = Actor(name=browser.person.name, address=address)
    with write_session(engine) as session:
        end_session(session, _hash(browser.secret))
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
    """Return all who signed in, by login."""
    with read_session(engine) as session:
        return persons(session)


def local_path(text: str) -> str:
    """Return the path of a page of the service, or the front page's for whatever else it is.

    Browsers take addresses of other hosts from paths with two slashes, backslashes or tabs.
    """
    is_local = text.startswith("/") and not text.startswith("//") and len(text) <= MAX_NEXT_PATH
    is_plain = text.isascii() and text.isprintable() and not set(text) & {"\\", " "}
    return text if is_local and is_plain else HOME


def _verifier(browser_secret: str, state: str) -> str:
    """Return PKCE's verifier, which only the browser's secret leads to: none is stored."""
    return _base64(hmac.digest(browser_secret.encode(), state.encode(), "sha256"))


def _new_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def _hash(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
