"""Reads exchange rates, as the European Central Bank publishes them or of an organisation.

Both of the bank's files are read: the latest day (eurofxref.csv) and the history
(eurofxref-hist.csv). Their first column is the day; each other column is the price of a euro in one
currency. A rate the wrong way round is found by what is known of the currencies: two are pegged,
and which are worth more than a dollar has not changed since 2023.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated

import msgspec

from perfledger.rounding import digits
from perfledger_cost_models.csv_table import iso_date
from perfledger_cost_models.prices.staleness import MAX_STALE_DAYS
from perfledger_cost_models.toml_file import Text
from perfledger_cost_models.units import USD
from perfledger_profiles.parsing.text_table import is_number, number_problem, read_table

EUR = "EUR"
MAX_CHARACTERS = 20_000_000  # the history since 1999 has 2 million
# The ECB publishes on working days: Christmas and Easter leave five days without a rate.
MAX_DAYS_WITHOUT_RATE = timedelta(days=7)
# Units of a currency to the euro: fewer or more are a typing error.
MIN_RATE, MAX_RATE = Decimal("1e-9"), 10**9
# Danish kroner to the euro: the mechanism's band is 2.25 % around 7.46038. From 1999 to April 2026
# the ECB's rates are 7.4234 to 7.4732.
KRONE_BAND = Decimal("7.2925"), Decimal("7.6283")
# Hong Kong dollars to the US dollar: the linked rate is 7.75 to 7.85 since 2005. From 1999 to April
# 2026 the ECB's rates are 7.655 to 7.8501.
HONG_KONG_BAND = Decimal("7.6"), Decimal("7.9")
# Currencies that cost more than a dollar: by the ECB's rates from January 2023 to April 2026 the
# first three cost 1.02 to 1.39 USD, and the others in its table at most 0.80; the next are pegged,
# at 1.2 to 3.3 USD or to the pound. Every other currency costs at most a dollar.
ABOVE_A_DOLLAR = frozenset(
    ("EUR", "GBP", "CHF", "KWD", "BHD", "OMR", "JOD", "KYD", "GIP", "FKP", "SHP")
)
_KRONE, _HONG_KONG_DOLLAR = "DKK", "HKD"
_LATEST_DAY = "%d %B %Y"  # 20 November 2026, in eurofxref.csv


class ExchangeRateError(ValueError):
    """An error in a table of exchange rates, or for a rate that it lacks."""


@dataclass(frozen=True, slots=True)
class DatedRate:
    """What one unit of a currency costs in USD on a day."""

    usd: Decimal
    as_of: date


class ExchangeRate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What one unit of a currency costs in USD, as an organisation states it."""

    currency: Annotated[str, msgspec.Meta(pattern="^[A-Z]{3}$")]
    usd: Decimal
    as_of: date
    source: Text
    confirmed_on: date | None = None  # the day on which a person confirmed an unusual rate

    def __post_init__(self) -> None:
        if not MIN_RATE <= self.usd <= MAX_RATE:
            msg = f"usd is {self.usd}: give what one {self.currency} costs in USD"
            raise ValueError(msg)
        problem = inversion_of(self.currency, self.usd)
        if problem and self.confirmed_on is None:
            msg = f"{problem}: give what one {self.currency} costs in USD, or confirmed_on = a date"
            raise ValueError(msg)

    def age_problem(self, today: date) -> str:
        """Return a clause for a rate that is too old to convert prices, or of a day to come."""
        age = (today - self.as_of).days
        if -1 <= age <= MAX_STALE_DAYS:
            return ""
        limit = f"at most {MAX_STALE_DAYS} days before {today}"
        return f"the exchange rate of {self.currency} is of {self.as_of}: give one of {limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRateTable:
    """The price of a euro in each currency, by day."""

    name: str
    days: tuple[date, ...]  # ascending
    per_euro: Mapping[date, Mapping[str, Decimal]]

    def find(self, currency: str, day: date) -> DatedRate:
        """Return the rate of a day, or of the last working day before it.

        Raises ExchangeRateError for a currency or a day that the table does not have, and for a
        rate that may be inverted in a table without Danish kroner, which would prove its direction.
        """
        count = bisect_right(self.days, day)
        if not count or day - self.days[count - 1] > MAX_DAYS_WITHOUT_RATE:
            msg = f"{self.name} has no rates of {day}: it has {self.days[0]} to {self.days[-1]}"
            raise ExchangeRateError(msg)
        before = self.days[count - 1]
        rates = self.per_euro[before]
        if currency not in rates or USD not in rates:
            missing = USD if currency in rates else currency
            msg = f"{self.name} has no {missing[:20]!r} on {before}"
            raise ExchangeRateError(msg)
        usd = rates[USD] / rates[currency]
        problem = "" if _KRONE in rates else inversion_of(currency, usd)
        if problem:
            msg = f"{self.name}: {problem}. Give the ECB's table as it is: units for one euro."
            raise ExchangeRateError(msg)
        return DatedRate(usd, before)


def inversion_of(currency: str, usd: Decimal) -> str:
    """Return a clause if what one unit of a currency costs in USD is on the wrong side of one.

    A currency that has crossed that line since needs a person's confirmation.
    """
    is_above = currency in ABOVE_A_DOLLAR
    if usd == 1 or (usd > 1) is is_above:
        return ""
    return (
        f"one {currency} at {digits(usd, 6)} USD may be inverted, because it has cost "
        f"{'more' if is_above else 'less'} than a dollar since 2023 "
        f"({digits(1 / usd, 6)} the other way round)"
    )


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
    per_euro: dict[date, Mapping[str, Decimal]] = {}
    for row in rows:
        day, rates = _read_day(row[0], name), _read_rates(table.header, row, name)
        if per_euro.setdefault(day, rates) != rates:
            msg = f"{name}: {day} is there twice, with different rates: keep the right row"
            raise ExchangeRateError(msg)
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
    _check_pegs(rates, f"{name}, {row[0][:40]}")
    return rates


def _check_pegs(rates: Mapping[str, Decimal], where: str) -> None:
    """Raise ExchangeRateError for a pegged currency outside its band: another base or direction."""
    for currency, base, (low, high) in (
        (_KRONE, EUR, KRONE_BAND),
        (_HONG_KONG_DOLLAR, USD, HONG_KONG_BAND),
    ):
        if currency not in rates or base not in rates:
            continue
        units = rates[currency] / rates[base]
        if not low <= units <= high:
            msg = (
                f"{where}: {digits(units, 6)} {currency} for one {base}, which is pegged at {low} "
                f"to {high}: the rates are inverted, of another base, or edited. Give the ECB's "
                "table as it is: units for one euro."
            )
            raise ExchangeRateError(msg)


def _read_rate(cell: str, currency: str, name: str) -> Decimal:
    rate = Decimal(cell.strip()) if is_number(cell) else Decimal(0)
    if not MIN_RATE <= rate <= MAX_RATE:
        problem = number_problem(cell, otherwise=f"is not a rate of {currency[:20]!r}")
        msg = f"{name}: {cell[:40]!r} {problem}"
        raise ExchangeRateError(msg)
    return rate
