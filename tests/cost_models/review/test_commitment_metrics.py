from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.review.commitment_metrics import commitment_metrics, market_remarks
from perfledger_cost_models.review.document import UnknownFigure

USED = {"PricingCategory": "Committed", "CommitmentDiscountStatus": "Used"}
UNUSED = {"PricingCategory": "Committed", "CommitmentDiscountStatus": "Unused"}
SUPPLY = """
[[supply]]
name = "plan of 2024"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = 2024-06-01
until = 2027-05-31
usd_per_year = {usd}
source = "invoice"
"""


def metrics(bill, accelerator="H100-80GB", sheet=None):
    return commitment_metrics(bill, sheet or packaged_sheet(), accelerator=accelerator)


def test_the_metrics_of_a_bill_by_hand(make_bill, a_bill_row):
    """100 h committed at 40 USD, 25 h of it unused, 100 h on demand at 55.04 USD."""
    bill = make_bill(
        a_bill_row("nlp", 75, 3000, **USED),
        a_bill_row("nlp", 25, 1000, **UNUSED),
        a_bill_row("nlp", 100, 5504),
    )
    result = metrics(bill)

    assert result.hours == 8 * 175
    assert result.coverage == Decimal(75) / 175
    assert result.utilization == Decimal("0.75")
    assert result.effective_usd == 9504
    assert result.on_demand_usd == Decimal("55.04") * 175
    assert result.savings_rate == 1 - Decimal(9504) / (Decimal("55.04") * 175)


def test_commitments_that_cost_more_than_they_save_have_a_negative_rate(make_bill, a_bill_row):
    bill = make_bill(a_bill_row("nlp", 100, 6000, **USED))

    assert metrics(bill).savings_rate < 0


def test_an_accelerator_without_usage_is_unknown(make_bill, a_bill_row):
    bill = make_bill(a_bill_row("nlp", 100, 6000, **USED))
    result = metrics(bill, accelerator="TPU-v4")

    assert isinstance(result, UnknownFigure)
    assert result.reason == "the bill has no usage of TPU-v4"


def test_commitments_that_nothing_uses_have_a_utilization_alone(make_bill, a_bill_row):
    result = metrics(make_bill(a_bill_row("nlp", 100, 4000, **UNUSED)))

    assert (result.coverage, result.utilization, result.savings_rate) == (None, 0, None)


def test_without_a_list_price_they_are_unknown(make_bill, a_bill_row):
    bill = make_bill(a_bill_row("nlp", 100, 6000, **USED))
    sheet = replace(packaged_sheet(), prices=())

    assert isinstance(metrics(bill, sheet=sheet), UnknownFigure)
    assert isinstance(metrics(None), UnknownFigure)


def test_a_commitment_above_todays_market_is_remarked(make_review, plan_text):
    review = make_review(plan_text + SUPPLY.format(usd=1_008_000))

    (remark,) = market_remarks(review.supply.entries, review.model, today=date(2026, 11, 22))
    assert remark.usd_per_hour == Decimal(1_008_000) / (16 * 8760)
    assert remark.market_usd == Decimal("2.972125")
    days = (date(2027, 5, 31) - date(2026, 11, 22)).days + 1
    assert remark.usd_above == (remark.usd_per_hour - remark.market_usd) * 16 * 24 * days


@pytest.mark.parametrize(
    ("usd", "today"), [(300_000, date(2026, 11, 22)), (1_008_000, date(2027, 6, 1))]
)
def test_one_below_the_market_or_past_its_end_is_not(make_review, plan_text, usd, today):
    review = make_review(plan_text + SUPPLY.format(usd=usd))

    assert market_remarks(review.supply.entries, review.model, today=today) == ()


def test_on_its_last_day_a_commitment_is_still_above_the_market(make_review, plan_text):
    review = make_review(plan_text + SUPPLY.format(usd=1_008_000))

    (remark,) = market_remarks(review.supply.entries, review.model, today=date(2027, 5, 31))
    assert remark.usd_above == (remark.usd_per_hour - remark.market_usd) * 16 * 24
