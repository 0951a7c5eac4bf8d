"""A bill in the FOCUS format (1.0 to 1.2) into device-hours used and what was really paid.

FinOps Open Cost and Usage Specification 1.2, https://focus.finops.org/focus-specification/v1-2/.
EffectiveCost counts: it has a commitment's upfront money spread over the usage that it covers, and
rows of commitments that nobody used, so that its sum is what the hours of the period cost.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation

import msgspec

from perfledger_cost_models.bulk import known_instances
from perfledger_cost_models.sheet import BILLED, Price, PricingModel
from perfledger_cost_models.table import Confidence

COLUMNS = (
    "BillingCurrency",
    "BilledCost",
    "ChargeCategory",
    "ChargePeriodEnd",
    "ChargePeriodStart",
    "EffectiveCost",
    "PricingCategory",
    "PricingQuantity",
    "PricingUnit",
    "ProviderName",
    "RegionId",
    "SubAccountId",
)
OPTIONAL = (
    "CommitmentDiscountStatus",
    "CommitmentDiscountType",
    "ResourceType",
    "SkuPriceDetails",
    "SubAccountName",
    "Tags",
    "x_InstanceType",
)
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
HOURS = ("hours", "hour", "hrs", "1 hour")
USAGE = "Usage"
UNUSED = "Unused"
MAX_ROWS = 5_000_000
MAX_LINE_CHARACTERS = 200_000


class BillError(ValueError):
    """A bill that is none, or in a currency that it cannot be priced in."""


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
    unused_usd: Decimal  # commitments to accelerators that nobody used
    other_usd: Decimal  # storage, networks, processors, tax, support, ...
    effective_usd: Decimal
    billed_usd: Decimal
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Accelerator-hours of one row of a bill; times in seconds since 1970."""

    labels: Mapping[str, str]  # provider, account, region, instance, accelerator, mode, tag_...
    start: float
    end: float
    device_hours: float


class _Details(msgspec.Struct):
    """What a row's SkuPriceDetails may say of its instance."""

    instance_type: str = msgspec.field(default="", name="InstanceType")


@dataclass(slots=True)
class _Sums:
    hours: Decimal = Decimal(0)
    effective: Decimal = Decimal(0)
    billed: Decimal = Decimal(0)


_Key = tuple[str, str, str, PricingModel, str]


@dataclass(slots=True)
class _Reading:
    """What was read so far."""

    usage: dict[_Key, _Sums]
    total: _Sums
    unused: Decimal = Decimal(0)
    other: Decimal = Decimal(0)
    start: datetime | None = None
    end: datetime | None = None
    rows: int = 0


def read_focus(lines: Iterable[str], *, team_tag: str = "") -> Bill:
    """Read a bill line by line; `team_tag` names the tag that says whose a row is.

    Without it, or on rows without that tag, the sub-account is the team. Raises BillError for what
    is no bill in FOCUS, a row with a cost that is no number, and another currency than USD.
    """
    rows = csv.reader(_checked(lines), strict=True)
    try:
        header = next(rows, list[str]())
        return bill_of(header, ((rows.line_num, cells) for cells in rows), team_tag=team_tag)
    except csv.Error as error:
        msg = f"the bill cannot be read, line {rows.line_num}: {error}: export it again"
        raise BillError(msg) from error


def bill_of(
    header: Sequence[str], rows: Iterable[tuple[int, Sequence[str]]], *, team_tag: str = ""
) -> Bill:
    """Return the bill that rows of text say, each with its line; empty rows are none.

    Raises BillError as `read_focus` does.
    """
    reading = _Reading(usage={}, total=_Sums())
    places = _header(header)
    for line, cells in rows:
        if cells:
            _add(reading, _row(cells, places, line), line, team_tag)
    if reading.start is None or reading.end is None:
        msg = "the bill has no rows: export the period again"
        raise BillError(msg)
    return Bill(
        start=reading.start,
        end=reading.end,
        usage=tuple(_usage(key, reading.usage[key]) for key in sorted(reading.usage)),
        unused_usd=reading.unused,
        other_usd=reading.other,
        effective_usd=reading.total.effective,
        billed_usd=reading.total.billed,
        rows=reading.rows,
    )


def read_charges(lines: Iterable[str]) -> Iterator[Charge]:
    """Yield the accelerator-hours of every row of a bill, 0 for rows without; raises BillError."""
    rows = csv.reader(_checked(lines), strict=True)
    try:
        header = _header(next(rows, list[str]()))
        for cells in rows:
            if cells:
                yield _charge(_row(cells, header, rows.line_num), rows.line_num)
    except csv.Error as error:
        msg = f"the bill cannot be read, line {rows.line_num}: {error}: export it again"
        raise BillError(msg) from error


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


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        if number > MAX_ROWS or len(line) > MAX_LINE_CHARACTERS:
            msg = f"the bill is too large at line {number + 1}: export shorter periods"
            raise BillError(msg)
        yield line.removeprefix("\ufeff") if number == 0 else line


def _header(cells: Sequence[str]) -> dict[str, int]:
    places = {name: index for index, name in enumerate(cells)}
    missing = [name for name in COLUMNS if name not in places]
    if missing:
        msg = f"the bill lacks FOCUS's columns {missing}: export it as FOCUS 1.0 or newer"
        raise BillError(msg)
    return {name: places[name] for name in (*COLUMNS, *OPTIONAL) if name in places}


def _row(cells: Sequence[str], header: Mapping[str, int], line: int) -> dict[str, str]:
    if len(cells) <= max(header.values()):
        msg = f"the bill's line {line} is cut off: a sum without it would be wrong; export it again"
        raise BillError(msg)
    row: dict[str, str] = dict.fromkeys(OPTIONAL, "")
    row |= {name: cells[index] for name, index in header.items()}
    if row["BillingCurrency"] != "USD":
        currency = row["BillingCurrency"][:20]
        msg = f"the bill's line {line} is in {currency!r}: convert it to USD with a dated rate"
        raise BillError(msg)
    return row


def _add(reading: _Reading, row: Mapping[str, str], line: int, team_tag: str) -> None:
    effective, billed = (_number(row, name, line) for name in ("EffectiveCost", "BilledCost"))
    reading.rows += 1
    reading.total.effective += effective
    reading.total.billed += billed
    start, end = (_moment(row, name, line) for name in ("ChargePeriodStart", "ChargePeriodEnd"))
    reading.start = min(start, reading.start or start)
    reading.end = max(end, reading.end or end)
    provider = PROVIDERS.get(row["ProviderName"].strip().lower(), "")
    sku = _instance(row, provider)
    if not sku or row["ChargeCategory"] != USAGE:
        reading.other += effective
    elif row["CommitmentDiscountStatus"] == UNUSED:
        reading.unused += effective
    elif row["PricingUnit"].strip().lower() not in HOURS:
        reading.other += effective
    else:
        key = provider, sku, row["RegionId"], _model(row), _team(row, team_tag)
        sums = reading.usage.setdefault(key, _Sums())
        sums.hours += _number(row, "PricingQuantity", line)
        sums.effective += effective
        sums.billed += billed


def _charge(row: Mapping[str, str], line: int) -> Charge:
    provider = PROVIDERS.get(row["ProviderName"].strip().lower(), "")
    sku = _instance(row, provider)
    hours, labels = 0.0, dict[str, str]()
    is_used = row["ChargeCategory"] == USAGE and row["CommitmentDiscountStatus"] != UNUSED
    if sku and is_used and row["PricingUnit"].strip().lower() in HOURS:
        holds = known_instances(provider)[sku]
        hours = float(_number(row, "PricingQuantity", line)) * holds.count
        labels = {
            "provider": provider,
            "account": _team(row, ""),
            "region": row["RegionId"],
            "instance": sku,
            "accelerator": holds.accelerator,
            "mode": str(_model(row)),
        }
        with suppress(msgspec.DecodeError, RecursionError):
            tags = msgspec.json.decode(row["Tags"], type=dict[str, str | None])
            labels |= {f"tag_{name}": value for name, value in tags.items() if value}
    return Charge(
        labels=labels,
        start=_moment(row, "ChargePeriodStart", line).timestamp(),
        end=_moment(row, "ChargePeriodEnd", line).timestamp(),
        device_hours=hours,
    )


def _instance(row: Mapping[str, str], provider: str) -> str:
    """Return the instance that a row is about, "" where it has no accelerator that is known."""
    names = [row["x_InstanceType"], row["ResourceType"]]
    with suppress(msgspec.DecodeError, RecursionError):
        names.insert(0, msgspec.json.decode(row["SkuPriceDetails"], type=_Details).instance_type)
    if not provider:
        return ""
    known = known_instances(provider)
    return next((name for name in names if name in known), "")


def _model(row: Mapping[str, str]) -> PricingModel:
    match row["PricingCategory"]:
        case "Dynamic":
            return PricingModel.SPOT
        case "Committed":
            kind = row["CommitmentDiscountType"].lower()
            if "saving" in kind:
                return PricingModel.SAVINGS_PLAN
            return PricingModel.RESERVED if "reserv" in kind else PricingModel.COMMITTED_USE
        case _:
            return PricingModel.ON_DEMAND


def _team(row: Mapping[str, str], tag: str) -> str:
    account = row["SubAccountName"] or row["SubAccountId"]
    if not tag:
        return account
    with suppress(msgspec.DecodeError, RecursionError):
        tags = msgspec.json.decode(row["Tags"], type=dict[str, str | None])
        return tags.get(tag) or account
    return account


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


def _number(row: Mapping[str, str], name: str, line: int) -> Decimal:
    try:
        number = Decimal(row[name].strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        msg = f"the bill's line {line}: {name} is {row[name][:40]!r}, no number: export it again"
        raise BillError(msg)
    return number


def _moment(row: Mapping[str, str], name: str, line: int) -> datetime:
    try:
        moment = datetime.fromisoformat(row[name].strip())
    except ValueError as error:
        msg = f"the bill's line {line}: {name} is {row[name][:40]!r}, no time: export it again"
        raise BillError(msg) from error
    if moment.tzinfo is None:
        msg = f"the bill's line {line}: {name} says no time zone; FOCUS writes UTC as Z"
        raise BillError(msg)
    return moment
