import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from perfledger_cost_models.billing.budget_variance import BudgetVariance, ExpectedQuarter
from perfledger_cost_models.review.document import PreviousDecision, UnknownFigure
from perfledger_cost_models.review.previous_quarter import (
    FORMAT,
    MAX_BYTES,
    VERSION,
    VERSION_1_KEYS,
    PreviousReviewError,
    read_previous_review,
)
from perfledger_cost_models.review.quarter import quarter_of
from tests.cost_models.conftest import PLAN
from tests.cost_models.review.test_plan_against_bill import HELD

# Written before the keys were renamed, from a plan with two options.
VERSION_1 = Path(__file__).parent / "review_version_1.json"
TODAY = "today: H100-80GB, aws p5.48xlarge/on_demand"
LAST = {
    "format": FORMAT,
    "version": VERSION,
    "quarter": "2026Q2",
    "recommendation": {"name": "today", "where": "p5.48xlarge/on_demand"},
    "expected_quarter": {"quarter": "2026Q3", "hours": "700", "usd": "4816"},
    "inputs": [{"name": "w1_usd_per_hour", "label": TODAY, "mode": "12.29"}],
    "later keys": "are skipped",
}


def last(**values):
    return json.dumps(LAST | values).encode()


# The bills of these tests have any hours; a range with them in it does not contradict them.
WIDE = PLAN.replace(
    "low = 200000, mode = 300000, high = 400000", "low = 1, mode = 300000, high = 9000000"
)


def read(data):
    return read_previous_review(data, before=quarter_of("2026Q3"))


def test_the_last_decision_is_held_against_the_bill(make_review, make_bill):
    review = make_review(WIDE, last=read(last()), bill=make_bill(("a", "100", "6000")))

    assert isinstance(review.last, PreviousDecision)
    variance = review.last.variance
    assert isinstance(variance, BudgetVariance)
    assert variance.budget_usd == 4816
    assert variance.actual_usd == 6000
    assert variance.volume_usd == 100 * Decimal("6.88")  # 800 hours, not 700
    assert variance.efficiency_usd is None
    assert variance.price_usd == 6000 - 800 * Decimal("6.88")
    assert review.last.changed_inputs[0][1:] == (Decimal("12.29"), Decimal("6.88"))


def test_a_review_of_version_1_is_read_whole_and_compared(make_review, make_bill):
    old = read(VERSION_1.read_bytes())
    assert (old.decision, old.where) == ("today", "p5.48xlarge/on_demand")
    assert old.expected_quarter == ExpectedQuarter(
        quarter="2026Q3", hours=Decimal("75000.0"), usd=Decimal("516000.000")
    )
    assert len(old.inputs) == 10

    cheaper = replace(old, inputs=old.inputs | {f"usd_per_hour {TODAY}": Decimal(5)})
    review = make_review(WIDE, last=cheaper, bill=make_bill(("a", "70000", "500000")))
    assert review.last.variance.budget_usd == 516_000
    changed = {label: values for label, *values in review.last.changed_inputs}
    assert [Decimal(5), Decimal("6.88")] in changed.values()


def test_options_in_another_order_are_compared_with_themselves(make_review):
    other = "three years: H100-80GB, aws p5.48xlarge/savings_plan/3y_no_upfront"
    inputs = [
        {"name": "w1_usd_per_hour", "label": other, "mode": "2.5"},
        {"name": "w2_usd_per_hour", "label": TODAY, "mode": "6.88"},
        {"name": "hours_ratio_1", "label": "TPU-v4 hours that replace one", "mode": "9"},
    ]

    review = make_review(WIDE, last=read(last(inputs=inputs)))

    assert review.last.changed_inputs == ((other, Decimal("2.5"), Decimal("2.972125")),)


def test_both_versions_of_a_review_say_the_same():
    keys = json.loads(VERSION_1.read_bytes())
    renamed = {VERSION_1_KEYS.get(key, key): value for key, value in keys.items()}

    assert keys["version"] == 1
    assert read(json.dumps(renamed | {"version": 2}).encode()) == read(VERSION_1.read_bytes())


@pytest.mark.parametrize(
    ("outlook", "why"),
    [({"usd": None}, "no budget"), ({"hours": "0"}, "no rate")],
)
def test_a_last_review_without_a_budget_says_so(make_review, make_bill, outlook, why):
    given_content = last(expected_quarter={"quarter": "2026Q3", "hours": "1", "usd": "1"} | outlook)

    review = make_review(WIDE, last=read(given_content), bill=make_bill(("a", "100", "6000")))
    assert isinstance(review.last.variance, UnknownFigure)
    assert why in review.last.variance.reason


def test_a_bill_of_a_part_of_the_quarter_is_not_held_against_its_budget(
    make_review, make_bill, a_bill_row
):
    august = a_bill_row("a", "100", "6000", ChargePeriodStart="2026-08-01T00:00:00Z")

    review = make_review(WIDE, last=read(last()), bill=make_bill(august))

    assert isinstance(review.last.variance, UnknownFigure)
    assert "not the whole quarter" in review.last.variance.reason


def test_commitments_to_other_accelerators_are_no_part_of_what_was_spent(
    make_review, make_bill, a_bill_row
):
    plan = {"PricingCategory": "Committed", "CommitmentDiscountType": "Savings Plan"}
    same, other = (
        a_bill_row("a", "1", "50", ResourceType=sku, **plan, CommitmentDiscountStatus="Unused")
        for sku in ("p5.48xlarge", "p4d.24xlarge")
    )
    # 70 %, as planned: by cost, and of the hours that 8 devices have in 92 days.
    used = a_bill_row("a", "1545.6", "117", **plan, CommitmentDiscountStatus="Used")
    held_text = HELD.format(devices=8, is_owned="false", until="2029-12-31")

    bill = make_bill(("a", "100", "5883"), used, same, other)
    review = make_review(WIDE + held_text, last=read(last()), bill=bill)

    assert (bill.unused_usd, review.last.variance.actual_usd) == (100, 6050)


def test_a_last_review_without_a_bill_has_no_actual(make_review):
    assert "no bill" in make_review(WIDE, last=read(last())).last.variance.reason


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff", "cannot be read"),
        (b'{"format": "\xff", "version": 2}', "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (last(quarter="2026Q1"), "before 2026Q3"),
        (last(quarter="soon"), "cannot be read"),
        (last(format="other"), "version 1 to 2"),
        (last(version=3), "version 1 to 2"),
        (last(version=0), "version 1 to 2"),
        (last(inputs=[{"name": "a", "mode": "NaN"}]), "number out of range"),
        (
            last(expected_quarter={"quarter": "2026Q3", "hours": "1e99", "usd": None}),
            "number out of range",
        ),
        (last(recommendation=1), "cannot be read"),
        (b" " * (MAX_BYTES + 1), "more than"),
    ],
)
def test_what_is_not_the_last_review_is_refused(data, says):
    with pytest.raises(PreviousReviewError, match=says):
        read(data)


@pytest.mark.parametrize(("end", "is_known"), [("2026-09-30", True), ("2026-09-29", False)])
def test_a_bill_may_lack_one_day_of_the_quarter_of_the_budget(
    make_review, make_bill, a_bill_row, end, is_known
):
    row = a_bill_row("a", "100", "6000", ChargePeriodEnd=f"{end}T00:00:00Z")

    variance = make_review(WIDE, last=read(last()), bill=make_bill(row)).last.variance

    assert isinstance(variance, BudgetVariance) is is_known
