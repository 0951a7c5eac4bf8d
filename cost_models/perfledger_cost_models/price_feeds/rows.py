"""Converts the offers of a provider's price feed to prices with their origin."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.source_address import named_address

# More expensive than any instance or slice on sale; a higher price is for something else.
MAX_USD_PER_HOUR = Decimal(100_000)


class BulkFileError(ValueError):
    """An error for a file that is not the provider's price file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceAccelerators:
    """The accelerators of an instance."""

    accelerator: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOrigin:
    """Where a price file comes from and when it was fetched."""

    source: str  # its URL, as far as it may be shown
    retrieved_at: date
    published: date | None = None  # the day that the file states, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkPrices:
    """The prices of a price file, and how many of its offers were left out, by reason."""

    prices: tuple[Price, ...]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedOffer:
    """One offer of one instance, as in the provider's file."""

    sku: str
    region: str
    model: PricingModel
    usd_per_hour: Decimal
    since: date | None  # the first day in force
    until: date | None = None  # the day on which it expires, if any
    term: str = ""
    note: str = ""


@cache
def known_instances(provider: str) -> Mapping[str, InstanceAccelerators]:
    """Return the accelerators of each of a provider's instances on the packaged sheet.

    Price files do not state an instance's accelerator, or name it in their own way.
    """
    return {
        price.sku: InstanceAccelerators(accelerator=price.accelerator, count=price.count)
        for price in packaged_sheet().prices
        if price.provider == provider
    }


def prices_of(provider: str, offers: Iterable[FeedOffer], *, origin: FeedOrigin) -> BulkPrices:
    """Return the offers as prices, one for each instance, pricing model, term and region.

    Leaves out and counts instances without known accelerators, prices of zero, offers that are not
    in force, and second prices: a price list may hold a capacity block at 0.00, which does not make
    an instance free. A price's date is the day that its file states, else the day the file was
    read. The day from which it is in force may be years ago and does not make it old.
    """
    instances = known_instances(provider)
    best: dict[tuple[str, str, str, str], FeedOffer] = {}
    left_out: dict[str, int] = {}
    for offer in offers:
        reason = _reason(offer, instances, origin)
        key = offer.sku, offer.model, offer.term, offer.region
        if not reason and key in best:
            reason = _second(best[key], offer)
            if _is_newer(offer, best[key]):
                best[key] = offer
        elif not reason:
            best[key] = offer
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
    prices = tuple(_price(provider, offer, instances[offer.sku], origin) for offer in best.values())
    return BulkPrices(prices=prices, left_out=left_out)


def day_of(text: str) -> date | None:
    """Return the day that an ISO 8601 time begins with; None for any other text."""
    with suppress(ValueError):
        return date.fromisoformat(text[:10])
    return None


def _reason(
    offer: FeedOffer, instances: Mapping[str, InstanceAccelerators], origin: FeedOrigin
) -> str:
    if offer.sku not in instances:
        return "no known accelerator"
    if not 0 < offer.usd_per_hour <= MAX_USD_PER_HOUR:
        return "no price above zero"
    if offer.since is not None and offer.since > origin.retrieved_at:
        return "not yet in force"
    if offer.until is not None and offer.until <= origin.retrieved_at:
        return "no longer in force"
    return ""


def _second(first: FeedOffer, second: FeedOffer) -> str:
    """Return why one of two offers of one option is left out; "" if the prices are equal."""
    if first.usd_per_hour == second.usd_per_hour:
        return ""
    is_same_day = first.since == second.since
    return "a second, different price" if is_same_day else "replaced by a newer price"


def _is_newer(left: FeedOffer, right: FeedOffer) -> bool:
    return left.since is not None and (right.since is None or left.since > right.since)


def _price(
    provider: str, offer: FeedOffer, holds: InstanceAccelerators, origin: FeedOrigin
) -> Price:
    since = f"in force since {offer.since}" if offer.since else ""
    return Price(
        provider=provider,
        sku=offer.sku,
        region=offer.region,
        accelerator=holds.accelerator,
        count=holds.count,
        pricing_model=offer.model,
        term=offer.term,
        usd_per_hour=offer.usd_per_hour,
        as_of=origin.published or origin.retrieved_at,
        is_read_date=origin.published is None,
        retrieved_at=origin.retrieved_at,
        confidence=SourceConfidence.HIGH,
        source=origin.source,
        source_url=named_address(origin.source),
        note="; ".join(filter(None, (since, offer.note))),
    )
