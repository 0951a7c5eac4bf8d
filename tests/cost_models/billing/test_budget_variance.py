from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.budget_variance import BudgetVarianceError, budget_variance

AMOUNTS = st.decimals(0, 10**9, places=4)
HOURS = st.decimals(1, 10**8, places=3)


@given(AMOUNTS, HOURS, AMOUNTS, HOURS, st.none() | st.decimals(-(10**6), 10**6, places=3))
def test_the_parts_sum_to_the_difference_to_the_cent(budget, planned, actual, used, efficiency):
    found_budget_variance = budget_variance(
        budget_usd=budget,
        budget_hours=planned,
        actual_usd=actual,
        actual_hours=used,
        efficiency_hours=efficiency,
    )

    parts = (
        found_budget_variance.volume_usd
        + (found_budget_variance.efficiency_usd or 0)
        + found_budget_variance.price_usd
    )
    assert found_budget_variance.budget_usd + parts == found_budget_variance.actual_usd


def test_each_part_is_what_it_is_called():
    found_budget_variance = budget_variance(
        budget_usd=Decimal(1000),
        budget_hours=Decimal(100),
        actual_usd=Decimal(1320),
        actual_hours=Decimal(120),
        efficiency_hours=Decimal(5),
    )

    assert found_budget_variance.volume_usd == 150
    assert found_budget_variance.efficiency_usd == 50
    assert found_budget_variance.price_usd == 120


def test_without_planned_hours_there_is_no_rate():
    with pytest.raises(BudgetVarianceError, match="no rate"):
        budget_variance(
            budget_usd=Decimal(1),
            budget_hours=Decimal(0),
            actual_usd=Decimal(1),
            actual_hours=Decimal(1),
            efficiency_hours=None,
        )


def test_less_than_one_hour_planned_and_none_used_is_a_plan():
    found_budget_variance = budget_variance(
        budget_usd=Decimal(10),
        budget_hours=Decimal("0.5"),
        actual_usd=Decimal(0),
        actual_hours=Decimal(0),
        efficiency_hours=None,
    )

    assert found_budget_variance.volume_usd == -10
    assert found_budget_variance.price_usd == 0
