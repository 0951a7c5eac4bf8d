"""Reads AWS's price list of EC2 in CSV: on demand and standard reserved, shared tenancy, Linux.

The file of one region is about 200 MB, that of all regions gigabytes: it is read line by line.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.price_feeds.aws_csv import open_aws, usd_of
from perfledger_cost_models.price_feeds.rows import (
    BulkPrices,
    FeedOffer,
    FeedOrigin,
    day_of,
    prices_of,
)
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.units import USD

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
# The file lists each instance a hundred times: dedicated, Windows, with SQL Server, as an unused
# reservation, and as a capacity block at 0.00. Without the last filter a p5 would be free.
ROW_FILTER = {
    "Tenancy": ("Shared",),
    "Operating System": ("Linux",),
    "CapacityStatus": ("Used",),
    "Pre Installed S/W": ("", "NA"),
    "MarketOption": ("OnDemand", ""),
    "Currency": (USD,),
}
YEARS = {"1yr": 1, "3yr": 3}
NO_UPFRONT = "No Upfront"


@dataclass(slots=True)
class _Reservation:
    """One reservation's hourly row and its upfront row, which come in either order."""

    cells: Mapping[str, str]
    hourly: Decimal | None = None
    upfront: Decimal | None = None

    def offer(self) -> FeedOffer | None:
        """Return the hourly offer; None if a part is missing, which is not the same as zero."""
        years = YEARS.get(self.cells["LeaseContractLength"])
        payment = self.cells["PurchaseOption"]
        upfront = Decimal(0) if payment == NO_UPFRONT else self.upfront
        if years is None or self.hourly is None or upfront is None:
            return None
        return replace(
            _offer(self.cells, self.hourly + upfront / (HOURS_PER_YEAR * years)),
            model=PricingModel.RESERVED,
            term=f"{years}y_{payment.lower().replace(' ', '_')}",
            note=f"{upfront} USD up front" if upfront else "",
        )


def read_aws(lines: Iterable[str], *, origin: FeedOrigin) -> BulkPrices:
    """Read a price file line by line; raise BulkFileError for a file of another kind.

    A reserved instance's price is its hourly rate plus its upfront payment spread over the term
    without interest; partly and fully prepaid ones are separate prices.
    """
    file = open_aws(lines, columns=COLUMNS, name="AmazonEC2")
    return prices_of("aws", offers_of(file.rows), origin=replace(origin, published=file.published))


def offers_of(rows: Iterable[Mapping[str, str]]) -> Iterator[FeedOffer]:
    """Yield on-demand offers as they come, and reserved ones once all their parts are read.

    Rows have the cells of COLUMNS.
    """
    reserved: dict[tuple[str, str, str], _Reservation] = {}
    for cells in rows:
        usd = usd_of(cells["PricePerUnit"])
        if usd is None or any(cells[name] not in values for name, values in ROW_FILTER.items()):
            continue
        if cells["TermType"] == "OnDemand" and cells["Unit"] == "Hrs":
            yield _offer(cells, usd)
        elif cells["TermType"] == "Reserved" and cells["OfferingClass"] == "standard":
            key = cells["SKU"], cells["OfferTermCode"], cells["EffectiveDate"]
            reservation = reserved.setdefault(key, _Reservation(cells))
            if cells["Unit"] == "Hrs":
                reservation.hourly = usd
            else:
                reservation.upfront = usd
    offers = (each.offer() for each in reserved.values())
    yield from (offer for offer in offers if offer is not None)


def _offer(cells: Mapping[str, str], usd: Decimal) -> FeedOffer:
    return FeedOffer(
        sku=cells["Instance Type"],
        region=cells["Region Code"],
        model=PricingModel.ON_DEMAND,
        usd_per_hour=usd,
        since=day_of(cells["EffectiveDate"]),
    )
