"""Holds imported files, measured utilization, and machines with their runners and jobs."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perfledger.records import Machine
from perfledger_runners.jobs.runner_job import RunnerJob
from perfledger_service.values.service_views.devices import DeviceView


class ImportKind(StrEnum):
    """Kind of an imported file."""

    USAGE = "usage"  # who held how many devices, from when to when
    ACTIVITY = "activity"  # how busy devices were
    JOBS = "jobs"  # which jobs came when, and what they asked for
    LOAD = "load"  # load curves


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredImport:
    """An imported file about the fleet, without its content."""

    id: int
    kind: ImportKind
    source: str  # of a cluster, an account or a service
    name: str
    sha256: str
    since: datetime | None  # UTC; None if its period is unknown
    until: datetime | None
    summary: str
    unpacked_bytes: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUtilization:
    """Utilization of a workload's device in the newest check of the default branch.

    Means are over readings while its steps were timed; None if not measured or declared.
    """

    repository: str
    workload: str
    machine_class: str
    active: float  # SM-active, or of a CPU its cores
    low: float  # of its readings: 5 % are below
    high: float  # 5 % are above
    readings: int
    gpu_busy: float | None  # share of a profiled step in which any kernel ran
    device_hours_per_year: float | None  # of the fleet's entries that it matches
    upload_id: str
    created_at: datetime

    @property
    def idle_hours(self) -> float | None:
        """Return the paid hours a year in which multiprocessors had no work."""
        hours = self.device_hours_per_year
        return None if hours is None else hours * (1 - self.active)


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityView:
    """Imported files about the fleet, and the utilization that checks measured."""

    imports: tuple[StoredImport, ...]
    utilization: tuple[MeasuredUtilization, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """A machine, as its newest checks show it.

    Without an id of the device or its host, all of one class and kind of host count as one machine.
    `noise` is the median, over checks and workloads, of the standard deviation of a pair's log(head
    / base) of step time; None without a check of two pairs or more.
    """

    machine_class: str
    uuid: str  # "" without an id
    newest: Machine  # as its newest check found it
    newest_check: str  # the upload's id
    checks: int
    undecided: int  # checks with a result that stayed undecided
    held_s: float | None  # seconds that those checks held it which say so; None without one
    noise: float | None
    states: int  # of drivers, clocks, kernels and whatever else an administrator sets
    first_at: datetime  # UTC, when its oldest and its newest check were made
    last_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerView:
    """A runner of the queue, and a machine class for which it takes jobs."""

    name: str
    machine_class: str
    seen_at: datetime  # UTC, when it last asked for a job


@dataclass(frozen=True, slots=True, kw_only=True)
class MachinesView:
    """A project's machines by its newest checks, its devices, runners and newest jobs."""

    repository: str
    machines: tuple[MachineView, ...]
    checks: int  # that the machines are read from
    runners: tuple[RunnerView, ...]
    jobs: tuple[RunnerJob, ...]
    devices: tuple[DeviceView, ...] = ()  # that have canaries or a quarantine
    devices_left_out: int = 0
