"""Hours of capacity blocks: called so where a row tells, and in doubt where it does not."""

import pytest

from perfledger_cost_models.billing.bill_against_list import agreed_price_notes, compared_prices
from perfledger_cost_models.billing.focus import read_focus
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL
from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.prices.contract import apply_overrides, read_overrides
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PricingModel
from tests.cost_models.billing.example_rows import TWO_HOURS

# Two hours at 41.53 USD, the price of a block; 55.04 is an hour on demand.
BLOCK = TWO_HOURS | {"EffectiveCost": "83.06", "ResourceType": "p5.48xlarge"}
ROW = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | BLOCK
BLOCK_WORDS = "$0.00 per Capacity Block Linux p5.48xlarge Instance Hour"
ON_DEMAND_WORDS = "$55.04 per On Demand Linux p5.48xlarge Instance Hour"


def bill_of(**cells):
    return read_focus(csv_text(tuple(ROW), [ROW | cells]).splitlines(keepends=True))


@pytest.mark.parametrize(
    "cells",
    [
        {"x_Operation": "RunInstances:CB"},
        {"x_Operation": "RunInstances:0010:CB"},
        {"ChargeDescription": BLOCK_WORDS},
        {"ChargeDescription": BLOCK_WORDS, "ResourceType": ""},
        {"x_CapacityReservationType": "EC2 Capacity Blocks for ML"},
    ],
)
def test_a_row_that_names_a_capacity_block_is_one_although_the_bill_says_standard(cells):
    (usage,) = bill_of(**cells).usage

    assert (usage.sku, usage.model) == ("p5.48xlarge", PricingModel.CAPACITY_BLOCK)
    assert usage.is_model_certain


@pytest.mark.parametrize(
    ("cells", "may_be_block"),
    [
        ({}, True),
        ({"x_Operation": "RunInstances"}, False),
        ({"x_Operation": "RunInstances:0002"}, False),
        ({"x_CapacityReservationType": "On-Demand Capacity Reservation"}, False),
        ({"ChargeDescription": ON_DEMAND_WORDS}, False),
        ({"ProviderName": "Microsoft", "ResourceType": "Standard_ND96isr_H100_v5"}, False),
        ({"EffectiveCost": "110.08"}, False),  # the price on demand
        ({"ResourceType": "g5.48xlarge", "EffectiveCost": "20"}, False),  # of which there are none
    ],
)
def test_standard_hours_off_the_price_on_demand_may_be_a_blocks_unless_a_row_tells(
    cells, may_be_block
):
    comparisons = compared_prices(bill_of(**cells), packaged_sheet(), name="bill.csv")

    assert [each.may_be_block for each in comparisons] == [may_be_block]
    assert comparisons[0].paid.pricing_model is PricingModel.ON_DEMAND


def test_one_row_that_does_not_tell_leaves_the_sum_in_doubt():
    rows = [ROW | {"x_Operation": "RunInstances", "ResourceId": "i-1"}, ROW | {"ResourceId": "i-2"}]
    bill = read_focus(csv_text(tuple(ROW), rows).splitlines(keepends=True))

    (comparison,) = compared_prices(bill, packaged_sheet(), name="bill.csv")

    assert comparison.may_be_block


@pytest.mark.parametrize(("share", "is_named"), [("0.2", True), ("0.24546", False)])
def test_an_agreed_price_settles_what_hours_are_where_they_cost_it(share, is_named):
    agreement = f"""
        [[discount]]
        provider = "aws"
        share = {share}
        models = ["on_demand"]
        as_of = 2026-07-01
        source = "EDP 4711"
    """
    overrides = read_overrides(agreement, "agreement.toml")
    sheet = apply_overrides(packaged_sheet(), overrides, name="ours")

    (note,) = agreed_price_notes(compared_prices(bill_of(), sheet, name="bill.csv"))

    assert ("or a capacity block: the bill does not say" in note) is is_named
