"""Reads FOCUS bills (1.0 to 1.4) into used device-hours and effective prices.

EffectiveCost counts: it spreads a commitment's upfront payment over the usage that it covers and
includes rows of unused commitments, so that its sum is what the hours of the period cost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal

from perfledger.rounding import digits
from perfledger_cost_models.billing.bill_currency import BillRates, rates_of
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.focus_rows import BillRow, csv_rows
from perfledger_cost_models.billing.repeated_rows import without_repeats
from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.price_feeds.rows import known_instances
from perfledger_cost_models.prices.exchange_rates import DatedRate, ExchangeRateTable
from perfledger_cost_models.prices.history_rules import ONE_DAY
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, Price, PricingModel


@dataclass(frozen=True, slots=True, kw_only=True)
class BilledUsage:
    """One team's hours of one kind of instance in the period, and their cost."""

    provider: str
    sku: str
    region: str
    model: PricingModel
    team: str
    instance_hours: Decimal
    effective_usd: Decimal
    billed_usd: Decimal
    # Whether every row says more than "Standard", as `BillRow.is_model_certain`.
    is_model_certain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """A bill's accelerator usage in detail, and everything else as sums, so that nothing is lost.

    The effective cost of usage, of unused commitments and of other charges sum to `effective_usd`.
    """

    start: datetime
    end: datetime
    usage: tuple[BilledUsage, ...]  # by provider, SKU, region, mode and team
    unused: Mapping[str, Decimal]  # USD by accelerator: committed or reserved, but not used
    other_usd: Decimal  # storage, networks, tax, support, corrections of earlier bills, ...
    unlisted: Mapping[str, Decimal]  # the part of it for instances with unknown accelerators
    unknown_providers: Mapping[str, Decimal]  # the part that each of these charges by the hour
    unread_units: Mapping[str, Decimal]  # the part for accelerators in units other than time
    effective_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal | None  # None if a row lacks it
    contracted_usd: Decimal | None  # None if a row lacks it
    rows: int
    rates: tuple[BillRates, ...]  # by currency; none for a bill in USD
    gap: tuple[date, date] | None  # first and last day of the longest stretch without usage

    @property
    def unused_usd(self) -> Decimal:
        """Return the cost of unused commitments to accelerators and of unused reserved capacity."""
        return sum(self.unused.values(), Decimal(0))


@dataclass(slots=True)
class _Sums:
    hours: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    billed: Decimal = Decimal(0)
    is_model_certain: bool = True


_Key = tuple[str, str, str, PricingModel, str]


@dataclass(slots=True)
class _Period:
    """The time from the first to the last moment of some rows."""

    start: datetime | None = None
    end: datetime | None = None
    days: set[tuple[date, date]] = field(default_factory=set[tuple[date, date]])  # inclusive

    def add(self, start: datetime, end: datetime) -> None:
        """Extend the period to one more row."""
        self.start = min(start, self.start or start)
        self.end = max(end, self.end or end)
        has_length = end > start  # else the row is of its first day
        last = end - timedelta.resolution if has_length else start
        self.days.add((start.date(), last.date()))

    @property
    def longest_gap(self) -> tuple[date, date] | None:
        """Return the first and last day of the longest stretch without a row, None without one."""
        gaps: list[tuple[date, date]] = []
        known_until: date | None = None
        for first, last in sorted(self.days):
            if known_until is not None and first - known_until > ONE_DAY:
                gaps.append((known_until + ONE_DAY, first - ONE_DAY))
            known_until = max(last, known_until or last)
        return max(gaps, key=lambda gap: gap[1] - gap[0], default=None)


@dataclass(slots=True)
class _Reading:
    """The sums of the rows read so far."""

    usage: dict[_Key, _Sums] = field(default_factory=dict[_Key, _Sums])
    total: _Sums = field(default_factory=_Sums)
    listed: Decimal | None = Decimal(0)
    contracted: Decimal | None = Decimal(0)
    unused: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    other_usd: Decimal = Decimal(0)
    unlisted: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    unknown_providers: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    unread_units: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    used: _Period = field(default_factory=_Period)  # of usage
    all_rows: _Period = field(default_factory=_Period)
    rows: int = 0
    rates: dict[str, set[DatedRate]] = field(default_factory=dict[str, set[DatedRate]])
    free_lines: dict[str, int] = field(default_factory=dict[str, int])  # of hours at no cost
    block_fees: set[str] = field(default_factory=set[str])  # instances whose blocks were paid


def read_focus(
    lines: Iterable[str],
    *,
    team_tag: str = "",
    exchange_rates: ExchangeRateTable | None = None,
) -> Bill:
    """Read a bill line by line; the tag `team_tag` names a row's team.

    Without it, or on rows without that tag, the sub-account is the team. Raises BillError for a
    file that is not a FOCUS bill, a cost that is not a number, a currency other than USD that
    `exchange_rates` does not have, and hours at no cost or less that no capacity block's fee pays.
    """
    rows = csv_rows(lines, exchange_rates=exchange_rates)
    return bill_of(rows, team_tag=team_tag, exchange_rates=exchange_rates)


def bill_of(
    rows: Iterable[BillRow],
    *,
    team_tag: str = "",
    exchange_rates: ExchangeRateTable | None = None,
) -> Bill:
    """Return the bill of checked rows, converted at `exchange_rates`. Raises like `read_focus`.

    Its period is that of its usage: purchases cover years to come, and corrections belong to
    earlier bills; both would make the period look longer than it is.
    """
    reading = _Reading()
    for row in without_repeats(rows):
        _add(reading, row, team_tag)
    _check_free(reading)
    period = reading.all_rows if reading.used.start is None else reading.used
    if period.start is None or period.end is None:
        msg = "the bill has no rows: export the period again"
        raise BillError(msg)
    return Bill(
        start=period.start,
        end=period.end,
        usage=tuple(_usage(key, reading.usage[key]) for key in sorted(reading.usage)),
        unused=reading.unused,
        other_usd=reading.other_usd,
        unlisted=reading.unlisted,
        unknown_providers=reading.unknown_providers,
        unread_units=reading.unread_units,
        effective_usd=reading.total.effective,
        billed_usd=reading.total.billed,
        list_usd=reading.listed,
        contracted_usd=reading.contracted,
        rows=reading.rows,
        rates=()
        if exchange_rates is None
        else tuple(
            rates_of(currency, rates, source=exchange_rates.name)
            for currency, rates in reading.rates.items()
        ),
        gap=period.longest_gap,
    )


def paid_prices(bill: Bill, *, source: str) -> tuple[Price, ...]:
    """Return the effective price per hour of each instance: effective cost / hours, over all teams.

    Unused commitments are excluded: they are paid whether or not an hour is used.
    """
    sums_by_price: dict[tuple[str, str, str, PricingModel], _Sums] = {}
    for usage in bill.usage:
        sums = sums_by_price.setdefault(
            (usage.provider, usage.sku, usage.region, usage.model), _Sums()
        )
        sums.hours += usage.instance_hours
        sums.effective += usage.effective_usd
    return tuple(
        Price(
            provider=provider,
            sku=sku,
            region=region,
            accelerator=known_instances(provider)[sku].accelerator,
            count=known_instances(provider)[sku].count,
            pricing_model=model,
            term=BILLED_TERM,
            usd_per_hour=sums.effective / sums.hours,
            as_of=bill.end.date(),
            is_read_date=False,
            retrieved_at=None,
            confidence=SourceConfidence.HIGH,
            source=source,
            note=f"{sums.hours} hours from {bill.start.date()} to {bill.end.date()}"
            + "".join(f"; {rates}" for rates in bill.rates),
        )
        for (provider, sku, region, model), sums in sums_by_price.items()
        if sums.hours > 0 and sums.effective > 0
    )


def device_hours(bill: Bill) -> Mapping[tuple[str, str], Decimal]:
    """Return the accelerator-hours by team and accelerator in the period."""
    hours: dict[tuple[str, str], Decimal] = {}
    for usage in bill.usage:
        accelerators = known_instances(usage.provider)[usage.sku]
        key = usage.team, accelerators.accelerator
        hours[key] = hours.get(key, Decimal(0)) + usage.instance_hours * accelerators.count
    return hours


def _add_unknown(sums: dict[str, Decimal], name: str, usd: Decimal) -> None:
    if name:
        sums[name] = sums.get(name, Decimal(0)) + usd


def _add(reading: _Reading, row: BillRow, team_tag: str) -> None:
    effective, billed = row.number("EffectiveCost"), row.number("BilledCost")
    reading.rows += 1
    if row.rate is not None:
        reading.rates.setdefault(row.cells["BillingCurrency"], set()).add(row.rate)
    reading.total.effective += effective
    reading.total.billed += billed
    reading.listed = _complete_sum(reading.listed, row, "ListCost")
    reading.contracted = _complete_sum(reading.contracted, row, "ContractedCost")
    period = row.moment("ChargePeriodStart"), row.moment("ChargePeriodEnd")
    reading.all_rows.add(*period)
    if row.is_of_period:
        reading.used.add(*period)
    sku = row.instance
    if sku and row.is_block_fee:
        reading.block_fees.add(sku)
        _add_usage(reading, row, team_tag, effective, billed)
    elif not sku or not row.is_of_period:
        reading.other_usd += effective
        if row.is_of_period and row.is_by_time:
            _add_unknown(reading.unlisted, row.unlisted_instance, effective)
            _add_unknown(reading.unknown_providers, row.unknown_provider, effective)
    elif row.is_unused:
        accelerator = known_instances(row.provider)[sku].accelerator
        reading.unused[accelerator] = reading.unused.get(accelerator, Decimal(0)) + effective
    elif not row.is_by_time:
        reading.other_usd += effective
        _add_unknown(reading.unread_units, row.cells["PricingUnit"].strip() or "no unit", effective)
    else:
        _check_cost(reading, row, sku, effective)
        _add_usage(reading, row, team_tag, effective, billed)


def _check_cost(reading: _Reading, row: BillRow, sku: str, usd: Decimal) -> None:
    """Raise BillError for hours at a negative cost; note the first row of hours at none."""
    if usd < 0 < row.hours:
        msg = (
            f"the bill, line {row.line}: {digits(row.hours, 6)} hours of {sku} cost "
            f"{digits(usd, 6)} USD: a price is never negative. A credit has a charge category of "
            "its own: export it again"
        )
        raise BillError(msg)
    if row.is_free and not row.is_of_block:
        reading.free_lines.setdefault(sku, row.line)


def _add_usage(
    reading: _Reading, row: BillRow, team_tag: str, effective: Decimal, billed: Decimal
) -> None:
    """Add an instance's charge to its team's sums; a capacity block's fee has no hours."""
    team = (row.tags.get(team_tag) if team_tag else None) or row.account
    key = row.provider, row.instance, row.cells["RegionId"], row.model, team
    sums = reading.usage.setdefault(key, _Sums())
    sums.hours += Decimal(0) if row.is_block_fee else row.hours
    sums.effective += effective
    sums.billed += billed
    sums.is_model_certain &= row.is_model_certain


def _check_free(reading: _Reading) -> None:
    """Raise BillError for hours at no cost, unless a capacity block's fee on the bill pays them."""
    for sku, line in reading.free_lines.items():
        if sku not in reading.block_fees:
            msg = (
                f"the bill, line {line}: hours of {sku} cost 0 USD, and zero is no price. Export "
                "what they cost before credits, or the fee of the capacity block that paid for them"
            )
            raise BillError(msg)


def _complete_sum(total: Decimal | None, row: BillRow, name: str) -> Decimal | None:
    """Add a row's amount to a sum; None once any row lacks it, because the sum would be partial."""
    has_amount = total is not None and row.cells[name].strip()
    return total + row.number(name) if total is not None and has_amount else None


def _usage(key: _Key, sums: _Sums) -> BilledUsage:
    provider, sku, region, model, team = key
    return BilledUsage(
        provider=provider,
        sku=sku,
        region=region,
        model=model,
        team=team,
        instance_hours=sums.hours,
        effective_usd=sums.effective,
        billed_usd=sums.billed,
        is_model_certain=sums.is_model_certain,
    )
