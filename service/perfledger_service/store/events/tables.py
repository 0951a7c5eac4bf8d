"""Defines the tables of events."""

from datetime import date, datetime

from sqlalchemy import Index, Text
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class TrackedEventRow(StoreRow, table=True):
    """An event with its state; `content` is a TrackedEvent as MessagePack.

    The other columns are those that are searched.
    """

    __table_args__ = (Index(None, "project_id", "state"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    state: str
    until: date | None = None
    pull_request: int | None = None
    opened_at: datetime = Field(sa_type=UtcTime)
    changed_at: datetime = Field(sa_type=UtcTime)
    content: bytes


class EventNoteRow(StoreRow, table=True):
    """One entry of an event's history; only retention removes rows.

    As an author, "" stands for the measurements.
    """

    id: int | None = Field(default=None, primary_key=True)
    event_id: int = Field(foreign_key="tracked_event.id", index=True)
    noted_at: datetime = Field(sa_type=UtcTime)
    author: str
    state: str
    note: str = Field(sa_type=Text)


class EventSearchRow(StoreRow, table=True):
    """How many changes a project's history had, and how many of them were searched.

    `content` is the newest stored search, a BranchSearch as MessagePack in the format of `version`,
    with `content_changes` of the changes: an older version may search without storing.
    """

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    changes: int
    searched: int = 0
    content: bytes | None = None
    content_changes: int = Field(default=0, sa_column_kwargs={"server_default": "0"})
    version: int = Field(default=0, sa_column_kwargs={"server_default": "0"})


class MergeRow(StoreRow, table=True):
    """The commit as which a pull request was merged."""

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    pull_request: int = Field(primary_key=True)
    merged_sha: str = ""
