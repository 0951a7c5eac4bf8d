"""Fixtures of the tests of `perfledger prices`."""

import pytest

from perfledger_cost_models.prices.price_sheet import COLUMNS


@pytest.fixture
def sheet(tmp_path):
    def sheet(*rows):
        path = tmp_path / "prices.csv"
        path.write_text("\n".join([",".join(COLUMNS), *rows, ""]))
        return path

    return sheet


AWS = """"FormatVersion","v1.0"
"Publication Date","2026-11-21T00:00:00Z"
{header}
{row}
"""


AWS_ROW = {
    "SKU": "ABCDEF",
    "OfferTermCode": "JRTCKXETXF",
    "TermType": "OnDemand",
    "EffectiveDate": "2025-06-01",
    "Unit": "Hrs",
    "PricePerUnit": "54.0000000000",
    "Currency": "USD",
    "LeaseContractLength": "",
    "PurchaseOption": "",
    "OfferingClass": "",
    "Instance Type": "p5.48xlarge",
    "Tenancy": "Shared",
    "Operating System": "Linux",
    "CapacityStatus": "Used",
    "Pre Installed S/W": "NA",
    "Region Code": "us-east-1",
    "MarketOption": "OnDemand",
}


@pytest.fixture
def aws_file(tmp_path):
    """Write a price list by hand in the shape of AmazonEC2's index.csv."""

    def write(**changes):
        row = AWS_ROW | {"PricePerUnit": changes.get("usd", "54.0"), "Region Code": "us-east-1"}
        cells = (",".join(f'"{cell}"' for cell in line) for line in (row, row.values()))
        path = tmp_path / "index.csv"
        path.write_text(AWS.format(header=next(cells), row=next(cells)))
        return path

    return write
