"""On-demand, spot and committed prices of one SKU: what contradicts several others is wrong."""

from datetime import date

import pytest

from perfledger_cost_models.prices.price_sheet import PricingModel
from perfledger_cost_models.quote import PriceLayer

JULY, AUGUST, NOVEMBER = (date(2026, month, 9) for month in (7, 8, 11))
TERMS, SPOT, BILLED = "commitments by term", "spot above on demand", "bill and list"


@pytest.fixture
def committed(price):
    def committed(usd, term, day=AUGUST, **values):
        return price(usd, day, pricing_model=PricingModel.SAVINGS_PLAN, term=term, **values)

    return committed


def test_a_stale_list_price_under_a_new_date_is_found_by_its_commitments(
    price, committed, rejected
):
    plans = (
        *(committed("32.36", "1y_all_upfront"), committed("20.695", "3y_all_upfront")),
        committed("23.777", "3y_no_upfront"),
    )

    assert rejected(TERMS, price("98.32", NOVEMBER), *plans) == [0]
    assert rejected(TERMS, price("55.04", NOVEMBER), *plans) == []


def test_one_commitment_of_an_old_list_does_not_save_it(price, committed, rejected):
    plans = (
        *(committed("32.36", "1y_all_upfront"), committed("20.695", "3y_all_upfront")),
        *(committed("23.777", "3y_no_upfront"), committed("43.157", "3y (pre-cut)")),
    )

    assert rejected(TERMS, price("98.32", NOVEMBER), *plans) == [0]


def test_a_typo_in_one_commitment_is_its_own(price, committed, rejected):
    plans = (
        *(committed("32.36", "1y_all_upfront"), committed("2.0695", "3y_all_upfront")),
        committed("23.777", "3y_no_upfront"),
    )

    assert rejected(TERMS, price("55.04", NOVEMBER), *plans) == [2]


def test_of_two_that_contradict_each_other_the_newer_is_wrong(price, committed, rejected):
    assert rejected(TERMS, price("98.32", NOVEMBER), committed("20.695", "3y")) == [0]
    assert rejected(TERMS, price("98.32", JULY), committed("20.695", "3y")) == [1]
    assert rejected(TERMS, committed("20.695", "3y"), references=[price("98.32", NOVEMBER)]) == [0]


def test_prices_half_a_year_apart_may_be_of_different_lists(price, committed, rejected):
    assert (
        rejected(TERMS, price("98.32", NOVEMBER), committed("20.695", "3y", date(2026, 5, 1))) == []
    )


@pytest.mark.parametrize(("term", "least"), [("1y", 45), ("3y", 25)])
def test_the_largest_discounts_are_those_that_providers_grant(
    price, committed, rejected, term, least
):
    assert rejected(TERMS, price("100", AUGUST), committed(least, term)) == []
    assert rejected(TERMS, price("100", AUGUST), committed(f"{least - 1}.9", term)) == [1]


def test_a_typo_on_demand_is_wrong_and_not_what_is_above_it(price, committed, rejected):
    spot = price("30.64", AUGUST, pricing_model=PricingModel.SPOT)
    rows = price("5.504", NOVEMBER), spot, committed("32.36", "1y"), committed("20.695", "3y")

    assert rejected(SPOT, *rows) == [0]
    assert rejected(TERMS, *rows) == [0]


def test_published_prices_may_be_above_a_negotiated_one(price, committed, rejected):
    own = price("20", NOVEMBER, layer=PriceLayer.OVERRIDE)

    assert rejected(TERMS, own, references=[committed("32.36", "1y")]) == []
    assert rejected(SPOT, own, references=[price("30", pricing_model=PricingModel.SPOT)]) == []
    above = committed("30", "1y", NOVEMBER, layer=PriceLayer.OVERRIDE)
    assert rejected(TERMS, own, above) == [1]


def test_an_own_commitment_may_be_lower_by_a_private_discount(price, committed, rejected):
    listed = price("55.04", AUGUST)
    own = {"layer": PriceLayer.OVERRIDE}

    assert rejected(TERMS, committed("8.26", "3y", NOVEMBER, **own), references=[listed]) == []
    assert rejected(TERMS, committed("6.88", "3y", NOVEMBER, **own), references=[listed]) == [0]


@pytest.mark.parametrize(
    ("usd", "expected"), [("18.4", []), ("18.3", [0]), ("165", []), ("166", [0]), ("5.504", [0])]
)
def test_what_a_bill_says_is_near_the_list(price, rejected, usd, expected):
    billed = price(usd, NOVEMBER, term="billed")

    assert rejected(BILLED, billed, references=[price("55.04", AUGUST)]) == expected
    elsewhere_price = price("55.04", AUGUST, region="r2")
    assert rejected(BILLED, billed, references=[elsewhere_price]) == expected
    assert rejected(BILLED, billed) == []


def test_a_billed_commitment_is_compared_with_all_terms(committed, rejected):
    terms = committed("32.36", "1y"), committed("20.695", "3y")

    for usd, expected in (("7", []), ("6.8", [0]), ("97", []), ("98", [0])):
        assert rejected(BILLED, committed(usd, "billed"), references=terms) == expected


def test_effective_prices_of_a_bill_are_no_list_prices(price, rejected):
    billed = price("10", NOVEMBER, term="billed")

    assert rejected(SPOT, billed, price("30", NOVEMBER, pricing_model=PricingModel.SPOT)) == []
