"""Defines the tables of what retention removed."""

from datetime import datetime

from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class RemovalRow(StoreRow, table=True):
    """A part of an upload that was removed; `rows` is its number of observations, or 0."""

    upload_id: str = Field(foreign_key="upload.id", primary_key=True)
    part: str = Field(primary_key=True)
    removed_at: datetime = Field(sa_type=UtcTime)
    kept_days: int
    rows: int = 0


class EventRemovalRow(StoreRow, table=True):
    """An event that was removed, by its number, which links in notices and comments still have."""

    event_id: int = Field(primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    removed_at: datetime = Field(sa_type=UtcTime)
    kept_days: int
