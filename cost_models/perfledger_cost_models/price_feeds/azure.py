"""Reads pages of Azure's Retail Prices: pay as you go, spot, reserved and savings plans.

Format: https://learn.microsoft.com/en-us/rest/api/cost-management/retail-prices/azure-retail-prices
"""

from collections.abc import Iterable, Iterator
from decimal import Decimal

import msgspec

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.price_feeds.rows import (
    BulkFileError,
    BulkPrices,
    FeedOffer,
    FeedOrigin,
    day_of,
    prices_of,
)
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.units import USD

# A page has a hundred or a thousand items of about a kilobyte.
MAX_PAGE_BYTES = 64 * 2**20
YEARS = {"1 Year": 1, "3 Years": 3, "5 Years": 5}
# The same instance under Windows costs 0.046 USD more for each vCPU, under the same armSkuName.
OTHER_PRODUCTS = ("Windows", "Dedicated", "CloudServices", "Promo")


class _Plan(msgspec.Struct):
    term: str = ""
    price: Decimal | None = msgspec.field(default=None, name="retailPrice")


class _Item(msgspec.Struct):
    price: Decimal | None = msgspec.field(default=None, name="retailPrice")
    currency: str = msgspec.field(default="", name="currencyCode")
    region: str = msgspec.field(default="", name="armRegionName")
    since: str = msgspec.field(default="", name="effectiveStartDate")
    until: str | None = msgspec.field(default=None, name="effectiveEndDate")
    product: str = msgspec.field(default="", name="productName")
    sku: str = msgspec.field(default="", name="armSkuName")
    sku_name: str = msgspec.field(default="", name="skuName")
    meter: str = msgspec.field(default="", name="meterName")
    service: str = msgspec.field(default="", name="serviceName")
    measure: str = msgspec.field(default="", name="unitOfMeasure")
    kind: str = msgspec.field(default="", name="type")
    term: str = msgspec.field(default="", name="reservationTerm")
    plans: tuple[_Plan, ...] | None = msgspec.field(default=None, name="savingsPlan")


class _Page(msgspec.Struct):
    items: tuple[_Item, ...] = msgspec.field(name="Items")


_PAGE_DECODER = msgspec.json.Decoder(_Page)


def read_azure(pages: Iterable[bytes], *, origin: FeedOrigin) -> BulkPrices:
    """Read pages of JSON as the API returns them; raise BulkFileError for another document."""
    return prices_of("azure", _offers(pages), origin=origin)


def _offers(pages: Iterable[bytes]) -> Iterator[FeedOffer]:
    for number, page in enumerate(pages, start=1):
        if len(page) > MAX_PAGE_BYTES:
            msg = f"page {number} of Azure's prices has {len(page)} bytes. Request smaller pages."
            raise BulkFileError(msg)
        try:
            items = _PAGE_DECODER.decode(page).items
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            msg = f"page {number} of Azure's prices cannot be read: {error}. Fetch it again."
            raise BulkFileError(msg) from error
        for item in items:
            yield from _offers_of(item)


def _offers_of(item: _Item) -> Iterator[FeedOffer]:
    is_other = any(word in item.product for word in OTHER_PRODUCTS)
    is_machine = item.service == "Virtual Machines" and item.currency == USD and not is_other
    if not is_machine or item.price is None or "Low Priority" in item.meter + item.sku_name:
        return
    if item.kind == "Reservation":
        years = YEARS.get(item.term)
        if years is not None:  # its price is that of the whole term
            usd = item.price / (HOURS_PER_YEAR * years)
            yield _offer(item, PricingModel.RESERVED, usd, term=f"{years}y_no_upfront")
    elif item.kind == "Consumption" and item.measure == "1 Hour":
        is_spot = "Spot" in item.sku_name or "Spot" in item.meter
        model = PricingModel.SPOT if is_spot else PricingModel.ON_DEMAND
        yield _offer(item, model, item.price)
        for plan in item.plans or ():
            years = YEARS.get(plan.term)
            if years is not None and plan.price is not None and not is_spot:
                term = f"{years}y_no_upfront"
                yield _offer(item, PricingModel.SAVINGS_PLAN, plan.price, term=term)


def _offer(item: _Item, model: PricingModel, usd: Decimal, *, term: str = "") -> FeedOffer:
    return FeedOffer(
        sku=item.sku,
        region=item.region,
        model=model,
        usd_per_hour=usd,
        since=day_of(item.since),
        until=day_of(item.until or ""),
        term=term,
    )
