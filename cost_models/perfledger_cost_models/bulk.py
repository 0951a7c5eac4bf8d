"""What was read of a provider's bulk file into prices that say where each of them comes from."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from perfledger_cost_models.sheet import Price, PricingModel, packaged_sheet
from perfledger_cost_models.table import Confidence

HOURS_PER_YEAR = 8760
# Dearer than any instance or slice that is sold; more is a price of something else.
MAX_USD_PER_HOUR = Decimal(100_000)


class BulkFileError(ValueError):
    """A file that is not the provider's price file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holds:
    """What an instance holds."""

    accelerator: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a bulk file comes from and when it was fetched."""

    source: str  # its URL, as far as it may be shown
    retrieved_at: date


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPrices:
    """The prices of a bulk file, and how many of its offers were left out, by reason."""

    prices: tuple[Price, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One offer of one instance, as the provider's file has it."""

    sku: str
    region: str
    model: PricingModel
    usd_per_hour: Decimal
    as_of: date | None
    term: str = ""
    note: str = ""


@cache
def known_instances(provider: str) -> Mapping[str, Holds]:
    """Return what each instance of a provider holds that the packaged sheet knows.

    Price files do not say which accelerator an instance has, or say it in words of their own.
    """
    return {
        price.sku: Holds(accelerator=price.accelerator, count=price.count)
        for price in packaged_sheet().prices
        if price.provider == provider
    }


def prices_of(provider: str, offers: Iterable[Offer], *, origin: Origin) -> BulkPrices:
    """Return the offers as prices: one of each instance, mode, term and region.

    Instances without accelerators that are known, prices of nothing and second prices are left out
    and counted: a price list may hold a capacity block at 0.00, and then an instance is not free.
    """
    known = known_instances(provider)
    prices: dict[tuple[str, str, str, str], Price] = {}
    left_out: dict[str, int] = {}
    for offer in offers:
        reason = _reason(offer, known)
        key = offer.sku, offer.model, offer.term, offer.region
        if not reason and key in prices and prices[key].usd_per_hour != offer.usd_per_hour:
            reason = "a second, other price of the same"
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
        elif key not in prices:
            prices[key] = _price(provider, offer, known[offer.sku], origin)
    return BulkPrices(prices=tuple(prices.values()), left_out=left_out)


def day_of(text: str) -> date | None:
    """Return the day that a moment in ISO 8601 begins with, None where it is none."""
    with suppress(ValueError):
        return date.fromisoformat(text[:10])
    return None


def _reason(offer: Offer, known: Mapping[str, Holds]) -> str:
    if offer.sku not in known:
        return "no accelerator that is known"
    if not 0 < offer.usd_per_hour <= MAX_USD_PER_HOUR:
        return "no price above zero"
    return ""


def _price(provider: str, offer: Offer, holds: Holds, origin: Origin) -> Price:
    return Price(
        provider=provider,
        sku=offer.sku,
        region=offer.region,
        accelerator=holds.accelerator,
        count=holds.count,
        pricing_model=offer.model,
        term=offer.term,
        usd_per_hour=offer.usd_per_hour,
        as_of=offer.as_of or origin.retrieved_at,
        is_read_date=offer.as_of is None,
        retrieved_at=origin.retrieved_at,
        confidence=Confidence.HIGH,
        source=origin.source,
        note=offer.note,
    )
