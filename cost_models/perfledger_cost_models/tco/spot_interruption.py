"""Computes the hours and the cost of work on machines that may be interrupted.

Interruptions come at random at a constant rate (a Poisson process). Work is saved after every
`interval_h` hours, which takes `save_h`; after an interruption it takes `restart_h` to resume from
the last save. A stretch of t hours between saves then takes on average

    (e^(l (t + c)) - 1) (1 / l + R)     hours, with l a rate per hour, c the save, R the restart

(Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
Generation Computer Systems 22, 2006, equation 13 with restarts that are interrupted themselves).
"""

import math
from dataclasses import dataclass
from decimal import Decimal

from scipy.special import lambertw

from perfledger.rounding import typed
from perfledger_cost_models.money import to_decimal

# Beyond e^700 a float overflows.
MAX_EXPONENT = 700.0
# 1 + W(z) loses its digits where z nears -1/e. Below this the series around that point is used
# (Corless et al., "On the Lambert W function", 1996, equation 4.22): good to 1e-10.
SMALL_LOAD = 1e-6


class InterruptionError(ValueError):
    """An error for work that cannot be planned: a negative time, or a save that never completes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InterruptionModel:
    """How often machines are interrupted, and how long saving and restarting take, in hours."""

    per_hour: float  # of the job: n machines are interrupted n times as often as one
    save_h: float
    restart_h: float

    def __post_init__(self) -> None:
        for name, value in (
            ("number of interruptions per hour", self.per_hour),
            ("time to save a checkpoint", self.save_h),
            ("time until an interrupted job resumes", self.restart_h),
        ):
            if not (math.isfinite(value) and value >= 0):
                msg = f"the {name} is negative or not finite: give a number of 0 or more"
                raise InterruptionError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotCost:
    """The cost of work on spot machines, partly on demand if no spot machine is available."""

    hours: float  # expected, all of them paid
    overhead: float  # hours / hours of work
    interval_h: float  # between saves
    usd: Decimal


def expected_hours(work_h: float, interruptions: InterruptionModel, *, interval_h: float) -> float:
    """Return the mean hours that `work_h` hours of work take when saved every `interval_h`.

    Without interruptions only the saves are added. Raises InterruptionError for times that are not
    positive, or a mean that overflows a float.
    """
    if not (0 < work_h < math.inf and 0 < interval_h < math.inf):
        msg = f"{work_h} h of work saved every {interval_h} h: give two numbers above zero"
        raise InterruptionError(msg)
    stretch = interval_h + interruptions.save_h
    if interruptions.per_hour == 0:
        return work_h / interval_h * stretch
    exponent = interruptions.per_hour * stretch
    if exponent > MAX_EXPONENT:
        msg = f"{typed(stretch)} h without an interruption never occur: save more often"
        raise InterruptionError(msg)
    lost = 1 / interruptions.per_hour + interruptions.restart_h
    return work_h / interval_h * math.expm1(exponent) * lost


def best_interval_h(interruptions: InterruptionModel) -> float:
    """Return the exact interval between saves that minimises the expected hours.

    The zero of the derivative of `expected_hours`: (1 + W(-e^(-l c - 1))) / l, with Lambert's W.
    Infinite without interruptions. Raises InterruptionError for interruptions with a save that
    takes no time: the best interval is then zero.
    """
    if interruptions.per_hour == 0:
        return math.inf
    if interruptions.save_h == 0:
        msg = "a save that takes no time has no best interval: give a time above 0"
        raise InterruptionError(msg)
    load = interruptions.per_hour * interruptions.save_h
    if load < SMALL_LOAD:
        root = math.sqrt(-2 * math.expm1(-load))
        return root * (1 - root / 3 + 11 / 72 * root**2) / interruptions.per_hour
    return float(1 + lambertw(-math.exp(-load - 1)).real) / interruptions.per_hour


def young_interval_h(interruptions: InterruptionModel) -> float:
    """Return Young's estimate sqrt(2 c / l).

    Young, "A first order approximation to the optimum checkpoint interval", Communications of the
    ACM 17 (1974). Good while a save is short against the time between interruptions. Infinite
    without interruptions.
    """
    if interruptions.per_hour == 0:
        return math.inf
    return math.sqrt(2 * interruptions.save_h / interruptions.per_hour)


def daly_interval_h(interruptions: InterruptionModel) -> float:
    """Return Daly's higher-order estimate (2006, equation 37).

    sqrt(2 c M) (1 + sqrt(c / 2M) / 3 + (c / 2M) / 9) - c for c < 2M, else M, with M = 1 / l.
    """
    if interruptions.per_hour == 0:
        return math.inf
    mean_h, save_h = 1 / interruptions.per_hour, interruptions.save_h
    if save_h >= 2 * mean_h:
        return mean_h
    share = save_h / (2 * mean_h)
    return math.sqrt(2 * save_h * mean_h) * (1 + math.sqrt(share) / 3 + share / 9) - save_h


def spot_cost(
    work_h: float,
    interruptions: InterruptionModel,
    *,
    spot_usd_per_hour: Decimal,
    on_demand_usd_per_hour: Decimal,
    fallback_share: float = 0.0,
) -> SpotCost:
    """Return the cost of `work_h` hours of work on spot, saved at the best interval.

    `fallback_share` of the work is done on demand, without interruptions, because no spot machine
    was available. Raises InterruptionError.
    """
    if not 0 <= fallback_share <= 1:
        msg = f"fallback_share is {fallback_share}: give a share from 0 to 1"
        raise InterruptionError(msg)
    if min(spot_usd_per_hour, on_demand_usd_per_hour) <= 0:
        msg = "a price of zero is a missing price: give both rates above zero"
        raise InterruptionError(msg)
    every_h = min(best_interval_h(interruptions), work_h)
    on_spot_h = expected_hours(work_h, interruptions, interval_h=every_h) * (1 - fallback_share)
    fallback_h = work_h * fallback_share
    return SpotCost(
        hours=on_spot_h + fallback_h,
        overhead=(on_spot_h + fallback_h) / work_h,
        interval_h=every_h,
        usd=to_decimal(on_spot_h) * spot_usd_per_hour
        + to_decimal(fallback_h) * on_demand_usd_per_hour,
    )
