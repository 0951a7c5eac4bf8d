"""Holds what the API returns of series, points, runs and verdicts."""

from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from perfledger.metrics import WorseDirection
from perfledger.records import Side
from perfledger_baselines.judging.verdict import Outcome
from perfledger_service.values.upload_views import UploadSender, UploadStatus

Item = TypeVar("Item")
# What the last row of a page is found again by.
Key = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class KeysetPage(Generic[Item]):
    """Some of a list's rows; the next page begins after `last`, which is None on the last page."""

    items: tuple[Item, ...]
    last: Key | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRead:
    """One workload's metric on one machine class: its points are in `unit`, `worse` is worse."""

    id: int
    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    machine_class: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PointRead:
    """What one run measured of one commit; `center` lies between `low` and `high`, in the unit.

    `branch_place` counts commits along the default branch; null off the branch, and where its order
    is not known. `committed_at` is null where the runner did not say.
    """

    sha: str
    side: Side
    run_id: str
    pull_request: int | None
    processes: int
    center: float
    low: float
    high: float
    measured_at: datetime
    committed_at: datetime | None
    branch_place: int | None
    is_attested: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRead:
    """An upload: whose commits were measured, on which machine class, and how it was judged.

    `conclusion` and `headline` are "" and `judged_at` is null until it is judged. `reason` says why
    it was refused or failed. `quarantined_devices` names those in quarantine that
    it was measured on, none for most: the history does not take such a run.
    """

    id: str
    pull_request: int | None
    base_sha: str
    head_sha: str
    head_subject: str
    machine_class: str
    sender: UploadSender
    status: UploadStatus
    reason: str
    conclusion: str
    headline: str
    bundle_sha256: str
    measured_at: datetime
    received_at: datetime
    judged_at: datetime | None
    quarantined_devices: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRead:
    """How one metric of one workload was judged; base and head are in the unit.

    `change` is head / base - 1, between `low` and `high`. On a busy machine the figures may be of
    wall time without waits for a core (`excludes_waits`). What was not measured is null, and
    `reason` says why.
    """

    run_id: str
    pull_request: int | None
    base_sha: str
    head_sha: str
    machine_class: str
    measured_at: datetime
    workload: str
    metric: str
    unit: str
    worse: WorseDirection
    outcome: Outcome
    is_warning: bool
    reason: str
    pairs: int | None
    base: float | None
    head: float | None
    change: float | None
    low: float | None
    high: float | None
    excludes_waits: bool
