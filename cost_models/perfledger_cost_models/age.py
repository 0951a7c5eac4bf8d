"""The day of a price and today into a warning, where the price is too old to be trusted."""

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import assert_never

from perfledger_cost_models.sheet import Price, PriceSheet, PricingModel
from perfledger_cost_models.sheet_diff import newest_prices


class StalePriceError(ValueError):
    """Prices too old to buy by."""


class Shelf(StrEnum):
    """Kinds of prices that keep for a like time."""

    LIST = "list"
    BLOCK = "capacity block"
    SPOT = "spot"
    HARDWARE = "hardware"


# Days: spot prices move daily, blocks are repriced within the quarter; AWS cut its list prices by a
# third and more between two reads a quarter apart (2025); hardware is quoted for half a year.
MAX_AGE_DAYS = {Shelf.LIST: 90, Shelf.BLOCK: 30, Shelf.SPOT: 7, Shelf.HARDWARE: 180}


@dataclass(frozen=True, slots=True)
class OldPrice:
    """A price that is older than its kind keeps."""

    price: Price
    warning: str


def old_prices(sheet: PriceSheet, *, today: date | None) -> tuple[OldPrice, ...]:
    """Return the newest prices of a sheet that are too old, or dated after today."""
    found = (
        OldPrice(price, warning)
        for price in newest_prices(sheet).values()
        for warning in age_warnings(
            price.as_of,
            today=today,
            shelf=shelf_of(price.pricing_model),
            is_read_date=price.is_read_date,
        )
    )
    return tuple(found)


def shelf_of(model: PricingModel) -> Shelf:
    """Return how long a pricing model's prices keep.

    Commitments and indices keep as list prices do, offers of a marketplace as spot prices.
    """
    match model:
        case PricingModel.SPOT | PricingModel.MARKETPLACE:
            return Shelf.SPOT
        case PricingModel.CAPACITY_BLOCK:
            return Shelf.BLOCK
        case (
            PricingModel.ON_DEMAND
            | PricingModel.SAVINGS_PLAN
            | PricingModel.RESERVED
            | PricingModel.COMMITTED_USE
            | PricingModel.MARKET_INDEX
        ):
            return Shelf.LIST
        case _ as unreachable:
            assert_never(unreachable)


def age_warnings(
    as_of: date, *, today: date | None, shelf: Shelf, is_read_date: bool
) -> tuple[str, ...]:
    """Return a warning when a price is older than its kind keeps, or is dated after today.

    Without `today` nothing can be said about age, and nothing is.
    """
    if today is None:
        return ()
    days = (today - as_of).days
    if days < 0:
        return (f"price is dated {as_of}, after today ({today})",)
    if days <= MAX_AGE_DAYS[shelf]:
        return ()
    since = "was read" if is_read_date else "is"
    aged = f"{days} days ago" if is_read_date else f"{days} days old"
    return (f"price {since} {aged}: {shelf} prices keep for {MAX_AGE_DAYS[shelf]} days",)
