from dataclasses import replace
from datetime import date

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceSheet
from perfledger_cost_models.prices.staleness import StalePriceError
from perfledger_cost_models.procurement.cost_model import SizeBasis

SUPPLY = """
[[supply]]
name = "plan"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = 2024-01-01
until = 2029-12-31
usd_per_year = 400000
source = "invoice"
[[supply]]
name = "lab"
accelerator = "H100-80GB"
devices = 8
is_owned = true
since = 2024-01-01
until = 2029-12-31
source = "register"
"""


OLD = """
[[supply]]
name = "old"
accelerator = "A100-80GB"
devices = 8
is_owned = false
since = 2024-01-01
until = 2029-12-31
source = "register"
"""


def test_prices_beyond_half_a_year_are_refused(make_review):
    with pytest.raises(StalePriceError, match="allow-stale-prices"):
        make_review(today=date(2027, 5, 9))


def test_prices_of_exactly_half_a_year_are_not(make_review):
    # The commitment's price is of 2026-08-07.
    assert make_review(today=date(2027, 2, 3)).stale == ()
    with pytest.raises(StalePriceError, match="2026-08-07"):
        make_review(today=date(2027, 2, 4))


def test_stale_prices_that_were_allowed_are_named(make_review):
    review = make_review(today=date(2027, 2, 4), is_stale_allowed=True)

    assert "181 days" in review.stale[0]


def test_prices_keep_until_the_first_of_the_two_that_are_decided_between(make_review):
    review = make_review()

    assert review.expires == date(2026, 11, 5)  # 90 days after 2026-08-07
    assert review.expired == ("three years",)


@pytest.mark.slow(ci_only=True)
def test_every_input_has_a_source(make_review, plan_text, all_options):
    review = make_review(plan_text + all_options)

    assert all(each.source for each in review.model.inputs)


def test_supply_that_the_bill_does_not_hold_carries_none_of_its_hours(
    make_review, plan_text, make_bill, a_bill_row
):
    text = "\n".join(line for line in plan_text.splitlines() if not line.startswith("hours"))
    plan = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    # 70 % of the hours of 16 devices in 92 days, in instances of 8.
    used = a_bill_row("a", "3091.2", "70", **plan, CommitmentDiscountStatus="Used")
    unused = a_bill_row("a", "1", "30", **plan, CommitmentDiscountStatus="Unused")
    bill = make_bill(("a", "6108.8", "506368"), used, unused)
    review = make_review(text + SUPPLY + OLD, bill=bill)

    counted = {one.name: one.equivalents for one in review.supply.entries}
    assert counted["plan"] == (16, 16, 16)
    assert counted["lab"] is None
    assert counted["old"] is None
    assert any("lab" in risk.name for risk in review.risks)
    assert {one.hours_a_year for one in review.supply.entries} == {8 * 8760, 16 * 8760}


@pytest.mark.slow(ci_only=True)
def test_a_licence_that_the_plan_states_is_paid(make_review, plan_text, all_options):
    licence = """
[[input]]
parameter = "software_licence_nvidia_ai_enterprise"
value = { low = 4000, mode = 4500, high = 5000, basis = "quoted", source = "quote" }
"""
    before, after = (
        {one.outcome.option.name: one.outcome.npv for one in make_review(text).options}
        for text in (plan_text + all_options, plan_text + all_options + licence)
    )

    assert after["buy"] > before["buy"]
    assert after["today"] == before["today"]


def test_terms_that_are_not_of_one_or_three_years_have_no_price_here(make_review, plan_text):
    sheet = packaged_sheet()
    two = [
        replace(price, term=price.term.replace("3y", "2y"))
        for price in sheet.prices
        if price.term == "3y_no_upfront"
    ]
    text = plan_text.replace("savings_plan/3y", "savings_plan/2y")

    review = make_review(text, sheet=PriceSheet(name="two", prices=(*sheet.prices, *two)))
    assert "1 or 3" in review.model.unpriced[0].reason


def test_the_options_have_the_sizes_that_the_sweep_finds_cheapest(
    make_review, plan_text, all_options
):
    review = make_review(plan_text + all_options)

    for sweep in review.sweeps:
        if sweep.option.size_basis is SizeBasis.LEAST_COST:
            assert sweep.best.devices == sweep.option.devices
            assert sweep.best.npv_mean == review.decision.of(sweep.option.key).npv_mean
        else:
            assert (sweep.option.size_basis, sweep.best.devices) == (SizeBasis.FIRST_NEED, 0)
    assert review.choice.option.size_basis is SizeBasis.LEAST_COST
