from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet
from perfledger_cost_models.tco.hourly_rates import STANDARD_OPTIONS, rate_of, standard_rates

SHEET = packaged_sheet()


def test_the_standard_rates_are_two_owned_servers_two_instances_and_a_chip():
    rates = standard_rates(SHEET)

    assert tuple(rate.option for rate in rates) == STANDARD_OPTIONS
    assert [(rate.label, rate.accelerator) for rate in rates] == [
        ("On-premises 8xH100 at 40 % use", "H100-80GB"),
        ("On-premises 8xA100 at 40 % use", "A100-80GB"),
        ("AWS p5.48xlarge, on demand", "H100-80GB"),
        ("AWS p4d.24xlarge, on demand", "A100-40GB"),
        ("Google Cloud tpu-v4, on demand", "TPU-v4"),
    ]
    for rate in rates:
        assert 0 < rate.low <= rate.usd_per_device_hour <= rate.high
        assert rate.source
        assert rate.warnings == ()


def test_a_list_price_has_no_interval_and_says_region_source_and_day():
    rate = rate_of(SHEET, "p5.48xlarge/on_demand")

    assert rate.low == rate.usd_per_device_hour == rate.high == Decimal("6.88")
    assert rate.source.startswith("us-east-1; datareceipts/data-receipts")
    assert (rate.as_of, rate.is_read_date, rate.assumed) == (date(2026, 11, 9), False, ())


@pytest.mark.parametrize(
    ("option", "label"),
    [
        ("tpu-v5e/on_demand@europe-west4", "Google Cloud tpu-v5e, on demand (europe-west4)"),
        (
            "p5.48xlarge/savings_plan/1y_all_upfront",
            "AWS p5.48xlarge, savings plan, 1y all upfront",
        ),
        ("nebius:HGX H100/on_demand", "Nebius HGX H100, on demand"),
        (
            "SemiAnalysis H100 composite/market_index",
            "index SemiAnalysis H100 composite, market index",
        ),
    ],
)
def test_a_label_says_who_sells_what_and_how(option, label):
    assert rate_of(SHEET, option).label == label


def test_a_price_without_a_region_has_its_source_alone():
    assert rate_of(SHEET, "nebius:HGX H100/on_demand").source.startswith("renshuBTC/")


def test_a_low_confidence_price_is_listed_as_assumed():
    spot, committed = (
        rate_of(SHEET, "p5.48xlarge/spot"),
        rate_of(SHEET, "vast:H100 SXM marketplace median/on_demand"),
    )

    assert spot.assumed == ("price 3.83 USD/h: ~3.83/GPU-h, vendor blog; date not shown",)
    assert committed.assumed == ("price 2.4024 USD/h: per-GPU rate x count",)


def test_old_prices_warn_by_the_kind_they_are_of():
    rates = standard_rates(SHEET, today=date(2027, 3, 1))

    assert [rate.warnings for rate in rates] == [
        (),
        (),
        ("price is 112 days old: list prices are valid for 90 days",),
        ("price is 112 days old: list prices are valid for 90 days",),
        ("price was read 101 days ago: list prices are valid for 90 days",),
    ]


def test_a_spot_price_of_august_warns_in_november():
    rate = rate_of(SHEET, "p5en.48xlarge/spot", today=date(2026, 11, 20))

    assert rate.warnings == ("price is 106 days old: spot prices are valid for 7 days",)


def test_an_owned_server_needs_no_row_on_the_sheet_and_everything_else_does():
    empty = PriceSheet(name="empty", prices=())

    assert rate_of(empty, "onprem-8xH100").option == "onprem-8xH100"
    with pytest.raises(PriceMissingError, match=r"'p5\.48xlarge/on_demand' on sheet 'empty'"):
        standard_rates(empty)


def test_a_server_that_nobody_described_is_missing_and_those_there_are_named():
    with pytest.raises(PriceMissingError, match="use 'onprem-8xH100' or 'onprem-8xA100'"):
        rate_of(SHEET, "onprem-8xB200")
