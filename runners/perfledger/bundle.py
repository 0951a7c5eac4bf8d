"""The result bundle: everything one check saw, as one versioned, self-describing JSON document."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from perfledger.metrics import Metric
from perfledger.profile import Profile
from perfledger.records import Failure, Machine, Param, Revision, Run, Side, WorkloadSpec
from perfledger.work import CountedWork

# 1: first version. A reader accepts every version up to its own.
BUNDLE_VERSION = 1
BUNDLE_FORMAT = "perfledger-bundle"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpread:
    """How much the pairs of a workload's metric differ without cause, as earlier checks tell it."""

    workload: str
    metric: str  # its name
    device_class: str  # of the machines that those checks ran on
    variance: float  # of a pair's difference of logs
    degrees: float  # of freedom, that it is worth
    pairs: int  # that told it


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How the pairs were drawn and when it was allowed to stop: what judging needs to repeat it.

    `order[i]` is "base" or "head": which side ran first in pair i. `looks` are the numbers of
    pairs at which the stopping rule may look; `alpha` is the family-wise error rate of the check.
    `spreads` is what it knew before the first pair, from a service's history up to its entry number
    `history`; None where no service was asked, or none answered.
    """

    seed: int
    order: tuple[str, ...]
    looks: tuple[int, ...]
    alpha: float = 0.05
    margin: float = 0.01  # relative: "unchanged" means proven to be within it
    floor: float = 0.003  # relative: smaller effects are never called a regression
    spreads: tuple[KnownSpread, ...] = ()
    history: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetUse:
    """How many device-hours a year each workload that matches `workload` (a glob) stands for.

    `where` names a purchase option of the price sheet, such as "p5.48xlarge/on_demand".
    """

    workload: str
    where: str
    device_hours_per_year: float
    low: float | None = None
    high: float | None = None
    source: str = "declared in the configuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """Devices that are paid for around the clock, used or not: a contract's, or one's own.

    `where` is the purchase option by which fleet entries name them. While some are idle a slowdown
    costs waiting, not money; what no longer fits is bought on `overflow` ("": on `where`).
    """

    where: str
    devices: int
    busy_hours_per_year: float  # device-hours in which they work, for whatever it is
    overflow: str = ""
    devices_per_job: int = 1
    job_hours: float | None = None  # a job's mean duration; without it waits are not known


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPolicy:
    """How much dearer a change may make a year of a team's workloads (globs), and who may allow it.

    `approvers` are logins; where none is named, nobody can approve what it asks about.
    """

    team: str
    workloads: tuple[str, ...] = ("*",)
    fail_above_usd_per_year: float | None = None
    ask_above_usd_per_year: float | None = None
    approvers: tuple[str, ...] = ()
    may_author_approve: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredThroughput:
    """A throughput on hardware that was not measured, for illustration; shown as "declared"."""

    workload: str  # a glob
    device: str  # an accelerator of the price sheet, such as "H100-80GB"
    units_per_second: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """What the repository's configuration says about money."""

    fleet: tuple[FleetUse, ...] = ()
    declared: tuple[DeclaredThroughput, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    policies: tuple[CostPolicy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """One check: two revisions, one machine, every sample, what failed and the profiles."""

    id: str  # random, 32 hex digits
    created_at: str  # UTC, ISO 8601
    base: Revision
    head: Revision
    machine: Machine
    plan: Plan
    workloads: tuple[WorkloadSpec, ...]
    metrics: tuple[Metric, ...]
    runs: tuple[Run, ...]
    failures: tuple[Failure, ...] = ()
    new_workloads: tuple[str, ...] = ()  # registered in head only: nothing to compare with
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])  # workload → reason
    profiles: tuple[Profile, ...] = ()
    repeats: tuple[Profile, ...] = ()  # the same code again, operations only: how far such differ
    work: tuple[CountedWork, ...] = ()  # what a step asks for, before anything was measured
    pricing: Pricing = field(default_factory=Pricing)
    repository: str = ""  # owner/name, where it is known
    pull_request: int | None = None
    undecided: str = "action_required"  # the check's conclusion then: action_required or neutral
    settings: Mapping[str, Param] = field(default_factory=dict[str, Param])  # what was in force
    logs: Mapping[str, str] = field(default_factory=dict[str, str])  # process → its log's tail
    notes: tuple[str, ...] = ()
    perfledger: str = ""
    format: str = BUNDLE_FORMAT
    version: int = BUNDLE_VERSION

    def machines(self) -> dict[tuple[str, Side], Machine]:
        """Return as much of the machine as each workload's runs of either side computed on."""
        found: dict[tuple[str, Side], Machine] = {}
        for run in self.runs:
            if (run.workload, run.side) not in found:
                found[run.workload, run.side] = self.machine.part_used_by(run)
        return found

    def to_json(self) -> str:
        """Return the bundle as JSON, the form in which it is spooled and uploaded."""
        return json.dumps(asdict(self), allow_nan=False, separators=(",", ":"))
