"""The quarterly review as a value: what it says, apart from every way to write it.

Money is Decimal USD, unrounded unless it is said to be in cents. Every figure names the input or
the line of the model that it is, or the source that it was read from; what is not known is an
Unknown with the reason and with what would make it known.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger_cost_models.budget import Outlook, Variance
from perfledger_cost_models.comparison import BreakEven
from perfledger_cost_models.decision import Band, Decision, Outcome
from perfledger_cost_models.energy import Carbon
from perfledger_cost_models.forecast import Forecasts
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.procurement import Basis, Input, Model
from perfledger_cost_models.projection import ProjectionCheck
from perfledger_cost_models.quarter import Quarter
from perfledger_cost_models.quote import ChangePrice
from perfledger_cost_models.recorded_waits import RecordedWaits
from perfledger_cost_models.review_records import Landed, MeasuredSpeed, ProjectedSpeed
from perfledger_cost_models.sheet import UnknownPrice
from perfledger_cost_models.showback import Allocation
from perfledger_cost_models.supply import Held


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """Something that the review should say and cannot."""

    what: str
    why: str
    how: str  # to make it known


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Something that the review was made from; `sha256` is "" where it is no file."""

    what: str
    origin: str
    as_of: str
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedChange:
    """A landed change of code speed and what it costs a year on each part of the fleet."""

    landed: Landed
    prices: tuple[ChangePrice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamHours:
    """Accelerator-hours that a team used in the period of the bill."""

    team: str
    accelerator: str
    hours: Decimal
    share: float  # of that accelerator's hours


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadHours:
    """Device-hours a year that the configuration says a workload stands for, and whose it is."""

    workload: str
    team: str  # "" where no team of the plan has it
    where: str
    hours: float
    low: float | None
    high: float | None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Who needs how many hours, how that grows, and what code did to it."""

    hours: Input
    growth: Input
    teams: tuple[TeamHours, ...] | Unknown
    workloads: tuple[WorkloadHours, ...] | Unknown
    changes: tuple[PricedChange, ...] | Unknown
    forecast: Forecasts | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What is there already, and how much of the need it carries."""

    held: tuple[Held, ...]
    coverage: tuple[tuple[int, Decimal, Decimal, Decimal], ...]  # year, hours, carried, needed
    by_mode: tuple[tuple[str, Decimal, Decimal], ...] | Unknown  # mode, hours, USD in the bill
    unused_usd: Decimal | Unknown  # commitments that nobody used
    waits: RecordedWaits | Unknown
    policies: PolicyComparison | Unknown  # what others would do with the quarter's jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionFacts:
    """What else there is to say about a way, beside its outcome."""

    outcome: Outcome
    break_even: BreakEven | None  # against what is kept; None for what is paid by use
    lock_in_months: int
    owed_usd: Decimal  # for the rest of the term, a year from now
    resale: tuple[Decimal, Decimal, Decimal] | None  # low, mode, high; None where nothing is owned
    carbon: Carbon | Unknown  # of the first year
    return_per_year: float | None  # internal rate, of what it saves against what is kept
    payback_years: float | None
    expires: date | None  # the day until which its price keeps; None where it has none
    curve: tuple[tuple[float, Decimal], ...]  # use, USD per useful hour, most likely


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a million units of a workload's work cost where it was measured."""

    speed: MeasuredSpeed
    usd: tuple[tuple[str, Band], ...]  # way's name; low, middle and high


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """What was measured, and how far what was not is projected."""

    evidence: tuple[Evidence, ...] | Unknown
    ratios: tuple[tuple[str, str, Decimal], ...]  # accelerator, workload, hours for one
    projection: tuple[ProjectedSpeed, ...] | Unknown
    projection_check: ProjectionCheck | None = None  # None where nothing was projected


@dataclass(frozen=True, slots=True, kw_only=True)
class LastDecision:
    """What the last review said, and what happened."""

    quarter: str
    taken: str  # the option's name
    where: str
    outlook: Outlook
    variance: Variance | Unknown
    moved: tuple[tuple[str, Decimal, Decimal], ...]  # input in words: then, now


@dataclass(frozen=True, slots=True, kw_only=True)
class Risk:
    """Something that may be otherwise than the review assumes."""

    what: str
    basis: Basis


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """A quarter's review, whole."""

    quarter: Quarter
    made_on: date
    title: str
    is_example: bool
    model: Model
    decision: Decision
    options: tuple[OptionFacts, ...]
    expires: date | None  # the last day on which the prices of what is taken and kept both keep
    expired: tuple[str, ...]  # names of all ways whose prices are beyond theirs already
    stale: tuple[str, ...]  # prices far too old, used because someone said so
    unknown_prices: tuple[UnknownPrice, ...]  # of the options' accelerators
    demand: Demand
    supply: Supply
    performance: Performance
    allocation: Allocation | Unknown
    last: LastDecision | Unknown
    outlook: Outlook
    risks: tuple[Risk, ...]
    sources: tuple[Source, ...]
    seed: int
    draws: int

    @property
    def taken(self) -> Outcome:
        """Return the outcome of the way that is recommended."""
        return self.decision.of(self.decision.take)

    @property
    def kept(self) -> Outcome:
        """Return the outcome of going on as today."""
        return self.decision.of(self.model.keep.key)

    @property
    def is_change(self) -> bool:
        """Whether something else than today's way is recommended."""
        return self.decision.take != self.model.keep.key

    @property
    def unknowns(self) -> tuple[Unknown, ...]:
        """Return all that the review should say and cannot, each once."""
        last = self.last.variance if isinstance(self.last, LastDecision) else self.last
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
            last,
            *(one.carbon for one in self.options),
        )
        found = [part for part in parts if isinstance(part, Unknown)]
        found += [
            Unknown(
                what=f"what {one.name} costs",
                why=one.why,
                how=f"a price of {one.where}, or its [[speed]] in the plan",
            )
            for one in self.model.unpriced
        ]
        found += [
            Unknown(
                what=f"the price of {one.provider} {one.option}",
                why=f"it was {one.why}",
                how="a [[price]] in the file of --overrides or --contract",
            )
            for one in self.unknown_prices
        ]
        return tuple(dict.fromkeys(found))
