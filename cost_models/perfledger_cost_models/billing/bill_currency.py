"""Says at which rates a bill's costs were converted to USD, each at that of its own day."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from perfledger.rounding import digits
from perfledger_cost_models.prices.exchange_rates import DatedRate


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

    @property
    def sentence(self) -> str:
        """Return at which rates of which days and source costs were converted."""
        return f"Each cost is converted at the rate of its own day: {self}"


def rates_of(currency: str, rates: Collection[DatedRate], *, source: str) -> BillRates:
    """Return the range of the rates of a bill in a currency, at least one."""
    usd, days = [rate.usd for rate in rates], [rate.as_of for rate in rates]
    return BillRates(
        currency=currency,
        source=source,
        low_usd=min(usd),
        high_usd=max(usd),
        first=min(days),
        last=max(days),
    )
