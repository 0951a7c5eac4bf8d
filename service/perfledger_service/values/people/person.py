"""Holds people as the service knows them: persons, their roles, and their actions."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger_service.values.token_scope import TokenScope


class PersonProvider(StrEnum):
    """Provider that vouches for a person: GitHub, or the proxy in front of the service."""

    GITHUB = "github"
    PROXY = "proxy"


class Role(StrEnum):
    """What a person may do in a project; each role includes those before it."""

    VIEWER = "viewer"
    MAINTAINER = "maintainer"
    ADMIN = "admin"

    def includes(self, role: "Role") -> bool:
        """Return whether a person with this role may do what a role allows."""
        roles = tuple(Role)
        return roles.index(role) <= roles.index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A person who signed in; `subject`, GitHub's number of the account, survives renaming.

    For a proxy's people it is the name that the proxy sends, as is the login.
    """

    id: int
    provider: PersonProvider
    subject: str
    login: str

    @property
    def name(self) -> str:
        """Return the name by which commands, pages and the audit log know a person."""
        return self.login if self.provider is PersonProvider.GITHUB else f"proxy:{self.login}"

    @property
    def account(self) -> str:
        """Return the account's number at GitHub, "" if a proxy vouches for the person."""
        return self.subject if self.provider is PersonProvider.GITHUB else ""

    def actor(self, address: str) -> "Actor":
        """Return the person as who does something."""
        return Actor(name=self.name, account=self.account, address=address)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectRole:
    """A person's role in a project that an admin or the operator granted."""

    person: str
    repository: str
    role: Role
    granted_by: str
    granted_at: datetime


class AuditAction(StrEnum):
    """Action of a person."""

    SIGN_IN = "sign in"
    SIGN_OUT = "sign out"
    SET_EVENT = "set event"
    QUARANTINE_DEVICE = "quarantine device"
    RELEASE_DEVICE = "release device"
    QUEUE_JOBS = "queue jobs"
    MAKE_TOKEN = "make token"  # noqa: S105 - an action, no token
    REVOKE_TOKEN = "revoke token"  # noqa: S105 - an action, no token
    GRANT_ROLE = "grant role"
    REVOKE_ROLE = "revoke role"
    CHANGE_PROJECT = "change project"
    RETRY_UPLOAD = "retry upload"
    REMOVE_DATA = "remove data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """The actor of an action, and the network address of the request, "" for a command.

    `account` is the number of a person's account at GitHub, which no renaming changes, else "".
    """

    name: str
    account: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What somebody did, when, where and from which address."""

    id: int
    noted_at: datetime
    actor: str
    account: str  # at GitHub, "" for none
    action: AuditAction
    repository: str | None  # None: not about one project
    detail: str
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalToken:
    """A person's own token for a project, without its secret."""

    prefix: str
    repository: str
    scope: TokenScope
    created_at: datetime
    expires_at: datetime | None
    is_live: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountView:
    """A person who is signed in, their roles by repository, and their tokens."""

    person: Person
    form_token: str
    roles: tuple[tuple[str, Role], ...]
    tokens: tuple[PersonalToken, ...]
    max_days: int
