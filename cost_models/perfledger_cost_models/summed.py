"""Prices of changes and their draws into what they cost together, with their joint interval."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from perfledger_cost_models.draws import FloatArray
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.part import central
from perfledger_cost_models.quote import ChangePrice, SummedPrice

_Amounts = tuple[Decimal, Decimal, Decimal]  # most likely, low, high


@dataclass(slots=True)
class Summing:
    """What was added up so far; draw by draw, so that the parts stay joint."""

    prices: list[ChangePrice] = field(default_factory=list[ChangePrice])
    draws: FloatArray | None = None

    def add(self, price: ChangePrice, draws: FloatArray | None) -> None:
        """Add a price; `draws` of its cash are None where it has none."""
        self.prices.append(price)
        if draws is not None:
            self.draws = draws if self.draws is None else self.draws + draws

    def price(self) -> SummedPrice | None:
        """Return the sum, None where there is nothing to add up."""
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
        """Return the sum and its interval; that of one price is its own, exactly.

        Prices of one sign have a sum of that sign: what the draws say beyond is simulation noise.
        """
        usd = sum((each[0] for each in amounts), Decimal(0))
        if len(amounts) == 1:
            return amounts[0]
        if self.draws is None:
            return usd, usd, usd
        low, high = map(to_decimal, central(self.draws))
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
    """Whether a sum is wrong without it.

    A change that was found is; so is one whose hours or bounds are no numbers, which has a rate.
    """
    return price.usd is None and (price.is_detectable or price.rate is not None)


def _workloads(prices: Iterable[ChangePrice]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.workload for each in prices))
