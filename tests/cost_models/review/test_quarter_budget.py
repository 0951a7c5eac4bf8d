from datetime import date
from decimal import Decimal

import pytest

from tests.cost_models.review.test_build import SUPPLY

YEAR = Decimal(365)
UTILIZATION = Decimal("0.7")
ON_DEMAND = Decimal("6.88")
NO_UPFRONT = Decimal("23.777") / 8
HELD = """[[supply]]
name = "plan"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = {since}
until = {until}
usd_per_year = 400000
source = "made up"
"""


def contract_usd(devices, *, price, days, need):
    """Return what a commitment obliges to in some days, and the hours beyond it on demand."""
    hours = devices * 24 * days
    return hours * price + max(Decimal(0), need - hours * UTILIZATION) * ON_DEMAND


def test_the_budget_is_todays_rate_until_the_day_of_signing_and_the_contract_from_then(
    make_review, plan_text
):
    """Signed on 2026-11-22: 52 days of October to December as today, 40 days committed."""
    review = make_review(plan_text + SUPPLY)
    budget, devices = review.budget, review.choice.option.devices

    need_a_day = (300_000 - 24 * 8760 * UTILIZATION) / YEAR
    before = 52 * need_a_day * ON_DEMAND
    after = contract_usd(devices, price=NO_UPFRONT, days=40, need=40 * need_a_day)
    held_usd = 400_000 * 92 / YEAR
    assert review.choice.option.name == "three years"
    assert budget.signed_on == date(2026, 11, 22)
    assert float(budget.held_usd) == pytest.approx(float(held_usd))
    assert float(budget.usd_before) == pytest.approx(float(before))
    assert float(budget.usd_after) == pytest.approx(float(after))
    assert budget.expected == review.expected_quarter
    assert review.expected_quarter.quarter == "2026Q4"
    assert float(review.expected_quarter.hours) == pytest.approx(300_000 * 92 / 365)
    assert float(review.expected_quarter.usd) == pytest.approx(float(held_usd + before + after))
    assert float(budget.as_today_usd) == pytest.approx(
        float(held_usd + 92 * need_a_day * ON_DEMAND)
    )


def test_the_budget_is_never_below_what_the_contracts_oblige_to(make_review, plan_text):
    """The review of a quarter that has not ended can be signed on the next one's first day."""
    review = make_review(plan_text + SUPPLY, today=date(2026, 9, 20))
    budget, devices = review.budget, review.choice.option.devices

    obliged = 400_000 * 92 / YEAR + devices * 24 * 92 * NO_UPFRONT
    assert budget.signed_on == date(2026, 10, 1)
    assert budget.usd_before == 0
    assert review.expected_quarter.usd >= obliged - Decimal("0.01")


def test_what_is_signed_after_the_quarter_changes_nothing_in_it(make_review, plan_text):
    review = make_review(plan_text, today=date(2027, 1, 5))

    assert review.budget.usd_after == review.budget.due_once_usd == 0
    assert review.expected_quarter.usd == review.budget.as_today_usd
    assert float(review.expected_quarter.usd) == pytest.approx(300_000 * 92 / 365 * 6.88)


def test_money_paid_at_signing_is_spread_over_its_term_and_stated(make_review, plan_text):
    text = plan_text.replace("3y_no_upfront", "3y_all_upfront").replace("three years", "upfront")
    review = make_review(text)
    budget, devices = review.budget, review.choice.option.devices

    price = Decimal("20.695") / 8
    need = 40 * 300_000 / YEAR
    assert float(budget.due_once_usd) == pytest.approx(float(devices * 8760 * 3 * price))
    expected = contract_usd(devices, price=price, days=40, need=need)
    assert float(budget.usd_after) == pytest.approx(float(expected))


def test_servers_are_not_there_within_the_quarter(make_review, plan_text):
    text = plan_text.replace("p5.48xlarge/savings_plan/3y_no_upfront", "onprem-8xH100")
    review = make_review(text)

    assert review.choice.option.server is not None
    assert review.budget.signed_on == date(2027, 1, 1)
    assert float(review.budget.due_once_usd) == pytest.approx(float(review.choice.paid[0]))
    assert review.expected_quarter.usd == review.budget.as_today_usd


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-01-01", "2026-11-15", 46),  # half of the quarter
        ("2026-01-01", "2026-12-31", 92),  # to the quarter's last day
        ("2026-01-01", "2026-09-30", 0),  # no more there
        ("2027-01-01", "2029-01-01", 0),  # not yet there
    ],
)
def test_the_budget_has_what_is_held_while_it_is_held(make_review, plan_text, since, until, days):
    review = make_review(plan_text + HELD.format(since=since, until=until))

    until_signing = min(days, 52)
    carried = 16 * 24 * until_signing * UTILIZATION
    assert float(review.budget.held_usd) == pytest.approx(float(400_000 * days / YEAR))
    assert float(review.budget.hours_before) == pytest.approx(float(52 * 300_000 / YEAR - carried))


def test_without_the_supplys_cost_there_is_no_budget(make_review, plan_text):
    review = make_review(plan_text + SUPPLY.replace("usd_per_year = 400000\n", ""))

    assert review.expected_quarter.usd is None
    assert "usd_per_year" in review.expected_quarter.reason
    assert (review.budget.held_usd, review.budget.as_today_usd) == (None, None)
