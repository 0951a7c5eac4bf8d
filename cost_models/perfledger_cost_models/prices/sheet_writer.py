"""Writes a price sheet as a price list that reads back as the same sheet."""

from decimal import Decimal

from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.prices.price_sheet import (
    ADDRESS_COLUMN,
    COLUMNS,
    ROUNDING_USD,
    UNKNOWN_CONFIDENCE,
    Price,
    PriceSheet,
    UnknownPrice,
)

# A price list has nine decimals at most; a term's price by the hour may have infinitely many.
MIN_USD = Decimal("1e-9")


def text_of(sheet: PriceSheet) -> str:
    """Return the sheet in CSV with all columns but the currency; prices have nine decimals."""
    rows = [*map(_cells, sheet.prices), *map(_unknown_cells, sheet.unknown)]
    return csv_text((*COLUMNS, ADDRESS_COLUMN), rows)


def _cells(price: Price) -> dict[str, str]:
    usd = price.usd_per_hour.quantize(MIN_USD)
    retrieved_at = price.as_of if price.is_read_date else price.retrieved_at
    return _option_cells(price) | {
        "usd_per_hour": _format_usd(usd),
        "usd_per_accelerator_hour": _format_usd((usd / price.count).quantize(ROUNDING_USD)),
        "as_of_date": "" if price.is_read_date else price.as_of.isoformat(),
        "retrieved_at": "" if retrieved_at is None else retrieved_at.isoformat(),
        "confidence": price.confidence,
        ADDRESS_COLUMN: price.source_url,
    }


def _unknown_cells(price: UnknownPrice) -> dict[str, str]:
    return _option_cells(price) | {
        "retrieved_at": price.searched_on.isoformat(),
        "confidence": UNKNOWN_CONFIDENCE,
    }


def _option_cells(price: Price | UnknownPrice) -> dict[str, str]:
    return {
        "provider": price.provider,
        "sku": price.sku,
        "region": price.region,
        "accelerator": price.accelerator,
        "count": str(price.count),
        "pricing_model": price.pricing_model,
        "term": price.term,
        "source": price.source,
        "note": price.note,
    }


def _format_usd(usd: Decimal) -> str:
    """Return a number without trailing zeros: 55.04, not 55.040000000."""
    text = f"{usd:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
