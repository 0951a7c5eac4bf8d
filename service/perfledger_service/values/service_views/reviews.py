"""Holds a review of a quarter as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class NewReview:
    """What is known of a review beside its documents; `sheet` names the prices of `made_on`."""

    quarter: str
    made_on: date
    title: str
    sheet: str
    decision: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReview(NewReview):
    """A review of a project, and the bytes of its documents by format."""

    id: int
    repository: str
    stored_at: datetime
    documents: Mapping[str, int]
