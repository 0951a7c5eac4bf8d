"""Reads the lines of FOCUS bills (1.0 to 1.4), and of AWS's CUR 2.0, into checked rows.

FinOps Open Cost and Usage Specification, https://focus.finops.org/focus-specification/. Version 1.3
replaces ProviderName by ServiceProviderName and 1.4 drops it; 1.3 splits charges into rows that sum
to the original one.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain

import msgspec

from perfledger.time_units import MINUTES_PER_HOUR, SECONDS_PER_HOUR
from perfledger_cost_models.billing.aws_usage_types import (
    BLOCK_FEE,
    DESCRIPTION,
    FAMILY_FEE,
    MAX_DESCRIPTION,
    METER,
    OPERATION,
    SURCHARGE_METER,
)
from perfledger_cost_models.billing.cur2 import Cur2Error, focus_cells, is_cur2
from perfledger_cost_models.billing.focus_columns import (
    OPTIONAL,
    PROVIDER_COLUMNS,
    BillError,
    column_places,
)
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.prices.exchange_rates import (
    DatedRate,
    ExchangeRateError,
    ExchangeRateTable,
)
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.units import USD
from perfledger_profiles.parsing.text_table import is_number, number_problem, read_table

PROVIDERS = {
    "aws": "aws",
    "amazon web services": "aws",
    "amazon web services, inc.": "aws",
    "microsoft": "azure",
    "microsoft azure": "azure",
    "google": "gcp",
    "google cloud": "gcp",
    "google cloud platform": "gcp",
}
# "Hours", Azure's "100 Hours", and FOCUS's other units of time; others, such as GB-hours, are not.
_TIME_UNIT = re.compile(
    r"(?:(?P<times>[1-9]\d{0,5}) )?(?:(?P<hours>h|hrs?|hours?)|(?P<minutes>minutes?)|seconds?)"
)
_SECONDS_PER_HOUR, _MINUTES_PER_HOUR = Decimal(SECONDS_PER_HOUR), Decimal(MINUTES_PER_HOUR)
COSTS = frozenset({"BilledCost", "EffectiveCost", "ListCost", "ContractedCost"})  # in its currency
USAGE, UNUSED, CORRECTION = "Usage", "Unused", "Correction"
# Hours of seconds may cost so little that an export rounds it to nothing.
MAX_ROUNDED_HOURS = Decimal("0.01")
# Families of instances with accelerators; a sheet may lack some of their sizes.
_ACCELERATED = re.compile(r"(?:ml\.)?(?:p|gr?|trn|inf|dl)\d+[a-z-]*\d*\.\w+|Standard_N[CDGMV]\w+")
_BLOCK_TYPE = "capacity block"  # in the type of a reservation: "EC2 Capacity Blocks for ML"
# Services charged by the hour of an instance on top of the instance's own row, so that its hours
# would count twice (EMR, EKS' Auto Mode, AKS, Databricks).
_SURCHARGES = re.compile(r"(?i)mapreduce|\bEMR\b|kubernetes|\b[EA]KS\b|databricks")
MAX_ROWS = 5_000_000  # of one bill
# Digits before and after the point that an amount of one row may have. A trillion of anything in
# one row, or less than a bill's smallest rate, is an error or an attack on exact sums.
MAX_DIGIT, MIN_DIGIT = 12, -30
_UTC = " UTC"  # BigQuery's form of FOCUS's Z
_NULL = "NULL"  # the empty value of SQL exports, also in FOCUS's own sample data


class _Details(msgspec.Struct):
    """The instance type in a row's SkuPriceDetails."""

    instance_type: str = msgspec.field(default="", name="InstanceType")


_DETAILS_DECODER = msgspec.json.Decoder(_Details)


@dataclass(frozen=True, slots=True)
class BillRow:
    """One charge; reading a cell checks it and raises BillError."""

    cells: Mapping[str, str]
    line: int
    rate: DatedRate | None = None  # of the charge's first day; None for a cost in USD

    @property
    def is_usage(self) -> bool:
        """Return whether it charges for usage, or for unused capacity, in its period."""
        return self.cells["ChargeCategory"] == USAGE

    @property
    def is_of_period(self) -> bool:
        """Return whether its period is the bill's, unlike that of a purchase or a correction."""
        return self.is_usage and self.cells["ChargeClass"] != CORRECTION

    @property
    def is_unused(self) -> bool:
        """Return whether it charges for an unused commitment or unused reserved capacity."""
        names = ("CommitmentDiscountStatus", "CapacityReservationStatus")
        has_unused_status = UNUSED in {self.cells[name] for name in names}
        described = self._description
        is_described = described is not None and described["unused"] is not None
        is_metered = any(meter["unused"] for meter in self._meters)
        return has_unused_status or is_metered or is_described

    @property
    def is_by_time(self) -> bool:
        """Return whether its quantity is in hours or another unit of time."""
        return self._time_unit is not None

    @property
    def hours(self) -> Decimal:
        """Return its quantity in hours; zero if that is in a unit other than time."""
        unit = self._time_unit
        if unit is None:
            return Decimal(0)
        quantity = self.number("PricingQuantity") * int(unit["times"] or 1)
        if unit["hours"]:
            return quantity
        return quantity / (_MINUTES_PER_HOUR if unit["minutes"] else _SECONDS_PER_HOUR)

    @property
    def is_block_fee(self) -> bool:
        """Return whether it is the fee of a capacity block."""
        return any(map(BLOCK_FEE.fullmatch, self._usage_types))

    @property
    def is_of_block(self) -> bool:
        """Return whether it says that it belongs to a capacity block."""
        matches = (self._description, self._operation)
        is_named = any(match is not None and match["block"] for match in matches)
        has_type = _BLOCK_TYPE in self.cells["x_CapacityReservationType"].lower()
        return self.is_block_fee or has_type or is_named

    @property
    def is_free(self) -> bool:
        """Return whether it has hours at no cost, as those of a capacity block."""
        return not self.number("EffectiveCost") and self.hours > MAX_ROUNDED_HOURS

    @property
    def provider(self) -> str:
        """Return the price sheet's name of the provider; "" for an unknown one."""
        return PROVIDERS.get(self._provider_name.lower(), "")

    @property
    def unknown_provider(self) -> str:
        """Return the name of a provider whose instances are not known here, else ""."""
        return "" if self.provider else self._provider_name

    @property
    def instance(self) -> str:
        """Return the row's instance; "" for a surcharge and one without a known accelerator."""
        if not self.provider or self._is_surcharge:
            return ""
        instances = known_instances(self.provider)
        names = chain(self._instance_names(), self._family if self.is_unused else ())
        return next((name for name in names if name in instances), "")

    @property
    def unlisted_instance(self) -> str:
        """Return the row's instance if it has accelerators that are not known here, else ""."""
        if not self.provider or self._is_surcharge or self.instance:
            return ""
        return next(filter(_ACCELERATED.fullmatch, self._instance_names()), "")

    @property
    def model(self) -> PricingModel:
        """Return the pricing model."""
        category = self.cells["PricingCategory"]
        kind = self.cells["CommitmentDiscountType"].lower()
        if self.is_of_block or self.is_free:
            return PricingModel.CAPACITY_BLOCK
        if category == "Dynamic":
            return PricingModel.SPOT
        if category != "Committed" and (category or not kind):
            return PricingModel.ON_DEMAND
        if "saving" in kind:
            return PricingModel.SAVINGS_PLAN
        return PricingModel.RESERVED if "reserv" in kind else PricingModel.COMMITTED_USE

    @property
    def is_model_certain(self) -> bool:
        """Return whether the pricing model is certain.

        A category "Standard" of AWS's hours means that no commitment and no spot price applies, but
        not whether they are on demand or a capacity block's. The operation, the description and
        the type of the reservation tell.
        """
        if self.provider != "aws" or self.model is not PricingModel.ON_DEMAND:
            return True
        described = self._description
        is_described = described is not None and described["on_demand"] is not None
        has_type = bool(self.cells["x_CapacityReservationType"].strip())
        return is_described or has_type or self._operation is not None

    @property
    def account(self) -> str:
        """Return the sub-account's name, else its id."""
        return self.cells["SubAccountName"] or self.cells["SubAccountId"]

    @property
    def tags(self) -> Mapping[str, str]:
        """Return the tags with a value; FOCUS writes `true` for keys that cannot have one.

        In a split charge, the tags of the part's own allocation take precedence over the whole
        charge's.
        """
        return _tags_of(self.cells["Tags"]) | _tags_of(self.cells["AllocatedTags"])

    def number(self, name: str) -> Decimal:
        """Return an amount, which may be negative; costs in USD."""
        amount = self._amount(name)
        return amount * self.rate.usd if self.rate and name in COSTS else amount

    def _amount(self, name: str) -> Decimal:
        cell = self.cells[name]
        number = Decimal(cell.strip()) if is_number(cell) else Decimal("NaN")
        if not number:
            return Decimal(0)  # with any exponent
        is_amount = number.is_finite() and MIN_DIGIT <= number.adjusted() <= MAX_DIGIT
        if not is_amount:
            problem = number_problem(cell, otherwise="is not an amount")
            where = f"the bill, line {self.line}: {name} {cell[:40]!r}"
            msg = f"{where} {problem}: export it again"
            raise BillError(msg)
        return number

    def moment(self, name: str) -> datetime:
        """Return a time with its zone; UTC, FOCUS's only zone, if none is written."""
        text = self.cells[name].strip()
        if text.endswith(_UTC):
            text = f"{text.removesuffix(_UTC)}Z"
        try:
            moment = datetime.fromisoformat(text)
        except ValueError as error:
            problem = f"{name} {text[:40]!r} is not a time"
            msg = f"the bill, line {self.line}: {problem}: export it again"
            raise BillError(msg) from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @property
    def _meters(self) -> tuple[re.Match[str], ...]:
        """Return the row's AWS usage types that are hours of an instance."""
        return tuple(match for match in map(METER.fullmatch, self._usage_types) if match)

    @property
    def _description(self) -> re.Match[str] | None:
        """Return the match of AWS's description of an instance's hours."""
        text = self.cells["ChargeDescription"].strip()
        is_aws = self.provider == "aws" and len(text) <= MAX_DESCRIPTION
        return DESCRIPTION.fullmatch(text) if is_aws else None

    @property
    def _operation(self) -> re.Match[str] | None:
        return OPERATION.fullmatch(self.cells["x_Operation"].strip())

    @property
    def _time_unit(self) -> re.Match[str] | None:
        return _TIME_UNIT.fullmatch(self.cells["PricingUnit"].strip().lower())

    @property
    def _provider_name(self) -> str:
        return next(filter(None, (self.cells[name].strip() for name in PROVIDER_COLUMNS)), "")

    def _instance_names(self) -> Iterator[str]:
        """Yield possible names of the instance, the most reliable first."""
        with suppress(msgspec.DecodeError, RecursionError):
            yield _DETAILS_DECODER.decode(self.cells["SkuPriceDetails"]).instance_type
        yield self.cells["x_InstanceType"]
        yield self.cells["ResourceType"]
        yield from (meter["instance"] for meter in self._meters)
        fees = map(BLOCK_FEE.fullmatch, self._usage_types)
        yield from (fee["instance"] for fee in fees if fee)
        if described := self._description:
            yield described["instance"] or described["other"]

    @property
    def _family(self) -> Iterator[str]:
        """Yield the instances of the family that a savings plan's fee names."""
        fees = filter(None, map(FAMILY_FEE.fullmatch, self._usage_types))
        families = tuple(fee["family"] for fee in fees)
        return (name for name in known_instances(self.provider) if name.startswith(families))

    @property
    def _is_surcharge(self) -> bool:
        """Return whether it charges on top of an instance whose hours have their own row."""
        is_service = _SURCHARGES.search(self.cells["ServiceName"]) is not None
        return is_service or any(map(SURCHARGE_METER.fullmatch, self._usage_types))

    @property
    def _usage_types(self) -> tuple[str, str]:
        return self.cells["x_UsageType"], self.cells["SkuMeter"]


def csv_rows(
    text: str | Iterable[str], *, exchange_rates: ExchangeRateTable | None = None
) -> Iterator[BillRow]:
    """Yield the rows of a bill in CSV, from its text or line by line; raise BillError."""
    table = read_table(text, "the bill", error=BillError)
    for count, row in enumerate(
        bill_rows(table.header, table.rows, exchange_rates=exchange_rates), start=1
    ):
        if count > MAX_ROWS:
            msg = f"the bill is too large at line {row.line}: export shorter periods"
            raise BillError(msg)
        yield row


def bill_rows(
    header: Sequence[str],
    rows: Iterable[tuple[int, Sequence[str]]],
    *,
    exchange_rates: ExchangeRateTable | None = None,
) -> Iterator[BillRow]:
    """Yield checked rows from line numbers and cells, one for each column.

    Raises BillError for a table that is not a FOCUS bill, and for a currency other than USD without
    exchange rates.
    """
    places = column_places(header)
    missing = dict.fromkeys(OPTIONAL, "")
    is_translated = is_cur2(header)
    for line, cells in rows:
        row = {
            name: "" if cells[place] == _NULL else cells[place] for name, place in places.items()
        }
        row = missing | (_cells_of(row, line) if is_translated else row)
        if tuple(map(str.strip, cells)) == tuple(header):
            msg = (
                f"the bill, line {line}, has the names of the columns again, so that two exports "
                "were joined: leave the second names out, and check that no row is there twice"
            )
            raise BillError(msg)
        checked = BillRow(row, line)
        if row["BillingCurrency"] != USD:
            checked = replace(checked, rate=_rate_of(checked, exchange_rates))
        yield checked


def _rate_of(row: BillRow, table: ExchangeRateTable | None) -> DatedRate:
    """Return the rate of a charge's first day; raise BillError without one."""
    is_in = f"the bill, line {row.line}, is in {row.cells['BillingCurrency'][:20]!r}"
    if table is None:
        msg = (
            f"{is_in}: give the ECB's table with --exchange-rates; convert a usage file to USD "
            "with a dated rate"
        )
        raise BillError(msg)
    day = row.moment("ChargePeriodStart").astimezone(UTC).date()
    try:
        return table.find(row.cells["BillingCurrency"], day)
    except ExchangeRateError as error:
        msg = f"{is_in}: {error}"
        raise BillError(msg) from error


def _cells_of(row: Mapping[str, str], line: int) -> dict[str, str]:
    try:
        return focus_cells(row)
    except Cur2Error as error:
        msg = f"the bill, line {line}, {error}"
        raise BillError(msg) from error


def _tags_of(text: str) -> dict[str, str]:
    with suppress(msgspec.DecodeError, RecursionError):
        tags = msgspec.json.decode(text, type=dict[str, object])
        return {name: value for name, value in tags.items() if value and isinstance(value, str)}
    return {}
