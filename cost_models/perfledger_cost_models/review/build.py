"""Builds the review of a quarter from a plan, prices, a bill and measured records."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from perfledger_cost_models.billing.bill_against_list import PaidPrice, compared_prices
from perfledger_cost_models.billing.focus import Bill
from perfledger_cost_models.billing.showback import LabelledUsage
from perfledger_cost_models.change_price.device_transfer import DeviceTransfers
from perfledger_cost_models.change_price.price import NO_TRANSFERS
from perfledger_cost_models.draws import DRAWS, SEED
from perfledger_cost_models.forecasting.forecast import Forecasts
from perfledger_cost_models.prices.price_sheet import PriceSheet, UnknownPrice
from perfledger_cost_models.prices.staleness import MAX_STALE_DAYS, StalePriceError
from perfledger_cost_models.procurement.commitment_sweep import (
    commitment_ladder,
    commitment_sweeps,
    with_least_cost,
)
from perfledger_cost_models.procurement.cost_model import (
    GROWTH,
    HOURS,
    YEARS,
    CostModel,
    PlanData,
    PurchaseOption,
)
from perfledger_cost_models.procurement.decision import PurchaseDecision, decide
from perfledger_cost_models.procurement.hour_shares import (
    HourShares,
    ShareStatement,
    planned_shares,
    reconcile,
)
from perfledger_cost_models.procurement.model_inputs import option_inputs, plan_inputs
from perfledger_cost_models.procurement.option_formulas import cost_model, first_need
from perfledger_cost_models.procurement.owned_supply import (
    SupplyYears,
    supplied_devices,
    supply_years,
)
from perfledger_cost_models.procurement.plan import (
    HoursKind,
    InputRange,
    ProcurementPlan,
    own_hardware_inputs,
)
from perfledger_cost_models.procurement.purchase_options import purchase_options
from perfledger_cost_models.projection.validation import ProjectionCheck
from perfledger_cost_models.review.billed_demand import billed_demand
from perfledger_cost_models.review.commitment_metrics import commitment_metrics, market_remarks
from perfledger_cost_models.review.demand_and_spend import (
    allocation_of,
    changes_of,
    demand_hours,
    efficiency_hours,
    hours_kind,
    team_hours,
    workload_hours,
)
from perfledger_cost_models.review.document import (
    BilledDemand,
    DemandSection,
    OptionFacts,
    PreviousDecision,
    Review,
    ReviewAttachment,
    ReviewSource,
    UnknownFigure,
)
from perfledger_cost_models.review.measured_changes import (
    QuarterRecords,
    measured_ratios,
    speeds_of,
)
from perfledger_cost_models.review.measured_shares import measured_shares
from perfledger_cost_models.review.option_details import DecidedModel, energy_inputs, option_facts
from perfledger_cost_models.review.plan_against_bill import (
    check_planned_hours,
    supply_utilization,
)
from perfledger_cost_models.review.previous_quarter import PreviousReview, previous_decision
from perfledger_cost_models.review.quarter import Quarter
from perfledger_cost_models.review.quarter_budget import quarter_budget
from perfledger_cost_models.review.quarter_forecast import quarter_forecasts
from perfledger_cost_models.review.queue_waits import RecordedWaits
from perfledger_cost_models.review.sections import performance_of, risks_of, supply_of
from perfledger_cost_models.scheduling.policy_comparison import PolicyComparison
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewInputs:
    """The inputs of a review; an optional input that is None is an unknown of the review."""

    quarter: Quarter
    today: date
    plan: ProcurementPlan
    sheet: PriceSheet
    parameters: HardwareInputSheet
    records: QuarterRecords | UnknownFigure
    bill: Bill | None
    bill_name: str
    last: PreviousReview | None
    sources: tuple[ReviewSource, ...]
    use: LabelledUsage | None = None
    waits: RecordedWaits | None = None
    policies: PolicyComparison | None = None
    forecast: Forecasts | None = None
    projection_check: ProjectionCheck | None = None
    activity: tuple[ShareStatement, ...] = ()  # the share that activity files show
    transfers: DeviceTransfers = NO_TRANSFERS
    attachments: tuple[ReviewAttachment, ...] = ()
    is_stale_allowed: bool = False


def build_review(facts: ReviewInputs) -> Review:
    """Return the review.

    Raises ProcurementPlanError (ShareContradictionError, PlanContradictionError among them),
    PriceMissingError, and StalePriceError for prices older than MAX_STALE_DAYS unless they are
    allowed; the review then lists them on its first page.
    """
    records = facts.records if isinstance(facts.records, QuarterRecords) else None
    speeds = () if records is None else records.speeds
    ratios = measured_ratios(speeds, accelerator=facts.plan.demand.accelerator)
    plan = msgspec.structs.replace(
        facts.plan, speed=speeds_of(ratios, planned_speeds=facts.plan.speed)
    )
    parameters = own_hardware_inputs(facts.parameters, plan.input, facts.today)
    holdings = _supply_of(plan, facts)
    shares = _shares(facts, holdings)
    check_planned_hours(plan.demand, facts.bill, holdings, shares, bill_name=facts.bill_name)
    figures = PlanData(plan=plan, sheet=facts.sheet, parameters=parameters, shares=shares)
    hours = demand_hours(
        plan, bill=facts.bill, bill_name=facts.bill_name, records=records, sheet=facts.sheet
    )
    bill_part = billed_demand(facts.bill, plan.demand, facts.quarter, bill_name=facts.bill_name)
    kind = hours_kind(plan.demand, facts.bill, shares)
    model = _model(figures, hours, kind, holdings)
    stale = _stale(model, facts)
    decision = decide(model)
    decided = DecidedModel(
        model=model, decision=decision, parameters=parameters, factors=plan.carbon
    )
    options = option_facts(decided)
    demand = _demand(facts, plan, model, bill_part)
    budget = quarter_budget(
        facts.quarter,
        model,
        decision.of(decision.recommendation).option,
        holdings,
        made_on=facts.today,
        forecast=demand.forecast,
    )
    expires, expired = _expiry(options, decision, model, facts.today)
    return Review(
        quarter=facts.quarter,
        made_on=facts.today,
        title=plan.title,
        is_example=plan.is_example,
        model=model,
        decision=decision,
        options=options,
        energy=energy_inputs(decided),
        expires=expires,
        expired=expired,
        stale=stale,
        unknown_prices=_unknown_prices(model, facts.sheet),
        demand=demand,
        supply=supply_of(
            model,
            holdings,
            facts.bill,
            paid=_paid_prices(facts),
            waits=facts.waits,
            policies=facts.policies,
        ),
        shares=shares.statements,
        performance=performance_of(
            facts.records, decision, ratios, model, check=facts.projection_check
        ),
        allocation=allocation_of(facts.bill, plan.team, facts.use),
        sweeps=commitment_sweeps(model),
        ladder=commitment_ladder(model),
        commitments=commitment_metrics(facts.bill, facts.sheet, accelerator=model.accelerator),
        market=market_remarks(holdings, model, today=facts.today),
        quarter_forecasts=quarter_forecasts(facts.forecast, facts.quarter),
        attachments=facts.attachments,
        last=_previous(facts, model, demand),
        expected_quarter=budget.expected,
        budget=budget,
        risks=risks_of(model, holdings, are_hours_configured=_are_hours_configured(facts)),
        sources=facts.sources,
        seed=SEED,
        draws=DRAWS,
    )


def _are_hours_configured(facts: ReviewInputs) -> bool:
    return facts.plan.demand.hours is None and facts.bill is None


def _shares(facts: ReviewInputs, holdings: Sequence[SupplyYears]) -> HourShares:
    """Return the shares of hours; raises ShareContradictionError, PlanContradictionError."""
    demand = facts.plan.demand
    measured = measured_shares(
        facts.bill, facts.use, accelerator=demand.accelerator, bill_name=facts.bill_name
    )
    supplied = supply_utilization(
        facts.bill, holdings, accelerator=demand.accelerator, bill_name=facts.bill_name
    )
    return reconcile((*planned_shares(demand), *measured, *supplied, *facts.activity))


def _paid_prices(facts: ReviewInputs) -> tuple[PaidPrice, ...]:
    if facts.bill is None:
        return ()
    return compared_prices(facts.bill, facts.sheet, name=facts.bill_name)


def _supply_of(plan: ProcurementPlan, facts: ReviewInputs) -> tuple[SupplyYears, ...]:
    """Return the supply; entries whose hours the demand excludes do not carry any of it."""
    demand, omission_reasons = plan.demand, dict[str, str]()
    for one in plan.supply if demand.hours is None else ():
        if one.accelerator != demand.accelerator:
            omission_reasons[one.name] = f"the demand counts {demand.accelerator} hours only"
        elif one.is_owned and facts.bill is not None:
            omission_reasons[one.name] = "the demand comes from the bill, which has no owned hours"
    return supply_years(
        plan.supply,
        accelerator=demand.accelerator,
        hours_per_hour={one.accelerator: one.hours.mode for one in plan.speed},
        start=facts.quarter.after.first,
        years=YEARS,
        omission_reasons=omission_reasons,
    )


def _model(
    figures: PlanData, hours: InputRange, kind: HoursKind, holdings: Sequence[SupplyYears]
) -> CostModel:
    supply = supplied_devices(holdings, years=YEARS)
    shared = plan_inputs(figures, hours=hours, kind=kind, supply=supply)
    options, unpriced = purchase_options(figures, need_hours=first_need(shared))

    def model_of(options: Sequence[PurchaseOption]) -> CostModel:
        return cost_model(
            figures.plan.demand.accelerator,
            options,
            keep=figures.plan.demand.keep,
            inputs=(*shared, *option_inputs(figures, options)),
            unpriced=unpriced,
        )

    return model_of(with_least_cost(model_of(options)))


def _unknown_prices(model: CostModel, sheet: PriceSheet) -> tuple[UnknownPrice, ...]:
    """Return the options without a known price, of the accelerators that the review compares."""
    accelerators = {option.accelerator for option in model.options}
    return tuple(each for each in sheet.unknown if each.accelerator in accelerators)


def _stale(model: CostModel, facts: ReviewInputs) -> tuple[str, ...]:
    """Describe the prices that are too old; raises StalePriceError unless they are allowed."""
    stale_inputs = tuple(
        f"{each.label}: {(facts.today - each.as_of).days} days, of {each.as_of}"
        for each in model.inputs
        if each.max_age is not None
        and each.as_of is not None
        and (facts.today - each.as_of).days > MAX_STALE_DAYS
    )
    if stale_inputs and not facts.is_stale_allowed:
        msg = (
            f"prices are older than {MAX_STALE_DAYS} days: {'; '.join(stale_inputs)}: update the "
            "sheet (perfledger prices update), remove the option from the plan, or pass "
            "--allow-stale-prices"
        )
        raise StalePriceError(msg)
    return stale_inputs


def _demand(
    facts: ReviewInputs, plan: ProcurementPlan, model: CostModel, bill_part: BilledDemand | None
) -> DemandSection:
    by_name = {each.name: each for each in model.inputs}
    return DemandSection(
        hours=by_name[HOURS],
        growth=by_name[GROWTH],
        teams=team_hours(facts.bill),
        workloads=workload_hours(facts.records, plan.team),
        changes=changes_of(facts.records, facts.sheet, transfers=facts.transfers),
        bill_part=bill_part,
        forecast=facts.forecast
        or UnknownFigure(
            name="hours and spend of the next months",
            reason="the plan names no past usage",
            remedy="files in its [forecast], as perfledger fleet forecast reads them",
        ),
    )


def _previous(
    facts: ReviewInputs, model: CostModel, demand: DemandSection
) -> PreviousDecision | UnknownFigure:
    if facts.last is None:
        return UnknownFigure(
            name="last quarter's decision and its outcome",
            reason="the last review is missing",
            remedy="--previous FILE: the review.json of the last quarter",
        )
    changes = demand.changes
    return previous_decision(
        facts.last,
        accelerator=model.accelerator,
        bill=facts.bill,
        efficiency_hours=None
        if isinstance(changes, UnknownFigure)
        else efficiency_hours(changes, accelerator=model.accelerator, quarter=facts.quarter),
        inputs=model.inputs,
    )


def _expiry(
    options: Sequence[OptionFacts], decision: PurchaseDecision, model: CostModel, today: date
) -> tuple[date | None, tuple[str, ...]]:
    """Return the day until which the compared prices are valid, and the options that expired."""
    days = {one.outcome.option.key: one.expires for one in options}
    decided = [days[decision.recommendation], days[model.keep.key]]
    expired = tuple(
        one.outcome.option.name
        for one in options
        if one.expires is not None and one.expires < today
    )
    return min((day for day in decided if day is not None), default=None), expired
