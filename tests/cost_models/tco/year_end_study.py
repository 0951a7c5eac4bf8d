"""The published study's convention, that a year's payments are due at its end.

perfledger's are due at each month's end, so that capital is i12 / r of the study's.
"""

import numpy as np

from perfledger_cost_models.tco.onprem import draw_inputs, figures_of, yearly_cost


def year_end_usd(server, parameters, *, utilization):
    """Return draws of a server's yearly cost with capital repaid at each year's end."""
    draws = draw_inputs(server, parameters)
    cost = yearly_cost(server, figures_of(parameters, draws), utilization=utilization)
    nominal = 12 * ((1 + draws["wacc"]) ** (1 / 12) - 1)
    return cost.running_usd + cost.capital_usd * draws["wacc"] / nominal


def year_end_hours(server, parameters, *, utilization):
    """Return P5, P50 and P95 of a useful hour."""
    usd = year_end_usd(server, parameters, utilization=utilization)
    return np.quantile(usd / (8760 * server.accelerators * utilization), (0.05, 0.5, 0.95))


def year_end_break_even(server, parameters, *, usd_per_hour):
    """Return the median use at which a year of owning costs as much as rent at this price."""
    idle, busy = (year_end_usd(server, parameters, utilization=use) for use in (0.0, 1.0))
    return float(np.median(idle / (8760 * server.accelerators * usd_per_hour - (busy - idle))))
