"""Tests whether base and head differ where their runs were not made in pairs.

With a stored baseline, or bundles of two different days, each side has its own state of the
machine. Consecutive runs of one session resemble each other: n of them count as sqrt(n). The excess
of the history's spread over the session's own counts as that state, on both sides. The test is
valid where a paired one is, but weaker: measure in pairs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from perfledger.metrics import Metric, MetricKind, MetricScale
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.log_odds import share_levels
from perfledger_baselines.significance.interim_looks import MIN_PAIRS
from perfledger_baselines.significance.paired_t_tests import (
    MIN_SPREAD,
    TTestResult,
    exact_result,
)
from perfledger_baselines.significance.spread_prior import SpreadPrior, moderate

# With a history, of both sides together. With one run per side up to .125 of repeats of one GPU job
# were called changed without cause (alpha .05): short histories with heavy tails do not show how
# far apart two runs may be. A second run of either side does: it cut .037 of 1000 repeats to .013.
MIN_RUNS_WITH_HISTORY = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedTest:
    """One metric of one workload: a positive value for each run of either side.

    `flaw` says why this cannot be judged, whatever the values; "" if nothing is wrong. `left_out`
    counts the runs of base and of head that have no such value.
    """

    workload: str
    metric: Metric
    base: tuple[float, ...]
    head: tuple[float, ...]
    flaw: str = ""
    prior: SpreadPrior | None = None
    left_out: tuple[int, int] = (0, 0)

    @property
    def is_exact(self) -> bool:
        """Return whether this is a deterministic count: declared so, and the same in every run."""
        is_same = len(set(self.base)) == len(set(self.head)) == 1
        return self.metric.scale is MetricScale.EXACT and is_same


def unpaired_results(
    tests: Sequence[UnpairedTest], *, alpha: float
) -> tuple[TTestResult | None, ...]:
    """Return the result of each test, in order; None for a test with a flaw.

    Raises ValueError for a side without a run or with a value that is not positive.
    """
    return tuple(None if test.flaw else _test_result(test, alpha=alpha) for test in tests)


def unpaired_t_test(
    base: Sequence[float] | FloatArray,
    head: Sequence[float] | FloatArray,
    *,
    alpha: float,
    prior: SpreadPrior | None = None,
) -> TTestResult:
    """Test whether the logs of base's and of head's runs have one mean.

    With s^2 the pooled variance of n and m runs (n + m - 2 degrees of freedom) and v = s0^2 what
    the history says of one run, the variance of the difference is

        (1 / sqrt(n) + 1 / sqrt(m)) * (w v + (n + m - 2) s^2) / (w + n + m - 2)
        + 2 max(0, v - s^2)

    with w and the degrees of freedom of `prior.moderate`. One side needs two runs: a history alone
    decides nothing. Without a history s^2 stands alone, and each side needs four runs. Raises
    ValueError where a side has none.
    """
    before, after = np.asarray(base, dtype=np.float64), np.asarray(head, dtype=np.float64)
    if not (len(before) and len(after)):
        msg = f"{len(before)} base and {len(after)} head runs: a comparison needs one of each"
        raise ValueError(msg)
    own_degrees = len(before) + len(after) - 2
    squares = sum(float(((side - side.mean()) ** 2).sum()) for side in (before, after))
    usual, usual_degrees = (prior.variance / 2, prior.degrees) if prior else (0.0, 0.0)
    has_history_and_runs = prior is not None and own_degrees + 2 >= MIN_RUNS_WITH_HISTORY
    is_enough = has_history_and_runs or min(len(before), len(after)) >= MIN_PAIRS
    variances, degrees = moderate(
        np.array([usual]),
        np.array([usual_degrees]),
        squares=np.array([squares]),
        own_degrees=np.array([float(own_degrees)]),
    )
    moderated = max(float(variances[0]), MIN_SPREAD**2 / 2)
    shared = max(0.0, usual - squares / own_degrees) if own_degrees else 0.0
    share = 1 / math.sqrt(len(before)) + 1 / math.sqrt(len(after))
    return _t_test(
        float(after.mean() - before.mean()),
        math.sqrt(moderated * share + 2 * shared),
        pairs=min(len(before), len(after)),
        degrees=float(degrees[0]) if is_enough else 0.0,
        alpha=alpha,
    )


def _test_result(test: UnpairedTest, *, alpha: float) -> TTestResult:
    if not all(math.isfinite(value) and value > 0 for value in (*test.base, *test.head)):
        msg = f"{test.metric.name} of {test.workload} has a value that is not positive"
        raise ValueError(msg)
    if test.is_exact:
        return exact_result(test.base[0], test.head[0], pairs=min(len(test.base), len(test.head)))
    return unpaired_t_test(*_levels(test), alpha=alpha, prior=test.prior)


def _levels(test: UnpairedTest) -> tuple[FloatArray, FloatArray]:
    base, head = np.array(test.base, dtype=np.float64), np.array(test.head, dtype=np.float64)
    if test.metric.kind is MetricKind.UTILIZATION:
        (before,), (after,) = share_levels(base[np.newaxis], head[np.newaxis])
        return before, after
    return np.log(base), np.log(head)


def _t_test(mean: float, error: float, *, pairs: int, degrees: float, alpha: float) -> TTestResult:
    wide = narrow = math.inf
    p_value = 1.0
    if degrees:
        wide, narrow = (-float(stdtrit(degrees, level)) * error for level in (alpha / 2, alpha))
        p_value = 2 * float(stdtr(degrees, -abs(mean) / error))
    return TTestResult(
        pairs=pairs,
        mean=mean,
        sd=error * math.sqrt(pairs),
        degrees=degrees,
        share=1.0,
        half_width=wide,
        narrow_half_width=narrow,
        p_value=p_value,
    )
