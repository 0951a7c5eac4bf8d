"""Tests whether the pairs' differences have mean zero, at every interim look taken.

The spread of a pair's difference is estimated from the pairs themselves and, where there is one,
from the series' history (`prior`). The moderated variance (Smyth, "Linear models and empirical
Bayes methods", Statistical Applications in Genetics 3, 2004)

    (w v0 + (k - 1) s^2) / (w + k - 1)    with w of 12, fewer if the history is short

makes two pairs a test; its degrees of freedom follow from how well each of the two is known
(`prior.moderate`). It is wrong where the history is: two runs of one session share a state that
runs of different sessions do not, and then it is far too wide. From four pairs on the plain paired
t test runs beside it with a fifth of alpha. The sharper one decides; Bonferroni accounts for both.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np
from scipy.special import stdtr, stdtrit

from perfledger.metrics import MetricKind
from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray
from perfledger_baselines.estimation.log_odds import share_levels
from perfledger_baselines.estimation.pairing import PairedTest
from perfledger_baselines.significance.alpha_spending import (
    equivalence_level,
    nominal_levels,
    overall_p_values,
)
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS,
    MIN_PAIRS_WITH_HISTORY,
    InterimLooks,
    fewest_pairs,
    looks_until,
)
from perfledger_baselines.significance.spread_prior import Priors, SpreadPrior, moderate

# Relative. Pairs that agree to better than one part in ten thousand do so because the readings are
# coarse (bytes in pages, clocks in ticks), not because the machine is that quiet: only a tenth of
# public TPU series is, and GPU series are 25 times noisier. The floor is low enough for four pairs
# of a deterministic 0.3 % to be called in a family of 200 (p 1e-5).
MIN_SPREAD = 1e-4
# Of alpha, for the moderated test; the rest is the plain t test's. On ten kinds of noise .7 to .9
# differ by less than the simulation's error.
MODERATED_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class TTestResult:
    """Result of a t test of one mean difference, on the log scale, at its last look.

    `half_width` is that of the interval that is valid over the looks: a repeated confidence
    interval (Jennison & Turnbull 1989), at the level alpha leaves to this look. `narrow_half_width`
    is that of the interval of two one-sided equivalence tests, which has the level 1 - 2 * alpha
    over the looks: it is narrower, except at the first looks. `p_value` is over all looks. Too few
    pairs have `p_value` 1 and infinite widths. `unqueued` is about a step time without the wait for
    other programs.
    """

    pairs: int
    mean: float
    sd: float  # of a pair's difference, moderated
    degrees: float
    share: float  # of the level, that the test with this spread may spend
    half_width: float
    narrow_half_width: float
    p_value: float
    is_exact: bool = False  # counts that agree within each side: no chance, no share of the family
    unqueued: "UnqueuedResult | None" = None  # None if that wait was not recorded

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of a change, on the log scale."""
        return self.mean - self.half_width, self.mean + self.half_width

    @property
    def is_enough(self) -> bool:
        """Return whether there are enough pairs, together with their history, for a test."""
        return self.half_width < np.inf


@dataclass(frozen=True, slots=True)
class UnqueuedResult:
    """The tests of both bounds of a step time's difference without waits for other programs."""

    low: TTestResult
    high: TTestResult

    @property
    def mean(self) -> float:
        """Return the middle of what the mean difference may be."""
        return (self.low.mean + self.high.mean) / 2

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval of a change, from the bounds' own."""
        return self.low.interval[0], self.high.interval[1]

    @property
    def width(self) -> float:
        """Return the width of the interval of a change."""
        low, high = self.interval
        return high - low

    @property
    def narrow_interval(self) -> tuple[float, float]:
        """Return the interval of equivalence, from the bounds' own."""
        low, high = self.low, self.high
        return low.mean - low.narrow_half_width, high.mean + high.narrow_half_width


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """One look at several tests; arrays of shape (tests,)."""

    pairs: IntArray
    mean: FloatArray
    own_sd: FloatArray  # of the pairs alone
    own_degrees: FloatArray
    sd: FloatArray
    degrees: FloatArray
    has_prior: BoolArray
    fewest_pairs: int  # of a test without a prior

    @property
    def is_testable(self) -> BoolArray:
        """Return whether a spread is known, from enough pairs or from a history."""
        fewest = np.where(self.has_prior, MIN_PAIRS_WITH_HISTORY, self.fewest_pairs)
        return (self.pairs >= fewest) & (self.sd > 0)

    @property
    def has_both(self) -> BoolArray:
        """Return whether the plain t test runs beside the moderated one."""
        return self.has_prior & (self.pairs >= self.fewest_pairs)

    @property
    def share(self) -> FloatArray:
        """Return the moderated test's share of the level; all of it if it runs alone."""
        return np.where(self.has_both, MODERATED_SHARE, 1.0)


def paired_results(
    tests: Sequence[PairedTest], *, rule: DecisionRule, priors: Priors
) -> tuple[TTestResult | None, ...]:
    """Return the result of each test, in order; None for a test with a flaw.

    Tests with equally many pairs are computed together.
    """
    results = [_exact(test) if test.is_exact and not test.flaw else None for test in tests]
    by_pairs: defaultdict[int, list[int]] = defaultdict(list)
    for index, test in enumerate(tests):
        if test.is_noisy:
            by_pairs[len(test.base)].append(index)
    for pairs, indices in by_pairs.items():
        batch = t_tests(
            log_differences([tests[index] for index in indices]),
            looks=looks_until(rule.looks, pairs),
            alpha=rule.alpha,
            priors=[priors.get(tests[index].key) for index in indices],
        )
        for index, result in zip(indices, batch, strict=True):
            unqueued = _unqueued_result(tests[index], rule)
            results[index] = replace(result, unqueued=unqueued) if unqueued else result
    return tuple(results)


def t_tests(
    differences: FloatArray,
    *,
    looks: InterimLooks,
    alpha: float,
    priors: Sequence[SpreadPrior | None] = (),
) -> tuple[TTestResult, ...]:
    """Test for each row whether its mean is zero, at every look, paying for the looks.

    `differences` is (tests, pairs): log head - log base, NaN where a pair lacks the metric;
    `priors` has each test's history, and is empty where there is none. The p-value is the smallest
    over the looks at which the mean had the same sign as at the last one. Leaving looks out can
    only increase it, and a change that reversed is not called by its earlier sign.
    """
    variance, degrees = _prior_moments(priors, len(differences))
    fewest = fewest_pairs(looks.planned, has_history=False)
    moments = [
        _moments(differences[:, :pairs], variance, degrees, fewest=fewest)
        for pairs in looks.completed
    ]
    p_values = overall_p_values(np.array([_p_value(each) for each in moments]), looks)
    signs = np.array([np.sign(each.mean) for each in moments])
    smallest = np.where(signs == signs[-1], p_values, 1.0).min(axis=0)
    level, one_sided = nominal_levels(looks, alpha)[-1], equivalence_level(looks, alpha)
    return _results(moments[-1], smallest, level=level, narrow_level=2 * one_sided)


def exact_result(base: float, head: float, *, pairs: int, is_enough: bool = True) -> TTestResult:
    """Return the result for counts that agree within each side: no difference is chance."""
    width = 0.0 if is_enough else np.inf
    return TTestResult(
        pairs=pairs,
        mean=math.log(head) - math.log(base),
        sd=0.0,
        degrees=1.0,
        share=1.0,
        half_width=width,
        narrow_half_width=width,
        p_value=float(base == head) if is_enough else 1.0,
        is_exact=True,
    )


def log_differences(tests: Sequence[PairedTest]) -> FloatArray:
    """Return log head - log base of each pair, (tests, pairs); NaN where a side was not read.

    Of utilization near 1 it is the difference of the levels that `share_levels` returns. The tests
    have no flaw; those with fewer pairs are filled with NaN.
    """
    base, head = (
        np.ascontiguousarray(np.array(tuple(zip_longest(*sides)), dtype=np.float64).T)
        for sides in ([test.base for test in tests], [test.head for test in tests])
    )
    differences: FloatArray = np.log(head) - np.log(base)
    shares = [row for row, test in enumerate(tests) if test.metric.kind is MetricKind.UTILIZATION]
    if shares:
        before, after = share_levels(base[shares], head[shares])
        differences[shares] = after - before
    return differences


def _unqueued_result(test: PairedTest, rule: DecisionRule) -> UnqueuedResult | None:
    """Return the tests of the pairs' bounds on wall time without run-queue waits."""
    if not test.step_unqueued:
        return None
    bounds = np.array([(each.low, each.high) for each in test.step_unqueued], dtype=np.float64).T
    looks = looks_until(rule.looks, len(test.base))
    return UnqueuedResult(*t_tests(bounds, looks=looks, alpha=rule.alpha))


def _exact(test: PairedTest) -> TTestResult:
    pairs = test.pairs
    return exact_result(*pairs[0], pairs=len(pairs), is_enough=len(pairs) >= MIN_PAIRS)


def _prior_moments(
    priors: Sequence[SpreadPrior | None], tests: int
) -> tuple[FloatArray, FloatArray]:
    """Return variance and degrees of each test's history; zeros where there is none."""
    if not priors:
        return np.zeros(tests), np.zeros(tests)
    pairs = [(0.0, 0.0) if each is None else (each.variance, each.degrees) for each in priors]
    variance, degrees = np.array(pairs).T
    return np.maximum(variance, MIN_SPREAD**2 * (degrees > 0)), degrees


def _moments(
    differences: FloatArray, prior_variance: FloatArray, prior_degrees: FloatArray, *, fewest: int
) -> _Moments:
    is_read = ~np.isnan(differences)
    values = np.where(is_read, differences, 0.0)
    pairs = np.count_nonzero(is_read, axis=1)
    mean = values.sum(axis=1) / np.maximum(pairs, 1)
    squares = np.where(is_read, (values - mean[:, np.newaxis]) ** 2, 0.0).sum(axis=1)
    own_degrees: FloatArray = np.maximum(pairs - 1, 0).astype(np.float64)
    own_sd = np.maximum(np.sqrt(squares / np.maximum(own_degrees, 1)), MIN_SPREAD)
    has_prior = prior_degrees > 0
    variance, degrees = moderate(
        prior_variance, prior_degrees, squares=squares, own_degrees=own_degrees
    )
    is_identical = ~values.any(axis=1) & (pairs >= MIN_PAIRS)
    return _Moments(
        pairs=pairs,
        mean=mean,
        own_sd=own_sd,
        own_degrees=np.maximum(own_degrees, 1),  # so that the quantiles exist
        sd=np.where(is_identical, 0.0, np.where(has_prior, np.sqrt(variance), own_sd)),
        degrees=np.maximum(np.where(has_prior, degrees, own_degrees), 1),
        has_prior=has_prior,
        fewest_pairs=fewest,
    )


def _p_value(moments: _Moments) -> FloatArray:
    """Return the two-sided p-value of one look by itself; 1 without a known spread."""
    is_testable, has_both = moments.is_testable, moments.has_both
    size: FloatArray = np.abs(moments.mean) * np.sqrt(np.maximum(moments.pairs, 1))
    moderated = 2 * stdtr(moments.degrees, -size / np.where(is_testable, moments.sd, 1.0))
    unmoderated = 2 * stdtr(moments.own_degrees, -size / moments.own_sd)
    combined = np.minimum(moderated / MODERATED_SHARE, unmoderated / (1 - MODERATED_SHARE))
    p_value = np.where(has_both, np.minimum(combined, 1.0), moderated)
    return np.where(is_testable, p_value, 1.0)


def _half_width(moments: _Moments, level: float) -> FloatArray:
    """Return half the interval at confidence 1 - level: what `_p_value` does not reject."""
    root = np.sqrt(np.maximum(moments.pairs, 1))
    has_both = moments.has_both
    half_width = -stdtrit(moments.degrees, moments.share * level / 2) * moments.sd / root
    unmoderated = (
        -stdtrit(moments.own_degrees, (1 - MODERATED_SHARE) * level / 2) * moments.own_sd / root
    )
    half_width = np.where(has_both, np.minimum(half_width, unmoderated), half_width)
    is_known = moments.is_testable | (moments.sd == 0)
    return np.where(is_known, half_width, np.inf)


def _results(
    moments: _Moments, p_values: FloatArray, *, level: float, narrow_level: float
) -> tuple[TTestResult, ...]:
    columns = (
        moments.pairs,
        moments.mean,
        moments.sd,
        moments.degrees,
        moments.share,
        _half_width(moments, level),
        _half_width(moments, narrow_level),
        p_values,
    )
    return tuple(
        TTestResult(
            pairs=pairs,
            mean=mean,
            sd=sd,
            degrees=degrees,
            share=share,
            half_width=half_width,
            narrow_half_width=narrow_half_width,
            p_value=p_value,
        )
        for pairs, mean, sd, degrees, share, half_width, narrow_half_width, p_value in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
