"""Computes what change a number of pairs can detect, and how many steps a process needs."""

import math

import numpy as np
from scipy.special import gammaln, ndtri, stdtrit

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.significance.alpha_spending import nominal_levels
from perfledger_baselines.significance.interim_looks import InterimLooks
from perfledger_baselines.significance.paired_t_tests import TTestResult

POWER = 0.8  # the usual power of a study
# Relative. No step becomes a million times slower; larger figures come from broken readings, and
# JSON has no infinity.
MAX_CHANGE = 1e6
_MAX_LOG = math.log1p(MAX_CHANGE)
ROUNDING = 1e-9  # of a figure converted to the log scale and back
_MIN_LEVEL = float(np.finfo(np.float64).tiny)  # below it, levels are imprecise
MIN_STEPS, MAX_STEPS = 5, 30  # of a process; see steps_per_process


def smallest_detectable_change(
    sd: float,
    pairs: int,
    *,
    alpha: float,
    floor: float = 0.0,
    degrees: float | None = None,
) -> float:
    """Return the relative change that is called a change with probability POWER.

    `sd` is the standard deviation of the pairs' differences of logs, `degrees` its degrees of
    freedom (by default, one fewer than pairs), `alpha` the two-sided level of the single test. The
    change must be significant, and its estimate above the floor. The first requires a noncentral t
    to exceed the critical value, solved by the approximation of Johnson & Welch, "Applications of
    the non-central t-distribution", Biometrika 31 (1940). It is accurate to 0.003 in power from
    four pairs on; the sum of two quantiles of t, as in most textbooks, only has a power of .63 at
    the levels of a look in a family. Raises ValueError for fewer than two pairs without a history.
    """
    degrees = pairs - 1 if degrees is None else degrees
    if pairs < 1 or degrees <= 0:
        msg = f"{pairs} pairs have no spread: use at least 2, or a history"
        raise ValueError(msg)
    changes = smallest_detectable_changes(
        np.array([sd]),
        np.array([pairs]),
        alpha=np.array([alpha]),
        floor=np.array([floor]),
        degrees=np.array([degrees]),
    )
    return float(changes[0])


def smallest_detectable_changes(
    sd: FloatArray,
    pairs: IntArray,
    *,
    alpha: FloatArray,
    floor: FloatArray,
    degrees: FloatArray,
) -> FloatArray:
    """Return the same for many tests at once, all arrays of shape (tests,); spreads are known."""
    errors = sd / np.sqrt(pairs)
    significant = _noncentralities(degrees, alpha=alpha, power=POWER) * errors
    big = np.log1p(floor) + ndtri(POWER) * errors
    changes: FloatArray = np.expm1(np.minimum(np.maximum(significant, big), _MAX_LOG))
    return changes


def detectable_change(
    result: TTestResult, *, looks: InterimLooks, alpha: float, floor: float
) -> float:
    """Return the relative change that a test like this one calls with probability POWER.

    `alpha` is the level of the test over all of its looks. Exact counts show any change of the
    floor or more.
    """
    if result.is_exact:
        return floor
    return smallest_detectable_change(
        result.sd,
        result.pairs,
        alpha=result.share * nominal_levels(looks, alpha)[-1],
        floor=floor,
        degrees=result.degrees,
    )


def steps_per_process(
    *, startup_s: float, step_s: float, within_sd: float, between_sd: float
) -> int:
    """Return how many steps a process should measure to use the machine's time best.

    sqrt(startup / step * within variance / between variance), the optimum of Kalibera & Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013; at least 5, below which a process has no
    useful estimate, and at most 30. Both standard deviations are of logs: of steps inside a
    process, and of processes' estimates beyond what their steps explain. Raises ValueError for a
    time that is not above zero.
    """
    if not (startup_s > 0 and step_s > 0):
        msg = f"start-up of {startup_s} s and step of {step_s} s: both must be above 0"
        raise ValueError(msg)
    if between_sd <= 0:
        return MAX_STEPS
    best = math.sqrt(startup_s / step_s) * within_sd / between_sd
    return min(MAX_STEPS, max(MIN_STEPS, math.ceil(min(best, MAX_STEPS))))


def relative(log_change: float) -> float:
    """Return head / base - 1 for a difference of logs, limited to MAX_CHANGE up or down."""
    return math.expm1(max(-_MAX_LOG, min(log_change, _MAX_LOG)))


def is_capped(change: float) -> bool:
    """Return whether a relative change is at the largest or smallest that `relative` returns."""
    return abs(math.log1p(change)) >= _MAX_LOG * (1 - ROUNDING)


def _noncentralities(degrees: FloatArray, *, alpha: FloatArray, power: float) -> FloatArray:
    """Return by how many standard errors the true change must differ from zero, (tests,).

    With S the estimated standard error over the true one, significance is Z + d > t S; Z - t S is
    approximated by a normal of its mean and variance: E S = c, Var S = 1 - c^2.
    """
    # At the smallest levels SciPy returns infinite quantiles, with the sign of an upper one.
    critical = np.abs(stdtrit(degrees, np.maximum(alpha / 2, _MIN_LEVEL)))
    mean = np.exp(gammaln((degrees + 1) / 2) - gammaln(degrees / 2)) * np.sqrt(2 / degrees)
    spread = np.hypot(1.0, critical * np.sqrt(np.maximum(0.0, 1 - mean**2)))
    noncentralities: FloatArray = critical * mean + ndtri(power) * spread
    return noncentralities
