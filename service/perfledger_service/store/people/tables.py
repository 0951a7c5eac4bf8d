"""Defines the tables of people's sessions, roles and deeds; people themselves own tokens, too."""

from datetime import datetime

from sqlalchemy import Text
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class PersonSessionRow(StoreRow, table=True):
    """A signed-in browser, by the hash of the secret in its cookie."""

    sha256: str = Field(primary_key=True)
    person_id: int = Field(foreign_key="person.id", index=True)
    created_at: datetime = Field(sa_type=UtcTime)
    seen_at: datetime = Field(sa_type=UtcTime)
    expires_at: datetime = Field(sa_type=UtcTime, index=True)


class RepositoryRoleRow(StoreRow, table=True):
    """A person's role by the repository's permissions on GitHub; "" is none.

    `asked_at` is when GitHub was last asked, `checked_at` when it last answered, NULL for never.
    """

    person_id: int = Field(foreign_key="person.id", primary_key=True)
    project_id: int = Field(foreign_key="project.id", primary_key=True)
    role: str
    asked_at: datetime = Field(sa_type=UtcTime)
    checked_at: datetime | None = Field(default=None, sa_type=UtcTime)


class RoleGrantRow(StoreRow, table=True):
    """A role that a person was granted in a project, besides what GitHub says."""

    person_id: int = Field(foreign_key="person.id", primary_key=True)
    project_id: int = Field(foreign_key="project.id", primary_key=True)
    role: str
    granted_by: str
    granted_at: datetime = Field(sa_type=UtcTime)


class AuditEntryRow(StoreRow, table=True):
    """What somebody did: only retention removes rows.

    `project_id` is NULL for what is about no project. `account` is GitHub's number of the actor's
    account, "" for others and in older rows.
    """

    id: int | None = Field(default=None, primary_key=True)
    noted_at: datetime = Field(sa_type=UtcTime)
    actor: str
    account: str = Field(default="", sa_column_kwargs={"server_default": ""})
    action: str
    project_id: int | None = Field(default=None, foreign_key="project.id", index=True)
    detail: str = Field(sa_type=Text)
    address: str
