"""Makes, revokes and authenticates the tokens of projects.

A token is `pl_`, eight characters that identify it, `_`, and a secret of 256 bits. The secret needs
no salt and no slow hash, because 2**256 values cannot be tried.
"""

import hmac
import re
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from sqlalchemy import Engine

from perfledger_service.errors import RefusedError
from perfledger_service.store.database import read_session, write_if_free, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.projects import (
    StoredToken,
    note_token_use,
    revoke_token as store_revocation,
    token_of_prefix,
    tokens,
)
from perfledger_service.values.people.person import Actor, AuditAction
from perfledger_service.values.token_scope import TokenScope

TOKEN = re.compile(r"(pl_[0-9a-f]{8})_[\w-]{43}", re.ASCII)
# Writing each time would slow down every request.
USE_NOTED_EVERY = timedelta(hours=1)
SECRET_BYTES = 32  # too many to guess
PREFIX_BYTES = 4  # shown in lists, to tell tokens apart


def new_token() -> str:
    """Return a fresh random token."""
    return f"pl_{secrets.token_hex(PREFIX_BYTES)}_{secrets.token_urlsafe(SECRET_BYTES)}"


def revoke_token(engine: Engine, prefix: str, *, actor: Actor | None = None, now: datetime) -> None:
    """Revoke the token with this prefix; raise NotFoundError for an unknown one.

    With an `actor`, the audit log records who revoked it.
    """
    with write_session(engine) as session:
        stored = token_of_prefix(session, prefix)
        is_revoked = store_revocation(session, prefix, now=now)
        if is_revoked and stored is not None and actor is not None:
            project_id = stored.project.id
            add_audit_entry(
                session,
                AuditAction.REVOKE_TOKEN,
                actor,
                project_id=project_id,
                detail=prefix,
                now=now,
            )
        session.commit()


def list_tokens(engine: Engine) -> tuple[StoredToken, ...]:
    """Return the tokens of all projects: prefixes and dates, never the tokens."""
    with read_session(engine) as session:
        return tokens(session)


def valid_token(engine: Engine, token: str, *, now: datetime, scope: TokenScope) -> StoredToken:
    """Return the stored token whose hash matches; raise RefusedError (401) for any other text.

    Raises RefusedError (403) if the token's scope is less than `scope`.
    """
    match = TOKEN.fullmatch(token)
    with read_session(engine) as session:
        stored = token_of_prefix(session, match[1]) if match else None
    # Compared in every case, so that the time taken does not reveal which prefixes exist.
    is_same = hmac.compare_digest(token_hash(token), stored.sha256 if stored else token_hash(""))
    if stored is None or not is_same or stored.revoked_at is not None:
        msg = "no valid project token: send `Authorization: Bearer pl_…`"
        raise RefusedError(msg, status=401)
    if stored.expires_at is not None and now >= stored.expires_at:
        msg = f"the token {stored.prefix}_… expired: make another one"
        raise RefusedError(msg, status=401)
    if not stored.scope.includes(scope):
        msg = f"the token {stored.prefix}_… may only {stored.scope}: use one that may {scope}"
        raise RefusedError(msg)
    if stored.used_at is None or now - stored.used_at >= USE_NOTED_EVERY:
        write_if_free(engine, lambda session: note_token_use(session, stored.prefix, now=now))
    return stored


def token_name(token: str) -> str:
    """Return the part of a token that may be displayed."""
    match = TOKEN.fullmatch(token)
    return match[1] if match else ""


def token_hash(token: str) -> str:
    """Return the hash under which a token is stored."""
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
