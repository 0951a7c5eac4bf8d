import io
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from subprocess import run
from sys import executable

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.billing.focus import paid_prices
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.focus_parquet import read_focus_parquet
from perfledger_cost_models.billing.focus_rows import MAX_ROWS
from perfledger_cost_models.prices.price_sheet import PricingModel

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

# Written by hand in the types that FOCUS exports have: two hours of p5.48xlarge on demand.
ROW = {
    "BillingCurrency": "USD",
    "BilledCost": Decimal("110.08"),
    "ChargeCategory": "Usage",
    "ChargePeriodStart": datetime(2026, 10, 1, tzinfo=UTC),
    "ChargePeriodEnd": datetime(2026, 10, 1, 2, tzinfo=UTC),
    "EffectiveCost": Decimal("110.08"),
    "PricingCategory": "Standard",
    "PricingQuantity": Decimal(2),
    "PricingUnit": "Hours",
    "ProviderName": "AWS",
    "RegionId": "us-east-1",
    "SubAccountId": "123456789012",
    "SubAccountName": "research",
    "SkuPriceDetails": {"InstanceType": "p5.48xlarge"},
    "Tags": {"team": "vision"},
}
TAGS = arrow.map_(arrow.string(), arrow.string())


def bill(*changes, types=None, **options):
    rows = [ROW | each for each in changes]
    columns = {
        name: arrow.array([row[name] for row in rows], type=(types or {}).get(name)) for name in ROW
    }
    file = io.BytesIO()
    parquet.write_table(arrow.table(columns), file, **options)
    return file.getvalue()


def test_a_parquet_bill_has_the_team_and_cost_of_an_hour():
    (usage,) = read_focus_parquet(bill({})).usage

    assert (usage.sku, usage.team, usage.model) == (
        "p5.48xlarge",
        "research",
        PricingModel.ON_DEMAND,
    )
    assert (usage.instance_hours, usage.effective_usd) == (Decimal(2), Decimal("110.08"))


def test_prices_that_were_paid_come_from_parquet_too():
    (price,) = paid_prices(read_focus_parquet(bill({})), source="the bill")

    assert (price.usd_per_hour, price.term) == (Decimal("55.04"), "billed")


@pytest.mark.parametrize(
    "tags",
    [
        {"types": {"Tags": TAGS}},  # as a map, which pyarrow gives as pairs
        {},  # as a struct
    ],
)
def test_tags_are_read_as_a_map_and_as_a_struct(tags):
    value = [("team", "vision")] if tags else {"team": "vision"}

    (usage,) = read_focus_parquet(bill({"Tags": value}, **tags), team_tag="team").usage

    assert usage.team == "vision"


def test_times_without_a_zone_are_utc():
    naive = {
        "ChargePeriodStart": datetime(2026, 10, 1),  # noqa: DTZ001 - that it has none is the point
        "ChargePeriodEnd": datetime(2026, 10, 1, 2),  # noqa: DTZ001
    }

    assert read_focus_parquet(bill(naive)).start == datetime(2026, 10, 1, tzinfo=UTC)


def test_floats_are_the_numbers_that_they_print_as():
    found_bill = read_focus_parquet(bill({"EffectiveCost": 110.08, "BilledCost": 0.1}))

    assert (found_bill.effective_usd, found_bill.billed_usd) == (Decimal("110.08"), Decimal("0.1"))


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd"])
def test_every_usual_compression_is_read(compression):
    assert read_focus_parquet(bill({}, {}, compression=compression)).rows == 2


def test_other_columns_are_not_even_decoded():
    table = parquet.read_table(io.BytesIO(bill({})))
    file = io.BytesIO()
    parquet.write_table(table.append_column("x_Blob", arrow.array([b"\xff" * 1000])), file)

    assert read_focus_parquet(file.getvalue()).rows == 1


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_cost_that_is_no_number_is_refused_by_its_line(value):
    with pytest.raises(BillError, match="line 2: EffectiveCost"):
        read_focus_parquet(bill({"EffectiveCost": value, "BilledCost": 1.0}))


def test_a_missing_cost_is_not_zero():
    with pytest.raises(BillError, match="line 3: EffectiveCost"):
        read_focus_parquet(bill({}, {"EffectiveCost": None}))


def test_another_currency_is_refused():
    with pytest.raises(BillError, match="EUR"):
        read_focus_parquet(bill({"BillingCurrency": "EUR"}))


def test_a_table_that_is_no_bill_says_which_columns_it_lacks():
    file = io.BytesIO()
    parquet.write_table(arrow.table({"a": [1]}), file)

    with pytest.raises(BillError, match="BillingCurrency"):
        read_focus_parquet(file.getvalue())


def test_bytes_in_a_column_of_text_are_refused():
    with pytest.raises(BillError, match="RegionId has the type bytes"):
        read_focus_parquet(bill({"RegionId": b"\xff"}))


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\xff" * 100 + b"PAR1", b"a,b\n"])
def test_what_is_no_parquet_is_refused(content):
    with pytest.raises(BillError, match="Parquet"):
        read_focus_parquet(content)


def test_a_bill_that_is_cut_off_is_refused():
    whole_text = bill(*[{}] * 50)

    for length in range(0, len(whole_text), 97):
        with pytest.raises(BillError):
            read_focus_parquet(whole_text[:length])


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_flipped_byte_is_read_or_refused(place, mask):
    content = bytearray(bill({}, {}))
    content[place % len(content)] ^= mask

    with suppress(BillError):
        read_focus_parquet(bytes(content))


def test_without_pyarrow_the_error_says_what_to_install():
    program = (
        "import sys; sys.modules['pyarrow.parquet'] = None; sys.modules['pyarrow'] = None\n"
        "from perfledger_cost_models.billing.focus_parquet import read_focus_parquet\n"
        "try: read_focus_parquet(b'PAR1')\n"
        "except ValueError as error: print(error)"
    )

    done = run([executable, "-c", program], capture_output=True, text=True, check=True)

    assert "pip install 'perfledger[parquet]'" in done.stdout


def test_a_text_that_is_longer_than_any_line_is_refused():
    with pytest.raises(BillError, match="RegionId has a cell of 200001 characters"):
        read_focus_parquet(bill({"RegionId": "x" * 200_001}))


def test_a_boolean_is_not_a_cost():
    with pytest.raises(BillError, match="EffectiveCost 'true'"):
        read_focus_parquet(bill({"EffectiveCost": True}))


def test_a_bill_of_more_rows_than_anybody_has_is_refused_by_its_footer():
    file = io.BytesIO()
    many = arrow.nulls(MAX_ROWS + 1)
    parquet.write_table(arrow.table(dict.fromkeys(ROW, many)), file)

    with pytest.raises(BillError, match="export shorter periods"):
        read_focus_parquet(file.getvalue())


class Huge(bytes):
    """Says of itself what a file of two gigabytes says."""

    def __len__(self):
        return 2**31


def test_a_file_that_is_too_large_is_not_even_opened():
    with pytest.raises(BillError, match="export shorter periods, below"):
        read_focus_parquet(Huge(b"PAR1"))


def test_another_dataset_of_focus_is_refused_by_its_name():
    file = io.BytesIO()
    parquet.write_table(arrow.table({"ContractCommitmentCategory": ["Spend"]}), file)

    with pytest.raises(BillError, match="is its dataset Contract Commitment: export Cost and Usag"):
        read_focus_parquet(file.getvalue())
