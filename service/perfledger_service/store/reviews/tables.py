"""Defines the tables of reviews, to which rows are only added."""

from datetime import date, datetime

from sqlalchemy import Text
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class ReviewRow(StoreRow, table=True):
    """A quarter's review, whose readers are those of a project's own prices.

    `made_on` is the day whose prices it uses, `sheet` their names.
    """

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id", index=True)
    quarter: str
    made_on: date
    title: str = Field(sa_type=Text)
    sheet: str = Field(sa_type=Text)
    decision: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    stored_at: datetime = Field(sa_type=UtcTime)


class ReviewDocumentRow(StoreRow, table=True):
    """A document of a review, gzipped, by its format."""

    review_id: int = Field(foreign_key="review.id", primary_key=True)
    form: str = Field(primary_key=True)
    unpacked_bytes: int
    content: bytes
