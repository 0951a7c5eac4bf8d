"""What was used hour by hour, what is committed to, and prices in; what is billed out."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path

from perfledger_cost_models.coverage import (
    CoveredHour,
    Plan,
    Reserved,
    Used,
    covered_hour,
    together,
)
from perfledger_cost_models.headed_table import Row, read_rows
from perfledger_cost_models.sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.usage import MAX_USAGE_BYTES
from perfledger_service.errors import UsageError
from perfledger_service.usecases.text_files import read_text
from perfledger_service.usecases.translating import translated

# A year of hours of a hundred kinds of instances.
MAX_ROWS = 1_000_000
MAX_HOURS = 5 * 8784  # of the longest term that is sold
MAX_QUANTITY = Decimal(10_000_000)  # as many as can be written on the command line
COLUMNS = ("hour", "sku", "quantity")
_COUNTED = re.compile(r"(?P<count>\d{1,7}(?:\.\d{1,6})?)x(?P<sku>[^@/]{1,100})")
_PLAN = re.compile(r"(?:(?P<family>[^:@/]{1,60}):)?(?P<usd>\d{1,7}(?:\.\d{1,6})?)@(?P<term>[^@/]+)")
_RESERVED = re.compile(rf"{_COUNTED.pattern}@(?P<term>[^@/]+)")

Hours = Sequence[Mapping[str, Decimal]]  # how many of each instance were used, hour by hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What is committed to, as it was written."""

    plans: Sequence[str] = ()
    reserved: Sequence[str] = ()


def usage_hours(
    file: Path | None, counted: Iterable[str], *, all_hours: int | None = None
) -> Hours:
    """Return what was used in each hour: of a table, or the one hour that was told.

    Up to `all_hours` there are others in which nothing was used, but commitments are paid. Raises
    NotFoundError, TooLargeError, and UsageError for what cannot be read.
    """
    told: dict[str, Decimal] = {}
    for found in map(_counted, counted):
        told[found["sku"]] = told.get(found["sku"], Decimal(0)) + Decimal(found["count"])
    if (file is None) is not bool(told):
        msg = "give a table of what was used by the hour, or --used 4xp5.48xlarge of one hour"
        raise UsageError(msg)
    if file is None:
        return _with_idle((told,), all_hours)
    hours: dict[str, dict[str, Decimal]] = {}
    with translated():
        text = read_text(file, most_bytes=MAX_USAGE_BYTES)
        for row in read_rows(text, file.name, most_rows=MAX_ROWS):
            hour, sku, quantity = _cells(row)
            used = hours.setdefault(hour, {})
            used[sku] = used.get(sku, Decimal(0)) + quantity
    return _with_idle(tuple(hours.values()), all_hours)


def cover(sheet: PriceSheet, hours: Hours, held: Held, *, region: str) -> CoveredHour:
    """Return what these hours are billed together; raises UsageError for what has no price."""
    names = tuple(dict.fromkeys(name for used in hours for name in used))
    with translated():
        usd = {name: sheet.find(_option(name, "on_demand", region)).usd_per_hour for name in names}
        plans = [_plan(sheet, text, names, region) for text in held.plans]
        reserved = [_reserved(sheet, text, region) for text in held.reserved]
        return together(
            [
                covered_hour(
                    [
                        Used(name=name, quantity=quantity, on_demand_usd=usd[name])
                        for name, quantity in used.items()
                    ],
                    reserved=reserved,
                    plans=plans,
                )
                for used in hours
            ]
        )


def _with_idle(hours: Hours, all_hours: int | None) -> Hours:
    if all_hours is None:
        return hours
    if not len(hours) <= all_hours <= MAX_HOURS:
        msg = f"{all_hours} hours: give at least the {len(hours)} of the usage, up to {MAX_HOURS:,}"
        raise UsageError(msg)
    idle: Mapping[str, Decimal] = {}
    return (*hours, *[idle] * (all_hours - len(hours)))


def _plan(sheet: PriceSheet, text: str, names: Iterable[str], region: str) -> Plan:
    """Read "1500@1y_no_upfront_compute", or "p5:60@3y_no_upfront" of one family."""
    found = _PLAN.fullmatch(text)
    if found is None:
        msg = f"{text[:80]!r}: write USD an hour and the term, 60@1y_no_upfront_compute or p5:60@1y"
        raise UsageError(msg)
    family = found["family"]
    rates: dict[str, Decimal] = {}
    for name in names:
        if family in {None, name.partition(".")[0]}:
            with suppress(PriceMissingError):
                option = _option(name, f"savings_plan/{found['term']}", region)
                rates[name] = sheet.find(option).usd_per_hour
    if not rates:
        term = f"savings_plan/{found['term']}"
        msg = f"the plan {text[:80]!r} covers nothing that was used: no price {term} of any of it"
        raise UsageError(msg)
    return Plan(
        name=text, usd_per_hour=Decimal(found["usd"]), rates=rates, is_for_all=family is None
    )


def _reserved(sheet: PriceSheet, text: str, region: str) -> Reserved:
    """Read "2xp4d.24xlarge@1y_no_upfront"."""
    found = _RESERVED.fullmatch(text)
    if found is None:
        msg = f"{text[:80]!r}: write how many of what for how long, 2xp4d.24xlarge@1y_no_upfront"
        raise UsageError(msg)
    price = sheet.find(_option(found["sku"], f"reserved/{found['term']}", region))
    return Reserved(
        name=found["sku"], count=Decimal(found["count"]), usd_per_hour=price.usd_per_hour
    )


def _option(sku: str, model: str, region: str) -> str:
    return f"{sku}/{model}@{region}" if region else f"{sku}/{model}"


def _counted(text: str) -> re.Match[str]:
    found = _COUNTED.fullmatch(text)
    if found is None:
        msg = f"{text[:80]!r}: write how many of what in an hour, such as 4xp5.48xlarge"
        raise UsageError(msg)
    return found


def _cells(row: Row) -> tuple[str, str, Decimal]:
    if not set(COLUMNS) <= set(row.cells):
        msg = f"{row.where}: give the columns {', '.join(COLUMNS)}"
        raise UsageError(msg)
    try:
        quantity = Decimal(row.cells["quantity"].strip())
    except InvalidOperation:
        quantity = Decimal("NaN")
    if not (quantity.is_finite() and 0 <= quantity < MAX_QUANTITY):
        msg = f"{row.where}: a quantity of {row.cells['quantity'][:40]!r}: give 0 to {MAX_QUANTITY}"
        raise UsageError(msg)
    return row.cells["hour"].strip(), row.cells["sku"].strip(), quantity
