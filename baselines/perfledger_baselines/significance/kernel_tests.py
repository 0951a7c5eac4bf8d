"""Tests kernels in a hierarchy: families first, then the kernels of those that changed.

Each family tests at an equal part of the level, and where it changed, its kernels test within that
part by Holm's rule (Meinshausen, "Hierarchical testing of variable importance", Biometrika 95,
2008). An unchanged family is then called with at most the probability of its part, and so is an
unchanged kernel in a changed family: together with at most the level, under any dependence.

Other load disturbs some pairs far more than others. The test is therefore that of a trimmed mean
(Tukey & McLaughlin, "Less vulnerable confidence and significance procedures for location based on a
single sample", Sankhya A 25, 1963): an equal number of pairs is left out at each end, and the error
is that of the winsorized pairs.

There is one look, at all pairs: the step and the clock decide when a check ends, not the kernels.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr, stdtrit

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray
from perfledger_baselines.estimation.kernel_families import PairedSeconds
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
# Share of the pairs left out at each end: one of twelve, none of fewer than ten. The smallest
# change found on a quiet machine grows by a sixth; with two of twelve it grew by nearly half.
TRIM_SHARE = 0.1
# Relative difference of a kernel that is new; with the other sign, of one that is gone.
ONE_SIDED = 2.0


def paired_kernel_tests(
    seconds: Sequence[PairedSeconds], *, alpha: float
) -> tuple[TTestResult, ...]:
    """Test for each of these whether its relative differences have mean zero, at a single look.

    All have equally many pairs. Intervals are at the confidence 1 - alpha.
    """
    if not seconds:
        return ()
    differences = relative_differences(
        np.array([each.base for each in seconds]), np.array([each.head for each in seconds])
    )
    return trimmed_t_tests(differences, alpha=alpha)


def trimmed_t_tests(differences: FloatArray, *, alpha: float) -> tuple[TTestResult, ...]:
    """Test for each row of (tests, pairs) whether its center is zero.

    With g values left out at each end of n, h = n - 2 g the others and s the winsorized standard
    deviation (values left out are replaced by the nearest one kept), the trimmed mean has the
    standard error s sqrt((n - 1) / (h (h - 1))). It has h - 1 degrees of freedom, less one if
    values are left out: without that, normal values were rejected 1.3 times as often as the level
    says at the levels of a family, and with it .86 times.
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
    p_values: FloatArray = 2 * stdtr(np.full(len(size), degrees), -size)
    wide, narrow = (-float(stdtrit(degrees, level)) for level in (alpha / 2, alpha))
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
