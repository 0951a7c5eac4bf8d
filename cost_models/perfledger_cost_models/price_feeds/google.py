"""Reads pages of Google's Cloud Billing Catalog: prices of TPU chips and of GPU machine types.

Google prices the parts of a machine separately: accelerators, cores, memory. A machine's price is
their sum; where a part is missing there is no price. Format:
https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import msgspec

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

MAX_PAGE_BYTES = 64 * 2**20  # a page has up to 5000 SKUs of about two kilobytes
NANO = Decimal("1e-9")

# Descriptions of SKUs that are not a machine's part by the hour.
EXCLUDED_PRODUCTS = re.compile(
    r"(?i)sole tenancy|reserved|premium|custom|suspended|commitment|calendar|dws"
)
MACHINE_PART = re.compile(
    r"(?i)^(?:spot preemptible )?(?P<what>.+?) (?P<part>gpu|instance core|instance ram)\b"
)
TPU = re.compile(r"(?i)tpu-?(?P<version>v\d+[ep]?)")
# The unit of a TPU's SKU in chips: v5 and v6 are priced by the chip, v4 by eight cores of a pod.
CHIPS_PER_UNIT = {"v4": 4, "v5e": 1, "v5p": 1, "v6e": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineType:
    """The parts of a machine type; https://cloud.google.com/compute/docs/gpus."""

    gpu: str  # as in the SKUs' descriptions
    series: str
    gpus: int
    cores: int
    memory_gib: int


MACHINES = {
    "a2-highgpu-8g": MachineType(
        gpu="nvidia tesla a100", series="a2", gpus=8, cores=96, memory_gib=680
    ),
    "a2-ultragpu-8g": MachineType(
        gpu="nvidia tesla a100 80gb", series="a2", gpus=8, cores=96, memory_gib=1360
    ),
    "a3-highgpu-1g": MachineType(
        gpu="nvidia h100 80gb", series="a3", gpus=1, cores=26, memory_gib=234
    ),
    "a3-highgpu-8g": MachineType(
        gpu="nvidia h100 80gb", series="a3", gpus=8, cores=208, memory_gib=1872
    ),
}


class _Money(msgspec.Struct):
    currency: str = msgspec.field(default="", name="currencyCode")
    units: str = "0"
    nanos: int = 0


class _Rate(msgspec.Struct):
    price: _Money = msgspec.field(name="unitPrice")


class _Expression(msgspec.Struct):
    unit: str = msgspec.field(default="", name="usageUnit")
    rates: tuple[_Rate, ...] = msgspec.field(default=(), name="tieredRates")


class _Pricing(msgspec.Struct):
    expression: _Expression = msgspec.field(name="pricingExpression")
    since: str = msgspec.field(default="", name="effectiveTime")


class _Category(msgspec.Struct):
    family: str = msgspec.field(default="", name="resourceFamily")
    usage: str = msgspec.field(default="", name="usageType")


class _Sku(msgspec.Struct):
    description: str = ""
    category: _Category = msgspec.field(default_factory=_Category)
    regions: tuple[str, ...] = msgspec.field(default=(), name="serviceRegions")
    pricing: tuple[_Pricing, ...] = msgspec.field(default=(), name="pricingInfo")  # newest last


class _Page(msgspec.Struct):
    skus: tuple[_Sku, ...]


_PAGE_DECODER = msgspec.json.Decoder(_Page)


@dataclass(frozen=True, slots=True)
class _Part:
    """A machine's part, its region and its pricing model."""

    name: str  # "nvidia h100 80gb gpu", "a3 core", "a3 ram"
    region: str
    model: PricingModel


@dataclass(slots=True)
class _SkuIndex:
    """The prices of all parts; `since` is the newest day of any of them."""

    usd: dict[_Part, Decimal] = field(default_factory=dict[_Part, Decimal])
    since: date | None = None


def read_google(pages: Iterable[bytes], *, origin: FeedOrigin) -> BulkPrices:
    """Read pages of JSON as the API returns them; raise BulkFileError for another document."""
    return prices_of("gcp", _offers(pages), origin=origin)


def _offers(pages: Iterable[bytes]) -> Iterator[FeedOffer]:
    skus = _SkuIndex()
    for number, page in enumerate(pages, start=1):
        for sku in _skus(page, number):
            yield from _tpu_offers(sku)
            _add_part(skus, sku)
    yield from _machine_offers(skus)


def _skus(page: bytes, number: int) -> tuple[_Sku, ...]:
    if len(page) > MAX_PAGE_BYTES:
        msg = f"page {number} of Google's catalog has {len(page)} bytes. Request smaller pages."
        raise BulkFileError(msg)
    try:
        return _PAGE_DECODER.decode(page).skus
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"page {number} of Google's catalog cannot be read: {error}. Fetch it again."
        raise BulkFileError(msg) from error


def _tpu_offers(sku: _Sku) -> Iterator[FeedOffer]:
    match = TPU.search(sku.description)
    usd = _usd(sku)
    if match is None or usd is None or EXCLUDED_PRODUCTS.search(sku.description):
        return
    version = match["version"].lower()
    is_pod = "pod" in sku.description.lower()
    chips = CHIPS_PER_UNIT.get(version)
    if chips is None or (version == "v4") is not is_pod:
        return
    # A preemptible TPU's usage type is "OnDemand": only its description says that it is spot.
    for region in sku.regions:
        yield FeedOffer(
            sku=f"tpu-{version}",
            region=region,
            model=PricingModel.SPOT if _is_spot(sku) else PricingModel.ON_DEMAND,
            usd_per_hour=usd / chips,
            since=_day(sku),
            term="per chip",
        )


def _add_part(skus: _SkuIndex, sku: _Sku) -> None:
    match = MACHINE_PART.match(sku.description)
    usd = _usd(sku)
    models = {"OnDemand": PricingModel.ON_DEMAND, "Preemptible": PricingModel.SPOT}
    # Some spot parts are filed under "OnDemand" as well: either field marks them.
    model = PricingModel.SPOT if _is_spot(sku) else models.get(sku.category.usage)
    if match is None or usd is None or model is None or EXCLUDED_PRODUCTS.search(sku.description):
        return
    part = match["part"].lower().removeprefix("instance ")
    component = match["what"].lower()
    name = f"{component} gpu" if part == "gpu" else f"{component.split()[0]} {part}"
    for region in sku.regions:
        skus.usd[_Part(name, region, model)] = usd
    day = _day(sku)
    if day is not None:
        skus.since = max(day, skus.since or day)


def _machine_offers(skus: _SkuIndex) -> Iterator[FeedOffer]:
    for name, machine in MACHINES.items():
        quantities = {
            f"{machine.gpu} gpu": machine.gpus,
            f"{machine.series} core": machine.cores,
            f"{machine.series} ram": machine.memory_gib,
        }
        offered = {(part.region, part.model) for part in skus.usd if part.name in quantities}
        for region, model in sorted(offered):
            parts = [
                (skus.usd.get(_Part(part, region, model)), count)
                for part, count in quantities.items()
            ]
            usd = [price * count for price, count in parts if price is not None]
            if len(usd) < len(parts):  # a machine has no price without the price of its memory
                continue
            yield FeedOffer(
                sku=name,
                region=region,
                model=model,
                usd_per_hour=sum(usd, Decimal(0)),
                since=skus.since,
                note="accelerators, cores and memory; local SSDs are priced separately",
            )


def _is_spot(sku: _Sku) -> bool:
    description = sku.description.lower()
    return "preemptible" in description or "spot" in description


def _usd(sku: _Sku) -> Decimal | None:
    """Return the price of an hour: that of the last tier, because the first ones may be free."""
    if not sku.pricing or not sku.pricing[-1].expression.rates:
        return None
    expression = sku.pricing[-1].expression
    money = expression.rates[-1].price
    is_integer = re.fullmatch(r"\d{1,9}", money.units) is not None
    if expression.unit not in {"h", "GiBy.h"} or money.currency != USD or not is_integer:
        return None
    return int(money.units) + money.nanos * NANO


def _day(sku: _Sku) -> date | None:
    return day_of(sku.pricing[-1].since) if sku.pricing else None
