"""Computes an option's lock-in, exit value, energy, return and price expiry."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from perfledger.time_units import MONTHS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.discounting import CashFlows, internal_rate_of_return, payback_years
from perfledger_cost_models.energy.energy import CarbonEmissions, carbon_emissions
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.prices.staleness import MAX_AGE_DAYS
from perfledger_cost_models.procurement.cost_model import (
    RESIDUAL,
    CostModel,
    ModelInput,
    PurchaseMode,
    PurchaseOption,
)
from perfledger_cost_models.procurement.decision import (
    OptionOutcome,
    PurchaseDecision,
    evaluate_at_modes,
)
from perfledger_cost_models.procurement.plan import CarbonFactors
from perfledger_cost_models.review.document import EnergyInputs, OptionFacts, UnknownFigure
from perfledger_cost_models.review.hour_cost import break_even, hour_curves
from perfledger_cost_models.tco.hardware_inputs import HardwareInputSheet
from perfledger_cost_models.tco.onprem import SERVERS

GRID_CARBON = "carbon_intensity_us_location"
USES = tuple(percent / 100 for percent in range(10, 101, 5))  # of the break-even curve


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedModel:
    """A cost model with its decision, hardware inputs and emission factors."""

    model: CostModel
    decision: PurchaseDecision
    parameters: HardwareInputSheet
    factors: CarbonFactors | None

    def input(self, name: str) -> ModelInput:
        """Return an input of the model."""
        return next(each for each in self.model.inputs if each.name == name)


def option_facts(decided: DecidedModel) -> tuple[OptionFacts, ...]:
    """Return the details of every option, in the model's order."""
    likely = evaluate_at_modes(decided.model)
    status_quo = decided.decision.of(decided.model.keep.key)
    curves = hour_curves(decided.model, USES)
    return tuple(
        _facts(decided, each, status_quo, likely, curves[each.option.key])
        for each in decided.decision.outcomes
    )


def energy_inputs(decided: DecidedModel) -> EnergyInputs:
    """Return what the energy and emissions of rented devices are computed from."""
    find, factors = decided.parameters.find, decided.factors
    pue, grid = find("pue_hyperscale"), find(GRID_CARBON)
    location = None if factors is None else factors.location_kg_per_kwh
    source = "" if factors is None else factors.source
    used = {option.accelerator for option in decided.model.options if option.server is None}
    powers = {
        server.accelerator: (find(server.max_power).mode, server.accelerators)
        for server in SERVERS
        if server.accelerator in used
    }
    return EnergyInputs(
        server_kw=tuple((name, *powers[name]) for name in sorted(powers)),
        load=find("average_load_power_fraction").mode,
        pue=pue.mode,
        pue_source=pue.source,
        location_kg_per_kwh=grid.mode if location is None else location,
        location_source=grid.source if location is None else source,
        market_kg_per_kwh=None if factors is None else factors.market_kg_per_kwh,
        market_source=source,
    )


def expiry(price: ModelInput) -> date | None:
    """Return the last day on which a price is valid; None for other inputs and undated prices."""
    if price.max_age is None or price.as_of is None:
        return None
    return price.as_of + timedelta(days=MAX_AGE_DAYS[price.max_age])


def _facts(
    decided: DecidedModel,
    outcome: OptionOutcome,
    status_quo: OptionOutcome,
    likely: dict[str, FloatArray],
    curve: tuple[Decimal, ...],
) -> OptionFacts:
    option = outcome.option
    flows = _savings(outcome, status_quo)
    is_upfront = option != status_quo.option and flows.once[0] < 0
    return OptionFacts(
        outcome=outcome,
        break_even=break_even(decided.model, option),
        lock_in_months=MONTHS_PER_YEAR * option.years,
        owed_usd=_payments_left(option, likely),
        resale=_resale(decided, option),
        carbon=_carbon(decided, option, likely),
        return_per_year=internal_rate_of_return(flows) if is_upfront else None,
        payback_years=payback_years(flows) if is_upfront else None,
        expires=expiry(decided.input(option.rate)),
        curve=tuple(zip(USES, curve, strict=True)),
    )


def _savings(outcome: OptionOutcome, status_quo: OptionOutcome) -> CashFlows:
    """Return how much less an option pays than today's, at the most likely inputs."""
    pairs = tuple(zip(status_quo.paid, status_quo.once, outcome.paid, outcome.once, strict=True))
    return CashFlows(
        once=tuple(float(once - ours) for _, once, _, ours in pairs),
        monthly=tuple(
            float((paid - once) - (our_paid - our_once))
            for paid, once, our_paid, our_once in pairs[1:]
        ),
    )


def _payments_left(option: PurchaseOption, likely: dict[str, FloatArray]) -> Decimal:
    if option.mode is not PurchaseMode.COMMITMENT:
        return Decimal(0)
    return (
        to_decimal(likely[f"{option.key}_term"][0])
        * (option.years - 1)
        * (1 - option.upfront_share)
    )


def _resale(
    decided: DecidedModel, option: PurchaseOption
) -> tuple[Decimal, Decimal, Decimal] | None:
    if option.server is None or option.devices is None:
        return None
    nodes = Decimal(option.devices) / option.server.accelerators
    price, share = decided.input(option.server.price), decided.input(RESIDUAL)
    return (
        nodes * price.low * share.low,
        nodes * price.mode * share.mode,
        nodes * price.high * share.high,
    )


def _carbon(
    decided: DecidedModel, option: PurchaseOption, likely: dict[str, FloatArray]
) -> CarbonEmissions | UnknownFigure:
    kwh = _kwh(decided, option, likely)
    if kwh is None:
        return UnknownFigure(
            name=f"energy and carbon of {option.name}",
            reason=f"the power of a {option.accelerator} is unknown",
            remedy="measure its power",
        )
    energy = energy_inputs(decided)
    market = energy.market_kg_per_kwh
    return carbon_emissions(
        kwh,
        location_kg_per_kwh=float(energy.location_kg_per_kwh),
        market_kg_per_kwh=None if market is None else float(market),
    )


def _kwh(
    decided: DecidedModel, option: PurchaseOption, likely: dict[str, FloatArray]
) -> float | None:
    """Return the energy of the first year's hours; None if a device's power is unknown.

    What a commitment or owned devices do not carry runs on the model's accelerator; so does the
    part of spot hours that is done on demand, while the rest includes the hours of repeated work.
    """
    need, ratio = float(likely["need_1"][0]), float(_ratio(decided, option))
    own_hours, beyond = need * ratio, 0.0
    match option.mode:
        case PurchaseMode.COMMITMENT | PurchaseMode.OWNED:
            beyond = max(0.0, need - float(likely[f"{option.key}_carried"][0]))
            own_hours = (need - beyond) * ratio
        case PurchaseMode.SPOT:
            beyond = need * float(decided.input(f"{option.key}_fallback").mode)
            overhead = float(decided.input(f"{option.key}_overhead").mode)
            own_hours = (need - beyond) * overhead * ratio
        case PurchaseMode.PAY_AS_YOU_GO | PurchaseMode.BLOCK:
            pass
    if option.mode is PurchaseMode.OWNED:
        device_kwh: float | None = float(likely[f"{option.key}_kwh_1"][0])
    else:
        device_kwh = _rented_kwh(decided, option.accelerator, own_hours)
    rest_kwh = _rented_kwh(decided, decided.model.accelerator, beyond)
    return None if device_kwh is None or rest_kwh is None else device_kwh + rest_kwh


def _rented_kwh(decided: DecidedModel, accelerator: str, hours: float) -> float | None:
    if hours == 0:
        return 0.0
    energy = energy_inputs(decided)
    server = next((one for one in energy.server_kw if one[0] == accelerator), None)
    if server is None:
        return None
    _, kilowatts, devices = server
    return hours * float(kilowatts) / devices * float(energy.load) * float(energy.pue)


def _ratio(decided: DecidedModel, option: PurchaseOption) -> Decimal:
    return decided.input(option.hours_ratio).mode if option.hours_ratio else Decimal(1)
