"""Computes what an hour of each option costs at any utilization, by the review's own formulas."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import numpy as np

from perfledger.rounding import to_significant
from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.procurement.cost_model import (
    ALLOCATED_SHARE,
    BUSY_SHARE,
    COMMITMENT_UTILIZATION,
    GROWTH,
    HOURS,
    PLAN_YEARS,
    CostModel,
    PurchaseMode,
    PurchaseOption,
)
from perfledger_cost_models.procurement.decision import draws_of, evaluate
from perfledger_cost_models.procurement.option_formulas import NEED_WORTH
from perfledger_cost_models.tco.buy_vs_rent import NO_BREAK_EVEN_USE, BreakEven
from perfledger_cost_models.tco.onprem import QUANTILES

_HALF = 0.5
_DIGITS = 12  # the next ones are noise of floats, which would make an hourly price waver
_WITH_BREAK_EVEN = {PurchaseMode.COMMITMENT, PurchaseMode.BLOCK, PurchaseMode.OWNED}


def hour_curves(model: CostModel, uses: Sequence[float]) -> dict[str, tuple[Decimal, ...]]:
    """Return USD per needed hour of each option, by its key, at each of these utilizations.

    All other inputs are at their most likely values.
    """
    values = {each.name: np.array([float(each.mode)]) for each in model.inputs}
    points = [_hours_at(model, values, use) for use in uses]
    return {
        option.key: tuple(
            to_decimal(to_significant(float(point[option.key][0]), _DIGITS)) for point in points
        )
        for option in model.options
    }


def break_even(model: CostModel, option: PurchaseOption) -> BreakEven | None:
    """Return the utilization from which an option costs less than today's over the same years.

    None for an option that is paid by the hour. A needed hour costs (c0 + c1 u) / u at the
    utilization u, because only the energy of owned devices depends on it; two points give c0 and
    c1, and u* = c0 / (price - c1) with the price of today's option. The inputs of owned devices are
    drawn; a commitment and a block have the value at the most likely inputs.
    """
    if option.mode not in _WITH_BREAK_EVEN:
        return None
    is_drawn = option.mode is PurchaseMode.OWNED
    values = {
        each.name: draws_of(each) if is_drawn else np.array([float(each.mode)])
        for each in model.inputs
    }
    at_full, at_half = (_hours_at(model, values, use) for use in (1.0, _HALF))
    full, half = at_full[option.key], _HALF * at_half[option.key]
    by_use = (full - half) / (1 - _HALF)
    fixed, margin = full - by_use, at_full[model.keep.key] - by_use
    never = np.full_like(fixed, NO_BREAK_EVEN_USE)
    uses = np.divide(fixed, margin, out=never, where=margin > 0)
    p5, p50, p95 = (use if use <= 1 else None for use in np.quantile(uses, QUANTILES).tolist())
    return BreakEven(p5=p5, p50=p50, p95=p95, chance_ever=float((uses <= 1).mean()))


def _hours_at(
    model: CostModel, values: Mapping[str, FloatArray], use: float
) -> dict[str, FloatArray]:
    """Return present value / need of each option whose devices carry all of the need.

    The need is the same in each year, and without supply; every option with devices has as many as
    carry it at the utilization `use`.
    """
    unit = np.ones(1)
    demand = {
        HOURS: unit * HOURS_PER_YEAR * use,
        GROWTH: 0 * unit,
        COMMITMENT_UTILIZATION: use * unit,
        ALLOCATED_SHARE: unit,
        BUSY_SHARE: unit,
        **{f"supply_{year}": 0 * unit for year in PLAN_YEARS},
    }
    devices = {
        f"{option.key}_devices": values[option.hours_ratio] if option.hours_ratio else unit
        for option in model.options
        if option.devices is not None
    }
    amounts = evaluate(model, {**values, **demand, **devices})
    needed = amounts[NEED_WORTH]
    return {
        option.key: np.array(np.broadcast_arrays(amounts[option.npv] / needed, needed)[0])
        for option in model.options
    }
