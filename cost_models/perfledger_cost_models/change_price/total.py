"""Sums the prices of changes, with a joint interval."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.change_price.fleet_entry import central_interval
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.quote import ChangePrice, SummedPrice

_Amounts = tuple[Decimal, Decimal, Decimal]  # most likely, low, high


@dataclass(slots=True)
class JointPrice:
    """A sum of prices, draw by draw, so that its interval is joint."""

    prices: list[ChangePrice] = field(default_factory=list[ChangePrice])
    draws: FloatArray | None = None

    def add(self, price: ChangePrice, draws: FloatArray | None) -> None:
        """Add a price; `draws` of its cash are None if it has no amount."""
        self.prices.append(price)
        if draws is not None:
            self.draws = draws if self.draws is None else self.draws + draws

    def price(self) -> SummedPrice | None:
        """Return the sum; None if there is nothing to sum."""
        priced = tuple(map(_amounts, self.prices))
        missing = _workloads(each for each in self.prices if _is_missing(each))
        amounts = [each for each in priced if each is not None]
        if not (amounts or missing):
            return None
        usd, low, high = self._ends(amounts)
        return SummedPrice(
            usd=None if missing else usd,
            low=None if missing else low,
            high=None if missing else high,
            is_detectable=not missing and (low > 0 or high < 0),
            workloads=_workloads(each for each in self.prices if each.usd is not None),
            missing=missing,
            left_out=_workloads(
                each for each in self.prices if each.usd is None and not _is_missing(each)
            ),
        )

    def _ends(self, amounts: Sequence[_Amounts]) -> _Amounts:
        """Return the sum and its interval; a single price keeps its own exactly.

        Prices of one sign have a sum of that sign: draws beyond zero are simulation noise.
        """
        usd = sum((each[0] for each in amounts), Decimal(0))
        if len(amounts) == 1:
            return amounts[0]
        if self.draws is None:
            return usd, usd, usd
        low, high = map(to_decimal, central_interval(self.draws))
        if all(each[1] >= 0 for each in amounts):
            low = max(low, Decimal(0))
        if all(each[2] <= 0 for each in amounts):
            high = min(high, Decimal(0))
        return usd, min(low, usd), max(high, usd)


def _amounts(price: ChangePrice) -> _Amounts | None:
    if price.usd is None or price.low is None or price.high is None:
        return None
    return price.usd, price.low, price.high


def _is_missing(price: ChangePrice) -> bool:
    """Return whether a sum without this price would be wrong.

    It would be for a detectable change, and for one with a rate but invalid hours or interval. An
    undetected change on hours that are paid for anyway is left out.
    """
    is_invalid = price.rate is not None and price.extra_hours is None
    return price.usd is None and (price.is_detectable or is_invalid)


def _workloads(prices: Iterable[ChangePrice]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.workload for each in prices))
