from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, PricingModel
from perfledger_cost_models.tco.purchase_modes import (
    Payment,
    PurchaseError,
    PurchaseTerms,
    block_hours,
    block_usd_per_hour,
    block_usd_per_useful_hour,
    terms_of,
)

SHEET = packaged_sheet()
ON_DEMAND = terms_of(SHEET.find("p5.48xlarge/on_demand"))
THREE_YEARS = terms_of(SHEET.find("p5.48xlarge/savings_plan/3y_all_upfront"))
uses = st.floats(0.001, 1.0)


def test_every_packaged_price_is_bought_in_some_mode_or_says_why_not():
    refused = []
    for price in SHEET.prices:
        try:
            terms_of(price)
        except PurchaseError:
            refused.append(price.term)

    assert refused == ["3y (pre-cut)"]


@given(uses)
def test_what_is_paid_by_use_costs_the_same_at_any_use(use):
    assert ON_DEMAND.usd_per_useful_hour(use) == Decimal("6.88")


def test_a_commitment_at_half_use_costs_twice_its_rate():
    assert THREE_YEARS.usd_per_useful_hour(0.5) == pytest.approx(2 * Decimal("20.695") / 8)


def test_money_paid_up_front_costs_its_interest():
    """3 years of 20.695 / 8 USD up front at 8.5 %: 36 payments of 1 are worth 31.82469."""
    committed_usd = THREE_YEARS.committed_usd_per_hour(wacc=0.085)

    assert float(committed_usd) == pytest.approx(20.695 / 8 * 3 * 12 / 31.82469, rel=1e-6)


def test_a_plan_without_money_up_front_has_no_interest():
    plan = terms_of(SHEET.find("p5.48xlarge/savings_plan/3y_no_upfront"))

    assert plan.committed_usd_per_hour(wacc=0.085) == plan.usd_per_hour


def test_half_up_front_has_the_interest_on_half():
    half = PurchaseTerms(
        option="x",
        payment=Payment.TERM,
        usd_per_hour=Decimal(10),
        years=1,
        upfront_share=Decimal("0.5"),
    )

    month = 1.1 ** (1 / 12) - 1
    annuity = (1 - 1 / 1.1) / month / 12  # worth of a dollar paid in 12 parts
    assert float(half.committed_usd_per_hour(wacc=0.1)) == pytest.approx(5 / annuity + 5)


@given(uses, uses)
def test_more_use_never_makes_an_hour_dearer(one, two):
    little, much = sorted((one, two))

    assert THREE_YEARS.usd_per_useful_hour(much) <= THREE_YEARS.usd_per_useful_hour(little)


def test_a_block_is_paid_for_all_of_its_hours():
    block = terms_of(SHEET.find("p5.48xlarge/capacity_block/prepaid_24h"))

    assert block.payment is Payment.TERM


@pytest.mark.parametrize(("hours", "expected"), [(24, "41.53"), (12, "83.06"), (2, "498.36")])
def test_a_block_of_a_day_costs_its_fee_over_the_hours_used(hours, expected):
    assert block_usd_per_hour(24 * Decimal("41.53"), hours) == Decimal(expected)


def test_a_block_that_was_never_used_has_no_price_an_hour():
    with pytest.raises(PurchaseError, match="no price per hour"):
        block_usd_per_hour(Decimal(1000), 0.0)


@pytest.mark.parametrize("use", [0.0, 1.5, -1.0, float("nan")])
def test_a_use_is_a_share_of_the_hours(use):
    with pytest.raises(PurchaseError, match="above 0"):
        ON_DEMAND.usd_per_useful_hour(use)


@pytest.mark.parametrize(
    ("work", "hours"), [(1, 24), (23.5, 24), (23.6, 48), (335, 336), (336, 504), (4367.5, 4368)]
)
def test_work_needs_whole_days_and_beyond_two_weeks_whole_weeks(work, hours):
    assert block_hours(work) == hours


@pytest.mark.parametrize("work", [0, -1, 4368, float("nan")])
def test_work_that_no_block_holds_is_refused(work):
    with pytest.raises(PurchaseError, match="no capacity block"):
        block_hours(work)


def test_a_block_gets_dearer_at_the_cliff():
    """Half an hour before its end a block is taken away: 23.5 h of work fill a day, 24 need two."""
    full, over = (block_usd_per_useful_hour(Decimal("41.53"), work) for work in (23.5, 24))

    assert full == Decimal("41.53") * 24 / Decimal("23.5")
    assert over == Decimal("41.53") * 48 / 24


@pytest.mark.parametrize(("used", "usd"), [(24, "41.53"), (12, "83.06"), (2, "498.36")])
def test_a_days_block_costs_what_the_published_table_says(used, usd):
    assert block_usd_per_hour(Decimal("41.53") * 24, used) == Decimal(usd)


@given(st.floats(0.1, 4000))
def test_a_useful_hour_of_a_block_is_never_cheaper_than_its_rate(work):
    assert block_usd_per_useful_hour(Decimal(10), work) > 10


def test_an_offer_of_a_marketplace_is_paid_by_use():
    offer = replace(SHEET.find("p5.48xlarge/on_demand"), pricing_model=PricingModel.MARKETPLACE)

    assert terms_of(offer).payment is Payment.USED


def test_what_a_bill_says_was_paid_is_paid_by_use_whatever_the_mode():
    paid = replace(SHEET.find("p5.48xlarge/savings_plan/3y_all_upfront"), term=BILLED_TERM)

    assert terms_of(paid).usd_per_useful_hour(0.5) == paid.usd_per_device_hour


@pytest.mark.parametrize("term", ["3y_prepaid", "3y_all", "3y_some_upfront"])
def test_an_unknown_payment_is_not_read_as_no_upfront(term):
    price = replace(SHEET.find("p5.48xlarge/savings_plan/3y_all_upfront"), term=term)

    with pytest.raises(PurchaseError, match="not like 1y"):
        terms_of(price)
