from dataclasses import replace
from datetime import date
from decimal import Decimal

from perfledger_cost_models.quote import HourlyRate, PriceLayer

RATE = HourlyRate(
    option="onprem-8xH100",
    label="own 8 x H100",
    accelerator="H100-80GB",
    usd_per_device_hour=Decimal("2.5"),
    low=Decimal(2),
    high=Decimal(3),
    as_of=date(2026, 11, 20),
    is_read_date=False,
    source="made up",
)


def test_a_rate_of_sure_inputs_needs_no_caveat():
    assert RATE.caveats == ()
    assert RATE.layer is PriceLayer.DERIVED


def test_caveats_are_the_warnings_and_then_one_sentence_for_all_assumed_inputs():
    rate = replace(RATE, warnings=("the price is old",), assumed=("power", "staff"))

    assert rate.caveats == ("the price is old", "assumed, not measured: power, staff")
