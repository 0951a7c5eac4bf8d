"""AWS's price list of EC2 in CSV into prices: on demand and standard reserved, shared, Linux.

The file of one region is about 200 MB, that of all regions gigabytes: it is read line by line.
Format: https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/reading-service-price-list-file.html
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from itertools import islice

from perfledger_cost_models.bulk import (
    HOURS_PER_YEAR,
    BulkFileError,
    BulkPrices,
    Offer,
    Origin,
    day_of,
    prices_of,
)
from perfledger_cost_models.sheet import PricingModel

COLUMNS = (
    "SKU",
    "OfferTermCode",
    "TermType",
    "EffectiveDate",
    "Unit",
    "PricePerUnit",
    "Currency",
    "LeaseContractLength",
    "PurchaseOption",
    "OfferingClass",
    "Instance Type",
    "Tenancy",
    "Operating System",
    "CapacityStatus",
    "Pre Installed S/W",
    "Region Code",
    "MarketOption",
)
# Each instance is in the file a hundred times: dedicated, Windows, with SQL Server, as an unused
# reservation, and as a capacity block at 0.00. Without the last filter a p5 would be free.
WANTED = {
    "Tenancy": ("Shared",),
    "Operating System": ("Linux",),
    "CapacityStatus": ("Used",),
    "Pre Installed S/W": ("", "NA"),
    "MarketOption": ("OnDemand", ""),
    "Currency": ("USD",),
}
YEARS = {"1yr": 1, "3yr": 3}
# What stands above the header: format, disclaimer, publication date, version, offer code.
MAX_PREAMBLE = 20
MAX_LINE_CHARACTERS = 100_000


@dataclass(slots=True)
class _Parts:
    """An hourly rate and what is paid up front; either may come first."""

    hourly: Decimal | None = None
    upfront: Decimal = Decimal(0)


def read_aws(lines: Iterable[str], *, origin: Origin) -> BulkPrices:
    """Read a bulk file line by line; raises BulkFileError for what is none.

    A reserved instance's price is its hourly rate and its upfront money spread over the term,
    without interest; partly and wholly prepaid ones are apart.
    """
    rows = csv.reader(_checked(lines), strict=True)
    try:
        header, published = _header(rows)
        dated = replace(origin, published=published)
        return prices_of("aws", _offers(rows, header), origin=dated)
    except csv.Error as error:
        msg = f"AWS's price list cannot be read, line {rows.line_num}: {error}: fetch it again"
        raise BulkFileError(msg) from error


def _checked(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if len(line) > MAX_LINE_CHARACTERS:
            msg = f"AWS's price list has a line of {len(line)} characters: it is no price list"
            raise BulkFileError(msg)
        yield line


def _header(rows: Iterator[list[str]]) -> tuple[dict[str, int], date | None]:
    """Return where the columns stand, and the day of publication that stands above them."""
    published: date | None = None
    for row in islice(rows, MAX_PREAMBLE):
        if row[:1] == ["Publication Date"] and len(row) > 1:
            published = day_of(row[1])
        places = {name: index for index, name in enumerate(row)}
        if "SKU" in places:
            missing = [name for name in COLUMNS if name not in places]
            if missing:
                msg = f"AWS's price list lacks the columns {missing}: fetch AmazonEC2's index.csv"
                raise BulkFileError(msg)
            return {name: places[name] for name in COLUMNS}, published
    msg = f"no column SKU in the first {MAX_PREAMBLE} lines: fetch AmazonEC2's index.csv"
    raise BulkFileError(msg)


def _offers(rows: Iterable[list[str]], header: dict[str, int]) -> Iterator[Offer]:
    """Yield on-demand offers as they come, and reserved ones when all their parts are known."""
    reserved: defaultdict[tuple[str, str, str, str, date | None], _Parts] = defaultdict(_Parts)
    for row in rows:
        if len(row) <= max(header.values()):
            continue
        cells = {name: row[index] for name, index in header.items()}
        usd = _usd(cells["PricePerUnit"])
        if usd is None or any(cells[name] not in values for name, values in WANTED.items()):
            continue
        if cells["TermType"] == "OnDemand" and cells["Unit"] == "Hrs":
            yield _offer(cells, usd)
        elif cells["TermType"] == "Reserved" and cells["OfferingClass"] == "standard":
            years = cells["LeaseContractLength"]
            key = (
                cells["Instance Type"],
                cells["Region Code"],
                years,
                cells["PurchaseOption"],
                day_of(cells["EffectiveDate"]),
            )
            if cells["Unit"] == "Hrs":
                reserved[key].hourly = usd
            else:
                reserved[key].upfront += usd
    yield from _reserved(reserved)


def _offer(cells: dict[str, str], usd: Decimal) -> Offer:
    return Offer(
        sku=cells["Instance Type"],
        region=cells["Region Code"],
        model=PricingModel.ON_DEMAND,
        usd_per_hour=usd,
        since=day_of(cells["EffectiveDate"]),
    )


def _reserved(
    found: dict[tuple[str, str, str, str, date | None], _Parts],
) -> Iterator[Offer]:
    for (sku, region, length, option, since), parts in found.items():
        years = YEARS.get(length)
        if years is None or parts.hourly is None:  # a part that is missing is not zero
            continue
        spread = parts.upfront / (HOURS_PER_YEAR * years)
        payment = option.lower().replace(" ", "_")
        yield Offer(
            sku=sku,
            region=region,
            model=PricingModel.RESERVED,
            usd_per_hour=parts.hourly + spread,
            since=since,
            term=f"{years}y_{payment}",
            note=f"{parts.upfront} USD up front" if parts.upfront else "",
        )


def _usd(text: str) -> Decimal | None:
    try:
        usd = Decimal(text)
    except InvalidOperation:
        return None
    return usd if usd.is_finite() and usd >= 0 else None
