"""Warns about prices that are too old to be trusted."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import assert_never

from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.price_sheet import Price, PriceSheet, PricingModel


class StalePriceError(ValueError):
    """An error for prices that are too old for a purchase decision."""


class MaxAge(StrEnum):
    """Kinds of prices, by how long they stay valid."""

    LIST = "list"
    BLOCK = "capacity block"
    SPOT = "spot"
    HARDWARE = "hardware"


# Days: spot prices move daily, blocks are repriced within the quarter; AWS cut its list prices by a
# third and more between two reads a quarter apart (2025); hardware is quoted for half a year.
MAX_AGE_DAYS = {MaxAge.LIST: 90, MaxAge.BLOCK: 30, MaxAge.SPOT: 7, MaxAge.HARDWARE: 180}
# A review must not rest on an older price, nor one rank as cheapest beside younger ones.
MAX_STALE_DAYS = 180


@dataclass(frozen=True, slots=True)
class StalePrice:
    """A price older than the maximum age of its kind."""

    price: Price
    warning: str


def stale_prices(sheet: PriceSheet, *, today: date | None) -> tuple[StalePrice, ...]:
    """Return the newest prices of a sheet that are too old, or dated after today."""
    prices = (
        StalePrice(price, warning)
        for price in newest_prices(sheet).values()
        for warning in age_warnings(price, today=today)
    )
    return tuple(prices)


def age_warnings(price: Price, *, today: date | None) -> tuple[str, ...]:
    """Return what there is to warn about a price's age, and about a newer one that it replaced."""
    warnings = staleness_warnings(
        price.as_of,
        today=today,
        max_age=max_age_of(price.pricing_model),
        is_read_date=price.is_read_date,
    )
    if price.newer_below is None:
        return warnings
    replaced = f"price is of {price.as_of} and replaces a newer one of {price.newer_below}"
    return (*warnings, replaced)


def max_age_of(model: PricingModel) -> MaxAge:
    """Return the maximum age of a pricing model's prices.

    Commitments and indices stay valid as long as list prices, and marketplace offers as long as
    spot prices.
    """
    match model:
        case PricingModel.SPOT | PricingModel.MARKETPLACE:
            return MaxAge.SPOT
        case PricingModel.CAPACITY_BLOCK:
            return MaxAge.BLOCK
        case (
            PricingModel.ON_DEMAND
            | PricingModel.SAVINGS_PLAN
            | PricingModel.RESERVED
            | PricingModel.COMMITTED_USE
            | PricingModel.MARKET_INDEX
        ):
            return MaxAge.LIST
        case _ as unreachable:
            assert_never(unreachable)


def is_outdated(as_of: date, *, today: date, max_age: MaxAge) -> bool:
    """Return whether a price is older than its kind stays valid."""
    return (today - as_of).days > MAX_AGE_DAYS[max_age]


def staleness_warnings(
    as_of: date, *, today: date | None, max_age: MaxAge, is_read_date: bool
) -> tuple[str, ...]:
    """Return a warning when a price is older than its maximum age, or dated after today.

    Without `today` the age is unknown, and there is no warning.
    """
    if today is None:
        return ()
    days = (today - as_of).days
    if days < 0:
        return (f"price is dated {as_of}, after today ({today})",)
    if not is_outdated(as_of, today=today, max_age=max_age):
        return ()
    verb = "was read" if is_read_date else "is"
    age_text = f"{days} days ago" if is_read_date else f"{days} days old"
    limit = MAX_AGE_DAYS[max_age]
    return (f"price {verb} {age_text}: {max_age} prices are valid for {limit} days",)
