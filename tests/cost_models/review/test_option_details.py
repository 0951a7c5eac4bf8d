from decimal import Decimal

import pytest

from perfledger_cost_models.review.option_details import expiry
from perfledger_cost_models.review.review_document import UnknownFigure


def test_owned_ways_have_a_break_even_and_a_resale(make_review, plan_text, all_options):
    review = make_review(plan_text + all_options)
    facts = {one.outcome.option.name: one for one in review.options}

    assert 0 < facts["buy"].break_even.p50 < 1
    assert facts["buy"].resale[1] == 7 * 320_000 * Decimal("0.28")
    assert facts["three years"].break_even.p50 == pytest.approx(23.777 / 55.04)
    assert facts["three years"].owed_usd == pytest.approx(
        Decimal(56 * 8760 * 2) * Decimal("2.972125")
    )
    assert facts["three years upfront"].owed_usd == 0
    assert facts["today"].break_even is None
    assert facts["blocks"].break_even.p50 == pytest.approx(41.53 / 55.04)
    assert isinstance(facts["TPU"].carbon, UnknownFigure)
    assert facts["buy"].carbon.energy_kwh > facts["today"].carbon.energy_kwh
    assert facts["buy"].payback_years > 0
    assert [facts[name].lock_in_months for name in ("today", "buy", "three years")] == [0, 0, 36]
    assert (facts["today"].owed_usd, facts["blocks"].owed_usd) == (0, 0)
    assert facts["buy"].return_per_year > 0


def test_what_is_no_price_does_not_expire(make_review):
    assert expiry(make_review().demand.hours) is None


def test_the_curve_falls_with_use_where_hours_are_paid_for_unused(
    make_review, plan_text, all_options
):
    for one in make_review(plan_text + all_options).options:
        costs = [usd for _, usd in one.curve]
        assert costs == sorted(costs, reverse=True)
