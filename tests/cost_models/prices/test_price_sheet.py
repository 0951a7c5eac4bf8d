from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.check import check_sheet
from perfledger_cost_models.prices.layers import layer_sheets
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import (
    PriceMissingError,
    PriceSheet,
)
from perfledger_cost_models.prices.sheet_writer import text_of
from tests.cost_models.prices.example_rows import ROW, sheet_text


def sheet_of(*changes: dict[str, str]) -> PriceSheet:
    return check_sheet(sheet_text(*changes), "made-up").sheet


def dollars(usd: str, **changes: str) -> dict[str, str]:
    each = str(round(Decimal(usd) / int(changes.get("count", "8")), 5))
    return {"usd_per_hour": usd, "usd_per_accelerator_hour": each, **changes}


def missing(sheet: PriceSheet, option: str) -> str:
    with pytest.raises(PriceMissingError) as caught:
        sheet.find(option)
    return str(caught.value)


def test_every_packaged_price_is_positive_sourced_and_dated():
    prices = packaged_sheet().prices

    assert len(prices) == 151
    for price in prices:
        assert price.usd_per_hour > 0
        assert price.source
        assert date(2024, 12, 31) <= price.as_of <= date(2026, 11, 20)


def test_every_packaged_price_is_found_by_its_full_name():
    sheet = packaged_sheet()
    for price in sheet.prices:
        region = f"@{price.region}" if price.region else ""
        index = sheet.find(f"{price.provider}:{price.option}{region}")

        assert (index.provider, index.sku, index.region) == (
            price.provider,
            price.sku,
            price.region,
        )
        assert index.as_of >= price.as_of


@pytest.mark.parametrize(
    ("option", "usd", "as_of", "is_read_date"),
    [
        ("p5.48xlarge/on_demand", "6.88", date(2026, 11, 9), False),
        ("p4d.24xlarge/on_demand", "2.74470525", date(2026, 11, 9), False),
        ("tpu-v4/on_demand", "3.22", date(2026, 11, 20), True),
        ("tpu-v5e/on_demand@europe-west4", "1.56", date(2026, 11, 20), True),
        ("p5.48xlarge/savings_plan/1y_all_upfront", "4.045", date(2026, 8, 7), False),
        ("lambda:A100 80GB/on_demand", "2.79", date(2026, 8, 7), False),
    ],
)
def test_packaged_prices_per_device_hour_are_exact(option, usd, as_of, is_read_date):
    price = packaged_sheet().find(option)

    assert price.usd_per_device_hour == Decimal(usd)
    assert (price.as_of, price.is_read_date) == (as_of, is_read_date)


@pytest.mark.parametrize(
    "option",
    [
        "p4d.24xlarge/savings_plan/1y",
        "p4d.24xlarge/savings_plan/3y",
        "p4de.24xlarge/savings_plan/1y",
        "tpu-v4/committed_use/1y",
        "tpu-v6e/committed_use/3y",
        "tpu-v6e/on_demand@asia-east1",
        "a3-highgpu-8g/on_demand@us-central1",
    ],
)
def test_what_was_not_found_or_was_wrong_has_no_price_rather_than_zero(option):
    assert missing(packaged_sheet(), option).startswith(
        f"no price for {option!r} on sheet 'packaged-2026-11-20': add it there, or use "
    )


def test_the_newest_stated_day_is_found_and_goes_before_a_day_of_reading():
    sheet = sheet_of(
        dollars("98.32", as_of_date="2025-03-31"),
        dollars("55.04", as_of_date="2026-07-20"),
        dollars("60", as_of_date="unknown"),
    )

    assert sheet.find("p5.48xlarge/on_demand").usd_per_hour == Decimal("55.04")


def test_of_one_day_the_price_that_was_read_last_is_found():
    sheet = sheet_of(
        dollars("60", provider="azure", region="b", retrieved_at=""),
        dollars("50", as_of_date="", retrieved_at="2026-07-20"),
        dollars("55.04", as_of_date="", retrieved_at="2026-11-20"),
    )

    assert sheet.find("aws:p5.48xlarge/on_demand").usd_per_hour == Decimal("55.04")
    assert sheet.find("azure:p5.48xlarge/on_demand").retrieved_at is None


def test_a_low_confidence_price_is_found_only_where_there_is_no_better_one():
    rumour = dollars("30", as_of_date="2026-11-19", confidence="low")

    assert sheet_of(rumour).find("p5.48xlarge/on_demand").confidence is SourceConfidence.LOW
    assert sheet_of(rumour, ROW).find("p5.48xlarge/on_demand").confidence is SourceConfidence.HIGH


def test_without_a_region_aws_means_us_east_1_and_nothing_else():
    sheet = sheet_of(dollars("40", region="us-east-2"))

    assert sheet.find("p5.48xlarge/on_demand@us-east-2").usd_per_hour == 40
    assert "use 'p5.48xlarge/on_demand@us-east-2'" in missing(sheet, "p5.48xlarge/on_demand")


def test_without_a_region_other_providers_mean_the_first_region_with_a_trusted_price():
    sheet = sheet_of(
        dollars("10", provider="gcp", region="us-a", confidence="low"),
        dollars("20", provider="gcp", region="us-b"),
        dollars("30", provider="gcp", region="us-c", as_of_date="2026-11-01"),
    )

    assert sheet.find("p5.48xlarge/on_demand").region == "us-b"


def test_a_term_is_never_guessed():
    message = missing(packaged_sheet(), "p5.48xlarge/savings_plan")

    assert "'p5.48xlarge/savings_plan/3y_all_upfront@us-east-1'" in message


def test_a_sku_that_two_providers_sell_must_name_one():
    message = missing(packaged_sheet(), "A100 80GB/on_demand")

    assert message.endswith(
        "several providers sell it: name one of 'lambda:A100 80GB/on_demand', "
        "'coreweave:A100 80GB/on_demand'"
    )


def test_a_slip_of_the_pen_is_answered_with_the_nearest_options():
    assert missing(packaged_sheet(), "p5.48xlage/on_demand").endswith(
        "or use 'p5.48xlarge/on_demand@us-east-1', 'p5.4xlarge/on_demand@us-east-1', "
        "'p5en.48xlarge/on_demand@us-east-1', 'p5en.48xlarge/on_demand@us-east-2', "
        "'p5en.48xlarge/on_demand@us-west-2'"
    )
    assert missing(packaged_sheet(), "zzz/spot") == (
        "no price for 'zzz/spot' on sheet 'packaged-2026-11-20': add it there"
    )


@pytest.mark.parametrize("option", ["", "p5.48xlarge", "/on_demand", "a/b/c/d", "a@b/c", "x" * 999])
def test_what_is_no_option_is_answered_with_how_to_write_one(option):
    message = missing(packaged_sheet(), option)

    assert "write sku/pricing_model[/term][@region], such as 'p5.48xlarge/on_demand'" in message
    assert len(message) < 400


@given(st.text(max_size=60) | st.sampled_from([price.option for price in packaged_sheet().prices]))
def test_any_option_is_found_or_missing_and_nothing_else_is_found_instead(option):
    try:
        index = packaged_sheet().find(option)
    except PriceMissingError:
        return

    assert index.option in option


@given(st.integers(1, 10_000), st.decimals("0.01", "99999", places=4))
def test_a_device_hour_is_the_instance_hour_shared_by_its_accelerators(count, usd):
    sheet = sheet_of(dollars(str(usd), count=str(count)))
    price = sheet.find("p5.48xlarge/on_demand")

    assert price.usd_per_device_hour * count == pytest.approx(usd, rel=Decimal("1e-26"))


@pytest.mark.parametrize("usd", ["21.957642", "98.32", "12.98127"])
def test_halves_to_eighths_of_a_published_price_are_exact(usd):
    for count in (1, 2, 4, 8):
        price = sheet_of(dollars(usd, count=str(count))).prices[0]

        assert price.usd_per_device_hour * count == Decimal(usd)


UNKNOWN = {"usd_per_hour": "", "usd_per_accelerator_hour": "", "confidence": "unknown"}


def test_the_packaged_sheet_says_of_which_options_no_price_is_known():
    unknown = packaged_sheet().unknown

    assert [each.option for each in unknown] == [
        "p4d.24xlarge/savings_plan/1y",
        "p4d.24xlarge/savings_plan/3y",
        "p4de.24xlarge/savings_plan/1y",
        "p4de.24xlarge/savings_plan/3y",
        "tpu-v4/committed_use/1y",
        "tpu-v4/committed_use/3y",
        "tpu-v6e/committed_use/1y",
        "tpu-v6e/committed_use/3y",
    ]


def test_a_price_that_was_searched_in_vain_says_so():
    text = missing(packaged_sheet(), "p4d.24xlarge/savings_plan/1y")

    assert "searched until 2026-11-20 and not found (post-cut" in text


def test_a_slice_of_chips_whose_price_was_searched_in_vain_says_so():
    text = missing(packaged_sheet(), "tpu-v4-32/committed_use/1y")

    assert "searched until 2026-11-20" in text
    assert "'tpu-v4/on_demand@us-central2'" in text


@pytest.mark.parametrize(
    "option", ["gcp:p4d.24xlarge/savings_plan/1y", "p4d.24xlarge/savings_plan/1y@ap-south-1"]
)
def test_an_unknown_price_says_nothing_of_another_provider_or_in_another_region(option):
    assert "searched until" not in missing(packaged_sheet(), option)


def test_one_option_may_be_unknown_in_one_region_and_have_a_price_in_another():
    sheet = sheet_of(ROW, UNKNOWN | {"region": "us-east-2"})

    assert (len(sheet.prices), len(sheet.unknown)) == (1, 1)


def test_an_unknown_price_is_unknown_until_a_layer_has_one():
    terms = {"sku": "p4d.24xlarge", "pricing_model": "savings_plan"}
    sheet = sheet_of(
        dollars("8"), terms | UNKNOWN | {"term": "1y"}, terms | UNKNOWN | {"term": "3y"}
    )
    own = sheet_of(dollars("9", **terms, term="1y_no_upfront"))

    unknown_prices = layer_sheets([sheet, own], name="both").unknown

    assert [each.option for each in unknown_prices] == ["p4d.24xlarge/savings_plan/3y"]


@pytest.mark.parametrize(
    ("term", "region"), [("1y_no_upfront", "ap-south-1"), ("1year", "us-east-1")]
)
def test_a_price_of_another_region_or_of_a_longer_word_leaves_an_unknown_one(term, region):
    terms = {"sku": "p4d.24xlarge", "pricing_model": "savings_plan"}
    sheet = sheet_of(terms | UNKNOWN | {"term": "1y"})
    own = sheet_of(dollars("9", **terms, term=term, region=region))

    assert layer_sheets([sheet, own], name="both").unknown == sheet.unknown


def test_a_sheet_with_unknown_prices_reads_back_as_itself():
    sheet = check_sheet(text_of(packaged_sheet()), packaged_sheet().name).sheet

    assert sheet == packaged_sheet()
