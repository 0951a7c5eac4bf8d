"""A bill in the FOCUS format (1.0 to 1.2) into device-hours used and what was really paid.

EffectiveCost counts: it has a commitment's upfront money spread over the usage that it covers, and
rows of commitments that nobody used, so that its sum is what the hours of the period cost.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from perfledger_cost_models.bulk import known_instances
from perfledger_cost_models.focus_row import BillError, BillRow, csv_rows
from perfledger_cost_models.sheet import BILLED, Price, PricingModel
from perfledger_cost_models.table import Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Hours of one kind of instance that one team had in the period, and what they cost."""

    provider: str
    sku: str
    region: str
    model: PricingModel
    team: str
    instance_hours: Decimal
    effective_usd: Decimal
    billed_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """What a bill says of accelerators, and of all else in sums: nothing of it is lost.

    The usage's effective cost, that of unused commitments and that of other charges sum to
    `effective_usd`.
    """

    start: datetime
    end: datetime
    usage: tuple[Usage, ...]  # by provider, SKU, region, mode and team
    unused: Mapping[str, Decimal]  # USD by accelerator: committed to or reserved, and not used
    other_usd: Decimal  # storage, networks, tax, support, corrections of earlier bills, ...
    effective_usd: Decimal
    billed_usd: Decimal
    list_usd: Decimal | None  # None where a row does not say it; so is what was contracted
    contracted_usd: Decimal | None
    rows: int

    @property
    def unused_usd(self) -> Decimal:
        """Return what commitments to accelerators, and reserved ones, cost that nobody used."""
        return sum(self.unused.values(), Decimal(0))


@dataclass(slots=True)
class _Sums:
    hours: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    billed: Decimal = Decimal(0)


_Key = tuple[str, str, str, PricingModel, str]


@dataclass(slots=True)
class _Period:
    """From the first to the last moment of some rows."""

    start: datetime | None = None
    end: datetime | None = None

    def add(self, start: datetime, end: datetime) -> None:
        """Stretch it over one more row."""
        self.start = min(start, self.start or start)
        self.end = max(end, self.end or end)


@dataclass(slots=True)
class _Reading:
    """What was read so far."""

    usage: dict[_Key, _Sums] = field(default_factory=dict[_Key, _Sums])
    total: _Sums = field(default_factory=_Sums)
    listed: Decimal | None = Decimal(0)
    contracted: Decimal | None = Decimal(0)
    unused: dict[str, Decimal] = field(default_factory=dict[str, Decimal])
    other: Decimal = Decimal(0)
    used: _Period = field(default_factory=_Period)  # of usage
    whole: _Period = field(default_factory=_Period)  # of all rows
    rows: int = 0


def read_focus(lines: Iterable[str], *, team_tag: str = "") -> Bill:
    """Read a bill line by line; `team_tag` names the tag that says whose a row is.

    Without it, or on rows without that tag, the sub-account is the team. Raises BillError for what
    is no bill in FOCUS, a row with a cost that is no number, and another currency than USD.
    """
    return bill_of(csv_rows(lines), team_tag=team_tag)


def bill_of(rows: Iterable[BillRow], *, team_tag: str = "") -> Bill:
    """Return the bill that rows say; raises BillError as `read_focus` does.

    Its period is that of its usage: what was purchased is of years to come, a correction of a bill
    of before, and both would make the hours of a quarter look like those of longer.
    """
    reading = _Reading()
    for row in rows:
        _add(reading, row, team_tag)
    period = reading.whole if reading.used.start is None else reading.used
    if period.start is None or period.end is None:
        msg = "the bill has no rows: export the period again"
        raise BillError(msg)
    return Bill(
        start=period.start,
        end=period.end,
        usage=tuple(_usage(key, reading.usage[key]) for key in sorted(reading.usage)),
        unused=reading.unused,
        other_usd=reading.other,
        effective_usd=reading.total.effective,
        billed_usd=reading.total.billed,
        list_usd=reading.listed,
        contracted_usd=reading.contracted,
        rows=reading.rows,
    )


def paid_prices(bill: Bill, *, source: str) -> tuple[Price, ...]:
    """Return what an hour of each instance really cost: effective cost / hours, over all teams.

    Unused commitments are not in it: they are paid whether or not an hour is used.
    """
    sums: dict[tuple[str, str, str, PricingModel], _Sums] = {}
    for one in bill.usage:
        found = sums.setdefault((one.provider, one.sku, one.region, one.model), _Sums())
        found.hours += one.instance_hours
        found.effective += one.effective_usd
    return tuple(
        Price(
            provider=provider,
            sku=sku,
            region=region,
            accelerator=known_instances(provider)[sku].accelerator,
            count=known_instances(provider)[sku].count,
            pricing_model=model,
            term=BILLED,
            usd_per_hour=found.effective / found.hours,
            as_of=bill.end.date(),
            is_read_date=False,
            retrieved_at=None,
            confidence=Confidence.HIGH,
            source=source,
            note=f"{found.hours} hours from {bill.start.date()} to {bill.end.date()}",
        )
        for (provider, sku, region, model), found in sums.items()
        if found.hours > 0 and found.effective > 0
    )


def device_hours(bill: Bill) -> Mapping[tuple[str, str], Decimal]:
    """Return the accelerator-hours of each team and accelerator in the period."""
    hours: dict[tuple[str, str], Decimal] = {}
    for one in bill.usage:
        holds = known_instances(one.provider)[one.sku]
        key = one.team, holds.accelerator
        hours[key] = hours.get(key, Decimal(0)) + one.instance_hours * holds.count
    return hours


def _add(reading: _Reading, row: BillRow, team_tag: str) -> None:
    effective, billed = row.number("EffectiveCost"), row.number("BilledCost")
    reading.rows += 1
    reading.total.effective += effective
    reading.total.billed += billed
    reading.listed = _told_sum(reading.listed, row, "ListCost")
    reading.contracted = _told_sum(reading.contracted, row, "ContractedCost")
    start, end = row.moment("ChargePeriodStart"), row.moment("ChargePeriodEnd")
    reading.whole.add(start, end)
    if row.is_of_period:
        reading.used.add(start, end)
    sku = row.instance
    if not sku or not row.is_of_period:
        reading.other += effective
    elif row.is_unused:
        accelerator = known_instances(row.provider)[sku].accelerator
        reading.unused[accelerator] = reading.unused.get(accelerator, Decimal(0)) + effective
    elif not row.is_by_hour:
        reading.other += effective
    else:
        team = (row.tags.get(team_tag) if team_tag else None) or row.account
        key = row.provider, sku, row.cells["RegionId"], row.model, team
        sums = reading.usage.setdefault(key, _Sums())
        sums.hours += row.number("PricingQuantity")
        sums.effective += effective
        sums.billed += billed


def _told_sum(known: Decimal | None, row: BillRow, name: str) -> Decimal | None:
    """Return a sum with a row's amount, None once a row has none: it would be of a part alone."""
    is_told = known is not None and row.cells[name].strip()
    return known + row.number(name) if known is not None and is_told else None


def _usage(key: _Key, sums: _Sums) -> Usage:
    provider, sku, region, model, team = key
    return Usage(
        provider=provider,
        sku=sku,
        region=region,
        model=model,
        team=team,
        instance_hours=sums.hours,
        effective_usd=sums.effective,
        billed_usd=sums.billed,
    )
