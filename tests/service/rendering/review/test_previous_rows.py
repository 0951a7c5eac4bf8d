from decimal import Decimal

import pytest

from perfledger_cost_models.billing.budget_variance import BudgetVariance, ExpectedQuarter
from perfledger_cost_models.review.document import PreviousDecision, UnknownFigure
from perfledger_service.rendering.layout.number_format import NOTHING
from perfledger_service.rendering.review.previous_rows import previous_quarter_text


def previous(efficiency):
    variance = BudgetVariance(
        budget_usd=Decimal("1000.50"),
        actual_usd=Decimal("1234.49"),
        volume_usd=Decimal("100.50"),
        efficiency_usd=efficiency,
        price_usd=Decimal("133.49") - (efficiency or 0),
    )
    return PreviousDecision(
        quarter="2026Q2",
        option="today",
        where="p5.48xlarge/on_demand",
        expected_quarter=ExpectedQuarter(quarter="2026Q3", hours=Decimal(1), usd=Decimal(1)),
        variance=variance,
        changed_inputs=(("growth", Decimal("0.1"), Decimal("0.15")),),
    )


@pytest.mark.parametrize("efficiency", [None, Decimal("20.5")])
def test_whole_dollars_add_up_from_budget_to_actual(efficiency):
    rows = dict(previous_quarter_text(previous(efficiency)).variance)
    *causes, actual = (Decimal(usd.replace(",", "")) for usd in rows.values() if usd != NOTHING)

    assert sum(causes) == actual == 1234


def test_without_a_last_review_there_is_nothing():
    assert previous_quarter_text(UnknownFigure(name="x", reason="y", remedy="z")) is None
