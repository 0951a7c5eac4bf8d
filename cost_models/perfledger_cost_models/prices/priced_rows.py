"""Rows of a price list as the plausibility rules see them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum

from perfledger_cost_models.prices.price_sheet import BILLED_TERM, Price, PricingModel
from perfledger_cost_models.prices.staleness import MaxAge, max_age_of

# A list price that appears this long after another price can still stand in for it.
MAX_LATER = timedelta(days=180)
# Two prices of one item in one currency agree this closely if one is a copy of the other.
PRICE_TOLERANCE = Decimal("0.001")


class FindingSeverity(StrEnum):
    """What a finding means for its row."""

    REJECT = "reject"  # must not be used
    WARN = "warn"  # may be used after inspection
    UNKNOWN = "unknown"  # the row says that no price was found, which is valid


@dataclass(frozen=True, slots=True)
class PricedRow:
    """A price and the number of its row.

    A reference is a price of an already checked sheet: rows are compared with it, and it is never
    rejected itself.
    """

    row: int
    price: Price
    is_reference: bool = False


RowFindings = Iterator[tuple[PricedRow, FindingSeverity, str]]


def groups_by(
    listed: Iterable[PricedRow], key: Callable[[Price], object]
) -> tuple[tuple[PricedRow, ...], ...]:
    """Return the rows in groups of one key, in the order of the rows."""
    groups: defaultdict[object, list[PricedRow]] = defaultdict(list)
    for one in listed:
        groups[key(one.price)].append(one)
    return tuple(tuple(group) for group in groups.values())


def current_prices(listed: Iterable[PricedRow]) -> tuple[PricedRow, ...]:
    """Return the newest price of each option and region; earlier prices are history."""
    by_recency = sorted(listed, key=lambda one: one.price.recency)
    return tuple({one.price.key: one for one in by_recency}.values())


def on_demand_rows(listed: Iterable[PricedRow]) -> list[PricedRow]:
    """Return the on-demand list prices; effective prices of a bill are not among them."""
    return [
        one
        for one in listed
        if one.price.pricing_model is PricingModel.ON_DEMAND
        and one.price.option_term != BILLED_TERM
    ]


def row_in_force(listed: Iterable[PricedRow], day: date) -> PricedRow | None:
    """Return the newest of some prices on a day, else the first one soon after it.

    AWS cut its list prices by 44 % in 2025: commitments made before are above the list price since
    then.
    """
    rows = list(listed)
    before = [one for one in rows if one.price.as_of <= day]
    if before:
        return max(before, key=lambda one: one.price.as_of)
    soon = [one for one in rows if one.price.as_of <= day + MAX_LATER]
    return min(soon, key=lambda one: one.price.as_of, default=None)


def newer_of(left: PricedRow, right: PricedRow) -> PricedRow:
    """Return which of two contradicting rows is wrong: the newer, or `right` if of one day."""
    if left.is_reference != right.is_reference:
        return right if left.is_reference else left
    return left if left.price.as_of > right.price.as_of else right


def is_spot(price: Price) -> bool:
    """Return whether a price follows demand from day to day."""
    return max_age_of(price.pricing_model) is MaxAge.SPOT


def fold(left: Decimal, right: Decimal) -> Decimal:
    """Return how many times the larger of two prices is the smaller one."""
    return max(left / right, right / left)


def is_same_price(left: Decimal, right: Decimal) -> bool:
    """Return whether two prices agree within their tolerance."""
    return abs(left / right - 1) <= PRICE_TOLERANCE
