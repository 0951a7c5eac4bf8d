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
    published: date | None = None  # the day that the file itself states, if it does


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
    since: date | None  # the day from which it is in force
    until: date | None = None  # the day on which it ends to be, where it does
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

    Instances without accelerators that are known, prices of nothing, those not or no longer in
    force and second prices are left out and counted: a price list may hold a capacity block at
    0.00, and then an instance is not free. A price is as of the day that its file states, else
    that it was read; the day from which it is in force may be years ago, and is no sign of its age.
    """
    known = known_instances(provider)
    best: dict[tuple[str, str, str, str], Offer] = {}
    left_out: dict[str, int] = {}
    for offer in offers:
        reason = _reason(offer, known, origin)
        key = offer.sku, offer.model, offer.term, offer.region
        if not reason and key in best:
            reason = _second(best[key], offer)
            if _is_newer(offer, best[key]):
                best[key] = offer
        elif not reason:
            best[key] = offer
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
    prices = tuple(_price(provider, offer, known[offer.sku], origin) for offer in best.values())
    return BulkPrices(prices=prices, left_out=left_out)


def day_of(text: str) -> date | None:
    """Return the day that a moment in ISO 8601 begins with, None where it is none."""
    with suppress(ValueError):
        return date.fromisoformat(text[:10])
    return None


def _reason(offer: Offer, known: Mapping[str, Holds], origin: Origin) -> str:
    if offer.sku not in known:
        return "no accelerator that is known"
    if not 0 < offer.usd_per_hour <= MAX_USD_PER_HOUR:
        return "no price above zero"
    if offer.since is not None and offer.since > origin.retrieved_at:
        return "not yet in force"
    if offer.until is not None and offer.until <= origin.retrieved_at:
        return "no longer in force"
    return ""


def _second(first: Offer, second: Offer) -> str:
    """Return why one of two offers of the same is left out; "" for the same price twice."""
    if first.usd_per_hour == second.usd_per_hour:
        return ""
    is_same_day = first.since == second.since
    return "a second, other price of the same" if is_same_day else "replaced by a newer price"


def _is_newer(one: Offer, other: Offer) -> bool:
    return one.since is not None and (other.since is None or one.since > other.since)


def _price(provider: str, offer: Offer, holds: Holds, origin: Origin) -> Price:
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
        confidence=Confidence.HIGH,
        source=origin.source,
        note="; ".join(filter(None, (since, offer.note))),
    )
