"""Hours of a bill that cost nothing: refused by their line, or those of a capacity block."""

from decimal import Decimal

import pytest

from perfledger_cost_models.billing.focus import device_hours, paid_prices, read_focus
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL, BillError
from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.prices.price_sheet import PricingModel
from tests.cost_models.billing.example_rows import TWO_HOURS

ROW = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | TWO_HOURS | {"ResourceType": "p5.48xlarge"}


def lines(*rows):
    return csv_text(tuple(ROW), [ROW | row for row in rows]).splitlines(keepends=True)


@pytest.mark.parametrize(
    ("usd", "problem"),
    [
        ("0", "hours of p5.48xlarge cost 0 USD, and zero is no price"),
        ("0.00", "hours of p5.48xlarge cost 0 USD, and zero is no price"),
        ("-3", "2 hours of p5.48xlarge cost -3 USD: a price is never negative"),
    ],
)
def test_hours_at_no_cost_or_less_are_refused_by_their_line(usd, problem):
    with pytest.raises(BillError, match=f"the bill, line 3: {problem}"):
        read_focus(lines({}, {"EffectiveCost": usd}))


def test_seconds_whose_cost_an_export_rounds_to_nothing_are_read():
    bill = read_focus(lines({"EffectiveCost": "0", "PricingQuantity": "0.009"}))

    assert paid_prices(bill, source="x") == ()
    assert [usage.model for usage in bill.usage] == [PricingModel.ON_DEMAND]


def test_a_capacity_blocks_hours_cost_its_fee():
    """100 hours of an instance at a fee of 3,932 USD: 39.32 an hour, and on demand by itself."""
    fee = {
        "ChargeCategory": "Purchase",
        "x_UsageType": "USE2-CapacityBlockFee:p5.48xlarge",
        "ResourceType": "",
        "EffectiveCost": "3932",
        "PricingQuantity": "1",
        "PricingUnit": "",
    }
    hours = {"EffectiveCost": "0", "BilledCost": "0", "PricingQuantity": "100"}

    bill = read_focus(lines({}, fee, hours))

    prices = {price.pricing_model: price.usd_per_hour for price in paid_prices(bill, source="x")}
    assert prices == {
        PricingModel.ON_DEMAND: Decimal("55.04"),
        PricingModel.CAPACITY_BLOCK: Decimal("39.32"),
    }
    assert device_hours(bill) == {("research", "H100-80GB"): 816}
    assert bill.other_usd == 0


def test_a_capacity_block_whose_fee_is_on_another_bill_has_hours_and_no_price():
    block = {"EffectiveCost": "0", "x_CapacityReservationType": "EC2 Capacity Blocks for ML"}

    bill = read_focus(lines(block))

    assert paid_prices(bill, source="x") == ()
    assert device_hours(bill) == {("research", "H100-80GB"): 16}
