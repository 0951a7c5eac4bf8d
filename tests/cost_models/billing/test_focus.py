import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.focus import device_hours, paid_prices, read_focus
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL, BillError
from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_profiles.parsing.text_file import MAX_LINE_CHARACTERS
from tests.cost_models.billing.example_rows import TWO_HOURS

ROW = TWO_HOURS | {
    "SubAccountId": "123456789012",
    "SkuPriceDetails": json.dumps({"InstanceType": "p5.48xlarge", "GpuCount": 8}),
    "Tags": json.dumps({"team": "vision"}),
}
COMMITTED = {
    "PricingCategory": "Committed",
    "CommitmentDiscountType": "Savings Plan",
    "CommitmentDiscountStatus": "Used",
    "EffectiveCost": "64.72",
    "BilledCost": "0",
}


def lines(*rows, columns=(*COLUMNS, *OPTIONAL)):
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(ROW | row for row in rows)
    return text.getvalue().splitlines(keepends=True)


def test_an_hour_has_its_team_and_its_cost():
    (usage,) = read_focus(lines({})).usage

    assert (usage.sku, usage.region, usage.team) == ("p5.48xlarge", "us-east-1", "research")
    assert (usage.instance_hours, usage.effective_usd) == (Decimal(2), Decimal("110.08"))
    assert usage.model is PricingModel.ON_DEMAND


def test_the_team_tag_names_the_team_where_it_is_given():
    untagged = {"Tags": ""}
    bill = read_focus(lines({}, untagged), team_tag="team")

    assert [usage.team for usage in bill.usage] == ["research", "vision"]


def test_a_tag_that_cannot_have_a_value_does_not_hide_the_others():
    """FOCUS writes true for a key that has no value."""
    tags = json.dumps({"team": "vision", "spot-ok": True, "owner": None})

    (usage,) = read_focus(lines({"Tags": tags}), team_tag="team").usage

    assert usage.team == "vision"


@pytest.mark.parametrize("tags", ["null", "[]", '{"team": null}', '{"team": true}', "{"])
def test_without_a_team_in_the_tags_the_account_is_the_team(tags):
    (usage,) = read_focus(lines({"Tags": tags}), team_tag="team").usage

    assert usage.team == "research"


def test_list_prices_are_known_where_every_row_says_them():
    row = ROW | {"ListCost": "98.32", "ContractedCost": "90"}

    whole_bill, part = read_focus(lines(row, row)), read_focus(lines(row, ROW, row))

    assert (whole_bill.list_usd, whole_bill.contracted_usd) == (Decimal("196.64"), Decimal(180))
    assert (part.list_usd, part.contracted_usd) == (None, None)


def test_hours_of_one_kind_and_team_add_up():
    (usage,) = read_focus(lines({}, {})).usage

    assert (usage.instance_hours, usage.effective_usd) == (Decimal(4), Decimal("220.16"))


@pytest.mark.parametrize(
    ("changes", "model"),
    [
        ({"PricingCategory": "Dynamic"}, PricingModel.SPOT),
        (COMMITTED, PricingModel.SAVINGS_PLAN),
        (COMMITTED | {"CommitmentDiscountType": "Reserved"}, PricingModel.RESERVED),
        (COMMITTED | {"CommitmentDiscountType": "Resource CUD"}, PricingModel.COMMITTED_USE),
    ],
)
def test_the_category_decides_the_pricing_model(changes, model):
    (usage,) = read_focus(lines(changes)).usage

    assert usage.model is model


def test_a_commitment_that_nobody_used_is_apart():
    bill = read_focus(lines(COMMITTED, COMMITTED | {"CommitmentDiscountStatus": "Unused"}))

    assert (len(bill.usage), bill.unused_usd) == (1, Decimal("64.72"))


def test_reserved_capacity_that_nobody_used_is_nobodys_hours():
    bill = read_focus(lines({}, {"CapacityReservationStatus": "Unused"}))

    assert bill.unused_usd == Decimal("110.08")
    assert device_hours(bill) == {("research", "H100-80GB"): 16}


PURCHASE = {
    "ChargeCategory": "Purchase",
    "ChargePeriodEnd": "2029-10-01T00:00:00Z",
    "EffectiveCost": "0",
    "BilledCost": "543864.60",
}
CORRECTION = {"ChargeClass": "Correction", "ChargePeriodStart": "2026-07-01T00:00:00Z"}


@pytest.mark.parametrize("changes", [PURCHASE, CORRECTION, {**PURCHASE, "ChargeCategory": "Tax"}])
def test_the_period_is_that_of_the_usage(changes):
    bill = read_focus(lines({}, changes))

    assert (bill.start.isoformat(), bill.end.isoformat()) == (
        "2026-10-01T00:00:00+00:00",
        "2026-10-01T02:00:00+00:00",
    )
    assert bill.billed_usd == Decimal("110.08") + Decimal(changes.get("BilledCost", "110.08"))
    assert device_hours(bill) == {("research", "H100-80GB"): 16}


def test_a_bill_without_usage_is_of_all_its_rows():
    assert read_focus(lines(PURCHASE)).end.year == 2029


def test_columns_that_focus_asks_for_on_conditions_may_be_missing():
    (usage,) = read_focus(lines({}, columns=(*COLUMNS, "ProviderName", "SkuPriceDetails"))).usage

    assert (usage.region, usage.team, usage.model) == ("", "", PricingModel.ON_DEMAND)


def test_a_commitment_is_one_without_the_pricing_category_too():
    columns = (*COLUMNS, "ProviderName", "SkuPriceDetails", "CommitmentDiscountType")
    (usage,) = read_focus(lines(COMMITTED, columns=columns)).usage

    assert usage.model is PricingModel.SAVINGS_PLAN


def test_times_as_bigquery_writes_them_are_read():
    bill = read_focus(lines({"ChargePeriodStart": "2026-10-01 00:00:00 UTC"}))

    assert bill.start.isoformat() == "2026-10-01T00:00:00+00:00"


@pytest.mark.parametrize(
    "changes",
    [
        {"ChargeCategory": "Tax"},
        {"SkuPriceDetails": "", "ResourceType": "m7i.large"},
        {"SkuPriceDetails": "{", "ResourceType": ""},
        {"ProviderName": "Snowflake"},
        {"PricingUnit": "GB-Months"},
    ],
)
def test_other_charges_are_summed_and_not_lost(changes):
    bill = read_focus(lines({}, changes))

    assert (len(bill.usage), bill.other_usd) == (1, Decimal("110.08"))


@given(
    st.lists(
        st.tuples(
            st.decimals("0.000001", "1000", places=6),
            st.sampled_from(["Usage", "Tax", "Credit", "Purchase"]),
            st.sampled_from(["", "Used", "Unused"]),
            st.sampled_from(["p5.48xlarge", "p4d.24xlarge", "m7i.large"]),
        ),
        unique=True,
        min_size=1,
        max_size=20,
    )
)
def test_the_parts_sum_to_the_bill_to_the_last_digit(charges):
    rows = [
        {
            "EffectiveCost": str(-usd if category == "Credit" else usd),
            "ChargeCategory": category,
            "CommitmentDiscountStatus": status,
            "SkuPriceDetails": json.dumps({"InstanceType": sku}),
        }
        for usd, category, status, sku in charges
    ]
    bill = read_focus(lines(*rows))

    used = sum(usage.effective_usd for usage in bill.usage)
    assert used + bill.unused_usd + bill.other_usd == bill.effective_usd
    assert bill.effective_usd == sum(Decimal(row["EffectiveCost"]) for row in rows)


def test_the_price_paid_is_the_effective_cost_of_an_hour():
    (price,) = paid_prices(read_focus(lines(COMMITTED)), source="the bill of October")

    assert (price.usd_per_hour, price.usd_per_device_hour) == (Decimal("32.36"), Decimal("4.045"))
    assert (price.option, price.as_of.isoformat()) == (
        "p5.48xlarge/savings_plan/billed",
        "2026-10-01",
    )


def test_half_an_hour_for_half_a_dollar_has_a_price():
    bill = read_focus(lines({"PricingQuantity": "0.5", "EffectiveCost": "0.5"}))

    (price,) = paid_prices(bill, source="x")

    assert price.usd_per_hour == 1


def test_device_hours_count_every_accelerator():
    assert device_hours(read_focus(lines({}))) == {("research", "H100-80GB"): 16}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"BillingCurrency": "EUR"}, "give the ECB's table"),
        ({"EffectiveCost": "free"}, "EffectiveCost 'free'"),
        ({"EffectiveCost": "NaN"}, "EffectiveCost"),
        ({"EffectiveCost": "9e999999"}, "EffectiveCost"),
        ({"BilledCost": "-9e999999"}, "BilledCost"),
        ({"BilledCost": "1e-999999"}, "BilledCost"),
        ({"PricingQuantity": "1e13"}, "PricingQuantity"),
        ({"PricingQuantity": ""}, "PricingQuantity"),
        ({"ChargePeriodStart": "October"}, "ChargePeriodStart"),
    ],
)
def test_a_row_that_cannot_be_summed_is_an_error_that_names_the_line(changes, words):
    with pytest.raises(BillError, match=words) as caught:
        read_focus(lines({}, changes))

    assert "line 3" in str(caught.value)


def test_a_zero_of_any_length_is_nothing():
    long, short = (
        read_focus(lines({}, {"BilledCost": zero})).billed_usd for zero in ("0e-999999", "0")
    )

    assert str(long) == str(short)


def test_a_row_that_is_cut_off_is_an_error():
    with pytest.raises(BillError, match=r"the bill, line 3: 2 cells for \d+ columns: complete or"):
        read_focus([*lines({}), "USD,1\n"])


@pytest.mark.parametrize("text", [[], ["a,b\n"], ["<html>\n"]])
def test_another_file_is_refused(text):
    with pytest.raises(BillError, match=r"FOCUS's columns|the bill is empty"):
        read_focus(text)


def test_a_bill_without_rows_is_refused():
    with pytest.raises(BillError, match="no rows"):
        read_focus(lines())


def test_a_line_without_an_end_is_refused():
    with pytest.raises(BillError, match="the bill, line 3, has more than 1,048,576 characters"):
        read_focus([*lines({}), "x" * (MAX_LINE_CHARACTERS + 1)])


def test_quotes_that_never_close_are_refused():
    with pytest.raises(BillError, match="the bill, line 3, is not CSV"):
        read_focus([*lines({}), '"a"b\n'])


def test_a_byte_order_mark_is_no_part_of_the_first_column():
    first, *rest = lines({})

    assert read_focus(["\ufeff" + first, *rest]).rows == 1


# In the shape of FOCUS's own sample data, with an instance that has accelerators and AWS's column:
# FinOps-Open-Cost-and-Usage-Spec/FOCUS-Sample-Data, FOCUS-1.0/focus_sample.csv, read 2026-11-22.
SAMPLE = """\
"BilledCost","BillingCurrency","ChargeCategory","ChargeClass","ChargePeriodEnd","ChargePeriodStart",\
"CommitmentDiscountStatus","CommitmentDiscountType","EffectiveCost","PricingCategory",\
"PricingQuantity","PricingUnit","ProviderName","RegionId","ResourceType","SubAccountId",\
"SubAccountName","Tags","x_UsageType"
0.00000000000,"USD","Usage",NULL,"2024-09-04 05:00:00","2024-09-04 04:00:00",\
"Used","Savings Plan",20.18000000000,"Committed",\
1.00000000000,"Hours","AWS","us-west-2","instance","69918885631",\
"Odyssey Horizon",NULL,"USW2-BoxUsage:p4d.24xlarge"
"""


def test_sample_data_of_focus_itself_is_read_nulls_and_times_without_a_zone():
    bill = read_focus(SAMPLE.splitlines(keepends=True))

    (usage,) = bill.usage
    assert (usage.sku, usage.model) == ("p4d.24xlarge", PricingModel.SAVINGS_PLAN)
    assert (usage.team, usage.effective_usd) == ("Odyssey Horizon", Decimal("20.18"))
    assert bill.start == datetime(2024, 9, 4, 4, tzinfo=UTC)


@pytest.mark.parametrize("column", ["x_UsageType", "SkuMeter"])
@pytest.mark.parametrize("meter", ["BoxUsage:p5.48xlarge", "EUN1-SpotUsage:p5.48xlarge"])
def test_a_usage_type_names_the_instance(column, meter):
    (usage,) = read_focus(lines({"SkuPriceDetails": "", column: meter})).usage

    assert usage.sku == "p5.48xlarge"


def test_instances_with_unknown_accelerators_are_a_part_of_everything_else():
    unlisted = {"SkuPriceDetails": "", "x_InstanceType": "p3.8xlarge"}
    storage = {"SkuPriceDetails": "", "PricingUnit": "GB"}

    bill = read_focus(lines({}, unlisted, unlisted, unlisted | storage, storage))

    assert bill.unlisted == {"p3.8xlarge": Decimal("220.16")}
    assert bill.other_usd == 4 * Decimal("110.08")


def test_hours_of_unknown_providers_and_in_unread_units_are_a_part_of_everything_else():
    unknown, unread = {"ProviderName": "CoreWeave"}, {"PricingUnit": "GPU Hours"}

    bill = read_focus(lines({}, unknown, unknown | {"PricingUnit": "GB"}, unread))

    assert bill.unknown_providers == {"CoreWeave": Decimal("110.08")}
    assert bill.unread_units == {"GPU Hours": Decimal("110.08")}
    assert bill.other_usd == 3 * Decimal("110.08")


def test_a_second_row_of_names_is_named():
    with pytest.raises(BillError, match="the bill, line 3, has the names of the columns again"):
        read_focus([*lines({}), *lines({})])


def test_a_bill_that_is_there_twice_is_refused():
    rows = [{"RegionId": region} for region in ("r1", "r2", "r3")]

    with pytest.raises(BillError, match=r"rows of 2026-10-01 .* is there 2 times"):
        read_focus(lines(*rows, *rows))


def test_a_capacity_reservation_that_nobody_used_is_nobodys_hour():
    """AWS's FOCUS 1.0 has no column that says so but its own usage type."""
    meter = {"SkuPriceDetails": "", "x_UsageType": "USE1-UnusedBox:p5.48xlarge"}

    bill = read_focus(lines(meter))

    assert bill.usage == ()
    assert bill.unused == {"H100-80GB": Decimal("110.08")}


@pytest.mark.parametrize("meter", ["EBSOptimized:p5.48xlarge", "Box:p5.48xlarge", "p5.48xlarge"])
def test_what_comes_on_top_of_an_instance_is_no_hour_of_it(meter):
    assert read_focus(lines({"SkuPriceDetails": "", "x_UsageType": meter})).usage == ()


@pytest.mark.parametrize(
    "cells",
    [
        {"ServiceName": "Amazon Elastic MapReduce", "x_UsageType": "USE1-BoxUsage:p5.48xlarge"},
        {"ServiceName": "Amazon Elastic Kubernetes Service"},
        {"ServiceName": "Azure Kubernetes Service"},
        {"x_UsageType": "USE1-EKS-Auto:p5.48xlarge"},
        {"x_UsageType": "EBSOptimized:p5.48xlarge"},
        {"SkuMeter": "USW2-Reservation:p5.48xlarge"},
    ],
)
def test_a_charge_on_top_of_an_hour_does_not_count_the_hour_again(cells):
    """Such rows name the instance in their details, too."""
    own = {"ServiceName": "Amazon Elastic Compute Cloud", "x_UsageType": "BoxUsage:p5.48xlarge"}

    bill = read_focus(lines(own, cells | {"EffectiveCost": "4"}))

    assert [usage.instance_hours for usage in bill.usage] == [2]
    assert (bill.other_usd, bill.effective_usd) == (Decimal(4), Decimal("114.08"))


def test_a_currency_is_named_by_its_first_twenty_letters():
    with pytest.raises(BillError, match=f"is in '{'E' * 20}': give the ECB's table"):
        read_focus(lines({"BillingCurrency": "E" * 30}))
