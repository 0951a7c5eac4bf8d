"""Defines the tables of the queue for runners."""

from datetime import datetime

from sqlalchemy import Text, UniqueConstraint
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class RunnerJobRow(StoreRow, table=True):
    """A job of the queue for runners; only retention removes rows.

    `key` says what it is for: a job requested again is the same job. `workloads` is a JSON list.
    While `state` is "leased", `lease` is what its runner shows until `lease_expires_at`. `device_s`
    are the device-seconds that all its attempts held, `devices` how many the newest one holds at a
    time; `upload_id` is its result. `for_runner` is the only runner that may take it.
    """

    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: str = Field(primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    key: str
    kind: str
    machine_class: str
    base_sha: str = ""
    head_sha: str = ""
    pull_request: int | None = None
    allows_fork: bool = False
    workloads: str = Field(default="[]", sa_type=Text)
    max_pairs: int | None = None
    metric: str = ""
    for_runner: str = Field(default="", sa_column_kwargs={"server_default": ""})
    requested_by: str = ""
    state: str = Field(index=True)
    runner: str = ""
    lease: str = ""
    lease_expires_at: datetime | None = Field(default=None, sa_type=UtcTime)
    taken_at: datetime | None = Field(default=None, sa_type=UtcTime)
    attempts: int = 0
    reason: str = Field(default="", sa_type=Text)
    device_s: float = 0.0
    devices: int = 1
    upload_id: str | None = Field(default=None, foreign_key="upload.id")
    created_at: datetime = Field(sa_type=UtcTime)
    due_at: datetime = Field(sa_type=UtcTime)
    finished_at: datetime | None = Field(default=None, sa_type=UtcTime)


class RunnerRow(StoreRow, table=True):
    """A machine class that a runner measures on, and when it last asked for a job."""

    __table_args__ = (UniqueConstraint("project_id", "name", "machine_class"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    name: str
    machine_class: str
    seen_at: datetime = Field(sa_type=UtcTime)


class JobScheduleRow(StoreRow, table=True):
    """A run of a project's default branch at an hour (UTC), daily or on Mondays."""

    __table_args__ = (UniqueConstraint("project_id", "kind", "machine_class"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    kind: str
    machine_class: str
    hour: int


class JobBudgetRow(StoreRow, table=True):
    """A project's limits on what its jobs hold and cost in a week from Monday; NULL: no limit."""

    project_id: int = Field(foreign_key="project.id", primary_key=True)
    device_minutes: float | None = None
    usd: float | None = None
    usd_per_device_hour: float | None = None
