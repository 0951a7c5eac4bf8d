from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.procurement.plan import ProcurementPlanError


@pytest.fixture
def without_hours(plan_text):
    """Return the plan with the bill's hours."""
    return "\n".join(line for line in plan_text.splitlines() if not line.startswith("hours ="))


@pytest.fixture
def bill_of_days(make_bill, a_bill_row):
    def bill_of_days(*spans):
        rows = [
            a_bill_row(
                f"team {number}",
                *("100", "5504"),
                ChargePeriodStart=f"{first}T00:00:00Z",
                ChargePeriodEnd=f"{end}T00:00:00Z",
            )
            for number, (first, end) in enumerate(spans)
        ]
        return make_bill(*rows)

    return bill_of_days


def test_a_year_of_hours_does_not_follow_from_a_few_days(make_review, without_hours, bill_of_days):
    short = bill_of_days(("2026-07-01", "2026-07-28"))
    enough = bill_of_days(("2026-07-01", "2026-07-29"))

    with pytest.raises(ProcurementPlanError, match=r"fewer than 28 days.*hours to \[demand\]"):
        make_review(without_hours, bill=short)
    bill_part = make_review(without_hours, bill=enough).demand.bill_part
    assert (bill_part.days, bill_part.quarter_days, bill_part.are_hours_billed) == (28, 92, True)


def test_a_bill_without_a_month_gives_no_years_hours(make_review, without_hours, bill_of_days):
    bill = bill_of_days(("2026-07-01", "2026-08-01"), ("2026-09-01", "2026-10-01"))

    assert bill.gap == (date(2026, 8, 1), date(2026, 8, 31))
    with pytest.raises(ProcurementPlanError, match="no usage from 2026-08-01 to 2026-08-31"):
        make_review(without_hours, bill=bill)


def test_the_plans_own_hours_need_no_whole_bill(make_review, plan_text, bill_of_days):
    bill = bill_of_days(("2026-07-01", "2026-07-02"))
    wide = plan_text.replace("mode = 300000, high = 400000", "mode = 300000, high = 500000")

    bill_part = make_review(wide, bill=bill).demand.bill_part
    assert (bill_part.days, bill_part.are_hours_billed) == (1, False)


def test_the_longest_stretch_without_usage_is_found_in_any_order(bill_of_days):
    bill = bill_of_days(
        ("2026-07-20", "2026-07-25"),
        ("2026-07-01", "2026-07-10"),
        ("2026-07-02", "2026-07-03"),
        ("2026-07-11", "2026-07-12"),
    )

    assert bill.gap == (date(2026, 7, 12), date(2026, 7, 19))
    assert bill_of_days(("2026-07-01", "2026-07-10"), ("2026-07-10", "2026-07-11")).gap is None


def test_what_the_bill_has_besides_is_by_accelerator(
    make_review, without_hours, make_bill, a_bill_row
):
    bill = make_bill(
        ("a", "100", "5504"),
        a_bill_row("a", "100", "2000.5", ResourceType="p4d.24xlarge"),
        a_bill_row("b", "3", "12", ResourceType="", PricingUnit="GB-Months"),
    )
    bill_part = make_review(without_hours, bill=bill).demand.bill_part

    assert bill_part.accelerators_usd == {"A100-40GB": Decimal("2000.5")}
    assert (bill_part.rest_usd, bill_part.beside_usd) == (12, Decimal("2012.5"))
