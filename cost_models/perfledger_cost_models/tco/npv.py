"""Computes the net present value of owning a server in place of renting the same hours."""

from dataclasses import dataclass

import numpy as np

from perfledger.time_units import HOURS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray
from perfledger_cost_models.discounting import (
    CashFlows,
    internal_rate_of_return,
    monthly_worth,
    payback_years,
    present_value,
)
from perfledger_cost_models.draws import draw_pert
from perfledger_cost_models.money import Usd
from perfledger_cost_models.tco.hardware_inputs import WACC, HardwareInputSheet
from perfledger_cost_models.tco.horizon import RESIDUALS, Horizon
from perfledger_cost_models.tco.onprem import (
    DEFAULT_OWNERSHIP,
    QUANTILES,
    Ownership,
    ServerSpec,
    capex_usd,
    draw_inputs,
    figures_of,
    yearly_cost,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Investment:
    """The value of buying one server now in place of renting, in USD."""

    years: int
    flows_usd: tuple[Usd, ...]  # at all modes: the purchase, then what each year saves
    resale_usd: Usd  # of the last flow, due at its end; the rest of a year is paid by the month
    npv_p5_usd: Usd
    npv_usd: Usd  # at all modes, the flows' present value at the cost of capital
    npv_p50_usd: Usd
    npv_p95_usd: Usd
    chance_worth_it: float  # of the draws, that the present value is above zero
    payback_years: float | None  # None: not within the years
    payback_hours: float | None  # the server's use until then: "break-even after 8,556 hours"
    irr: float | None  # None: no such rate, or more than one


def npv_of_owning(
    server: ServerSpec,
    sheet: HardwareInputSheet,
    *,
    use: float,
    rent_usd_per_useful_hour: FloatArray,
    rent_mode_usd: float,
    years: Horizon,
    terms: Ownership = DEFAULT_OWNERSHIP,
) -> Investment:
    """Return the value of owning against renting the same useful hours.

    Now: -price·(1 + network + storage)·(1 + spares). Each year, at its months' ends: rent·useful
    hours less the running cost of owning; after the last one: residual·price. NPV = the flows'
    present value at the cost of capital. The purchase is paid now, so there is no annuity and no
    depreciation. Raises PriceMissingError.
    """
    hours = HOURS_PER_YEAR * server.accelerators * terms.availability * use
    residual = sheet.find(RESIDUALS[years])
    draws = draw_inputs(server, sheet, terms=terms)
    draws[residual.name] = draw_pert(
        float(residual.low), float(residual.mode), float(residual.high), name=residual.name
    )

    def flows(
        figures: dict[str, FloatArray], rent: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the purchase price, what a year saves, and what the resale brings."""
        figure = figures_of(sheet, figures)
        cost = yearly_cost(server, figure, utilization=use, terms=terms)
        saved = rent * hours - cost.running_usd
        return capex_usd(server, figure), saved, figure(residual.name) * figure(server.price)

    price, saved, resale = (float(each[0]) for each in flows({}, np.array([rent_mode_usd])))
    likely = CashFlows(once=(-price, *[0.0] * (years - 1), resale), monthly=tuple([saved] * years))
    wacc = float(sheet.find(WACC).mode)
    payback = payback_years(likely)
    worth = _present_values(flows(draws, rent_usd_per_useful_hour), draws[WACC], years=years)
    p5, p50, p95 = np.quantile(worth, QUANTILES).tolist()
    return Investment(
        years=int(years),
        flows_usd=tuple(map(Usd, likely.by_year)),
        resale_usd=Usd(resale),
        npv_p5_usd=Usd(p5),
        npv_usd=Usd(present_value(likely, rate_per_year=wacc)),
        npv_p50_usd=Usd(p50),
        npv_p95_usd=Usd(p95),
        chance_worth_it=float((worth > 0).mean()),
        payback_years=payback,
        payback_hours=None if payback is None else payback * hours / server.accelerators,
        irr=internal_rate_of_return(likely),
    )


def _present_values(
    flows: tuple[FloatArray, FloatArray, FloatArray], rate: FloatArray, *, years: int
) -> FloatArray:
    """Return `discounting.present_value` of each draw's purchase, yearly savings and resale."""
    price, saved, resale = flows
    discounts: FloatArray = np.zeros(1)
    for year in range(years):
        discounts = discounts + (1 + rate) ** -year
    return saved * monthly_worth(rate) * discounts + resale / (1 + rate) ** years - price
