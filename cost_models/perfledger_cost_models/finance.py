"""Computes present value, internal rate of return and payback of yearly payments.

Flows are yearly and the first one is now (year 0); an outgoing payment is negative. Money is float
here: these are study figures, not invoices.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from perfledger_cost_models.arrays import FloatArray

# Returns outside this range are of no use to compare investments.
MIN_RETURN = -0.999
MAX_RETURN = 100.0
# The grid on which the present value is searched for a change of sign: steps of 0.2 to 5 % of
# 1 + return.
RETURNS = np.unique(
    np.concatenate([np.linspace(MIN_RETURN, 1.0, 2000), np.geomspace(1.0, MAX_RETURN, 500)])
)


class FinanceError(ValueError):
    """An error for flows that have no such figure."""


def capital_recovery_factor(rate_per_year: FloatArray, years: FloatArray) -> FloatArray:
    """Return r / (1 - (1 + r)^-n), the yearly payment that repays 1 plus interest; 1/n at r = 0."""
    return sinking_fund_factor(rate_per_year, years) + rate_per_year


def sinking_fund_factor(rate_per_year: FloatArray, years: FloatArray) -> FloatArray:
    """Return r / ((1 + r)^n - 1), the yearly payment that grows to 1 in n years; 1 / n at r = 0."""
    is_free = rate_per_year == 0
    safe_rate = np.where(is_free, 1.0, rate_per_year)
    return np.where(is_free, 1 / years, safe_rate / np.expm1(years * np.log1p(safe_rate)))


def present_value(flows: Sequence[float], *, rate_per_year: float) -> float:
    """Return the sum of flow_t / (1 + r)^t, in today's money.

    Raises FinanceError for no flows, a flow that is not finite, or a rate of -100 % or less.
    """
    _check(flows)
    if not (math.isfinite(rate_per_year) and rate_per_year > -1):
        msg = f"discount rate {rate_per_year} is not above -1: give a number such as 0.085"
        raise FinanceError(msg)
    return math.fsum(flow / (1 + rate_per_year) ** year for year, flow in enumerate(flows))


def internal_rate_of_return(flows: Sequence[float]) -> float | None:
    """Return the rate a year at which the present value of the flows is zero.

    None where there is none between -99.9 % and 10,000 %, or several: flows that change sign more
    than once can have several returns, and then none of them is meaningful. Raises FinanceError as
    `present_value` does.
    """
    _check(flows)
    years = np.arange(len(flows))
    values = (np.asarray(flows) / (1 + RETURNS[:, np.newaxis]) ** years).sum(axis=1)
    crossings = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    exact = RETURNS[values == 0]
    if len(crossings) + len(exact) != 1:
        return None
    if len(exact):
        return float(exact[0])
    place = int(crossings[0])
    return _bisect(flows, float(RETURNS[place]), float(RETURNS[place + 1]))


def payback_years(flows: Sequence[float]) -> float | None:
    """Return after how many years the flows have repaid themselves for good; None if never.

    Money is spread evenly within a year, and not discounted. Raises FinanceError as
    `present_value` does.
    """
    present_value(flows, rate_per_year=0.0)
    balance = list(accumulate(flows))
    if balance[-1] < 0:
        return None
    negative_years = [year for year, amount in enumerate(balance) if amount < 0]
    if not negative_years:
        return 0.0
    last = negative_years[-1]
    return last + -balance[last] / flows[last + 1]


def _bisect(flows: Sequence[float], low: float, high: float) -> float:
    """Return the rate between two at which the present value changes its sign."""
    is_gain_first = present_value(flows, rate_per_year=low) > 0
    while low < (middle := (low + high) / 2) < high:
        if (present_value(flows, rate_per_year=middle) > 0) is is_gain_first:
            low = middle
        else:
            high = middle
    return low


def _check(flows: Sequence[float]) -> None:
    if not flows or not all(math.isfinite(flow) for flow in flows):
        msg = f"not all of {len(flows)} flows are numbers: give one for each year, the first now"
        raise FinanceError(msg)
