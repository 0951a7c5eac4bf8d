"""Stores merge groups: the commits on which a merge queue has pull requests checked."""

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime

import msgspec
from sqlalchemy import UniqueConstraint, update
from sqlmodel import Field, Session, col, select

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow, add_if_new

MERGED = "merged"  # the ending of a group whose commit is on its branch since


class MergeGroupRow(StoreRow, table=True):
    """A merge group by its head commit; `ending` is why GitHub ended it, "" until then.

    `pull_request` is the one that names its branch, the last of the group.
    """

    __table_args__ = (UniqueConstraint("project_id", "head_sha"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    head_sha: str
    base_sha: str
    pull_request: int
    ending: str = ""
    created_at: datetime = Field(sa_type=UtcTime)


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeGroup:
    """The head of a merge group, the commit that it is compared with, and its last pull request."""

    head_sha: str
    base_sha: str
    pull_request: int
    ending: str = ""


_MERGE_GROUP_DECODER = msgspec.json.Decoder(MergeGroup)


def put_merge_group(session: Session, project_id: int, group: MergeGroup, *, now: datetime) -> None:
    """Store a merge group; the same commit again updates the group's ending, if it has one."""
    add_if_new(
        session, MergeGroupRow, {"project_id": project_id, **asdict(group), "created_at": now}
    )
    if not group.ending:  # the caller may have seen the group late: its ending stays
        return
    session.exec(
        update(MergeGroupRow)
        .where(
            col(MergeGroupRow.project_id) == project_id,
            col(MergeGroupRow.head_sha) == group.head_sha,
        )
        .values(ending=group.ending)
    )


def merge_group(session: Session, project_id: int, head_sha: str) -> MergeGroup | None:
    """Return the merge group with a head commit, None if there is none."""
    row = session.exec(
        select(MergeGroupRow).where(
            col(MergeGroupRow.project_id) == project_id, col(MergeGroupRow.head_sha) == head_sha
        )
    ).first()
    return None if row is None else row.to_value(_MERGE_GROUP_DECODER)


def unmerged_heads(session: Session, project_id: int, shas: Collection[str]) -> frozenset[str]:
    """Return which of some commits are heads of merge groups and not known to be merged."""
    return frozenset(
        session.exec(
            select(MergeGroupRow.head_sha).where(
                col(MergeGroupRow.project_id) == project_id,
                col(MergeGroupRow.head_sha).in_(shas),
                col(MergeGroupRow.ending) != MERGED,
            )
        )
    )
