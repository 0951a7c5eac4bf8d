"""Computes present value, internal rate of return and payback of payments over years.

Hours are billed by the month in arrears (AWS: "no upfront: charged monthly",
https://docs.aws.amazon.com/savingsplans/latest/userguide/sp-overview.html), and so are power, space
and salaries: such payments are due at the end of each month. Payments made once are due now or at
the end of a year. An outgoing payment is negative. A rate is an effective yearly one, whose month
is (1 + r)^(1/12) - 1. Money is float here: these are study figures, not invoices.
"""

import math
from dataclasses import dataclass

import numpy as np

from perfledger.time_units import MONTHS_PER_YEAR
from perfledger_cost_models.arrays import FloatArray

# Returns outside this range are of no use to compare investments.
MIN_RETURN = -0.999
MAX_RETURN = 100.0
# Below this rate a year a payment of 1/n differs from the factors in the 11th digit only.
MIN_RATE = 1e-12
# The grid on which the present value is searched for a change of sign: steps of 0.2 to 5 % of
# 1 + return.
RETURNS = np.unique(
    np.concatenate([np.linspace(MIN_RETURN, 1.0, 2000), np.geomspace(1.0, MAX_RETURN, 500)])
)


class DiscountingError(ValueError):
    """An error for flows that have no such figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CashFlows:
    """The payments of some years: those due once, and those that come month by month.

    Raises DiscountingError unless each year has both, as numbers.
    """

    once: tuple[float, ...]  # now and at the end of each year
    monthly: tuple[float, ...]  # of each year, the sum of 12 equal payments at its months' ends

    def __post_init__(self) -> None:
        if len(self.once) != len(self.monthly) + 1 or not all(
            math.isfinite(flow) for flow in (*self.once, *self.monthly)
        ):
            msg = (
                f"{len(self.once)} payments once and {len(self.monthly)} years by the month: give "
                "numbers, one for each year and one for now"
            )
            raise DiscountingError(msg)

    @property
    def by_year(self) -> tuple[float, ...]:
        """Return the payment now, and the total of each year."""
        later = (once + paid for once, paid in zip(self.once[1:], self.monthly, strict=True))
        return (self.once[0], *later)


def monthly_worth(rate_per_year: FloatArray) -> FloatArray:
    """Return the worth, at a year's start, of a dollar paid in 12 parts at its months' ends.

    (v + v^2 + ... + v^12) / 12 with v = (1 + r)^(-1/12), which equals r / i12 / (1 + r) with the
    nominal rate i12 = 12 ((1 + r)^(1/12) - 1) (Kellison, The Theory of Interest: annuities payable
    more often than interest is convertible).
    """
    months = np.arange(1, MONTHS_PER_YEAR + 1) / MONTHS_PER_YEAR
    rates = np.asarray(rate_per_year, dtype=float)
    worth: FloatArray = np.mean((1 + rates[..., np.newaxis]) ** -months, axis=-1)
    return worth


def capital_recovery_factor(rate_per_year: FloatArray, years: FloatArray) -> FloatArray:
    """Return i12 / (1 - (1 + r)^-n): a year's 12 payments that repay 1 plus interest; 1/n at 0.

    i12 is the nominal rate of `monthly_worth`.
    """
    return sinking_fund_factor(rate_per_year, years) + _nominal_rate(rate_per_year)


def sinking_fund_factor(rate_per_year: FloatArray, years: FloatArray) -> FloatArray:
    """Return i12 / ((1 + r)^n - 1): a year's 12 payments that grow to 1 in n years; 1/n at 0."""
    is_free = np.abs(rate_per_year) < MIN_RATE
    safe_rate = np.where(is_free, 1.0, rate_per_year)
    factor = _nominal_rate(safe_rate) / np.expm1(years * np.log1p(safe_rate))
    return np.where(is_free, 1 / years, factor)


def present_value(flows: CashFlows, *, rate_per_year: float) -> float:
    """Return today's money of all payments: once_t / (1 + r)^t, and each month's at its end.

    Raises DiscountingError for a rate of -100 % or less.
    """
    if not (math.isfinite(rate_per_year) and rate_per_year > -1):
        msg = f"discount rate {rate_per_year} is not above -1: give a number such as 0.085"
        raise DiscountingError(msg)
    return math.fsum(_worths(flows, np.array([rate_per_year]))[0].tolist())


def internal_rate_of_return(flows: CashFlows) -> float | None:
    """Return the rate a year at which the present value of the flows is zero.

    None if there is none between -99.9 % and 10,000 %, or several: flows that change sign more than
    once can have several returns, none of which is meaningful.
    """
    values = _worths(flows, RETURNS).sum(axis=1)
    crossings = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    exact = RETURNS[values == 0]
    if len(crossings) + len(exact) != 1:
        return None
    if len(exact):
        return float(exact[0])
    place = int(crossings[0])
    return _bisect(flows, float(RETURNS[place]), float(RETURNS[place + 1]))


def payback_years(flows: CashFlows) -> float | None:
    """Return after how many years the flows have repaid themselves for good; None if never.

    Monthly payments are spread evenly within their year. Nothing is discounted.
    """
    balance = flows.once[0]
    repaid = 0.0 if balance >= 0 else None
    for year, (once, paid) in enumerate(zip(flows.once[1:], flows.monthly, strict=True)):
        for part, end in ((paid, None), (once, year + 1.0)):
            after = balance + part
            if after < 0:
                repaid = None
            elif balance < 0:
                repaid = year - balance / part if end is None else end
            balance = after
    return repaid


def _nominal_rate(rate_per_year: FloatArray) -> FloatArray:
    """Return 12 times the rate of a month."""
    return MONTHS_PER_YEAR * np.expm1(np.log1p(rate_per_year) / MONTHS_PER_YEAR)


def _worths(flows: CashFlows, rates: FloatArray) -> FloatArray:
    """Return today's money of each payment, a row for each rate."""
    years = np.arange(len(flows.once))
    discounts = (1 + rates[:, np.newaxis]) ** -years
    monthly = discounts[:, :-1] * monthly_worth(rates)[:, np.newaxis] * np.asarray(flows.monthly)
    return np.hstack([discounts * np.asarray(flows.once), monthly])


def _bisect(flows: CashFlows, low: float, high: float) -> float:
    """Return the rate between two at which the present value changes its sign."""
    is_gain_first = present_value(flows, rate_per_year=low) > 0
    while low < (middle := (low + high) / 2) < high:
        if (present_value(flows, rate_per_year=middle) > 0) is is_gain_first:
            low = middle
        else:
            high = middle
    return low
