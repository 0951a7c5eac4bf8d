"""Tests reading bills in FOCUS from files, in CSV and in Parquet."""

from decimal import Decimal

import pytest

from perfledger_service.errors import NotFoundError, TooLargeError, UsageError
from perfledger_service.usecases.inputs.bills import MAX_CSV_BYTES, read_bill

# Written by hand in the shape of a FOCUS 1.2 row: two hours of p5.48xlarge at a discount.
ROW = {
    "BillingCurrency": "USD",
    "BilledCost": "96.87",
    "ChargeCategory": "Usage",
    "ChargePeriodStart": "2026-10-01T00:00:00Z",
    "ChargePeriodEnd": "2026-10-01T02:00:00Z",
    "EffectiveCost": "96.87",
    "PricingCategory": "Standard",
    "PricingQuantity": "2",
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "RegionId": "us-east-1",
    "SubAccountId": "1234",
    "SubAccountName": "research",
    "Tags": '"{""team"": ""nlp""}"',
    "x_InstanceType": "p5.48xlarge",
}


@pytest.fixture
def bill(tmp_path):
    path = tmp_path / "bill.csv"
    path.write_text(f"{','.join(ROW)}\n{','.join(ROW.values())}\n")
    return path


def test_a_bill_in_csv_is_read(bill):
    read = read_bill(bill)

    (usage,) = read.usage
    assert (usage.team, usage.instance_hours) == ("research", Decimal(2))
    assert read.effective_usd == Decimal("96.87")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_bill_that_a_spreadsheet_saved_is_the_same(bill, tmp_path, delimiter, encoding):
    path = tmp_path / "excel.csv"
    header, row = bill.read_text().splitlines()
    tags = ROW["Tags"]
    cells = [cell.replace(",", delimiter) for cell in row.split(tags)]
    text = f"{header.replace(',', delimiter)}\r\n{tags.join(cells)}\r\n"
    path.write_bytes(text.encode(encoding))

    assert read_bill(path) == read_bill(bill)


def test_a_tag_may_name_the_owner(bill):
    (usage,) = read_bill(bill, team_tag="team").usage

    assert usage.team == "nlp"


def test_a_bill_in_parquet_says_the_same_whatever_its_name(bill, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow_csv = pytest.importorskip("pyarrow.csv")
    path = tmp_path / "packed.csv"
    parquet.write_table(arrow_csv.read_csv(bill), path)

    for tag in ("", "team"):
        assert read_bill(path, team_tag=tag).usage == read_bill(bill, team_tag=tag).usage


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff", "is not UTF-8 text below line 0"),
        (b"PK\x03\x04\x00", "line 1, has a NUL character"),
        (b"", "the bill is empty"),
        (b"month,usd\nmay,3\n", "lacks FOCUS's columns"),
        (b"PAR1 and nothing else", "Parquet"),
    ],
)
def test_a_file_that_is_no_bill_says_so(tmp_path, content, message):
    path = tmp_path / "bill.csv"
    path.write_bytes(content)

    with pytest.raises(UsageError, match=message):
        read_bill(path)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(NotFoundError, match=r"nothing\.csv"):
        read_bill(tmp_path / "nothing.csv")
    with pytest.raises(UsageError, match="is a folder: give a file"):
        read_bill(tmp_path)


def test_a_file_over_the_limit_is_not_opened(tmp_path):
    path = tmp_path / "bill.csv"
    with path.open("wb") as file:
        file.truncate(MAX_CSV_BYTES + 1)  # a hole, which takes no space on the disk

    with pytest.raises(TooLargeError, match="export shorter periods"):
        read_bill(path)
