"""Defines the tables of notices and where they go."""

from datetime import datetime

from sqlalchemy import Index, Text, UniqueConstraint
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class NoticeTargetRow(StoreRow, table=True):
    """Where a project's notices go; a webhook is named, and its URL is a setting."""

    __table_args__ = (UniqueConstraint("project_id", "channel", "address"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    channel: str
    address: str = ""
    is_early: bool = False
    is_weekly: bool = False
    hourly: int
    created_at: datetime = Field(sa_type=UtcTime)


class NoticeRow(StoreRow, table=True):
    """A notice to a target; `key` says what it is about, and a target has it once.

    Its event and its upload may be gone, as they have their own retention periods. Its number names
    its work and its messages, so a removed notice's number is never reused.
    """

    __table_args__ = (
        UniqueConstraint("target_id", "key"),
        Index(None, "project_id", "status"),
        {"sqlite_autoincrement": True},
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    target_id: int = Field(foreign_key="notice_target.id")
    key: str
    subject: str
    status: str
    edition: int = 1
    queued_at: datetime = Field(sa_type=UtcTime)
    sent_at: datetime | None = Field(default=None, sa_type=UtcTime)
    event_id: int | None = Field(default=None, index=True)
    upload_id: str = ""
    count: int = 0
    cause: str = Field(default="", sa_type=Text)
    reference: str = ""
    problem: str = Field(default="", sa_type=Text)
