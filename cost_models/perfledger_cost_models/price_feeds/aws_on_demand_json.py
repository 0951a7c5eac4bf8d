"""Reads AWS's price list of EC2 in JSON as the rows that the same list has in CSV.

A region's file is held in memory and takes a multiple of its size; the CSV is streamed. Format:
https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file.html
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from perfledger_cost_models.price_feeds.aws_on_demand import offers_of
from perfledger_cost_models.price_feeds.rows import (
    BulkFileError,
    BulkPrices,
    FeedOrigin,
    day_of,
    prices_of,
)
from perfledger_cost_models.units import USD

MAX_BYTES = 2**30  # us-east-1, the largest region, has about half of it
OFFER_CODE = "AmazonEC2"


class _Attributes(msgspec.Struct):
    instance: str = msgspec.field(default="", name="instanceType")
    tenancy: str = ""
    system: str = msgspec.field(default="", name="operatingSystem")
    capacity: str = msgspec.field(default="", name="capacitystatus")
    software: str = msgspec.field(default="", name="preInstalledSw")
    region: str = msgspec.field(default="", name="regionCode")
    market: str = msgspec.field(default="", name="marketoption")


class _Product(msgspec.Struct):
    attributes: _Attributes = msgspec.field(default_factory=_Attributes)


class _Lease(msgspec.Struct):
    length: str = msgspec.field(default="", name="LeaseContractLength")
    payment: str = msgspec.field(default="", name="PurchaseOption")
    offering: str = msgspec.field(default="", name="OfferingClass")


class _Dimension(msgspec.Struct):
    unit: str = ""
    price: dict[str, str] = msgspec.field(default_factory=dict[str, str], name="pricePerUnit")


class _Term(msgspec.Struct):
    since: str = msgspec.field(default="", name="effectiveDate")
    dimensions: dict[str, _Dimension] = msgspec.field(
        default_factory=dict[str, _Dimension], name="priceDimensions"
    )
    lease: _Lease = msgspec.field(default_factory=_Lease, name="termAttributes")


class _File(msgspec.Struct):
    offer_code: str = msgspec.field(name="offerCode")
    products: dict[str, _Product]
    terms: dict[str, dict[str, dict[str, _Term]]]  # by type, SKU and code
    published: str = msgspec.field(default="", name="publicationDate")


_FILE_DECODER = msgspec.json.Decoder(_File)


def read_aws_json(data: bytes, *, origin: FeedOrigin) -> BulkPrices:
    """Read a region's file like `aws_on_demand.read_aws`; raise BulkFileError for another file."""
    try:
        file = _FILE_DECODER.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"AWS's price list cannot be read: {error}. Fetch {OFFER_CODE}'s index.csv."
        raise BulkFileError(msg) from error
    if file.offer_code != OFFER_CODE:
        msg = f"AWS's price list is of {file.offer_code[:60]!r}. Fetch that of {OFFER_CODE}."
        raise BulkFileError(msg)
    return prices_of(
        "aws", offers_of(_rows(file)), origin=replace(origin, published=day_of(file.published))
    )


def _rows(file: _File) -> Iterator[Mapping[str, str]]:
    for kind, by_sku in file.terms.items():
        for sku, by_code in by_sku.items():
            product = file.products.get(sku)
            if product is None:
                continue
            for code, term in by_code.items():
                for dimension in term.dimensions.values():
                    yield {
                        "SKU": sku,
                        "OfferTermCode": code.rpartition(".")[2],
                        "TermType": kind,
                        **_cells(product.attributes, term, dimension),
                    }


def _cells(attributes: _Attributes, term: _Term, dimension: _Dimension) -> Mapping[str, str]:
    return {
        "EffectiveDate": term.since,
        "Unit": dimension.unit,
        "PricePerUnit": dimension.price.get(USD, ""),
        "Currency": USD,
        "LeaseContractLength": term.lease.length,
        "PurchaseOption": term.lease.payment,
        "OfferingClass": term.lease.offering,
        "Instance Type": attributes.instance,
        "Tenancy": attributes.tenancy,
        "Operating System": attributes.system,
        "CapacityStatus": attributes.capacity,
        "Pre Installed S/W": attributes.software,
        "Region Code": attributes.region,
        "MarketOption": attributes.market,
    }
