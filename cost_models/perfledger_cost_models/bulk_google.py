"""Pages of Google's Cloud Billing Catalog into prices of TPU chips and of GPU machine types.

Google prices the parts of a machine apart: accelerators, cores, memory. A machine's price is their
sum; where a part is missing there is no price. Format:
https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal

import msgspec

from perfledger_cost_models.bulk import BulkFileError, BulkPrices, Offer, Origin, day_of, prices_of
from perfledger_cost_models.sheet import PricingModel

MAX_PAGE_BYTES = 64 * 2**20  # a page has up to 5000 SKUs of about two kilobytes
NANO = Decimal("1e-9")

# Descriptions of SKUs that are something else than a machine's part by the hour.
OTHER = re.compile(r"(?i)sole tenancy|reserved|premium|custom|suspended|commitment|calendar|dws")
PART = re.compile(
    r"(?i)^(?:spot preemptible )?(?P<what>.+?) (?P<part>gpu|instance core|instance ram)\b"
)
TPU = re.compile(r"(?i)tpu-?(?P<version>v\d+[ep]?)")
# The unit of a TPU's SKU in chips. v5 and v6 are priced by the chip, v4 by eight cores of a pod.
CHIPS_PER_UNIT = {"v4": 4, "v5e": 1, "v5p": 1, "v6e": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a machine type is made of; https://cloud.google.com/compute/docs/gpus."""

    gpu: str  # as the SKUs' descriptions have it
    series: str
    gpus: int
    cores: int
    memory_gib: int


MACHINES = {
    "a2-highgpu-8g": Machine(
        gpu="nvidia tesla a100", series="a2", gpus=8, cores=96, memory_gib=680
    ),
    "a2-ultragpu-8g": Machine(
        gpu="nvidia tesla a100 80gb", series="a2", gpus=8, cores=96, memory_gib=1360
    ),
    "a3-highgpu-1g": Machine(gpu="nvidia h100 80gb", series="a3", gpus=1, cores=26, memory_gib=234),
    "a3-highgpu-8g": Machine(
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


@dataclass(frozen=True, slots=True)
class _Part:
    """What a part is, where, and how it is bought."""

    name: str  # "nvidia h100 80gb gpu", "a3 core", "a3 ram"
    region: str
    model: PricingModel


@dataclass(slots=True)
class _Catalog:
    """The parts' prices; the day is the newest of any of them."""

    usd: dict[_Part, Decimal] = field(default_factory=dict[_Part, Decimal])
    since: date | None = None


def read_google(pages: Iterable[bytes], *, origin: Origin) -> BulkPrices:
    """Read pages of JSON as the service answers them; raises BulkFileError for what is none."""
    return prices_of("gcp", _offers(pages), origin=origin)


def _offers(pages: Iterable[bytes]) -> Iterator[Offer]:
    catalog = _Catalog()
    for number, page in enumerate(pages, start=1):
        for sku in _skus(page, number):
            yield from _tpu_offers(sku)
            _add_part(catalog, sku)
    yield from _machine_offers(catalog)


def _skus(page: bytes, number: int) -> tuple[_Sku, ...]:
    if len(page) > MAX_PAGE_BYTES:
        msg = f"page {number} of Google's catalog has {len(page)} bytes: ask for smaller ones"
        raise BulkFileError(msg)
    try:
        return msgspec.json.decode(page, type=_Page).skus
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"page {number} of Google's catalog cannot be read: {error}: fetch it again"
        raise BulkFileError(msg) from error


def _tpu_offers(sku: _Sku) -> Iterator[Offer]:
    found = TPU.search(sku.description)
    usd = _usd(sku)
    if found is None or usd is None or OTHER.search(sku.description):
        return
    version = found["version"].lower()
    is_pod = "pod" in sku.description.lower()
    chips = CHIPS_PER_UNIT.get(version)
    if chips is None or (version == "v4") is not is_pod:
        return
    # A preemptible TPU's usage type is "OnDemand": its description alone tells.
    for region in sku.regions:
        yield Offer(
            sku=f"tpu-{version}",
            region=region,
            model=PricingModel.SPOT if _is_spot(sku) else PricingModel.ON_DEMAND,
            usd_per_hour=usd / chips,
            since=_day(sku),
            term="per chip",
        )


def _add_part(catalog: _Catalog, sku: _Sku) -> None:
    found = PART.match(sku.description)
    usd = _usd(sku)
    models = {"OnDemand": PricingModel.ON_DEMAND, "Preemptible": PricingModel.SPOT}
    # Some spot parts are filed under "OnDemand" as well: either tells.
    model = PricingModel.SPOT if _is_spot(sku) else models.get(sku.category.usage)
    if found is None or usd is None or model is None or OTHER.search(sku.description):
        return
    part = found["part"].lower().removeprefix("instance ")
    what = found["what"].lower()
    name = f"{what} gpu" if part == "gpu" else f"{what.split()[0]} {part}"
    for region in sku.regions:
        catalog.usd[_Part(name, region, model)] = usd
    day = _day(sku)
    if day is not None:
        catalog.since = max(day, catalog.since or day)


def _machine_offers(catalog: _Catalog) -> Iterator[Offer]:
    for name, machine in MACHINES.items():
        quantities = {
            f"{machine.gpu} gpu": machine.gpus,
            f"{machine.series} core": machine.cores,
            f"{machine.series} ram": machine.memory_gib,
        }
        places = {(part.region, part.model) for part in catalog.usd if part.name in quantities}
        for region, model in sorted(places):
            parts = [
                (catalog.usd.get(_Part(part, region, model)), count)
                for part, count in quantities.items()
            ]
            usd = [price * count for price, count in parts if price is not None]
            if len(usd) < len(parts):  # a machine without its memory's price has none
                continue
            yield Offer(
                sku=name,
                region=region,
                model=model,
                usd_per_hour=sum(usd, Decimal(0)),
                since=catalog.since,
                note="accelerators, cores and memory; local SSDs are priced apart",
            )


def _is_spot(sku: _Sku) -> bool:
    description = sku.description.lower()
    return "preemptible" in description or "spot" in description


def _usd(sku: _Sku) -> Decimal | None:
    """Return the price of an hour; the last tier's, as the first ones may be free."""
    if not sku.pricing or not sku.pricing[-1].expression.rates:
        return None
    expression = sku.pricing[-1].expression
    money = expression.rates[-1].price
    is_integer = re.fullmatch(r"\d{1,9}", money.units) is not None
    if expression.unit not in {"h", "GiBy.h"} or money.currency != "USD" or not is_integer:
        return None
    return int(money.units) + money.nanos * NANO


def _day(sku: _Sku) -> date | None:
    return day_of(sku.pricing[-1].since) if sku.pricing else None
