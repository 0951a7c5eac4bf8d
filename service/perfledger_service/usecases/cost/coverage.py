"""Computes the bill of hourly usage under savings plans and reserved instances."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from perfledger_cost_models.billing.commitment_coverage import (
    CommitmentPlan,
    CoveredHour,
    HourlyUsage,
    ReservedInstances,
    covered_hour,
    sum_hours,
)
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.usage.csv_with_header import CsvRow, read_rows
from perfledger_cost_models.usage.device_spans import MAX_USAGE_BYTES
from perfledger_profiles.parsing.text_table import is_number, number_problem
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, read_text

# A year of hours for a hundred instance types.
MAX_ROWS = 1_000_000
MAX_HOURS = 5 * 8784  # of the longest term that is sold
MAX_QUANTITY = Decimal(10_000_000)  # as many as can be written on the command line
COLUMNS = ("hour", "sku", "quantity")
_COUNTED = re.compile(r"(?P<count>\d{1,7}(?:\.\d{1,6})?)x(?P<sku>[^@/]{1,100})")
_PLAN = re.compile(r"(?:(?P<family>[^:@/]{1,60}):)?(?P<usd>\d{1,7}(?:\.\d{1,6})?)@(?P<term>[^@/]+)")
_RESERVED = re.compile(rf"{_COUNTED.pattern}@(?P<term>[^@/]+)")

Hours = Sequence[Mapping[str, Decimal]]  # instances of each type in use, hour by hour


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitmentInputs:
    """Commitments as they were written on the command line."""

    plans: Sequence[str] = ()
    reserved: Sequence[str] = ()


def usage_hours(
    file: Path | None, count_texts: Iterable[str], *, all_hours: int | None = None
) -> Hours:
    """Return the usage of each hour: from a table, or the single hour given as counts.

    Idle hours, in which commitments are still paid, pad the period to `all_hours`. Raises
    NotFoundError, TooLargeError, and UsageError for invalid input.
    """
    counts: dict[str, Decimal] = {}
    for match in map(_match_count, count_texts):
        counts[match["sku"]] = counts.get(match["sku"], Decimal(0)) + Decimal(match["count"])
    if (file is None) is not bool(counts):
        msg = "give a CSV of usage by the hour, or --usage 4xp5.48xlarge for one hour"
        raise UsageError(msg)
    if file is None:
        return _with_idle((counts,), all_hours)
    hours: dict[str, dict[str, Decimal]] = {}
    with errors_about(file):
        text = read_text(file, most_bytes=MAX_USAGE_BYTES)
        for row in read_rows(text, file.name, most_rows=MAX_ROWS):
            hour, sku, quantity = _cells(row)
            used = hours.setdefault(hour, {})
            used[sku] = used.get(sku, Decimal(0)) + quantity
    return _with_idle(tuple(hours.values()), all_hours)


def bill_hours(
    sheet: PriceSheet, hours: Hours, commitments: CommitmentInputs, *, region: str
) -> CoveredHour:
    """Return the bill of these hours; raise UsageError for an instance without a price."""
    names = tuple(dict.fromkeys(name for used in hours for name in used))
    with translate_errors():
        usd = {name: sheet.find(_option(name, "on_demand", region)).usd_per_hour for name in names}
        plans = [_commitment_plan(sheet, text, names, region) for text in commitments.plans]
        reserved = [_reserved_instances(sheet, text, region) for text in commitments.reserved]
        return sum_hours(
            [
                covered_hour(
                    [
                        HourlyUsage(name=name, quantity=quantity, on_demand_usd=usd[name])
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


def _commitment_plan(
    sheet: PriceSheet, text: str, names: Iterable[str], region: str
) -> CommitmentPlan:
    """Read "1500@1y_no_upfront_compute", or "p5:60@3y_no_upfront" for one family."""
    match = _PLAN.fullmatch(text)
    if match is None:
        msg = f"{text[:80]!r}: write USD an hour and the term, 60@1y_no_upfront_compute or p5:60@1y"
        raise UsageError(msg)
    family = match["family"]
    rates: dict[str, Decimal] = {}
    for name in names:
        if family in {None, name.partition(".")[0]}:
            with suppress(PriceMissingError):
                option = _option(name, f"savings_plan/{match['term']}", region)
                rates[name] = sheet.find(option).usd_per_hour
    if not rates:
        term = f"savings_plan/{match['term']}"
        msg = f"the plan {text[:80]!r} covers no used instance: none has a price {term}"
        raise UsageError(msg)
    return CommitmentPlan(
        name=text, usd_per_hour=Decimal(match["usd"]), rates=rates, is_for_all=family is None
    )


def _reserved_instances(sheet: PriceSheet, text: str, region: str) -> ReservedInstances:
    """Read "2xp4d.24xlarge@1y_no_upfront"."""
    match = _RESERVED.fullmatch(text)
    if match is None:
        msg = f"{text[:80]!r}: write COUNTxINSTANCE@TERM, such as 2xp4d.24xlarge@1y_no_upfront"
        raise UsageError(msg)
    price = sheet.find(_option(match["sku"], f"reserved/{match['term']}", region))
    return ReservedInstances(
        name=match["sku"], count=Decimal(match["count"]), usd_per_hour=price.usd_per_hour
    )


def _option(sku: str, model: str, region: str) -> str:
    return f"{sku}/{model}@{region}" if region else f"{sku}/{model}"


def _match_count(text: str) -> re.Match[str]:
    match = _COUNTED.fullmatch(text)
    if match is None:
        msg = f"{text[:80]!r}: write COUNTxINSTANCE, such as 4xp5.48xlarge"
        raise UsageError(msg)
    return match


def _cells(row: CsvRow) -> tuple[str, str, Decimal]:
    if not set(COLUMNS) <= set(row.cells):
        msg = f"{row.where}: give the columns {', '.join(COLUMNS)}"
        raise UsageError(msg)
    text = row.cells["quantity"]
    quantity = Decimal(text.strip()) if is_number(text) else Decimal(-1)
    if not 0 <= quantity < MAX_QUANTITY:
        problem = number_problem(text, otherwise=f"is not 0 to {MAX_QUANTITY}")
        msg = f"{row.where}: quantity {text[:40]!r} {problem}: correct it"
        raise UsageError(msg)
    return row.cells["hour"].strip(), row.cells["sku"].strip(), quantity
