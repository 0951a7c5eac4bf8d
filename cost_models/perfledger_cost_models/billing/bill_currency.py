"""Converts a bill's costs to USD at the rates of a table, each at the rate of its own day."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger.rounding import digits
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.prices.exchange_rates import (
    DatedRate,
    ExchangeRateError,
    ExchangeRateTable,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BillRates:
    """The rates at which a bill's costs in one currency were converted: USD for one unit."""

    currency: str
    source: str  # the table's name
    low_usd: Decimal
    high_usd: Decimal
    first: date
    last: date

    def __str__(self) -> str:
        """Return the currency, the lowest and highest rate, their days and source."""
        low, high = (digits(usd, 6) for usd in (self.low_usd, self.high_usd))
        usd = low if low == high else f"{low} to {high}"
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.currency} at {usd} USD of {days}, {self.source}"

    def extended_by(self, rate: DatedRate) -> "BillRates":
        """Return the rates with one more."""
        return BillRates(
            currency=self.currency,
            source=self.source,
            low_usd=min(self.low_usd, rate.usd),
            high_usd=max(self.high_usd, rate.usd),
            first=min(self.first, rate.as_of),
            last=max(self.last, rate.as_of),
        )


def rates_of(rate: DatedRate, *, currency: str, source: str) -> BillRates:
    """Return the rates of a bill with one rate so far."""
    return BillRates(
        currency=currency,
        source=source,
        low_usd=rate.usd,
        high_usd=rate.usd,
        first=rate.as_of,
        last=rate.as_of,
    )


def rate_on(table: ExchangeRateTable, currency: str, day: date, *, line: int) -> DatedRate:
    """Return a row's rate; raise BillError for a day or a currency that the table lacks."""
    try:
        return table.find(currency, day)
    except ExchangeRateError as error:
        msg = f"the bill, line {line}, is in {currency[:20]!r}: {error}"
        raise BillError(msg) from error
