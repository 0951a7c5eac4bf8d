"""A plan, prices and a quarter's facts into the review of the quarter."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

import msgspec

from perfledger_cost_models.age import StalePriceError
from perfledger_cost_models.budget import Outlook
from perfledger_cost_models.decision import Decision, at_modes, decide
from perfledger_cost_models.draws import DRAWS, SEED
from perfledger_cost_models.focus import Bill
from perfledger_cost_models.forecast import Forecasts
from perfledger_cost_models.last_review import LastReview, last_decision
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.option_facts import Known, option_facts
from perfledger_cost_models.parameter import ParameterSheet
from perfledger_cost_models.policy_gain import PolicyComparison
from perfledger_cost_models.procurement import (
    GROWTH,
    HOURS,
    YEARS,
    Figures,
    Model,
    plan_inputs,
    way_inputs,
    ways_of,
)
from perfledger_cost_models.procurement_plan import Plan, Range, own_parameters
from perfledger_cost_models.projection import ProjectionCheck
from perfledger_cost_models.quarter import Quarter
from perfledger_cost_models.recorded_waits import RecordedWaits
from perfledger_cost_models.review import (
    Demand,
    LastDecision,
    OptionFacts,
    Review,
    Source,
    Unknown,
)
from perfledger_cost_models.review_facts import (
    allocation_of,
    changes_of,
    demand_hours,
    efficiency_hours,
    team_hours,
    workload_hours,
)
from perfledger_cost_models.review_records import Records, measured_ratios, speeds_of
from perfledger_cost_models.review_sections import performance_of, risks_of, supply_of
from perfledger_cost_models.sheet import PriceSheet, UnknownPrice
from perfledger_cost_models.showback import Use
from perfledger_cost_models.supply import Held, held, supplied
from perfledger_cost_models.way_costs import first_need, model_of

# A procurement review fails on prices that are older: cost.md of the specification, section 7.1.
MAX_STALE_DAYS = 180
QUARTERS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All that a review is made from; what there is none of is None, and the review says so."""

    quarter: Quarter
    today: date
    plan: Plan
    sheet: PriceSheet
    parameters: ParameterSheet
    records: Records | Unknown
    bill: Bill | None
    bill_name: str
    last: LastReview | None
    sources: tuple[Source, ...]
    use: Use | None = None
    waits: RecordedWaits | None = None
    policies: PolicyComparison | None = None
    forecast: Forecasts | None = None
    projection_check: ProjectionCheck | None = None
    is_stale_allowed: bool = False


def review_of(facts: Facts) -> Review:
    """Return the review.

    Raises PlanError, PriceMissingError, and StalePriceError for prices of more than MAX_STALE_DAYS
    unless they were allowed: the review then says so on its first page.
    """
    records = facts.records if isinstance(facts.records, Records) else None
    speeds = () if records is None else records.speeds
    ratios = measured_ratios(speeds, accelerator=facts.plan.demand.accelerator)
    plan = msgspec.structs.replace(facts.plan, speed=speeds_of(ratios, known=facts.plan.speed))
    parameters = own_parameters(facts.parameters, plan.input, facts.today)
    holdings = _held(plan, facts)
    figures = Figures(plan=plan, sheet=facts.sheet, parameters=parameters)
    model = _model(figures, _hours(plan, records, facts), holdings)
    stale = _stale(model, facts)
    decision = decide(model)
    known = Known(model=model, decision=decision, parameters=parameters, factors=plan.carbon)
    options = option_facts(known)
    demand = _demand(facts, plan, model)
    expires, expired = _expiry(options, decision, model, facts.today)
    return Review(
        quarter=facts.quarter,
        made_on=facts.today,
        title=plan.title,
        is_example=plan.is_example,
        model=model,
        decision=decision,
        options=options,
        expires=expires,
        expired=expired,
        stale=stale,
        unknown_prices=_unknown_prices(model, facts.sheet),
        demand=demand,
        supply=supply_of(model, holdings, facts.bill, facts.waits, facts.policies),
        performance=performance_of(
            facts.records, decision, ratios, model, check=facts.projection_check
        ),
        allocation=allocation_of(facts.bill, plan.team, facts.use),
        last=_last(facts, model, demand),
        outlook=_outlook(facts.quarter, model, decision, holdings),
        risks=risks_of(model, holdings),
        sources=facts.sources,
        seed=SEED,
        draws=DRAWS,
    )


def _hours(plan: Plan, records: Records | None, facts: Facts) -> Range:
    """Return the useful hours a year that are needed."""
    return demand_hours(
        plan, bill=facts.bill, bill_name=facts.bill_name, records=records, sheet=facts.sheet
    )


def _held(plan: Plan, facts: Facts) -> tuple[Held, ...]:
    """Return what is there; hours that the demand does not hold are not carried by it either."""
    demand, left_out = plan.demand, dict[str, str]()
    for one in plan.supply if demand.hours is None else ():
        if one.accelerator != demand.accelerator:
            left_out[one.name] = f"the demand is of {demand.accelerator} hours alone"
        elif one.is_owned and facts.bill is not None:
            left_out[one.name] = "the demand is the bill's, which holds no owned hours"
    return held(
        plan.supply,
        accelerator=demand.accelerator,
        hours_per_hour={one.accelerator: one.hours.mode for one in plan.speed},
        start=facts.quarter.after.first,
        years=YEARS,
        left_out=left_out,
    )


def _model(figures: Figures, hours: Range, holdings: Sequence[Held]) -> Model:
    supply = supplied(holdings, years=YEARS)
    shared = plan_inputs(figures, hours=hours, supply=supply)
    ways, unpriced = ways_of(figures, need_hours=first_need(shared))
    return model_of(
        figures.plan.demand.accelerator,
        ways,
        keep=figures.plan.demand.keep,
        inputs=(*shared, *way_inputs(figures, ways)),
        unpriced=unpriced,
    )


def _unknown_prices(model: Model, sheet: PriceSheet) -> tuple[UnknownPrice, ...]:
    """Return the options that the review could not look at, of accelerators that it does."""
    accelerators = {way.accelerator for way in model.ways}
    return tuple(each for each in sheet.unknown if each.accelerator in accelerators)


def _stale(model: Model, facts: Facts) -> tuple[str, ...]:
    """Return prices that are too old to buy by, in words; raises StalePriceError for any."""
    found = tuple(
        f"{each.words}: {(facts.today - each.as_of).days} days, of {each.as_of}"
        for each in model.inputs
        if each.shelf is not None
        and each.as_of is not None
        and (facts.today - each.as_of).days > MAX_STALE_DAYS
    )
    if found and not facts.is_stale_allowed:
        msg = (
            f"prices older than {MAX_STALE_DAYS} days, on which nobody should buy: "
            f"{'; '.join(found)}: update the sheet (perfledger prices update), take the option out "
            "of the plan, or say --allow-stale-prices, which the review then prints"
        )
        raise StalePriceError(msg)
    return found


def _demand(facts: Facts, plan: Plan, model: Model) -> Demand:
    by_name = {each.name: each for each in model.inputs}
    return Demand(
        hours=by_name[HOURS],
        growth=by_name[GROWTH],
        teams=team_hours(facts.bill),
        workloads=workload_hours(facts.records, plan.team),
        changes=changes_of(facts.records, facts.sheet),
        forecast=facts.forecast
        or Unknown(
            what="what the next months need and cost",
            why="the plan names no files of the past",
            how="files in its [forecast]: what perfledger cost forecast reads",
        ),
    )


def _outlook(
    quarter: Quarter, model: Model, decision: Decision, holdings: Sequence[Held]
) -> Outlook:
    """Return the next quarter's budget: hours held at what they cost, the rest at the way taken."""
    likely = at_modes(model)
    hours, need = (to_decimal(likely[name][0]) / QUARTERS for name in ("hours_1", "need_1"))
    name, hour = quarter.after.name, decision.of(decision.take).hour
    shares = [
        (one.usd_per_year, one.share_of(quarter.after.first, quarter.after.after.first))
        for one in holdings
        if not one.is_owned
    ]
    costs = [(usd, share) for usd, share in shares if share]
    known = [usd * share for usd, share in costs if usd is not None]
    if len(known) < len(costs) or (hour is None and need > 0):
        why = "what a commitment of the supply costs a year is not known: add usd_per_year to it"
        return Outlook(quarter=name, hours=hours, usd=None, why=why)
    held_usd = sum(known, Decimal(0)) / QUARTERS
    return Outlook(quarter=name, hours=hours, usd=held_usd + need * (hour or Decimal(0)))


def _last(facts: Facts, model: Model, demand: Demand) -> LastDecision | Unknown:
    if facts.last is None:
        return Unknown(
            what="last quarter's decision against what happened",
            why="the last review was not given",
            how="--last FILE: the review.json that was written then",
        )
    changes = demand.changes
    return last_decision(
        facts.last,
        accelerator=model.accelerator,
        bill=facts.bill,
        efficiency_hours=None
        if isinstance(changes, Unknown)
        else efficiency_hours(changes, accelerator=model.accelerator, quarters=QUARTERS),
        inputs=model.inputs,
    )


def _expiry(
    options: Sequence[OptionFacts], decision: Decision, model: Model, today: date
) -> tuple[date | None, tuple[str, ...]]:
    """Return until when what is decided between keeps its prices, and whose do not any more."""
    days = {one.outcome.way.key: one.expires for one in options}
    decided = [days[decision.take], days[model.keep.key]]
    expired = tuple(
        one.outcome.way.name for one in options if one.expires is not None and one.expires < today
    )
    return min((day for day in decided if day is not None), default=None), expired
