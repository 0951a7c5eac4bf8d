"""Makes, lists and revokes people's own tokens, which never do more than the person may.

A token is for one project, and expires. Its rights are decided at each request, by the person's
role at that time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Engine

from perfledger_service.errors import NotFoundError, RefusedError, UsageError
from perfledger_service.github.account_permissions import AccountPermissions
from perfledger_service.store.database import read_session, write_session
from perfledger_service.store.people.audit import add_audit_entry
from perfledger_service.store.people.persons import person_by_id
from perfledger_service.store.projects import (
    Project,
    StoredToken,
    add_token,
    no_project,
    project_named,
    revoke_token as store_revocation,
    tokens,
)
from perfledger_service.usecases.people.roles import roles_of
from perfledger_service.usecases.server.token import new_token, token_hash, token_name, valid_token
from perfledger_service.values.people.person import AuditAction, Person, PersonalToken, Role
from perfledger_service.values.token_scope import TokenScope

MAX_PERSONAL_DAYS = 366  # until a person's own token expires
MAX_PERSONAL_TOKENS = 100  # per person, without those that are revoked or expired
# The role that each scope needs.
ROLE_OF_SCOPE = {
    TokenScope.READ: Role.VIEWER,
    TokenScope.UPLOAD: Role.MAINTAINER,
    TokenScope.MAINTAIN: Role.MAINTAINER,
}


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """The project that a token acts for, and the name under which its actions are recorded.

    `account` is its person's GitHub account, "" for a project's token.
    """

    project: Project
    name: str
    account: str = ""


def make_personal_token(
    engine: Engine,
    person: Person,
    repository: str,
    *,
    roles: Mapping[int, Role],
    scope: TokenScope,
    days: int,
    address: str,
    now: datetime,
) -> str:
    """Return a new token of a person for a project; only its hash is stored.

    Raises NotFoundError for a project that the person may not view, RefusedError for a scope beyond
    the person's role, and UsageError for a lifetime or a number of tokens beyond the limits.
    """
    if not 1 <= days <= MAX_PERSONAL_DAYS:
        msg = f"a token of a person ends after 1 to {MAX_PERSONAL_DAYS} days: give fewer"
        raise UsageError(msg)
    token = new_token()
    prefix = token_name(token)
    with write_session(engine) as session:
        project = project_named(session, repository)
        role = roles.get(project.id)
        if role is None:
            raise no_project(repository)
        if not role.includes(ROLE_OF_SCOPE[scope]):
            msg = f"a token that may {scope} needs the role {ROLE_OF_SCOPE[scope]} in {repository}"
            raise RefusedError(msg)
        live = [one for one in tokens(session, person_id=person.id) if _is_live(one, now=now)]
        if len(live) >= MAX_PERSONAL_TOKENS:
            msg = f"you have {len(live)} tokens, the maximum: revoke one"
            raise UsageError(msg)
        add_token(
            session,
            project,
            prefix=prefix,
            sha256=token_hash(token),
            scope=scope,
            expires_at=now + timedelta(days=days),
            person_id=person.id,
            now=now,
        )
        add_audit_entry(
            session,
            AuditAction.MAKE_TOKEN,
            person.actor(address),
            project_id=project.id,
            detail=f"{prefix} that may {scope}, for {days} days",
            now=now,
        )
        session.commit()
    return token


def personal_tokens(engine: Engine, person: Person, *, now: datetime) -> tuple[PersonalToken, ...]:
    """Return a person's tokens, including revoked and expired ones."""
    with read_session(engine) as session:
        return tuple(
            PersonalToken(
                prefix=one.prefix,
                repository=one.project.repository,
                scope=one.scope,
                created_at=one.created_at,
                expires_at=one.expires_at,
                is_live=_is_live(one, now=now),
            )
            for one in tokens(session, person_id=person.id)
        )


def revoke_personal_token(
    engine: Engine, person: Person, prefix: str, *, address: str, now: datetime
) -> None:
    """Revoke a person's own token; raise NotFoundError for any other."""
    with write_session(engine) as session:
        own_tokens = {one.prefix: one for one in tokens(session, person_id=person.id)}
        if prefix not in own_tokens:
            msg = f"you have no token {prefix[:20]!r}"
            raise NotFoundError(msg)
        if store_revocation(session, prefix, now=now):
            add_audit_entry(
                session,
                AuditAction.REVOKE_TOKEN,
                person.actor(address),
                project_id=own_tokens[prefix].project.id,
                detail=prefix,
                now=now,
            )
        session.commit()


def token_holder(
    engine: Engine,
    token: str,
    permissions: AccountPermissions | None,
    *,
    scope: TokenScope,
    now: datetime,
) -> TokenHolder:
    """Return whom a token acts for; raise RefusedError (401) for an invalid token.

    Raises RefusedError (403) if the token's scope, or its person's current role, is less than
    `scope` needs.
    """
    stored = valid_token(engine, token, now=now, scope=scope)
    if stored.person_id is None:
        return TokenHolder(stored.project, stored.prefix)
    with read_session(engine) as session:
        person = person_by_id(session, stored.person_id)
    repository = stored.project.repository
    roles = roles_of(engine, person, permissions, repository=repository, now=now)
    role = roles.get(stored.project.id)
    if role is None or not role.includes(ROLE_OF_SCOPE[scope]):
        msg = f"the token {stored.prefix}_… is a person's who may not {scope} in this project"
        raise RefusedError(msg)
    return TokenHolder(stored.project, f"{person.name} ({stored.prefix})", person.account)


def _is_live(token: StoredToken, *, now: datetime) -> bool:
    """Return whether a token is neither revoked nor expired."""
    return token.revoked_at is None and (token.expires_at is None or now < token.expires_at)
