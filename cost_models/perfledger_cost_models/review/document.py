"""Holds the content of the quarterly review, independent of any file format.

Money is Decimal USD, unrounded unless stated to be in cents. Every figure refers to an input or a
line of the model, or to its source. Missing figures are UnknownFigure values.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger_cost_models.billing.budget_variance import BudgetVariance, ExpectedQuarter
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.energy.energy import CarbonEmissions
from perfledger_cost_models.forecasting.forecast import ForecastQuantity, Forecasts
from perfledger_cost_models.prices.price_sheet import Price, UnknownPrice
from perfledger_cost_models.procurement.commitment_sweep import CommitmentLadder, CommitmentSweep
from perfledger_cost_models.procurement.cost_model import CostModel, InputBasis, ModelInput
from perfledger_cost_models.procurement.decision import Band, OptionOutcome, PurchaseDecision
from perfledger_cost_models.procurement.hour_shares import ShareStatement
from perfledger_cost_models.procurement.owned_supply import SupplyYears
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.review.measured_changes import (
    LandedChange,
    MeasuredSpeed,
    ProjectedSpeed,
)
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.review.queue_waits import RecordedWaits
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_cost_models.tco.buy_vs_rent import BreakEven


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownFigure:
    """A figure that the review lacks, with the reason and what would supply it."""

    name: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSource:
    """A source of the review; `sha256` is "" for sources other than files."""

    name: str
    origin: str
    as_of: str
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedChangePrice:
    """A landed change of code speed and its yearly cost on each part of the fleet."""

    change: LandedChange
    prices: tuple[ChangePrice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamHours:
    """Accelerator-hours of a team in the period of the bill."""

    team: str
    accelerator: str
    hours: Decimal
    share: float  # of that accelerator's hours


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadHours:
    """Device-hours a year of a workload by the configuration, and its team."""

    repository: str
    workload: str
    team: str  # "" if no team of the plan has it
    where: str
    hours: float
    low: float | None
    high: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledDemand:
    """The days of a quarter that a bill covers, and its effective USD for all other things."""

    days: Decimal
    quarter_days: int
    gap: tuple[date, date] | None  # first and last day of the longest stretch without usage
    are_hours_billed: bool  # the demand's hours are the bill's
    accelerators_usd: Mapping[str, Decimal]  # other accelerators, with unused commitments
    rest_usd: Decimal  # storage, networks, support, tax, ...

    @property
    def beside_usd(self) -> Decimal:
        """Return what the bill has besides the reviewed accelerator."""
        return sum(self.accelerators_usd.values(), self.rest_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandSection:
    """Needed hours, their growth, and the effect of code changes."""

    hours: ModelInput
    growth: ModelInput
    teams: tuple[TeamHours, ...] | UnknownFigure
    workloads: tuple[WorkloadHours, ...] | UnknownFigure
    changes: tuple[LandedChangePrice, ...] | UnknownFigure
    forecast: Forecasts | UnknownFigure
    bill_part: BilledDemand | None  # None without a bill


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewAttachment:
    """A file that belongs to the review: a quote, a discount, an invoice."""

    name: str  # what it is
    file: str  # its path beside the plan
    sha256: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentMetrics:
    """An accelerator's usage in the bill, and what it would have cost on demand."""

    accelerator: str
    hours: Decimal
    committed_hours: Decimal  # that a commitment covered
    committed_usd: Decimal  # effective cost of them
    unused_usd: Decimal  # of commitments
    effective_usd: Decimal  # of all usage, and of unused commitments
    on_demand_usd: Decimal  # all usage at list prices
    prices: tuple[Price, ...]  # the list prices

    @property
    def coverage(self) -> Decimal | None:
        """Return the share of the hours that a commitment covered; None without hours."""
        return self.committed_hours / self.hours if self.hours else None

    @property
    def utilization(self) -> Decimal | None:
        """Return the share of the commitments' cost that was used; None without commitments."""
        total = self.committed_usd + self.unused_usd
        return self.committed_usd / total if total else None

    @property
    def savings_rate(self) -> Decimal | None:
        """Return the effective savings rate; negative if commitments cost more than they save.

        None without usage.
        """
        return 1 - self.effective_usd / self.on_demand_usd if self.on_demand_usd else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketRemark:
    """A commitment that costs more an hour than today's market."""

    name: str
    usd_per_hour: Decimal  # of one device, used or not
    market: str  # the option with the lowest price that can be had today
    market_usd: Decimal
    on_demand_usd: Decimal
    until: date
    usd_above: Decimal  # over the rest of its term


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarterForecast:
    """A quantity of a quarter: a year before, a quarter before, forecast, and actual.

    The forecast uses only the months before the quarter.
    """

    quantity: ForecastQuantity
    year_before: float | None  # None if the history lacks it
    quarter_before: float | None
    low: float  # P10
    forecast: float  # P50
    high: float  # P90
    actual: float

    @property
    def is_inside(self) -> bool:
        """Return whether the actual is within the 80 % interval."""
        return self.low <= self.actual <= self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class SupplySection:
    """The existing supply and how much of the need it carries."""

    entries: tuple[SupplyYears, ...]
    coverage: tuple[tuple[int, Decimal, Decimal, Decimal], ...]  # year, hours, carried, need
    by_mode: (
        tuple[tuple[str, Decimal, Decimal], ...] | UnknownFigure
    )  # mode, hours, USD in the bill
    mode_doubts: tuple[str, ...]  # a sentence for each price whose mode has a question mark
    unused_usd: Decimal | UnknownFigure  # unused commitments
    waits: RecordedWaits | UnknownFigure
    policies: PolicyComparison | UnknownFigure  # other policies on the quarter's jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFacts:
    """An option's outcome and details."""

    outcome: OptionOutcome
    break_even: BreakEven | None  # against on-demand hours; None if usage is billed
    lock_in_months: int
    owed_usd: Decimal  # for the rest of the term, a year from now
    resale: tuple[Decimal, Decimal, Decimal] | None  # low, mode, high; None for rented devices
    carbon: CarbonEmissions | UnknownFigure  # of the first year
    # Internal rate of return of an upfront payment, by the savings against today's option.
    return_per_year: float | None
    payback_years: float | None
    expires: date | None  # the last day on which its price is valid; None for undated prices
    curve: tuple[tuple[float, Decimal], ...]  # use, USD per useful hour at the most likely inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyInputs:
    """The inputs of the energy and emissions of rented devices, at their most likely values.

    kWh = hours * maximum kW of a server / its devices * load * PUE.
    """

    server_kw: tuple[tuple[str, Decimal, int], ...]  # accelerator, maximum kW, devices
    load: Decimal  # power under load, a share of the maximum
    pue: Decimal  # of a cloud's data center
    pue_source: str
    location_kg_per_kwh: Decimal
    location_source: str
    market_kg_per_kwh: Decimal | None  # None if the plan has no contracts
    market_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredUnitCost:
    """The cost of a million units of a workload's work on measured hardware."""

    speed: MeasuredSpeed
    usd: tuple[tuple[str, Band], ...]  # option's name; low, middle and high


@dataclass(frozen=True, slots=True, kw_only=True)
class PerformanceSection:
    """Measured and projected costs of work."""

    evidence: tuple[MeasuredUnitCost, ...] | UnknownFigure
    ratios: tuple[tuple[str, str, Decimal], ...]  # accelerator, workload, hours for one
    projection: tuple[ProjectedSpeed, ...] | UnknownFigure
    projection_check: ProjectionCheck | None = None  # None if nothing was projected


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviousDecision:
    """The last review's decision, and what happened since."""

    quarter: str
    option: str  # the option's name
    where: str
    expected_quarter: ExpectedQuarter
    variance: BudgetVariance | UnknownFigure
    changed_inputs: tuple[tuple[str, Decimal, Decimal], ...]  # label, value then, value now


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarterBudget:
    """The parts of the next quarter's budget, in USD at the most likely inputs."""

    expected: ExpectedQuarter
    held_usd: Decimal | None  # of committed supply; None if the cost of an entry is unknown
    signed_on: date  # the first day of paying for the option; next quarter's first: never
    hours_before: Decimal  # beyond the supply, until that day
    usd_before: Decimal
    rate_before: Decimal  # today's, USD per hour
    hours_after: Decimal
    usd_after: Decimal  # one-off payments are spread over their term
    due_once_usd: Decimal  # at signing or delivery
    as_today_usd: Decimal | None  # if all hours beyond the supply were bought as today
    forecast_usd: Decimal | None  # of past usage alone; None if it lacks some of the months


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRisk:
    """An assumption of the review that may be wrong."""

    name: str
    basis: InputBasis


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The review of a quarter."""

    quarter: Quarter
    made_on: date
    title: str
    is_example: bool
    model: CostModel
    decision: PurchaseDecision
    options: tuple[OptionFacts, ...]
    energy: EnergyInputs
    expires: date | None  # the last day on which the recommended and today's price are valid
    expired: tuple[str, ...]  # names of the options whose prices have expired
    stale: tuple[str, ...]  # prices far too old, used by --allow-stale-prices
    unknown_prices: tuple[UnknownPrice, ...]  # of the options' accelerators
    demand: DemandSection
    supply: SupplySection
    shares: tuple[ShareStatement, ...]  # of hours, by each source
    performance: PerformanceSection
    allocation: CostAllocation | UnknownFigure
    sweeps: tuple[CommitmentSweep, ...]  # of the options with a number of devices
    ladder: CommitmentLadder | None  # None if the plan lacks terms of one or of three years
    commitments: CommitmentMetrics | UnknownFigure  # by the bill
    market: tuple[MarketRemark, ...]  # commitments above today's market
    quarter_forecasts: tuple[QuarterForecast, ...] | UnknownFigure
    attachments: tuple[ReviewAttachment, ...]
    last: PreviousDecision | UnknownFigure
    expected_quarter: ExpectedQuarter
    budget: QuarterBudget
    risks: tuple[ReviewRisk, ...]
    sources: tuple[ReviewSource, ...]
    seed: int
    draws: int

    @property
    def choice(self) -> OptionOutcome:
        """Return the outcome of the recommended option."""
        return self.decision.of(self.decision.recommendation)

    @property
    def status_quo(self) -> OptionOutcome:
        """Return the outcome of today's option."""
        return self.decision.of(self.model.keep.key)

    @property
    def is_change(self) -> bool:
        """Return whether the recommended option is not today's."""
        return self.decision.recommendation != self.model.keep.key

    @property
    def unknowns(self) -> tuple[UnknownFigure, ...]:
        """Return the figures that the review lacks, each once."""
        last = self.last.variance if isinstance(self.last, PreviousDecision) else self.last
        parts = (
            self.demand.teams,
            self.demand.workloads,
            self.demand.changes,
            self.demand.forecast,
            self.supply.by_mode,
            self.supply.waits,
            self.supply.policies,
            self.performance.evidence,
            self.performance.projection,
            self.allocation,
            self.commitments,
            self.quarter_forecasts,
            last,
            *(one.carbon for one in self.options),
        )
        unknown_figures = [part for part in parts if isinstance(part, UnknownFigure)]
        unknown_figures += [
            UnknownFigure(
                name=f"the cost of {one.name}",
                reason=one.reason,
                remedy=f"a dated price of {one.where}, and its [[speed]] if it is another device",
            )
            for one in self.model.unpriced
        ]
        unknown_figures += [
            UnknownFigure(
                name=f"the price of {one.provider} {one.option}",
                reason=f"it was {one.reason}",
                remedy="a [[price]] in the --overrides or --contract file",
            )
            for one in self.unknown_prices
        ]
        return tuple(dict.fromkeys(unknown_figures))
