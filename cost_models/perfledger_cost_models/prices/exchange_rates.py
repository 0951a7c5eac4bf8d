"""Reads exchange rates in the European Central Bank's format.

Both of its files are read: the latest day (eurofxref.csv) and the history (eurofxref-hist.csv).
Their first column is the day; each other column is the price of a euro in one currency.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal

from perfledger_cost_models.csv_table import iso_date
from perfledger_cost_models.units import USD
from perfledger_profiles.parsing.text_table import is_number, number_problem, read_table

EUR = "EUR"
MAX_CHARACTERS = 20_000_000  # the history since 1999 has 2 million
# The ECB publishes on working days: Christmas and Easter leave five days without a rate.
MAX_DAYS_WITHOUT_RATE = timedelta(days=7)
# Units of a currency to the euro: fewer or more are a typing error.
MIN_RATE, MAX_RATE = Decimal("1e-9"), 10**9
_LATEST_DAY = "%d %B %Y"  # 20 November 2026, in eurofxref.csv


class ExchangeRateError(ValueError):
    """An error in a table of exchange rates, or for a rate that it lacks."""


@dataclass(frozen=True, slots=True)
class DatedRate:
    """What one unit of a currency costs in USD on a day."""

    usd: Decimal
    as_of: date


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRateTable:
    """The price of a euro in each currency, by day."""

    name: str
    days: tuple[date, ...]  # ascending
    per_euro: Mapping[date, Mapping[str, Decimal]]

    def find(self, currency: str, day: date) -> DatedRate:
        """Return the rate of a day, or of the last working day before it.

        Raises ExchangeRateError for a currency or a day that the table does not have.
        """
        before = self.days[: bisect_right(self.days, day)]
        if not before or day - before[-1] > MAX_DAYS_WITHOUT_RATE:
            msg = f"{self.name} has no rates of {day}: it has {self.days[0]} to {self.days[-1]}"
            raise ExchangeRateError(msg)
        rates = self.per_euro[before[-1]]
        if currency not in rates or USD not in rates:
            missing = USD if currency in rates else currency
            msg = f"{self.name} has no {missing[:20]!r} on {before[-1]}"
            raise ExchangeRateError(msg)
        return DatedRate(rates[USD] / rates[currency], before[-1])


def read_exchange_rates(text: str, name: str) -> ExchangeRateTable:
    """Read a table as the ECB publishes it; raise ExchangeRateError for another file."""
    if len(text) > MAX_CHARACTERS:
        msg = f"{name} has {len(text)} characters, limit {MAX_CHARACTERS}: give fewer years"
        raise ExchangeRateError(msg)
    table = read_table(text, name, error=ExchangeRateError)
    if table.header[:1] != ("Date",) or USD not in table.header:
        msg = f"{name} is not the ECB's table: its first column must be Date, and one must be USD"
        raise ExchangeRateError(msg)
    rows = ([cell.strip() for cell in cells] for _, cells in table.rows)
    per_euro = {_read_day(row[0], name): _read_rates(table.header, row, name) for row in rows}
    if not per_euro:
        msg = f"{name} has no rates: export it again"
        raise ExchangeRateError(msg)
    return ExchangeRateTable(name=name, days=tuple(sorted(per_euro)), per_euro=per_euro)


def _read_day(text: str, name: str) -> date:
    day = iso_date(text)
    if day is not None:
        return day
    try:
        return datetime.strptime(text, _LATEST_DAY).date()  # noqa: DTZ007 - a day has no time zone
    except ValueError as error:
        msg = f"{name}: {text[:40]!r} is not a day such as 2026-11-20 or 20 November 2026"
        raise ExchangeRateError(msg) from error


def _read_rates(header: Sequence[str], row: list[str], name: str) -> Mapping[str, Decimal]:
    """Return a day's rates; a currency that is N/A on that day is left out."""
    rates = {EUR: Decimal(1)}
    for currency, cell in zip(header[1:], row[1:], strict=True):
        if currency and cell not in {"", "N/A"}:
            rates[currency] = _read_rate(cell, currency, name)
    return rates


def _read_rate(cell: str, currency: str, name: str) -> Decimal:
    rate = Decimal(cell.strip()) if is_number(cell) else Decimal(0)
    if not MIN_RATE <= rate <= MAX_RATE:
        problem = number_problem(cell, otherwise=f"is not a rate of {currency[:20]!r}")
        msg = f"{name}: {cell[:40]!r} {problem}"
        raise ExchangeRateError(msg)
    return rate
