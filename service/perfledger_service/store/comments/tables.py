"""Defines the tables of commands in comments."""

from datetime import date, datetime

from sqlalchemy import BigInteger, Index, Text, UniqueConstraint
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class ApprovalRow(StoreRow, table=True):
    """An approver's approval of a commit's cost: rows are added and never changed.

    `comment_id` is GitHub's id of the comment; the amount is stored as written.
    """

    __table_args__ = (
        UniqueConstraint("project_id", "comment_id"),
        Index(None, "project_id", "pull_request", "head_sha"),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    comment_id: int = Field(sa_type=BigInteger)
    login: str
    is_author: bool
    usd_per_year: str
    covers_unpriced: bool
    reason: str = Field(sa_type=Text)
    approved_at: datetime = Field(sa_type=UtcTime)
    until: date


class AcceptanceRow(StoreRow, table=True):
    """A maintainer's acceptance of a workload's regression, or ("") of all of a commit's result."""

    __table_args__ = (UniqueConstraint("project_id", "comment_id"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    comment_id: int = Field(sa_type=BigInteger)
    login: str
    workload: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    accepted_at: datetime = Field(sa_type=UtcTime)
    until: date | None = None
    merged_sha: str = ""


class CommentCommandRow(StoreRow, table=True):
    """A command in a comment under a pull request, with its answer; rows are never removed.

    `edition` counts how often the answer changed after it was given.
    """

    __table_args__ = (UniqueConstraint("project_id", "comment_id"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    comment_id: int = Field(sa_type=BigInteger)
    login: str
    author: str
    line: str = Field(sa_type=Text)
    received_at: datetime = Field(sa_type=UtcTime)
    status: str = Field(default="received", index=True)
    answer: str = Field(default="", sa_type=Text)
    edition: int = 0


class CommandJobRow(StoreRow, table=True):
    """A command's request to runners of a machine class: a job, or ("") why there is none."""

    command_id: int = Field(foreign_key="comment_command.id", primary_key=True)
    machine_class: str = Field(primary_key=True)
    job_id: str | None = Field(default=None, foreign_key="runner_job.id", index=True)
    problem: str = Field(default="", sa_type=Text)


class ForkPermissionRow(StoreRow, table=True):
    """A head of a fork's pull request that runners may run, from `allowed_at` until `revoked_at`.

    A push revokes the previous head, even one that was not allowed yet.
    """

    __table_args__ = (UniqueConstraint("project_id", "pull_request", "head_sha"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    pull_request: int
    head_sha: str
    login: str
    allowed_at: datetime | None = Field(default=None, sa_type=UtcTime)
    revoked_at: datetime | None = Field(default=None, sa_type=UtcTime)
