"""Holds the report of one check."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import IntEnum, StrEnum
from functools import cached_property

from perfledger.bundle import LaidOverFiles, Plan
from perfledger.metrics import MetricKind
from perfledger.records import Device, Failure, HostFinding, Machine, Revision, WorkloadSpec
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.estimation.work_counts import WorkComparison
from perfledger_baselines.judging.kernel_judgement import KernelJudgement
from perfledger_baselines.judging.variant_ranking import VariantRanking
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.work_limits import JudgedLimit, LimitOutcome
from perfledger_baselines.planning.sample_size import PairsNeeded
from perfledger_cost_models.change_price.cost_policy import PolicyEvaluation
from perfledger_cost_models.quote import ChangePrice, QueueEffect, SummedPrice, UnitCost
from perfledger_profiles.bottleneck.classification import Recommendation
from perfledger_profiles.diff.cause import StepTimeExplanation
from perfledger_profiles.hardware.roofline import Roofline
from perfledger_service.values.acceptance import Acceptance
from perfledger_service.values.check_options import (
    NO_OPTIONS,
    UNKNOWN_BUDGET,
    CheckOptions,
    TimeBudget,
)
from perfledger_service.values.projection_views import ProjectionView


class Conclusion(StrEnum):
    """Conclusion of a check run, in GitHub's terms."""

    SUCCESS = "success"
    FAILURE = "failure"
    ACTION_REQUIRED = "action_required"
    NEUTRAL = "neutral"


class ExitCode(IntEnum):
    """Exit code of the process; if several apply, 4 > 2 > 1 > 3 > 0."""

    OK = 0
    REGRESSION = 1
    USAGE = 2
    UNCERTAIN = 3  # undecided, not measured, or its cost needs approval
    INTERNAL = 4
    NO_DIFFERENCE = 5  # between the ends of a range to bisect


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRate:
    """Counted work of a workload's step, and its rate; FLOP and FLOP/s.

    A rate is FLOP per step / typical step time; its share is that of `peak_flops_per_second`, the
    dense bfloat16 peak of one device, None where that is not known.
    """

    workload: str
    base_flops: float
    head_flops: float
    base_flops_per_second: float
    head_flops_per_second: float
    peak_flops_per_second: float | None

    @property
    def base_share(self) -> float | None:
        """Return the share of the peak on base."""
        return self._share(self.base_flops_per_second)

    @property
    def head_share(self) -> float | None:
        """Return the share of the peak on head."""
        return self._share(self.head_flops_per_second)

    def _share(self, flops_per_second: float) -> float | None:
        peak = self.peak_flops_per_second
        return flops_per_second / peak if peak else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSteps:
    """Number of steps that the processes of a workload measured.

    `best` is the most informative number for the machine's time (`power.steps_per_process`), None
    if the runs do not show it.
    """

    workload: str
    fewest: int
    most: int
    best: int | None


@dataclass(frozen=True, slots=True)
class BottleneckAdvice:
    """Advice on the bottleneck of a workload's head, with evidence and the device's roofs."""

    workload: str
    recommendations: tuple[Recommendation, ...]
    roof: Roofline | None = None


class CheckCostSource(StrEnum):
    """Source of the price per device-hour of a check's own cost."""

    SETTING = "device_price"
    FLEET = "the declared fleet"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCost:
    """What a check itself cost: the device-seconds that it held, and their price in USD.

    The price is None if unknown, and otherwise ranges from the cheapest to the most expensive
    option that may apply.
    """

    device_s: float
    low_usd: Decimal | None = None
    high_usd: Decimal | None = None
    source: CheckCostSource = CheckCostSource.UNKNOWN


@dataclass(frozen=True, kw_only=True)  # without slots, for what is computed once
class Report:
    """One check, judged, explained and priced; `headline` is the verdict in one line."""

    bundle_id: str
    created_at: str
    repository: str
    pull_request: int | None
    base: Revision
    head: Revision
    machine: Machine
    plan: Plan
    workloads: tuple[WorkloadSpec, ...]
    verdicts: tuple[Verdict, ...]
    failures: tuple[Failure, ...]
    new_workloads: tuple[str, ...]
    skipped: tuple[tuple[str, str], ...]
    explanations: tuple[StepTimeExplanation, ...]
    unit_costs: tuple[UnitCost, ...]
    change_prices: tuple[ChangePrice, ...]
    conclusion: Conclusion
    exit_code: ExitCode
    title: str  # the check run's title
    headline: str
    work: tuple[WorkRate, ...] = ()
    work_counts: tuple[WorkComparison, ...] = ()
    notes: tuple[str, ...] = ()
    host_findings: tuple[HostFinding, ...] = ()
    quarantine: str = ""  # in which its device was, in a sentence; "" for most
    is_local: bool = True
    advice: tuple[BottleneckAdvice, ...] = ()
    total_price: SummedPrice | None = None  # of all change_prices together
    queues: tuple[QueueEffect, ...] = ()
    policy_evaluations: tuple[PolicyEvaluation, ...] = ()
    projections: tuple[ProjectionView, ...] = ()  # onto hardware that was not measured
    pairs_needed: tuple[PairsNeeded, ...] = ()  # to find a change of the plan's margin
    steps: tuple[ProcessSteps, ...] = ()
    # Workloads of which neighbouring turns were compared.
    interleaved_workloads: tuple[str, ...] = ()
    tests: tuple[PairedTest, ...] = ()  # whose pairs decided the verdicts
    same_code: tuple[str, ...] = ()  # skipped because none of the code that they run differs
    code_differences: tuple[tuple[str, str], ...] = ()  # of workloads whose code was compared
    limits: tuple[JudgedLimit, ...] = ()  # on the work of a step
    laid_over: LaidOverFiles | None = None  # files of the workloads that are neither side's
    options: CheckOptions = NO_OPTIONS
    budget: TimeBudget = UNKNOWN_BUDGET
    held_s: float | None = None  # that the check held its machine
    # Workload → how long a pair of it takes, if known.
    pair_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    check_cost: CheckCost | None = None  # of that time
    kernels: tuple[KernelJudgement, ...] = ()  # where the check was asked for them
    acceptances: tuple[Acceptance, ...] = ()  # of what regressed, where they count
    variants: tuple[VariantRanking, ...] = ()  # of workloads that have some
    takes_commands: bool = False  # whether comments under its pull request are read

    def verdicts_of(self, outcome: Outcome) -> tuple[Verdict, ...]:
        """Return the verdicts with this outcome, in the report's order."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome is outcome)

    @property
    def is_imported(self) -> bool:
        """Return whether another tool measured it, so that nothing can be compared or repeated."""
        return self.machine.device is Device.IMPORTED

    @property
    def exceeded_limits(self) -> tuple[JudgedLimit, ...]:
        """Return the limits on the work of a step that are exceeded."""
        return tuple(each for each in self.limits if each.outcome is LimitOutcome.EXCEEDED)

    def speed_verdict(self, workload: str) -> Verdict | None:
        """Return the verdict on a workload's step time, if there is one."""
        return self._speed_verdicts.get(workload)

    @cached_property
    def kernel_changes(self) -> tuple[Verdict, ...]:
        """Return the verdicts on kernels of which some changed, or passed cost on."""
        names = {each.workload for each in self.kernels if each.findings}
        return tuple(
            verdict
            for verdict in self.verdicts
            if verdict.metric.kind is MetricKind.KERNEL and verdict.workload in names
        )

    def spec(self, workload: str) -> WorkloadSpec | None:
        """Return how a workload was registered."""
        return self._specs.get(workload)

    @cached_property
    def _specs(self) -> Mapping[str, WorkloadSpec]:
        return {spec.id: spec for spec in self.workloads}

    @cached_property
    def _speed_verdicts(self) -> Mapping[str, Verdict]:
        """Return the first verdict on each workload's speed."""
        verdicts: dict[str, Verdict] = {}
        for verdict in self.verdicts:
            if verdict.metric.kind is MetricKind.SPEED:
                verdicts.setdefault(verdict.workload, verdict)
        return verdicts
