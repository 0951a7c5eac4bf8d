"""Defines the tables of devices, their canaries and their quarantines."""

from datetime import datetime

from sqlalchemy import Text, UniqueConstraint
from sqlmodel import Field

from perfledger_service.store.database import UtcTime
from perfledger_service.store.tables import StoreRow


class ProjectDeviceRow(StoreRow, table=True):
    """A device that a project measures on; `key` is the SHA-256 of its kind, model and name.

    `name` is its id, or its model and its host. Where neither is known, others may have the same
    name, and `has_id` is false.
    """

    __table_args__ = (UniqueConstraint("project_id", "key"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="project.id")
    key: str
    device: str
    model: str
    name: str
    has_id: bool


class CanaryRunRow(StoreRow, table=True):
    """All canaries of one bundle on one device, and what they show; rows are only added.

    `epoch` is the state of the machine, which bounds a history. Canaries that ran beside other work
    are disturbed and show nothing.
    """

    __table_args__ = (UniqueConstraint("device_id", "bundle_id"),)

    id: int | None = Field(default=None, primary_key=True)
    device_id: int = Field(foreign_key="project_device.id")
    bundle_id: str
    epoch: str = Field(sa_type=Text)
    is_disturbed: bool
    state: str
    reason: str = Field(sa_type=Text)
    measured_at: datetime = Field(sa_type=UtcTime)
    stored_at: datetime = Field(sa_type=UtcTime, index=True)


class CanaryRateRow(StoreRow, table=True):
    """One canary of a run, and how it compares; NULL with too few values to compare with.

    `setting` must be the same for rates to be compared: the version of the framework, and MIG.
    `own_count` earlier runs and `sibling_count` siblings are compared with.
    """

    run_id: int = Field(foreign_key="canary_run.id", primary_key=True)
    position: int = Field(primary_key=True)
    name: str
    framework: str
    setting: str
    unit: str
    processes: int
    per_second: float
    expected_per_second: float | None = None
    own_count: int = 0
    own_change: float | None = None
    own_detectable: float | None = None
    sibling_count: int = 0
    sibling_change: float | None = None
    sibling_detectable: float | None = None
    is_slower: bool = False


class QuarantineRow(StoreRow, table=True):
    """A time during which a device is not used; `released_at` is NULL while it lasts.

    `canary_run_id` is the run whose canaries began it, NULL where a person did.
    """

    id: int | None = Field(default=None, primary_key=True)
    device_id: int = Field(foreign_key="project_device.id", index=True)
    canary_run_id: int | None = Field(default=None, foreign_key="canary_run.id")
    reason: str = Field(sa_type=Text)
    set_by: str
    since: datetime = Field(sa_type=UtcTime)
    released_at: datetime | None = Field(default=None, sa_type=UtcTime)
    released_by: str = ""
    release_reason: str = Field(default="", sa_type=Text)


class QuarantinedUploadRow(StoreRow, table=True):
    """An upload measured on a device in quarantine; it may be on several of them."""

    upload_id: str = Field(foreign_key="upload.id", primary_key=True)
    quarantine_id: int = Field(foreign_key="quarantine.id", primary_key=True)
