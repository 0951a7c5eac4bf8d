"""Holds the cost model of a purchase: inputs, formulas and options over three years.

The model is text: named inputs, and formulas over them. Upfront payments and purchases are due at
the start of a year, a resale at the end of the last one, all other payments at each month's end.
Existing supply carries the first hours for all options alike. Its cost is not part of the decision,
because it is paid in any case.
"""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import StrEnum

from perfledger_cost_models.formula import FormulaLine
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.staleness import MaxAge
from perfledger_cost_models.procurement.hour_shares import HourShares
from perfledger_cost_models.procurement.plan import ProcurementPlan
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet
from perfledger_cost_models.tco.onprem import ServerSpec
from perfledger_cost_models.tco.purchase_modes import PurchaseTerms

YEARS = 3
PLAN_YEARS = range(1, YEARS + 1)
HOURS = "hours_a_year"
GROWTH = "hours_growth"
COMMITMENT_UTILIZATION = "commitment_utilization"
ALLOCATED_SHARE = "allocated_share"
BUSY_SHARE = "busy_share"
RESIDUAL = "residual_value_36m"  # after the three years, when the model sells
NOT_IN_THE_MODEL = frozenset({"residual_value_60m", "depreciation_years"})


class InputBasis(StrEnum):
    """The evidence behind a figure."""

    MEASURED = "measured"
    QUOTED = "quoted"
    ASSUMED = "assumed"


class PurchaseMode(StrEnum):
    """How a purchase option is paid for."""

    PAY_AS_YOU_GO = "pay as you go"
    SPOT = "spot"
    BLOCK = "capacity block"
    COMMITMENT = "commitment"
    OWNED = "owned"


class SizeBasis(StrEnum):
    """Why an option has its number of devices."""

    PLANNED = "the plan"
    LEAST_COST = "the number with the lowest mean cost over three years"
    FIRST_NEED = "enough whole instances to carry the first year's most likely need"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInput:
    """A named figure that the model starts from; `max_age` is how long a price stays valid."""

    name: str
    label: str
    unit: str
    low: Decimal
    mode: Decimal
    high: Decimal
    basis: InputBasis
    source: str
    source_url: str = ""  # its https address; "" if none is known
    as_of: date | None = None
    is_read_date: bool = False
    max_age: MaxAge | None = None
    region: str = ""  # of a price

    @property
    def is_certain(self) -> bool:
        """Return whether it has no range."""
        return self.low == self.high


@dataclass(frozen=True, slots=True, kw_only=True)
class PurchaseOption:
    """A purchase option and the names of its figures in the model."""

    key: str  # "w1": the prefix of the names of its inputs and lines
    name: str
    where: str
    mode: PurchaseMode
    accelerator: str
    devices: int | None  # committed or bought; None if usage is billed
    size_basis: SizeBasis
    years: int  # the term of a commitment
    upfront_share: Decimal
    lead_time: str
    note: str
    terms: PurchaseTerms | None  # None for owned servers
    server: ServerSpec | None = None
    sold_together: int = 1  # devices of one instance or server
    # The name of the hours of its accelerator that replace one; "" on the plan's own accelerator.
    # All options on an accelerator share it, so that a draw has one speed of that accelerator.
    hours_ratio: str = ""

    @property
    def rate(self) -> str:
        """Return the name of the price per hour, or of the server's price for owned servers."""
        return f"{self.key}_usd_per_hour" if self.server is None else self.server.price

    @property
    def paid(self) -> tuple[str, ...]:
        """Return the names of the payment at the start, and of all that each year pays."""
        return tuple(f"{self.key}_paid_{year}" for year in range(YEARS + 1))

    @property
    def paid_at_end(self) -> dict[int, str]:
        """Return the names of the parts due once at the end of a year, by that year.

        A term of one year is renewed then, and owned servers are sold after the last year.
        """
        years: range = range(0)
        if self.server is not None:
            years = range(YEARS, YEARS + 1)
        elif self.upfront_share and self.years == 1:
            years = range(1, YEARS)
        return {year: f"{self.key}_paid_at_end_{year}" for year in years}

    @property
    def npv(self) -> str:
        """Return the name of the present value of all payments."""
        return f"{self.key}_npv_usd"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpricedOption:
    """A planned option that cannot be priced or decided on, with the reason."""

    name: str
    where: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """All options over the same inputs; each line refers only to inputs and earlier lines."""

    accelerator: str
    inputs: tuple[ModelInput, ...]
    lines: tuple[FormulaLine, ...]
    options: tuple[PurchaseOption, ...]
    keep: PurchaseOption
    unpriced: tuple[UnpricedOption, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanData:
    """The plan, prices and hardware inputs of a cost model."""

    plan: ProcurementPlan
    sheet: PriceSheet
    parameters: HardwareInputSheet
    shares: HourShares
