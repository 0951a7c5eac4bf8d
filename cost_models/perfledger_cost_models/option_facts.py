"""What a way comes to into all else that one decides by: lock-in, exit, energy, return, expiry."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import assert_never

from perfledger_cost_models.age import MAX_AGE_DAYS
from perfledger_cost_models.comparison import BreakEven, break_even
from perfledger_cost_models.decision import Decision, Outcome, at_modes
from perfledger_cost_models.draws import FloatArray
from perfledger_cost_models.energy import Carbon, carbon
from perfledger_cost_models.finance import (
    FinanceError,
    internal_rate_of_return,
    payback_years,
)
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.onprem import (
    HOURS_PER_YEAR,
    LICENCES,
    SERVERS,
    figures_of,
    yearly_cost,
)
from perfledger_cost_models.parameter import ParameterSheet
from perfledger_cost_models.procurement import (
    RESIDUAL,
    WACC,
    Input,
    Kind,
    Model,
    Way,
    hours_of,
)
from perfledger_cost_models.procurement_plan import CarbonFactors
from perfledger_cost_models.purchase import break_even_use
from perfledger_cost_models.review import OptionFacts, Unknown

MONTHS = 12
GRID_CARBON = "carbon_intensity_us_location"
USES = tuple(percent / 100 for percent in range(10, 101, 5))  # of the break-even curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A decided model, and what facts of its ways are read from."""

    model: Model
    decision: Decision
    parameters: ParameterSheet
    factors: CarbonFactors | None

    def input(self, name: str) -> Input:
        """Return an input of the model."""
        return next(each for each in self.model.inputs if each.name == name)


def option_facts(known: Known) -> tuple[OptionFacts, ...]:
    """Return the facts of every way, in the model's order."""
    likely = at_modes(known.model)
    kept = known.decision.of(known.model.keep.key)
    return tuple(_facts(known, each, kept, likely) for each in known.decision.outcomes)


def expiry(price: Input) -> date | None:
    """Return the last day on which a price keeps; None for what is no price or has no day."""
    if price.shelf is None or price.as_of is None:
        return None
    return price.as_of + timedelta(days=MAX_AGE_DAYS[price.shelf])


def _facts(
    known: Known, outcome: Outcome, kept: Outcome, likely: dict[str, FloatArray]
) -> OptionFacts:
    way = outcome.way
    flows = [float(before - now) for before, now in zip(kept.paid, outcome.paid, strict=True)]
    return OptionFacts(
        outcome=outcome,
        break_even=_break_even(known, way),
        lock_in_months=MONTHS * way.years,
        owed_usd=_owed(way, likely),
        resale=_resale(known, way),
        carbon=_carbon(known, way, likely),
        return_per_year=_return(flows) if way != kept.way else None,
        payback_years=_payback(flows) if way != kept.way else None,
        expires=expiry(known.input(way.rate)),
        curve=tuple((use, _hour_at(known, way, use)) for use in USES),
    )


def _break_even(known: Known, way: Way) -> BreakEven | None:
    """Return the use from which a way costs less than hours bought one by one."""
    ratio = float(_ratio(known, way))
    price = float(known.input(known.model.keep.rate).mode) / ratio
    if way.server is not None:
        return break_even(way.server, known.parameters, usd_per_hour=price)
    if way.kind is Kind.COMMITMENT and way.mode is not None and known.model.keep.mode is not None:
        wacc = float(known.input(WACC).mode)
        use = break_even_use(way.mode, known.model.keep.mode, wacc=wacc)
        share = None if use is None or float(use) * ratio > 1 else float(use) * ratio
    elif way.kind is Kind.BLOCK:
        share = float(known.input(way.rate).mode) / price
        share = share if share <= 1 else None
    else:
        return None
    return BreakEven(p5=share, p50=share, p95=share, chance_ever=float(share is not None))


def _owed(way: Way, likely: dict[str, FloatArray]) -> Decimal:
    if way.kind is not Kind.COMMITMENT:
        return Decimal(0)
    return to_decimal(likely[f"{way.key}_term"][0]) * (way.years - 1) * (1 - way.upfront_share)


def _resale(known: Known, way: Way) -> tuple[Decimal, Decimal, Decimal] | None:
    if way.server is None or way.devices is None:
        return None
    nodes = Decimal(way.devices) / way.server.accelerators
    price, share = known.input(way.server.price), known.input(RESIDUAL)
    return (
        nodes * price.low * share.low,
        nodes * price.mode * share.mode,
        nodes * price.high * share.high,
    )


def _carbon(known: Known, way: Way, likely: dict[str, FloatArray]) -> Carbon | Unknown:
    kwh = _kwh(known, way, likely)
    if kwh is None:
        return Unknown(
            what=f"energy and carbon of {way.name}",
            why=f"nothing says what a {way.accelerator} draws",
            how="measure its power",
        )
    factors = known.factors
    grid = float(known.parameters.find(GRID_CARBON).mode)
    location = None if factors is None else factors.location_kg_per_kwh
    market = None if factors is None else factors.market_kg_per_kwh
    return carbon(
        kwh,
        location_kg_per_kwh=grid if location is None else float(location),
        market_kg_per_kwh=None if market is None else float(market),
    )


def _kwh(known: Known, way: Way, likely: dict[str, FloatArray]) -> float | None:
    """Return the energy of the first year's hours; None where nothing says what devices draw."""
    need = float(likely["need_1"][0])
    if way.kind is Kind.OWNED:
        beyond = max(0.0, need - float(likely[f"{way.key}_carried"][0]))
        rest = _rented_kwh(known, known.model.accelerator, beyond)
        return None if rest is None else float(likely[f"{way.key}_kwh_1"][0]) + rest
    return _rented_kwh(known, way.accelerator, need * float(_ratio(known, way)))


def _rented_kwh(known: Known, accelerator: str, hours: float) -> float | None:
    if hours == 0:
        return 0.0
    server = next((one for one in SERVERS if one.accelerator == accelerator), None)
    if server is None:
        return None
    power, load, pue = (
        float(known.parameters.find(name).mode)
        for name in (server.max_power, "average_load_power_fraction", "pue_hyperscale")
    )
    return hours * power / server.accelerators * load * pue


def _return(flows: list[float]) -> float | None:
    try:
        return internal_rate_of_return(flows)
    except FinanceError:
        return None


def _payback(flows: list[float]) -> float | None:
    return payback_years(flows) if flows[0] < 0 else None


def _ratio(known: Known, way: Way) -> Decimal:
    if way.accelerator == known.model.accelerator:
        return Decimal(1)
    return known.input(hours_of(way.key)).mode


def _hour_at(known: Known, way: Way, use: float) -> Decimal:
    """Return what a useful hour costs when `use` of the hours held are useful, all else likely."""
    ratio, wacc = _ratio(known, way), float(known.input(WACC).mode)
    match way.kind:
        case Kind.PAY_AS_YOU_GO:
            return ratio * known.input(way.rate).mode
        case Kind.BLOCK:
            return ratio * known.input(way.rate).mode / to_decimal(use)
        case Kind.SPOT:
            fallback = known.input(f"{way.key}_fallback").mode
            spot = ratio * known.input(f"{way.key}_overhead").mode * known.input(way.rate).mode
            return (1 - fallback) * spot + fallback * known.input(known.model.keep.rate).mode
        case Kind.COMMITMENT if way.mode is not None:
            return ratio * way.mode.usd_per_useful_hour(use, wacc=wacc)
        case Kind.OWNED if way.server is not None:
            cost = yearly_cost(
                way.server,
                figures_of(known.parameters, {}),
                licence=known.parameters.find(LICENCES).mode,
                utilization=use,
            )
            hours = to_decimal(use) * HOURS_PER_YEAR * way.server.accelerators
            return ratio * to_decimal(cost.total_usd[0]) / hours
        case Kind.COMMITMENT | Kind.OWNED:  # pragma: no cover - they have a mode or a server
            msg = f"{way.name} has neither a price nor a server"
            raise ValueError(msg)
        case _ as unreachable:
            assert_never(unreachable)
