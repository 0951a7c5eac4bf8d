"""Presents the prices of a sheet with their ages and sources."""

from dataclasses import dataclass
from datetime import date

from perfledger import rounding
from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.price_sheet import (
    UNKNOWN_CONFIDENCE,
    Price,
    PriceSheet,
    RejectedPrice,
    UnknownPrice,
)
from perfledger_cost_models.prices.staleness import MAX_AGE_DAYS, age_warnings
from perfledger_cost_models.quote import price_day
from perfledger_service.rendering.layout.document import (
    CellKind,
    Column,
    Document,
    TextStyle,
    display,
    fact,
    facts,
    name,
    notes,
    record_facts,
    table,
)
from perfledger_service.rendering.prices.rejected import rejected_lines

MAX_OPTION = 120  # characters of an option's name
_NO_PRICE = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSheetRow:
    """A price, or one that was searched for but not found."""

    price: Price | None
    listed: Price | UnknownPrice
    is_superseded: bool
    warnings: tuple[str, ...]
    age_days: int | None


def sheet_document(sheet: PriceSheet, *, today: date) -> Document:
    """Return each price, then each unknown one, whose amount is null, not zero."""
    rows = price_sheet_rows(sheet, today=today)
    return Document(
        name="perfledger-prices",
        facts={"sheet": sheet.name},
        blocks=(
            table(_columns(), rows, key="prices", style=_style),
            table(_REJECTED_COLUMNS, sheet.rejected, key="rejected", in_csv=False),
            *notes([*rejected_lines(sheet.rejected), states_legend()]),
        ),
    )


def price_sheet_rows(sheet: PriceSheet, *, today: date) -> tuple[PriceSheetRow, ...]:
    """Return each price with today's state, then each unknown one."""
    newest = frozenset(newest_prices(sheet).values())
    return (
        *(_row(price, today, is_superseded=price not in newest) for price in sheet.prices),
        *map(_unknown_row, sheet.unknown),
    )


def option_name(price: Price | UnknownPrice) -> str:
    """Return the full name of a price: "aws:p5.48xlarge/on_demand@us-east-1"."""
    region = f"@{price.region}" if price.region else ""
    return f"{price.provider}:{price.option}{region}"


_REJECTED_COLUMNS: tuple[Column[RejectedPrice], ...] = record_facts(
    RejectedPrice, lambda rejected: rejected
)


def _columns() -> tuple[Column[PriceSheetRow], ...]:
    return (
        display(
            "option@region",
            lambda row: option_name(row.listed),
            kind=CellKind.NAME,
            limit=MAX_OPTION,
        ),
        *facts("provider", "option", "region", of="listed"),
        name(
            "accelerator",
            "accelerator",
            lambda row: row.listed.accelerator,
            show=lambda row: f"{row.listed.count}x {row.listed.accelerator}",
        ),
        fact("count", lambda row: row.listed.count),
        fact("usd_per_hour", lambda row: row.price and row.price.usd_per_hour),
        display(
            "USD/h", lambda row: rounding.exact(row.price.usd_per_hour) if row.price else _NO_PRICE
        ),
        fact("usd_per_device_hour", lambda row: row.price and row.price.usd_per_device_hour),
        display("as of", _day_of_price, kind=CellKind.WORDS),
        fact("as_of", lambda row: row.price and row.price.as_of),
        fact("is_read_date", lambda row: row.price is not None and row.price.is_read_date),
        fact("is_superseded", lambda row: row.is_superseded),
        fact("confidence", lambda row: row.price.confidence if row.price else UNKNOWN_CONFIDENCE),
        fact("source", lambda row: row.listed.source),
        fact("source_url", lambda row: (row.price and row.price.source_url) or None),
        fact("warnings", lambda row: row.warnings),
        fact("provenance", lambda row: row.price.layer if row.price else UNKNOWN_CONFIDENCE),
        fact("age_days", lambda row: row.age_days),
    )


def _row(price: Price, today: date, *, is_superseded: bool) -> PriceSheetRow:
    warnings = age_warnings(price, today=today)
    return PriceSheetRow(
        price=price,
        listed=price,
        is_superseded=is_superseded,
        warnings=warnings,
        age_days=(today - price.as_of).days,
    )


def _unknown_row(unknown: UnknownPrice) -> PriceSheetRow:
    return PriceSheetRow(
        price=None,
        listed=unknown,
        is_superseded=False,
        warnings=(f"its price was {unknown.reason}",),
        age_days=None,
    )


def _day_of_price(row: PriceSheetRow) -> str:
    """Return a price's day and state; for an unknown price, the day of the last search."""
    if isinstance(row.listed, UnknownPrice):
        return f"{row.listed.searched_on}"
    state = price_state(row)
    mark = f" {state}" if state else ""
    if row.listed.is_read_date:
        return f"{price_day(row.listed.as_of, is_read_date=True)}{mark}"
    return f"{row.listed.as_of}{mark}"


def price_state(row: PriceSheetRow) -> str:
    """Return the state of a price in a word, "" if it applies."""
    if row.price is None:
        return "unknown"
    return "superseded" if row.is_superseded else "old" if row.warnings else ""


def _style(row: PriceSheetRow) -> TextStyle:
    if row.price is None or row.is_superseded:
        return TextStyle.NOTE
    return TextStyle.WARNING if row.warnings else TextStyle.PLAIN


def states_legend() -> str:
    """Return the meaning of the states of prices."""
    days = ", ".join(f"{kind} prices {limit}" for kind, limit in MAX_AGE_DAYS.items())
    return (
        f"old: older than prices of its kind stay valid, in days ({days}), counted from the day "
        "of reading if the list has no date; superseded: a newer price applies; unknown: "
        "searched for on that day and not found"
    )
