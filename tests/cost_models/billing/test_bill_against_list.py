from dataclasses import replace
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.bill_against_list import (
    PriceBasis,
    agreed_price_notes,
    compared_prices,
    implausible_hours,
    price_range,
)
from perfledger_cost_models.prices.contract import apply_overrides, read_overrides
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.quote import PriceLayer

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


def test_an_agreed_price_that_the_bill_contradicts_too_is_named(make_bill):
    listed = packaged_sheet().find("p5.48xlarge/on_demand")
    agreed = replace(
        listed, usd_per_hour=Decimal(38), layer=PriceLayer.OVERRIDE, source="quote 815"
    )

    (reason,) = implausible_hours(
        make_bill(("a", "100", "1200")),
        packaged_sheet(),
        name="bill.csv",
        own_prices=replace(packaged_sheet(), prices=(agreed,)),
    )

    assert "the list says 55.04" in reason
    assert reason.endswith("; agreed are 38.00 (quote 815)")


DISCOUNT = """
[[discount]]
provider = "aws"
share = 0.12
models = ["on_demand"]
as_of = 2026-07-01
source = "EDP 4711"
"""


def comparison(bill, overrides=""):
    sheet = apply_overrides(packaged_sheet(), read_overrides(overrides, "own.toml"), name="own")
    return compared_prices(bill, sheet, name="bill.csv")


@pytest.mark.parametrize(
    ("usd", "overrides", "expected", "note"),
    [
        ("5504", "", (PriceBasis.LIST, 0.0), ""),
        ("4953.6", "", (PriceBasis.LIST, -0.1), ""),
        ("4843.52", DISCOUNT, (PriceBasis.AGREED, 0.0), "48.44 USD an hour were paid, as agreed"),
        ("5504", DISCOUNT, (PriceBasis.AGREED, 0.136364), "were paid, 13.6 % above agreed (48.44"),
        ("4600", DISCOUNT, (PriceBasis.AGREED, -0.050277), "were paid, 5.0 % below agreed (48.44"),
    ],
)
def test_a_paid_price_is_compared_with_the_agreed_one_else_with_the_lists(
    make_bill, usd, overrides, expected, note
):
    (paid,) = comparison(make_bill(("a", "100", usd)), overrides)

    basis, difference = expected
    assert paid.basis is basis
    assert float(paid.difference) == pytest.approx(difference, abs=1e-6)
    notes = list(agreed_price_notes([paid]))
    assert [note in text and text.endswith("EDP 4711)") for text in notes] == [True] * bool(note)


def test_a_commitment_is_compared_with_all_its_terms_and_an_unknown_price_with_none(
    make_bill, a_bill_row
):
    plan = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    rows = [
        a_bill_row("a", "100", "2500", **plan),
        a_bill_row("a", "100", "900", **plan, ResourceType="p4d.24xlarge"),
    ]

    unknown, within = comparison(make_bill(*rows))

    assert (unknown.basis, unknown.difference) == (PriceBasis.UNKNOWN, None)
    assert (price_range(unknown), price_range(within)) == ("", "20.70 to 32.36")
    assert (within.basis, within.difference) == (PriceBasis.LIST, 0)
    assert (within.lowest, within.highest) == (Decimal("20.695"), Decimal("32.36"))


def test_a_price_that_no_device_can_have_is_named_without_a_list_price(make_bill, a_bill_row):
    plan = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    row = a_bill_row("a", "100", "0.0000001", **plan, ResourceType="p4d.24xlarge")

    (reason,) = implausible_hours(make_bill(row), packaged_sheet(), name="bill.csv", certain=True)

    assert reason.startswith("aws:p4d.24xlarge savings_plan: 0.000000001 USD an hour were paid")


def test_an_instance_without_a_list_price_is_not_comparison_of(make_bill, a_bill_row):
    committed = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    row = a_bill_row("a", "100", "1", **committed, ResourceType="p4d.24xlarge")

    assert not list(implausible_hours(make_bill(row), packaged_sheet(), name="bill.csv"))
