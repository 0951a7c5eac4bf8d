"""Holds the cost of hours and work on each purchase option."""

from collections.abc import Mapping
from dataclasses import dataclass

from perfledger_cost_models.energy.carbon_footprint import CarbonFootprint
from perfledger_cost_models.money import Usd
from perfledger_cost_models.prices.price_sheet import Price
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.tco.api_break_even import ApiPrice
from perfledger_cost_models.tco.buy_vs_rent import BreakEven, CostSwing, OptionComparison
from perfledger_cost_models.tco.hardware_inputs import HardwareInput
from perfledger_cost_models.tco.npv import Investment
from perfledger_cost_models.tco.onprem import KeptYears, Ownership
from perfledger_cost_models.tco.payment_schedule import PaymentSchedule
from perfledger_cost_models.tco.work_cost import PricedWork


@dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """Cost of a useful hour on one option, and its break-even with owning."""

    cost: OptionComparison  # of one useful accelerator-hour
    work: OptionComparison | None  # of one piece of work; None where none was asked for
    price: Price | None  # None where it is owned
    break_even: BreakEven | None  # the use from which owning is cheaper; None if nothing is owned
    investment: Investment | None  # in owning instead of renting it; None if it is owned already
    footprint: CarbonFootprint | None  # of a useful hour; None where the draw is not known
    piece_footprint: CarbonFootprint | None = None  # of the piece of work; None where there is none
    # The chance that owning costs less than committing to the same number of devices; None for
    # hours paid by use.
    equal_size_chance: float | None = None
    is_committed: bool = False  # paid for all hours of a term, used or not
    # False for prices of low confidence, superseded prices, and spot without interruptions.
    may_rank: bool = True
    is_superseded: bool = False  # its price is over half a year old, and others are younger
    owner: str = ""  # the server for owning, "" if nothing is owned
    is_same_work: bool = False  # the server is of another accelerator: the work is the same
    is_outdated: bool = False  # the price is older than prices of its kind stay valid
    server_price: HardwareInput | None = None  # of an owned server
    warnings: tuple[str, ...] = ()

    @property
    def layer(self) -> PriceLayer:
        """Return the layer of the price; the cost of owning is derived."""
        return PriceLayer.DERIVED if self.price is None else self.price.layer

    @property
    def is_doubtful(self) -> bool:
        """Return whether the price is of low confidence: such a row cannot be the cheapest."""
        return self.price is not None and not self.price.is_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEvenCurve:
    """Cost of a useful hour of one option at each use."""

    name: str
    is_owned: bool
    points: tuple[tuple[float, float, float, float], ...]  # use; USD: low, middle, high


@dataclass(frozen=True, slots=True)
class CheckpointIntervals:
    """Hours of work between checkpoints: the optimum, and Young's and Daly's formulas."""

    best_h: float
    young_h: float
    daly_h: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredSpeed:
    """The speed at which another accelerator's work costs the same, relative to the answer's."""

    accelerator: str
    option: CostRow  # its cheapest
    speed: float  # of its cheapest option against the cheapest of all
    speed_to_on_demand: float | None  # against the cheapest on demand; None where there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSwitch:
    """A value of one figure, all others unchanged, from which another option costs least."""

    figure: str
    unit: str  # "share", "USD/h", else the input's
    now: float
    value: float
    alternative: str  # the option that then costs least

    @property
    def is_input(self) -> bool:
        """Return whether the figure is an input of owning, which has its own range."""
        return self.unit not in {"share", "USD/h"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CostAnswer:
    """The comparison's answer for one accelerator, and what others must do to beat it.

    Spot prices without the cost of interruptions, and low-confidence prices, are excluded. `owned`,
    `on_demand` and `commitment` are the cheapest rows of their kind, None if there is none. The
    cheapest has the lowest median; `likeliest` is cheapest in most draws.
    """

    accelerator: str
    cheapest: CostRow
    likeliest: CostRow
    runner_up: CostRow | None
    owned: CostRow | None
    on_demand: CostRow | None
    commitment: CostRow | None
    speeds: tuple[RequiredSpeed, ...]
    switches: tuple[AnswerSwitch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostView:
    """Cost of a useful hour, or of a piece of work, on all options, cheapest first."""

    accelerators: tuple[str, ...]
    use: float  # the share of the hours paid for that are useful
    rows: tuple[CostRow, ...]  # per accelerator if there is no work to compare by
    assumed: tuple[str, ...]  # low-confidence inputs, in words
    piece: str = ""  # of work, such as "a million tokens"; "" for the hour alone
    works: tuple[PricedWork, ...] = ()
    unknown: tuple[str, ...] = ()  # what was asked for and has no price or no speed, in words
    answer: CostAnswer | None = None  # None where no option has a price that may rank
    shows_all: bool = False
    sheet: str = ""  # the name of the prices
    curves: tuple[BreakEvenCurve, ...] = ()  # of the first accelerator that could be owned
    owner: str = ""  # the server that the break-even is of
    kept_years: KeptYears | None = None  # of owned devices
    # None where interruptions are not known.
    checkpoint_intervals: CheckpointIntervals | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RentalOption:
    """A rental option, and the value of owning instead."""

    name: str
    price: Price
    investment: Investment
    warnings: tuple[str, ...] = ()

    @property
    def is_doubtful(self) -> bool:
        """Return whether the price is of low confidence."""
        return not self.price.is_trusted


@dataclass(frozen=True, slots=True, kw_only=True)
class OwningView:
    """Yearly cost of owning a server by part, and the sensitivity of its useful hour."""

    label: str
    accelerators: int
    use: float
    parts: tuple[tuple[str, Usd, Usd, Usd], ...]  # name, USD a year: P5, most likely, P95
    hour: OptionComparison
    bars: tuple[CostSwing, ...]
    terms: Ownership
    kept_years: KeptYears
    footprint: CarbonFootprint
    rents: tuple[RentalOption, ...]  # first the one that owning saves most against
    sheet: str = ""  # the name of the prices


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiBreakEven:
    """The throughput of one device at which an option costs as much as an API."""

    option: CostRow
    tokens_per_second: tuple[float, ...]  # at P5, P50 and P95 of the option's cost


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiView:
    """Break-even throughputs against an API, by accelerator, the lowest first."""

    price: ApiPrice
    devices_per_replica: int
    use: float
    rows: tuple[ApiBreakEven, ...]
    assumed: tuple[str, ...]
    unknown: tuple[str, ...]
    sheet: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PaymentView:
    """The payments of a commitment, and the price that they are computed from."""

    schedule: PaymentSchedule
    price: Price
    warnings: tuple[str, ...] = ()  # of its age, and of a rejected newer row


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForm:
    """The texts of the cost page's what-if form; "" is the usual value.

    A field has the name of the command's option and of the parameter in the page's address.
    """

    allocated_percent: str = ""  # percent
    years: str = ""
    job_hours: str = ""
    interruptions_per_hour: str = ""  # of a spot job
    checkpoint_seconds: str = ""
    at: tuple[str, ...] = ()
    shows_all: bool = False


# The fields of a CostForm that hold one number.
COST_NUMBERS = (
    *("allocated_percent", "years", "job_hours"),
    *("interruptions_per_hour", "checkpoint_seconds"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfView:
    """The comparison that a what-if form asks for, or what is wrong with it by field."""

    form: CostForm
    option_names: tuple[str, ...]  # to choose from
    command: tuple[str, ...]  # that computes the same
    use: float | None = None  # as given, or the usual one; None where it is invalid
    comparison: CostView | None = None  # None where a field is invalid
    owning: OwningView | None = None  # None where nothing is owned
    problems: Mapping[str, str]
    is_without_own_prices: bool = False  # the organisation has it, but the reader may not see it
