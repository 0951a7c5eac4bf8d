"""Tests kernels in a hierarchy: families first, then the kernels of those that changed.

Each family tests at an equal part of the level, and where it changed, its kernels test within that
part by Holm's rule (Meinshausen, "Hierarchical testing of variable importance", Biometrika 95,
2008). An unchanged family is then called with at most the probability of its part, and so is an
unchanged kernel in a changed family: together with at most the level, under any dependence.

Other load disturbs some pairs far more than others. The test is therefore that of a trimmed mean
(Tukey & McLaughlin, "Less vulnerable confidence and significance procedures for location based on a
single sample", Sankhya A 25, 1963): an equal number of pairs is left out at each end, and the error
is that of the winsorized pairs.

A few looks are planned, and `alpha_spending` divides the level among them: a workload whose kernels
are known well enough by its first windows needs no others. Nearly all of the level is left for the
last look, as by O'Brien & Fleming's bounds, so that the looks cost next to no power.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import stdtr, stdtrit

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.estimation.kernel_families import PairedSeconds
from perfledger_baselines.significance.alpha_spending import (
    equivalence_level,
    nominal_levels,
    overall_p_values,
)
from perfledger_baselines.significance.interim_looks import InterimLooks, looks_until
from perfledger_baselines.significance.multiple_testing import holm
from perfledger_baselines.significance.paired_t_tests import MIN_SPREAD, TTestResult
from perfledger_baselines.significance.power import MAX_CHANGE

# Fewest pairs with profiled windows of kernels that are tested. As many as the first look of a
# check without a history, for the same reason: with fewer, processes in one of two states may agree
# by chance.
MIN_KERNEL_PAIRS = 5
# Pairs of a check with profiled windows of kernels. With so many, 5 % of one of twenty families of
# kernels is found four times in five where the ratio of an unchanged pair spreads by 2.4 %.
KERNEL_PAIRS = 12
# Pairs of the earlier looks at kernels. The first is that of a step without a history, which a
# quiet machine decides then; of ten or eleven pairs two are left out, which costs more than one or
# two pairs tell.
KERNEL_LOOKS = (5, 6, 8)
# Power of the share of the pairs by which looks at kernels spend their level: .005 of it by five
# pairs, .016 by six and .09 by eight. A change of 5 % is then found as often as with a single look.
KERNEL_SPENDING_POWER = 6.0
# The same for intervals: at that of the tests, those of five pairs would be twice as wide.
INTERVAL_SPENDING_POWER = 2.0
# One-sided: how often a change is ruled out that is as large as the bound, at one look. Nothing is
# spent for it, as it only ends the windows: a change that is ruled out is not found.
RULED_OUT_LEVEL = 0.01
# Share of the pairs left out at each end: one of twelve, none of fewer than ten. The smallest
# change found on a quiet machine grows by a sixth; with two of twelve it grew by nearly half.
TRIM_SHARE = 0.1
# Relative difference of a kernel that is new; with the other sign, of one that is gone.
ONE_SIDED = 2.0


def planned_kernel_looks(kernel_pairs: int) -> tuple[int, ...]:
    """Return the planned looks at kernels of a check that records windows of this many pairs."""
    return (*(look for look in KERNEL_LOOKS if look < kernel_pairs), kernel_pairs)


def kernel_looks_until(kernel_pairs: int, pairs: int) -> InterimLooks:
    """Return the planned looks at kernels up to `pairs` pairs, inclusive."""
    planned = planned_kernel_looks(kernel_pairs)
    return looks_until(planned, pairs, power=KERNEL_SPENDING_POWER)


def paired_kernel_tests(
    seconds: Sequence[PairedSeconds], *, looks: InterimLooks, alpha: float
) -> tuple[TTestResult, ...]:
    """Test for each of these whether its relative differences have mean zero, at the last look.

    All have equally many pairs, at most those of the look. P-values, and intervals at the
    confidence 1 - alpha, are valid over the looks.
    """
    if not seconds:
        return ()
    differences = relative_differences(
        np.array([each.base for each in seconds]), np.array([each.head for each in seconds])
    )
    return trimmed_t_tests(differences, looks=looks, alpha=alpha)


def trimmed_t_tests(
    differences: FloatArray, *, looks: InterimLooks, alpha: float
) -> tuple[TTestResult, ...]:
    """Test for each row of (tests, pairs) whether its center is zero.

    With g values left out at each end of n, h = n - 2 g the others and s the winsorized standard
    deviation (values left out are replaced by the nearest one kept), the trimmed mean has the
    standard error s sqrt((n - 1) / (h (h - 1))). It has h - 1 degrees of freedom, less one if
    values are left out: without that, normal values were rejected 1.3 times as often as the level
    says at the levels of a family, and with it .86 times.

    Only the last look counts. How much the looks of such tests depend on each other is less certain
    than for sums of normal values, but the levels of all looks add up to at most 1.08 times
    the level, whatever they depend on.
    """
    pairs = differences.shape[1]
    cut = int(TRIM_SHARE * pairs)
    inner = pairs - 2 * cut
    degrees = float(inner - 1 - (cut > 0))
    ranked = np.sort(differences, axis=1)
    means: FloatArray = ranked[:, cut : pairs - cut].mean(axis=1)
    drawn_in = np.clip(ranked, ranked[:, [cut]], ranked[:, [pairs - cut - 1]])
    spreads: FloatArray = np.maximum(drawn_in.std(axis=1, ddof=1), MIN_SPREAD)
    errors: FloatArray = spreads * math.sqrt((pairs - 1) / (inner * (inner - 1)))
    size: FloatArray = np.abs(means) / errors
    at_looks = np.ones((len(looks.completed), len(size)))
    at_looks[-1] = 2 * stdtr(np.full(len(size), degrees), -size)
    p_values: FloatArray = overall_p_values(at_looks, looks)[-1]
    of_intervals = replace(looks, power=INTERVAL_SPENDING_POWER)
    levels = nominal_levels(of_intervals, alpha)[-1] / 2, equivalence_level(looks, alpha)
    wide, narrow = (-float(stdtrit(degrees, level)) for level in levels)
    return tuple(
        TTestResult(
            pairs=pairs,
            mean=mean,
            sd=error * math.sqrt(pairs),
            degrees=degrees,
            share=1.0,
            half_width=wide * error,
            narrow_half_width=narrow * error,
            p_value=p_value,
        )
        for mean, error, p_value in zip(
            means.tolist(), errors.tolist(), p_values.tolist(), strict=True
        )
    )


def half_width_at_one_look(result: TTestResult, alpha: float) -> float:
    """Return half the interval at the confidence 1 - alpha as if there were no other look."""
    return -float(stdtrit(result.degrees, alpha / 2)) * result.sd / math.sqrt(result.pairs)


def largest_change(result: TTestResult) -> float:
    """Return the largest relative change, either way, that the pairs do not rule out."""
    reach = half_width_at_one_look(result, 2 * RULED_OUT_LEVEL)
    return relative_change(abs(result.mean) + reach)


def relative_differences(base: FloatArray, head: FloatArray) -> FloatArray:
    """Return (head - base) / their mean of each pair, (tests, pairs); 0 where both took no time.

    For small changes this is the difference of logs. A kernel that is new or gone gives 2 or -2, so
    that no pair is left out, and one disturbed pair weighs little.
    """
    total = base + head
    safe: FloatArray = np.where(total > 0, total, 1.0)
    return np.where(total > 0, ONE_SIDED * (head - base) / safe, 0.0)


def relative_change(difference: float) -> float:
    """Return head / base - 1 of a relative difference; MAX_CHANGE if base took no time."""
    base_share = ONE_SIDED - difference
    if base_share * MAX_CHANGE <= ONE_SIDED:
        return MAX_CHANGE
    return max(-1.0, (ONE_SIDED + difference) / base_share - 1)


def changed_members(members: Sequence[TTestResult], *, level: float) -> BoolArray:
    """Return which kernels of a changed family changed, within the level of the family."""
    adjusted = holm(np.array([each.p_value for each in members], dtype=np.float64))
    return np.asarray(adjusted < level)
