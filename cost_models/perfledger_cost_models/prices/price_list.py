"""Reads single rows of a price list."""

from datetime import date
from decimal import Decimal

from perfledger.rounding import digits
from perfledger_cost_models.csv_table import SheetRow, SourceConfidence
from perfledger_cost_models.prices.exchange_rates import ExchangeRateError, ExchangeRateTable
from perfledger_cost_models.prices.price_sheet import (
    ADDRESS_COLUMN,
    CURRENCY_COLUMN,
    MAX_ACCELERATORS,
    ROUNDING_USD,
    UNKNOWN_CONFIDENCE,
    Price,
    PricingModel,
    UnknownPrice,
)
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.source_address import is_address, named_address
from perfledger_cost_models.units import USD

UNKNOWN_DAY = "unknown"  # begins the as-of date of a row whose day the source does not state


def is_unknown(row: SheetRow) -> bool:
    """Return whether a row says that a price was searched for and not found."""
    prices = row.cells["usd_per_hour"], row.cells["usd_per_accelerator_hour"]
    return row.cells["confidence"].strip() == UNKNOWN_CONFIDENCE and not any(
        cell.strip() for cell in prices
    )


def read_unknown(row: SheetRow) -> UnknownPrice:
    """Read a row without a price; raise PriceSheetError that names the column."""
    return UnknownPrice(
        provider=_read_name(row, "provider").lower(),
        sku=_read_name(row, "sku"),
        region=_read_name(row, "region", is_optional=True),
        accelerator=row.text("accelerator"),
        count=_read_count(row),
        pricing_model=PricingModel(row.one_of("pricing_model", tuple(PricingModel))),
        term=_read_name(row, "term", is_optional=True),
        searched_on=row.day("retrieved_at"),
        source=row.text("source"),
        note=row.text("note", is_optional=True),
    )


def read_price(
    row: SheetRow, *, layer: PriceLayer, exchange_rates: ExchangeRateTable | None
) -> Price:
    """Read a row with a price; raise PriceSheetError that names the column.

    An unknown confidence counts as low. A price in another currency is converted at the rate of its
    day.
    """
    count = _read_count(row)
    as_of, is_read_date, retrieved_at = _read_days(row)
    usd, conversion = _to_usd(row, _read_amount(row, count), as_of, exchange_rates)
    confidence = row.cells["confidence"].strip()
    return Price(
        provider=_read_name(row, "provider").lower(),
        sku=_read_name(row, "sku"),
        region=_read_name(row, "region", is_optional=True),
        accelerator=row.text("accelerator"),
        count=count,
        pricing_model=PricingModel(row.one_of("pricing_model", tuple(PricingModel))),
        term=_read_name(row, "term", is_optional=True),
        usd_per_hour=usd,
        as_of=as_of,
        is_read_date=is_read_date,
        retrieved_at=retrieved_at,
        confidence=SourceConfidence(confidence)
        if confidence in tuple(SourceConfidence)
        else SourceConfidence.LOW,
        source=row.text("source"),
        source_url=read_address(row),
        note="; ".join(filter(None, (row.text("note", is_optional=True), conversion))),
        layer=layer,
    )


def read_address(row: SheetRow) -> str:
    """Return the https address of a row's source, else the one that the source names.

    A sheet may lack the column. Raises PriceSheetError for any other text in it.
    """
    address = row.cells.get(ADDRESS_COLUMN, "").strip()
    if not address:
        return named_address(row.cells["source"])
    if not is_address(address):
        row.reject(ADDRESS_COLUMN, "is not an https address: leave it empty if none is known")
    return address


def _read_name(row: SheetRow, column: str, *, is_optional: bool = False) -> str:
    name = row.text(column, is_optional=is_optional)
    if set(name) & set(":/@"):
        row.reject(column, "contains : / or @, which separate the parts of an option")
    return name


def _read_count(row: SheetRow) -> int:
    count = row.decimal("count")
    if count % 1 or not 1 <= count <= MAX_ACCELERATORS:
        row.reject("count", f"is not a count of 1 to {MAX_ACCELERATORS} accelerators")
    return int(count)


def _read_amount(row: SheetRow, count: int) -> Decimal:
    amount = row.decimal("usd_per_hour")
    if not amount:
        row.reject("usd_per_hour", "is not a price; a missing price is not zero")
    if abs(row.decimal("usd_per_accelerator_hour") - amount / count) > ROUNDING_USD:
        row.reject("usd_per_accelerator_hour", f"is not {amount} / {count} accelerators")
    return amount


def _to_usd(
    row: SheetRow, amount: Decimal, day: date, exchange_rates: ExchangeRateTable | None
) -> tuple[Decimal, str]:
    """Return an amount in USD, and the conversion in words ("" for USD)."""
    currency = row.cells.get(CURRENCY_COLUMN, "").strip() or USD
    if currency == USD:
        return amount, ""
    if exchange_rates is None:
        row.reject(
            CURRENCY_COLUMN, "has no exchange rate: give the ECB's table with --exchange-rates"
        )
    try:
        rate = exchange_rates.find(currency, day)
    except ExchangeRateError as error:
        row.reject(CURRENCY_COLUMN, f"has no exchange rate: {error}")
    words = (
        f"{amount} {currency} at {digits(rate.usd, 6)} USD of {rate.as_of}, {exchange_rates.name}"
    )
    return amount * rate.usd, words


def _read_days(row: SheetRow) -> tuple[date, bool, date | None]:
    """Return the day of the price, whether it is the day of reading, and the day of reading."""
    retrieved_at = row.day("retrieved_at") if row.cells["retrieved_at"].strip() else None
    stated = row.cells["as_of_date"].strip()
    if stated and not stated.startswith(UNKNOWN_DAY):
        return row.day("as_of_date"), False, retrieved_at
    if retrieved_at is None:
        row.reject("retrieved_at", "is not a date, and as_of_date is not one either")
    return retrieved_at, True, retrieved_at
