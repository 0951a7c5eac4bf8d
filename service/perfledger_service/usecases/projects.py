"""A repository's name in, a project with a token out; a token in, its project or a refusal out.

A token is `pl_`, eight characters to tell it from others, `_`, and a secret of 256 bits. The secret
needs no salt and no slow hash: nobody can try 2**256 of them.
"""

import hmac
import re
import secrets
from datetime import datetime
from hashlib import sha256

from sqlalchemy import Engine

from perfledger_service.errors import RefusedError, UsageError
from perfledger_service.store.database import reading, writing
from perfledger_service.store.projects import (
    Project,
    StoredToken,
    add_token,
    project_for,
    projects,
    revoke_token as store_revocation,
    token_of_prefix,
    tokens,
)

TOKEN = re.compile(r"(pl_[0-9a-f]{8})_[\w-]{43}", re.ASCII)
# Owners have at most 39 characters and repositories 100; neither is a path's "." or "..".
REPOSITORY = re.compile(r"(?!\.{1,2}/)[\w.-]{1,39}/(?!\.{1,2}$)[\w.-]{1,100}", re.ASCII)
SECRET_BYTES = 32
PREFIX_BYTES = 4


def new_token() -> str:
    """Return a fresh random token."""
    return f"pl_{secrets.token_hex(PREFIX_BYTES)}_{secrets.token_urlsafe(SECRET_BYTES)}"


def add_project(engine: Engine, repository: str, *, token: str, now: datetime) -> None:
    """Let a repository (owner/name) upload with a token, of which only the hash is stored.

    A repository that is there already has one more token from then on: add the new one, change the
    configuration over, revoke the old one. Raises UsageError for a name that is none.
    """
    match = TOKEN.fullmatch(token)
    if match is None:
        msg = "a project's token is one that `new_token` made"
        raise UsageError(msg)
    if not REPOSITORY.fullmatch(repository):
        msg = f"{repository[:200]!r} is not owner/name, as GitHub writes it"
        raise UsageError(msg)
    with writing(engine) as session:
        project = project_for(session, repository, now=now)
        add_token(session, project, prefix=match[1], sha256=_hash(token), now=now)
        session.commit()


def revoke_token(engine: Engine, prefix: str, *, now: datetime) -> None:
    """Make the token with this prefix useless; raise NotFoundError for an unknown one."""
    with writing(engine) as session:
        store_revocation(session, prefix, now=now)
        session.commit()


def list_projects(engine: Engine) -> tuple[tuple[Project, tuple[StoredToken, ...]], ...]:
    """Return every project with its tokens: prefixes and dates, never the tokens."""
    with reading(engine) as session:
        known = tokens(session)
        return tuple(
            (project, tuple(token for token in known if token.project == project))
            for project in projects(session)
        )


def project_of(engine: Engine, token: str) -> Project:
    """Return the project whose token this is; raise RefusedError (401) for any other text."""
    match = TOKEN.fullmatch(token)
    with reading(engine) as session:
        stored = token_of_prefix(session, match[1]) if match else None
    # Compared even with nothing, so that the time taken does not tell which prefixes there are.
    is_same = hmac.compare_digest(_hash(token), stored.sha256 if stored else _hash(""))
    if stored is None or not is_same or stored.revoked_at is not None:
        msg = "no valid project token: send `Authorization: Bearer pl_…`"
        raise RefusedError(msg, status=401)
    return stored.project


def _hash(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
