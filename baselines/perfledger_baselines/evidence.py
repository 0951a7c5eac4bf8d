"""The differences of many tests' pairs in, what each says at the looks that were taken out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from perfledger_baselines.looks import FEWEST_PAIRS, Look

# Relative. Pairs whose differences agree better than one part in ten thousand do so because the
# readings are coarse (bytes in pages, clocks in ticks), not because the machine is that quiet: only
# a tenth of public TPU series is, and GPU series are 25 times noisier. It is small enough for four
# pairs of a deterministic 0.3 % to be called in a family of 200 (p 1e-5).
SMALLEST_SPREAD = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the pairs of one test say at its last look, on the log scale.

    `half_width` is that of the interval at 1 - alpha * weight of the last look: a repeated
    confidence interval (Jennison & Turnbull 1989), valid wherever it stopped. `narrow_half_width`
    belongs to the interval at 1 - 2 * alpha * weight, which holds two one-sided tests.
    `p_value` is over all looks. Fewer than four pairs have `p_value` 1 and infinite widths.
    """

    pairs: int
    mean: float
    sd: float
    weight: float
    half_width: float
    narrow_half_width: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """One look at several tests; arrays of shape (tests,)."""

    pairs: NDArray[np.int64]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Return the degrees of freedom, at least one so that the quantiles exist."""
        return np.maximum(self.pairs - 1, 1)

    @property
    def error(self) -> NDArray[np.float64]:
        """Return the standard error of the mean."""
        error: NDArray[np.float64] = self.sd / np.sqrt(np.maximum(self.pairs, 1))
        return error


def weigh(
    differences: NDArray[np.float64], *, looks: Sequence[Look], alpha: float
) -> tuple[Evidence, ...]:
    """Test for each row whether its mean is zero, at every look, paying for the looks.

    `differences` is (tests, pairs): log head - log base, NaN where a pair lacks the metric. The
    p-value is the smallest p_j / weight_j (see `looks`) over the looks at which the mean had the
    sign that it has at the last one: leaving looks out only makes it larger, and a change that
    turned around is not called by what it was before.
    """
    moments = [_moments(differences[:, : look.pairs]) for look in looks]
    p_values = np.array([_p_value(m) / look.weight for m, look in zip(moments, looks, strict=True)])
    signs = np.array([np.sign(m.mean) for m in moments])
    smallest = np.where(signs == signs[-1], p_values, 1.0).min(axis=0)
    return _evidence(moments[-1], looks[-1], np.minimum(smallest, 1.0), alpha=alpha)


def _moments(differences: NDArray[np.float64]) -> _Moments:
    is_there = ~np.isnan(differences)
    known = np.where(is_there, differences, 0.0)
    pairs = np.count_nonzero(is_there, axis=1)
    mean = known.sum(axis=1) / np.maximum(pairs, 1)
    squares = np.where(is_there, (known - mean[:, None]) ** 2, 0.0).sum(axis=1)
    # This is the one place where a spread is estimated: variance borrowed from history joins here.
    sd = np.maximum(np.sqrt(squares / np.maximum(pairs - 1, 1)), SMALLEST_SPREAD)
    is_identical = ~known.any(axis=1)
    return _Moments(pairs=pairs, mean=mean, sd=np.where(is_identical, 0.0, sd))


def _p_value(moments: _Moments) -> NDArray[np.float64]:
    """Return the paired t test's two-sided p-value; 1 with too few pairs or identical ones."""
    is_testable = (moments.pairs >= FEWEST_PAIRS) & (moments.sd > 0)
    error = np.where(is_testable, moments.error, 1.0)
    p_value = 2 * stdtr(moments.degrees, -np.abs(moments.mean) / error)
    return np.where(is_testable, p_value, 1.0)


def _evidence(
    moments: _Moments, look: Look, p_values: NDArray[np.float64], *, alpha: float
) -> tuple[Evidence, ...]:
    spent = alpha * look.weight
    is_testable = moments.pairs >= FEWEST_PAIRS
    wide = -stdtrit(moments.degrees, spent / 2) * moments.error
    narrow = -stdtrit(moments.degrees, spent) * moments.error
    columns = (
        moments.pairs,
        moments.mean,
        moments.sd,
        np.where(is_testable, wide, np.inf),
        np.where(is_testable, narrow, np.inf),
        p_values,
    )
    return tuple(
        Evidence(
            pairs=pairs,
            mean=mean,
            sd=sd,
            weight=look.weight,
            half_width=half_width,
            narrow_half_width=narrow_half_width,
            p_value=p_value,
        )
        for pairs, mean, sd, half_width, narrow_half_width, p_value in zip(
            *(column.tolist() for column in columns), strict=True
        )
    )
