from decimal import Decimal

import pytest

from perfledger_cost_models.prices.packaged_prices import packaged_sheet
from perfledger_cost_models.procurement.cost_model import (
    PlanData,
)
from perfledger_cost_models.procurement.hour_shares import planned_shares, reconcile
from perfledger_cost_models.procurement.model_inputs import option_inputs, plan_inputs
from perfledger_cost_models.procurement.option_formulas import cost_model, first_need
from perfledger_cost_models.procurement.plan import read_plan
from perfledger_cost_models.procurement.purchase_options import purchase_options
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs


def a_model(text, supply=(Decimal(0),) * 3):
    plan = read_plan(text, "plan.toml")
    figures = PlanData(
        plan=plan,
        sheet=packaged_sheet(),
        parameters=packaged_hardware_inputs(),
        shares=reconcile(planned_shares(plan.demand)),
    )
    assert plan.demand.hours is not None
    shared = plan_inputs(
        figures, hours=plan.demand.hours, kind=plan.demand.hours_kind, supply=supply
    )
    options, unpriced = purchase_options(figures, need_hours=first_need(shared))
    return cost_model(
        plan.demand.accelerator,
        options,
        keep=plan.demand.keep,
        inputs=(*shared, *option_inputs(figures, options)),
        unpriced=unpriced,
    )


@pytest.fixture
def model(plan_text, all_options):
    return a_model(plan_text + all_options)


def test_inputs_that_ways_share_are_one(model):
    names = [each.name for each in model.inputs]

    assert len(set(names)) == len(names)
