from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.bill_against_list import implausible_hours
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet

LISTED = 55.04  # USD an hour of a p5.48xlarge on demand


@pytest.mark.parametrize(
    ("hours", "times"),
    [("100", 1.0), ("100", 0.4), ("100", 2.9)],  # discounted, and rounded up to whole hours
)
def test_hours_near_the_list_are_plausible(make_bill, hours, times):
    bill = make_bill(("a", hours, str(float(hours) * LISTED * times)))

    assert not list(implausible_hours(bill, packaged_sheet(), name="bill.csv"))


@pytest.mark.parametrize("times", [1 / 3600, 0.3, 3.1, 3600.0])
def test_hours_far_from_the_list_are_in_another_unit(make_bill, times):
    bill = make_bill(("a", "100", str(100 * LISTED * times)))

    (reason,) = implausible_hours(bill, packaged_sheet(), name="bill.csv")

    assert reason.startswith("aws:p5.48xlarge on_demand: ")
    assert reason.endswith(
        "paid by the bill, and the list says 55.04: the bill's hours or costs are in another unit"
    )


@pytest.mark.parametrize(("usd_per_hour", "is_named"), [(12, False), (38, True)])
def test_an_own_price_near_the_bills_is_what_the_hours_cost(make_bill, usd_per_hour, is_named):
    """Private prices may be below a third of the list; seconds are off them too."""
    listed = packaged_sheet().find("p5.48xlarge/on_demand")
    agreed = replace(listed, usd_per_hour=Decimal(usd_per_hour))
    bill = make_bill(("a", "100", "1200"))

    clauses = implausible_hours(
        bill,
        packaged_sheet(),
        name="bill.csv",
        own_prices=replace(packaged_sheet(), prices=(agreed,)),
    )

    assert bool(list(clauses)) is is_named


def test_an_instance_without_a_list_price_is_not_compared(make_bill, a_bill_row):
    committed = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    row = a_bill_row("a", "100", "1", **committed, ResourceType="p4d.24xlarge")

    assert not list(implausible_hours(make_bill(row), packaged_sheet(), name="bill.csv"))
