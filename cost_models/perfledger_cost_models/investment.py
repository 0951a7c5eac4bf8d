"""Owning a server in place of renting the same hours into what that is worth over some years."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from perfledger_cost_models.comparison import WACC
from perfledger_cost_models.draws import FloatArray, pert
from perfledger_cost_models.finance import (
    FinanceError,
    internal_rate_of_return,
    payback_years,
    present_value,
)
from perfledger_cost_models.onprem import (
    AS_STUDIED,
    HOURS_PER_YEAR,
    LICENCES,
    QUANTILES,
    Ownership,
    Server,
    capex_usd,
    drawn_inputs,
    figures_of,
    yearly_cost,
)
from perfledger_cost_models.parameter import ParameterSheet


class Horizon(IntEnum):
    """Over how many years: those for which there is a residual value."""

    THREE = 3
    FIVE = 5


RESIDUALS = {Horizon.THREE: "residual_value_36m", Horizon.FIVE: "residual_value_60m"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Investment:
    """What one server is worth that is bought now in place of renting; USD."""

    years: int
    flows_usd: tuple[float, ...]  # at all modes: the purchase, then what each year saves
    npv_p5_usd: float
    npv_usd: float  # at all modes, the flows' present value at the cost of capital
    npv_p50_usd: float
    npv_p95_usd: float
    chance_worth_it: float  # of the draws, that the present value is above zero
    payback_years: float | None  # None: it never repays itself within the years
    payback_hours: float | None  # of the server's use until then: "break-even after 8,556 hours"
    irr: float | None  # None: there is no such rate, or more than one


def owning_instead(
    server: Server,
    sheet: ParameterSheet,
    *,
    use: float,
    rent_usd_per_useful_hour: FloatArray,
    rent_mode_usd: float,
    years: Horizon,
    terms: Ownership = AS_STUDIED,
) -> Investment:
    """Return what owning is worth against renting the same useful hours.

    Now: -price·(1 + network + storage)·(1 + spares). Each year: rent·useful hours less what owning
    costs to run; in the last one also residual·price. NPV = sum of flow_t / (1 + wacc)^t. The
    purchase is paid now, so that no annuity and no depreciation is in it. Raises PriceMissingError.
    """
    hours = HOURS_PER_YEAR * server.accelerators * terms.availability * use
    residual = sheet.find(RESIDUALS[years])
    drawn = drawn_inputs(server, sheet, terms=terms)
    drawn[residual.name] = pert(
        float(residual.low), float(residual.mode), float(residual.high), name=residual.name
    )

    def flows(known: dict[str, FloatArray], rent: FloatArray) -> tuple[FloatArray, ...]:
        figure = figures_of(sheet, known)
        licence = sheet.find(LICENCES).mode
        cost = yearly_cost(server, figure, licence=licence, utilization=use, terms=terms)
        saved = rent * hours - cost.running_usd
        last = saved + figure(residual.name) * figure(server.price)
        return (-capex_usd(server, figure), *[saved] * (years - 1), last)

    likely = tuple(float(flow[0]) for flow in flows({}, np.array([rent_mode_usd])))
    wacc = float(sheet.find(WACC).mode)
    payback = payback_years(likely)
    worth = _worth(flows(drawn, rent_usd_per_useful_hour), drawn[WACC])
    p5, p50, p95 = np.quantile(worth, QUANTILES).tolist()
    return Investment(
        years=int(years),
        flows_usd=likely,
        npv_p5_usd=p5,
        npv_usd=present_value(likely, rate_per_year=wacc),
        npv_p50_usd=p50,
        npv_p95_usd=p95,
        chance_worth_it=float((worth > 0).mean()),
        payback_years=payback,
        payback_hours=None if payback is None else payback * hours / server.accelerators,
        irr=_irr(likely),
    )


def _worth(flows: Sequence[FloatArray], rate: FloatArray) -> FloatArray:
    worth: FloatArray = np.zeros(1)
    for year, flow in enumerate(flows):
        worth = worth + flow / (1 + rate) ** year
    return worth


def _irr(flows: Sequence[float]) -> float | None:
    try:
        return internal_rate_of_return(flows)
    except FinanceError:
        return None
