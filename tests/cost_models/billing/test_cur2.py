"""AWS's CUR 2.0: the report's own rules for what an hour costs, and what it does not say."""

from decimal import Decimal

import pytest

from perfledger_cost_models.billing.cur2 import OPTIONAL, REQUIRED, Cur2Error, focus_cells
from perfledger_cost_models.billing.focus import device_hours, paid_prices, read_focus
from perfledger_cost_models.billing.focus_columns import BillError
from perfledger_cost_models.billing.usage_readers import read_usage
from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.prices.price_sheet import PricingModel

COLUMNS = (*REQUIRED, *OPTIONAL)


def row_of(kind="Usage", cost="55.04", *, hours="1", day="2026-10-01", **cells):
    usual = {
        "line_item_line_item_type": kind,
        "line_item_currency_code": "USD",
        "line_item_product_code": "AmazonEC2",
        "line_item_unblended_cost": cost,
        "line_item_usage_amount": hours,
        "line_item_usage_start_date": f"{day}T00:00:00.000Z",
        "line_item_usage_end_date": f"{day}T01:00:00.000Z",
        "line_item_usage_type": "BoxUsage:p5.48xlarge",
        "pricing_unit": "Hrs",
        "product_instance_type": "p5.48xlarge",
        "bill_billing_entity": "AWS",
        "line_item_usage_account_id": "1",
        "line_item_resource_id": "i-1",
        "product_region_code": "us-east-1",
        "resource_tags": '{"user_team":"nlp"}',
    }
    return dict.fromkeys(COLUMNS, "") | usual | cells


def bill(*rows, team_tag="team"):
    return read_focus(csv_text(COLUMNS, rows).splitlines(keepends=True), team_tag=team_tag)


def effective(**cells):
    return Decimal(focus_cells(row_of(**cells))["EffectiveCost"])


def test_hours_cost_and_team_of_an_hour_on_demand():
    read_bill = bill(row_of(), row_of(hours="0.5", cost="27.52", day="2026-10-02"))

    assert device_hours(read_bill) == {("nlp", "H100-80GB"): 12}
    (price,) = paid_prices(read_bill, source="test")
    assert (price.pricing_model, price.usd_per_hour) == (PricingModel.ON_DEMAND, Decimal("55.04"))
    assert read_bill.effective_usd == read_bill.billed_usd == Decimal("82.56")


def test_a_planned_hour_costs_its_share_of_the_plan_and_its_negation_nothing():
    plan = {"savings_plan_savings_plan_effective_cost": "32.36"}
    fee = row_of(
        "SavingsPlanRecurringFee",
        "40",
        product_instance_type="",
        line_item_usage_type="ComputeSP:1yrNoUpfront",
        savings_plan_total_commitment_to_date="40",
        savings_plan_used_commitment="32.36",
    )
    read_bill = bill(
        row_of("SavingsPlanCoveredUsage", **plan),
        row_of("SavingsPlanNegation", "-55.04"),
        fee,
    )

    (price,) = paid_prices(read_bill, source="test")
    assert (price.pricing_model, price.usd_per_hour) == (
        PricingModel.SAVINGS_PLAN,
        Decimal("32.36"),
    )
    assert device_hours(read_bill) == {("nlp", "H100-80GB"): 8}
    assert (read_bill.effective_usd, read_bill.billed_usd) == (40, 40)
    assert read_bill.other_usd == Decimal("7.64")


def test_the_fee_of_a_reservation_costs_what_was_not_used_and_its_month_is_not_the_period():
    used = row_of("DiscountedUsage", "0", reservation_effective_cost="34")
    fee = row_of(
        "RIFee",
        "100",
        hours="744",
        line_item_usage_type="HeavyUsage:p5.48xlarge",
        line_item_usage_end_date="2026-10-31T23:59:59.000Z",
        line_item_resource_id="",
        reservation_unused_amortized_upfront_fee_for_billing_period="40.5",
        reservation_unused_recurring_fee="60",
    )
    read_bill = bill(used, fee)

    assert read_bill.unused == {"H100-80GB": Decimal("100.5")}
    assert device_hours(read_bill) == {("nlp", "H100-80GB"): 8}
    assert [usage.model for usage in read_bill.usage] == [PricingModel.RESERVED]
    assert read_bill.end.day == 1


def test_what_other_rows_spread_over_the_hours_costs_nothing_itself():
    assert effective(kind="SavingsPlanUpfrontFee", cost="9") == 0
    assert effective(kind="Fee", cost="9", reservation_reservation_a_r_n="arn") == 0
    assert effective(kind="Fee", cost="9") == 9
    assert effective(kind="Tax", cost="9") == 9


def test_net_columns_count_where_the_report_has_them():
    assert effective(line_item_net_unblended_cost="50") == 50
    cells = {"reservation_effective_cost": "34", "reservation_net_effective_cost": "30"}
    assert effective(kind="DiscountedUsage", **cells) == 30


@pytest.mark.parametrize(
    "cells",
    [
        {"line_item_net_unblended_cost": "0.0"},
        {
            "kind": "DiscountedUsage",
            "reservation_effective_cost": "34",
            "reservation_net_effective_cost": "0",
        },
    ],
)
def test_a_net_cost_of_zero_beside_another_cost_does_not_make_hours_free(cells):
    with pytest.raises(BillError, match=r"line 2, has .* 0: whether it is free or only lacks"):
        bill(row_of(**cells))


def test_a_net_column_with_a_blank_counts_as_empty_and_one_with_a_word_is_an_error():
    unused = {
        "reservation_unused_recurring_fee": "1",
        "reservation_unused_amortized_upfront_fee_for_billing_period": "2",
    }
    net = "reservation_net_unused_recurring_fee"

    assert effective(line_item_net_unblended_cost=" ") == Decimal("55.04")
    assert effective(kind="RIFee", **unused, **{net: " "}) == 3
    with pytest.raises(BillError, match=f"line 2, is 'RIFee' with {net} 'abc'"):
        bill(row_of("RIFee", **unused, **{net: "abc"}))


def test_spot_hours_marketplaces_and_other_services_are_told_apart():
    spot = bill(row_of(line_item_usage_type="USE1-SpotUsage:p5.48xlarge"))
    seller = bill(row_of(bill_billing_entity="AWS Marketplace"))
    emr = bill(row_of(line_item_product_code="ElasticMapReduce"))

    assert [usage.model for usage in spot.usage] == [PricingModel.SPOT]
    assert seller.usage == emr.usage == ()
    assert seller.other_usd == emr.other_usd == Decimal("55.04")


@pytest.mark.parametrize(
    "cells",
    [
        {"kind": "DiscountedUsage"},
        {"kind": "SavingsPlanCoveredUsage", "savings_plan_savings_plan_effective_cost": "-"},
        {"kind": "SavingsPlanRecurringFee", "savings_plan_total_commitment_to_date": "1"},
        {"kind": "RIFee", "reservation_unused_recurring_fee": "1"},
    ],
)
def test_a_cost_that_the_report_does_not_say_is_an_error_and_not_zero(cells):
    with pytest.raises(Cur2Error, match="export it with this column"):
        focus_cells(row_of(**cells))


def test_discounts_in_rows_of_their_own_are_refused_for_hours_of_an_instance():
    with pytest.raises(BillError, match=r"line 2, has a discount \(EdpDiscount\) of p5"):
        bill(row_of("EdpDiscount", "-5"))
    with pytest.raises(BillError, match=r"line 2, has a discount \(EdpDiscount\) of p5"):
        bill(row_of("EdpDiscount", "-5", product_instance_type=""))
    of_a_disk = {"product_instance_type": "", "line_item_usage_type": "EBS:VolumeUsage.gp3"}
    assert bill(row_of("EdpDiscount", "-5", **of_a_disk)).other_usd == -5
    assert bill(row_of("EdpDiscount", "0")).other_usd == 0


def test_a_missing_column_and_the_older_report_are_named():
    with pytest.raises(BillError, match=r"lacks CUR 2.0's columns \['pricing_unit'\]"):
        read_focus([",".join(name for name in COLUMNS if name != "pricing_unit") + "\n"])
    with pytest.raises(BillError, match="AWS's older Cost and Usage Report"):
        read_focus(["lineItem/LineItemType,lineItem/UnblendedCost\n"])


def test_tags_that_are_no_map_name_no_team():
    assert device_hours(bill(row_of(resource_tags="{user_team=nlp}"))) == {("1", "H100-80GB"): 8}


def of_day(day, kind="Usage", cost="0", **cells):
    """Return a row of one day, so that none repeats another."""
    return row_of(kind, cost, day=f"2026-10-{day:02}", **cells)


def other(usage_type, **cells):
    return {"product_instance_type": "", "line_item_usage_type": usage_type, **cells}


def test_a_row_of_each_type_counts_once():
    """By hand: 28 instance-hours of 8 accelerators, 1,313.00 USD effective, 1,439.00 billed."""
    block = "USE1-CapacityBlockFee:p5.48xlarge"
    rows = [
        of_day(1, cost="55.04"),
        of_day(2, "DiscountedUsage", reservation_effective_cost="34"),
        of_day(
            3, "SavingsPlanCoveredUsage", "55.04", savings_plan_savings_plan_effective_cost="32.36"
        ),
        of_day(3, "SavingsPlanNegation", "-55.04"),
        of_day(
            3,
            "SavingsPlanRecurringFee",
            "64.72",
            **other("USE1-EC2SP:p5.1yrNoUpfront"),
            savings_plan_total_commitment_to_date="64.72",
            savings_plan_used_commitment="32.36",
        ),
        of_day(
            4,
            "RIFee",
            "40",
            line_item_usage_type="HeavyUsage:p5.48xlarge",
            reservation_unused_amortized_upfront_fee_for_billing_period="10",
            reservation_unused_recurring_fee="20",
        ),
        of_day(5, cost="26", line_item_usage_type="USE1-SpotUsage:p5.48xlarge"),
        of_day(6, "Fee", "997.20", **other(block), line_item_resource_id="cr-1", pricing_unit=""),
        of_day(6, hours="24"),  # of the block
        of_day(7, "Credit", "-5"),
        of_day(7, "Refund", "-7"),
        of_day(7, "Tax", "3"),
        of_day(7, "EdpDiscount", "-2", **other("EBS:VolumeUsage.gp3")),
        of_day(7, "BundledDiscount", "-1", **other("NatGateway-Hours")),
        of_day(  # a pod's share of an instance that has its own row (split cost allocation)
            8,
            hours="8",
            line_item_product_code="AmazonEKS",
            line_item_usage_type="USE1-EKS-EC2-GPU-Hours",
            line_item_resource_id="arn:aws:eks:us-east-1:1:pod/a",
        ),
        of_day(9, "SavingsPlanUpfrontFee", "100", **other("USE1-EC2SP:p5.1yrAllUpfront")),
        of_day(
            9, "Fee", "50", **other("HeavyUsage:p5.48xlarge"), reservation_reservation_a_r_n="a"
        ),
        of_day(10, cost="55.04", line_item_usage_type="UnusedBox:p5.48xlarge"),
        of_day(10, line_item_usage_type="Reservation:p5.48xlarge"),
        of_day(
            11,
            cost="63",
            line_item_product_code="AmazonSageMaker",
            line_item_usage_type="USE1-Train:ml.p5.48xlarge",
            product_instance_type="ml.p5.48xlarge",
        ),
    ]

    read_bill = bill(*rows)

    prices = {
        price.pricing_model: price.usd_per_hour for price in paid_prices(read_bill, source="")
    }
    assert prices == {
        PricingModel.ON_DEMAND: Decimal("55.04"),
        PricingModel.RESERVED: 34,
        PricingModel.SAVINGS_PLAN: Decimal("32.36"),
        PricingModel.SPOT: 26,
        PricingModel.CAPACITY_BLOCK: Decimal("41.55"),
    }
    assert device_hours(read_bill) == {("nlp", "H100-80GB"): 224}
    assert read_bill.unused == {"H100-80GB": Decimal("117.40")}
    assert read_bill.unlisted == {"ml.p5.48xlarge": 63}
    assert read_bill.other_usd == 51
    assert (read_bill.effective_usd, read_bill.billed_usd) == (1313, 1439)


@pytest.mark.parametrize("kind", ["BundledDiscount", "PrivateRateDiscount", "RiVolumeDiscount"])
def test_every_discount_of_an_instance_in_a_row_of_its_own_is_refused(kind):
    with pytest.raises(BillError, match=rf"line 3, has a discount \({kind}\) of p5.48xlarge"):
        bill(row_of(), row_of(kind, "-5"))


def test_an_unused_plan_costs_what_is_paid_of_it_after_discounts():
    """Of a plan at 100 USD, 40 in advance, 60 are used; 5 % off leaves 38 of the 40 not used."""
    fee = {
        "savings_plan_total_commitment_to_date": "100",
        "savings_plan_used_commitment": "60",
        "savings_plan_recurring_commitment_for_billing_period": "60",
        "savings_plan_amortized_upfront_commitment_for_billing_period": "40",
    }
    net = {
        "savings_plan_net_recurring_commitment_for_billing_period": "57",
        "savings_plan_net_amortized_upfront_commitment_for_billing_period": "38",
    }

    assert effective(kind="SavingsPlanRecurringFee", **fee) == 40
    assert effective(kind="SavingsPlanRecurringFee", **fee, **net) == 38
    zeros = dict.fromkeys(net, "0")
    with pytest.raises(Cur2Error, match="whether it is free"):
        focus_cells(row_of("SavingsPlanRecurringFee", **fee, **zeros))


def test_hours_of_a_block_that_says_so_need_no_fee_on_the_bill():
    block = {"capacity_reservation_capacity_reservation_type": "EC2 Capacity Blocks for ML"}

    (usage,) = bill(of_day(1, **block)).usage

    assert (usage.model, usage.instance_hours) == (PricingModel.CAPACITY_BLOCK, 1)
    with pytest.raises(BillError, match=r"line 2: hours of p5.48xlarge cost 0"):
        bill(of_day(1))


def test_an_unused_reservation_that_only_its_status_tells_is_nobodys_hour():
    unused = {"capacity_reservation_capacity_reservation_status": "Unused"}

    assert bill(row_of(**unused)).unused == {"H100-80GB": Decimal("55.04")}


def test_it_is_a_usage_file_too():
    usage = read_usage(csv_text(COLUMNS, [row_of()]).encode(), "cur.csv")

    assert usage.kind == "FOCUS bill"
