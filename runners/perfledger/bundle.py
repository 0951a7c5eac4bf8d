"""Holds the result bundle: everything one check measured, as one versioned JSON document."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from perfledger.kernel_times import WorkloadKernels
from perfledger.metrics import Metric
from perfledger.profile import Profile
from perfledger.records import (
    CanaryReading,
    Device,
    Failure,
    HostFinding,
    Machine,
    Param,
    Revision,
    Run,
    Side,
    WorkloadSpec,
)
from perfledger.step_work import CountedWork, StepWork
from perfledger.time_units import SECONDS_PER_HOUR

# 1: first version. A reader accepts every version up to its own.
BUNDLE_VERSION = 1
BUNDLE_FORMAT = "perfledger-bundle"
SAME_CODE = "same code"  # why a workload was skipped, in words
# Six hours: time to wait for scarce devices, and for the check.
CLASS_DEADLINE_S = 6.0 * SECONDS_PER_HOUR


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpread:
    """The spread of a metric's pairs without a change, estimated from earlier checks."""

    workload: str
    metric: str  # the metric's name
    machine_class: str  # of the machines that ran those checks
    variance: float  # of the log ratio of a pair
    degrees: float  # of freedom of the variance
    pairs: int  # that the variance was estimated from


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The order of the pairs and the stopping rule's parameters, which judging needs.

    `order[i]` is "base" or "head": the side that ran first in pair i. `looks` are the numbers of
    pairs at which the stopping rule may look; `alpha` is the family-wise error rate of the check.
    `spreads` are those known before the first pair, from a service's history up to its entry number
    `history`, which is None if no service was asked or none answered. `margins` and `metrics` list
    the workloads that have their own margin or their own judging metrics. `machine_classes` (globs)
    must report on the same pull request, each within `class_deadline_s` of the check's
    announcement.
    """

    seed: int
    order: tuple[str, ...]
    looks: tuple[int, ...]
    alpha: float = 0.05
    margin: float = 0.01  # relative: "unchanged" means proven to lie within it
    floor: float = 0.003  # relative: smaller effects are never called a regression
    spreads: tuple[KnownSpread, ...] = ()
    history: int | None = None
    margins: Mapping[str, float] = field(default_factory=dict[str, float])
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    machine_classes: tuple[str, ...] = ()
    class_deadline_s: float = CLASS_DEADLINE_S
    kernel_pairs: int = 0  # most pairs with profiled windows of kernels; 0: none are judged
    kernel_share: float = 0.0  # of alpha, for kernels

    def margin_of(self, workload: str) -> float:
        """Return the margin of a workload: its own, else the check's."""
        return self.margins.get(workload, self.margin)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetUse:
    """The device-hours a year of all workloads together that match `workload` (a glob).

    `where` names a purchase option of the price sheet, such as "p5.48xlarge/on_demand". If several
    workloads match, `weights` divide the hours among them: workload → part of any total.
    `transfer_factor` declares by how much a change measured on another device may be larger or
    smaller there; without it only known peaks carry a change over.
    """

    workload: str
    where: str
    device_hours_per_year: float
    low: float | None = None
    high: float | None = None
    source: str = "declared in the configuration"
    weights: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)
    transfer_factor: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Commitment:
    """Devices that are paid for around the clock, used or not: under contract or owned.

    `where` is the purchase option by which fleet entries name them. While some are idle a slowdown
    costs waiting time, not money; demand that no longer fits is bought on `overflow` ("": `where`).
    Freed hours save money only where the commitment `can_shrink` within the year.
    """

    where: str
    devices: int
    busy_hours_per_year: float  # device-hours of any work
    overflow: str = ""
    devices_per_job: int = 1
    job_hours: float | None = None  # a job's mean duration; without it waits are unknown
    can_shrink: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPolicy:
    """The yearly cost increase allowed for a team's workloads (globs), and its approvers.

    `approvers` are logins; without any, nobody can approve.
    """

    team: str
    workloads: tuple[str, ...] = ("*",)
    fail_above_usd_per_year: float | None = None
    ask_above_usd_per_year: float | None = None
    approvers: tuple[str, ...] = ()
    may_author_approve: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredThroughput:
    """A throughput on hardware without measurements, for illustration; shown as "declared"."""

    workload: str  # a glob
    device: str  # an accelerator of the price sheet, such as "H100-80GB"
    units_per_second: float
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PricingConfig:
    """The costs in the repository's configuration."""

    fleet: tuple[FleetUse, ...] = ()
    declared: tuple[DeclaredThroughput, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    policies: tuple[CostPolicy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaidOverFiles:
    """Workload files that replaced those of both revisions: git's hash of each by path.

    `source` names the revision or folder that they come from.
    """

    source: str
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOptions:
    """Options and variables with which a check was started, except its revisions.

    `settings` are those that the command line or the environment set: name → value, as the variable
    PERFLEDGER_NAME has it. `unshown` are options and variables whose value has a password or is too
    long.
    """

    workloads: tuple[str, ...] = ()  # patterns of ids
    expression: str = ""  # of ids and tags
    spreads: str = ""  # the file of known spreads
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    unshown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)  # without slots, because of cached properties
class Bundle:
    """One check: two revisions, one machine, every sample, the failures and the profiles."""

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
    new_workloads: tuple[str, ...] = ()  # registered in head only
    base_configuration: str | None = None  # base's file, "" without one; None: not recorded
    # If all of head's workloads are new: ids and files of what base registers elsewhere.
    other_base_workloads: tuple[str, ...] = ()
    laid_over: LaidOverFiles | None = None  # workload files that replaced both sides'
    accepted_work: tuple[str, ...] = ()  # workloads (globs) whose work need not be proven
    skipped: Mapping[str, str] = field(default_factory=dict[str, str])  # workload → reason
    same_code: tuple[str, ...] = ()  # skipped because nothing that they run on differs
    # Workload → what may differ in its code, if that was examined.
    code_differences: Mapping[str, str] = field(default_factory=dict[str, str])
    fail_on: tuple[str, ...] = ()  # limits on the work of a step; see `work_limit`
    unchosen: tuple[str, ...] = ()  # registered, but left out by the check's options
    profiles: tuple[Profile, ...] = ()
    repeats: tuple[Profile, ...] = ()  # more windows of the profiles' code, operations only
    kernels: tuple[WorkloadKernels, ...] = ()  # if the plan judges kernels
    work: tuple[CountedWork, ...] = ()  # work per step, counted before measuring
    pricing: PricingConfig = field(default_factory=PricingConfig)
    repository: str = ""  # owner/name, where known
    pull_request: int | None = None
    undecided: str = "action_required"  # the conclusion if undecided: action_required or neutral
    settings: Mapping[str, Param] = field(default_factory=dict[str, Param])  # in force
    options: StartOptions | None = None  # None: not recorded
    logs: Mapping[str, str] = field(default_factory=dict[str, str])  # process → its log's tail
    notes: tuple[str, ...] = ()
    held_s: float | None = None  # how long the check held the machine, without queueing
    # Workload → seconds of its last pair alone, from the start of its processes to their end.
    pair_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    host_findings: tuple[HostFinding, ...] = ()  # on the machine's fitness to measure
    canaries: tuple[CanaryReading, ...] = ()  # of the machine's device; compares no commits
    perfledger: str = ""
    format: str = BUNDLE_FORMAT
    version: int = BUNDLE_VERSION

    @property
    def is_imported(self) -> bool:
        """Return whether another tool measured it: its only commit is not compared with another."""
        return self.machine.device is Device.IMPORTED

    def machines(self) -> Mapping[tuple[str, Side], Machine]:
        """Return the part of the machine that each workload's runs of either side used."""
        return self._machines

    def runs_of(self, workload: str, side: Side) -> tuple[Run, ...]:
        """Return a side's runs of a workload, in the order of the bundle."""
        return tuple(self._runs_of.get((workload, side), ()))

    def runs_by_pair(self) -> Mapping[str, Mapping[int, Mapping[Side, Run]]]:
        """Return the runs by workload, pair and side; of a repeated run, the last one."""
        return self._runs_by_pair

    def work_of(self, workload: str) -> Mapping[Side, StepWork]:
        """Return the counted work of a workload's step, by side."""
        return self._work_of.get(workload, {})

    def to_json(self) -> str:
        """Return the bundle as JSON, which is stored and uploaded."""
        return json.dumps(asdict(self), allow_nan=False, separators=(",", ":"))

    @cached_property
    def _machines(self) -> Mapping[tuple[str, Side], Machine]:
        return {key: self.machine.part_used_by(runs[0]) for key, runs in self._runs_of.items()}

    @cached_property
    def _work_of(self) -> Mapping[str, Mapping[Side, StepWork]]:
        work: dict[str, dict[Side, StepWork]] = {}
        for counted in self.work:
            work.setdefault(counted.workload, {})[counted.side] = counted.work
        return work

    @cached_property
    def _runs_of(self) -> Mapping[tuple[str, Side], Sequence[Run]]:
        runs: dict[tuple[str, Side], list[Run]] = {}
        for run in self.runs:
            runs.setdefault((run.workload, run.side), []).append(run)
        return runs

    @cached_property
    def _runs_by_pair(self) -> Mapping[str, Mapping[int, Mapping[Side, Run]]]:
        pairs: dict[str, dict[int, dict[Side, Run]]] = {}
        for run in self.runs:
            pairs.setdefault(run.workload, {}).setdefault(run.pair, {})[run.side] = run
        return pairs
