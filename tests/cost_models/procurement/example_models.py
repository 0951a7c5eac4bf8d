"""Cost models of plans, by the packaged prices."""

from dataclasses import replace
from decimal import Decimal

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.procurement.cost_model import PlanData
from perfledger_cost_models.procurement.hour_shares import planned_shares, reconcile
from perfledger_cost_models.procurement.model_inputs import option_inputs, plan_inputs
from perfledger_cost_models.procurement.option_formulas import cost_model, first_need
from perfledger_cost_models.procurement.plan import read_plan
from perfledger_cost_models.procurement.purchase_options import purchase_options
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs

PACKAGED = packaged_sheet()
# The packaged prices as somebody confirmed them with a date: a review decides on no others.
CONFIRMED = replace(
    PACKAGED, prices=tuple(replace(price, is_read_date=False) for price in PACKAGED.prices)
)


def a_model(text, *, sheet=PACKAGED, supply=(Decimal(0),) * 3):
    """Return the cost model of a plan, by the packaged prices unless it is given others."""
    plan = read_plan(text, "plan.toml")
    figures = PlanData(
        plan=plan,
        sheet=sheet,
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
