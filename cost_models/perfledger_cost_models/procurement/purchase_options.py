"""Builds the purchase options of a plan, and lists those without a price."""

from decimal import ROUND_CEILING, Decimal

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.prices.price_sheet import Price, PriceMissingError, PriceSheet
from perfledger_cost_models.prices.staleness import MaxAge, max_age_of
from perfledger_cost_models.procurement.cost_model import (
    YEARS,
    PlanData,
    PurchaseMode,
    PurchaseOption,
    SizeBasis,
    UnpricedOption,
)
from perfledger_cost_models.procurement.hour_shares import HourShare
from perfledger_cost_models.procurement.plan import (
    PlannedOption,
    ProcurementPlan,
    ProcurementPlanError,
)
from perfledger_cost_models.quote import price_day
from perfledger_cost_models.tco.onprem import SERVERS
from perfledger_cost_models.tco.purchase_modes import Payment, PurchaseTerms, terms_of


def purchase_options(
    figures: PlanData, *, need_hours: Decimal
) -> tuple[tuple[PurchaseOption, ...], tuple[UnpricedOption, ...]]:
    """Return the plan's options, and those without a price; `need_hours` is the first year's need.

    An option whose size the plan does not give carries that need: `with_least_cost` sizes it anew.
    Today's option must have an on-demand price: raises PriceMissingError or ProcurementPlanError.
    """
    options: list[PurchaseOption] = []
    unpriced: list[UnpricedOption] = []
    for number, planned in enumerate(figures.plan.option, start=1):
        try:
            option = _option(f"w{number}", planned, figures, need_hours)
        except (PriceMissingError, ProcurementPlanError) as error:
            if planned.where == figures.plan.demand.keep:
                raise
            unpriced.append(
                UnpricedOption(name=planned.name, where=planned.where, reason=str(error))
            )
        else:
            options.append(option)
    keep = next(option for option in options if option.where == figures.plan.demand.keep)
    accelerator = figures.plan.demand.accelerator
    if keep.mode is not PurchaseMode.PAY_AS_YOU_GO or keep.accelerator != accelerator:
        msg = f"keep is {keep.where!r}: name one that sells {accelerator} on demand"
        raise ProcurementPlanError(msg)
    return tuple(options), tuple(unpriced)


def _option(
    key: str, planned: PlannedOption, figures: PlanData, need_hours: Decimal
) -> PurchaseOption:
    server = next((one for one in SERVERS if one.option == planned.where), None)
    price = None if server is not None else figures.sheet.find(planned.where)
    terms = None if price is None else terms_of(price)
    accelerator = price.accelerator if price is not None else server.accelerator if server else ""
    mode = _mode(price, terms)
    ratio = _ratio(figures.plan, accelerator)
    if mode is PurchaseMode.SPOT and figures.plan.spot is None:
        msg = "its interruption rate is unknown: add [spot] to the plan"
        raise ProcurementPlanError(msg)
    count = server.accelerators if server is not None else price.count if price is not None else 1
    is_sized = mode in {PurchaseMode.COMMITMENT, PurchaseMode.OWNED}
    if mode is PurchaseMode.COMMITMENT and terms is not None and terms.years not in {1, YEARS}:
        msg = f"its term is {terms.years} years: use a term of 1 or {YEARS} years"
        raise ProcurementPlanError(msg)
    if price is not None:
        _require_confirmed(price, figures.sheet, planned.where)
    return PurchaseOption(
        key=key,
        name=planned.name,
        where=planned.where,
        mode=mode,
        accelerator=accelerator,
        devices=_size(planned, figures, need_hours * ratio, count) if is_sized else None,
        size_basis=SizeBasis.FIRST_NEED if planned.devices is None else SizeBasis.PLANNED,
        years=0 if terms is None else terms.years,
        upfront_share=Decimal(0) if terms is None else terms.upfront_share,
        lead_time=planned.lead_time,
        note=planned.note,
        terms=terms,
        server=server,
        sold_together=count,
        hours_ratio=_ratio_name(figures.plan, accelerator),
    )


def _require_confirmed(price: Price, sheet: PriceSheet, where: str) -> None:
    """Check that a decision may rest on the price of an option.

    Raises ProcurementPlanError for a price that a rejected row would replace, for one that has
    replaced a newer one, and for one whose list states no day, because it may be years old.
    """
    rejected = sheet.rejection_of(price)
    if rejected is not None:
        msg = f"{rejected.text}: correct it, or give the price in --overrides with confirmed_on"
        raise ProcurementPlanError(msg)
    if price.newer_below is not None:
        msg = (
            f"{where}: its price of {price.as_of} replaces a newer one of {price.newer_below}: "
            "leave it out, or confirm it with a dated [[price]] in --overrides"
        )
        raise ProcurementPlanError(msg)
    if price.is_read_date:
        day = price_day(price.as_of, is_read_date=True)
        msg = f"{where}: its price was {day}: confirm it with a dated [[price]] in --overrides"
        raise ProcurementPlanError(msg)


def _mode(price: Price | None, terms: PurchaseTerms | None) -> PurchaseMode:
    if price is None or terms is None:
        return PurchaseMode.OWNED
    if max_age_of(price.pricing_model) is MaxAge.SPOT:
        return PurchaseMode.SPOT
    if terms.payment is Payment.USED:
        return PurchaseMode.PAY_AS_YOU_GO
    return PurchaseMode.COMMITMENT if terms.years else PurchaseMode.BLOCK


def _ratio(plan: ProcurementPlan, accelerator: str) -> Decimal:
    if accelerator == plan.demand.accelerator:
        return Decimal(1)
    for speed in plan.speed:
        if speed.accelerator == accelerator:
            return speed.hours.mode
    msg = (
        f"the number of {accelerator} hours that replace one {plan.demand.accelerator} hour is "
        "unknown: measure a workload on both, or add [[speed]] to the plan"
    )
    raise ProcurementPlanError(msg)


def _ratio_name(plan: ProcurementPlan, accelerator: str) -> str:
    """Return the model's name of an accelerator's hours ratio: that of its [[speed]] by number."""
    if accelerator == plan.demand.accelerator:
        return ""
    number = [speed.accelerator for speed in plan.speed].index(accelerator) + 1
    return f"hours_ratio_{number}"


def _size(option: PlannedOption, figures: PlanData, need_hours: Decimal, count: int) -> int:
    """Return the devices to buy: as planned, else enough whole instances to carry the need."""
    if option.devices is not None:
        if option.devices % count:
            msg = (
                f"{option.name}: {option.devices} devices, but one {option.where} has {count}: "
                "plan a multiple"
            )
            raise ProcurementPlanError(msg)
        return option.devices
    utilization = figures.shares.required(HourShare.COMMITMENT_UTILIZATION).mode
    instances = need_hours / (HOURS_PER_YEAR * utilization * count)
    return count * max(1, int(instances.to_integral_value(rounding=ROUND_CEILING)))
