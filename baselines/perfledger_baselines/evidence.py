"""The differences of many tests' pairs in, what each says at the looks that were taken out.

How much pairs differ without cause is learnt from two sources: from the pairs themselves, and where
there is a history, from that (`prior`). The moderated variance (Smyth, "Linear models and empirical
Bayes methods", Statistical Applications in Genetics 3, 2004)

    (w v0 + (k - 1) s^2) / (w + k - 1)    with w of 12, fewer if the history is short

makes one pair a test; its degrees of freedom follow from how well each of the two is known
(`prior.moderate`). It errs where the history does: two runs of one session share a state that runs
of different sessions do not, and then it is far too wide. From four pairs on the plain paired t
test stands beside it, with a fifth of alpha: whichever is sharper decides, and Bonferroni pays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from perfledger_baselines.looks import FEWEST_PAIRS, Looks, fewest_alone
from perfledger_baselines.prior import SpreadPrior, moderate
from perfledger_baselines.spending import nominal_levels, overall_p_values

# Relative. Pairs whose differences agree better than one part in ten thousand do so because the
# readings are coarse (bytes in pages, clocks in ticks), not because the machine is that quiet: only
# a tenth of public TPU series is, and GPU series are 25 times noisier. It is small enough for four
# pairs of a deterministic 0.3 % to be called in a family of 200 (p 1e-5).
SMALLEST_SPREAD = 1e-4
# Of alpha, for the moderated test; the rest is the plain t test's. On ten kinds of noise .7 to .9
# differ by less than the simulation's error.
MODERATED_SHARE = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the pairs of one test say at its last look, on the log scale.

    `half_width` is that of the interval that is valid over the looks: a repeated confidence
    interval (Jennison & Turnbull 1989), at the level alpha leaves to this look. `narrow_half_width`
    belongs to the plain interval at 1 - 2 * alpha, which holds two one-sided tests of equivalence.
    `p_value` is over all looks. Too few pairs have `p_value` 1 and infinite widths.
    """

    pairs: int
    mean: float
    sd: float  # of a pair's difference, moderated
    degrees: float
    share: float  # of the level, that the test with this spread may spend
    half_width: float
    narrow_half_width: float
    p_value: float

    @property
    def is_enough(self) -> bool:
        """Whether these pairs, with what is known before them, are a test at all."""
        return self.half_width < np.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moments:
    """One look at several tests; arrays of shape (tests,)."""

    pairs: NDArray[np.int64]
    mean: NDArray[np.float64]
    own_sd: NDArray[np.float64]  # of the pairs alone
    own_degrees: NDArray[np.float64]
    sd: NDArray[np.float64]
    degrees: NDArray[np.float64]
    has_prior: NDArray[np.bool_]
    fewest_alone: int  # pairs of a test without a prior

    @property
    def is_testable(self) -> NDArray[np.bool_]:
        """Whether there is a spread to test with: from enough pairs, or known before them."""
        return (self.pairs >= np.where(self.has_prior, 1, self.fewest_alone)) & (self.sd > 0)

    @property
    def has_both(self) -> NDArray[np.bool_]:
        """Whether the plain t test stands beside the moderated one."""
        return self.has_prior & (self.pairs >= self.fewest_alone)

    @property
    def share(self) -> NDArray[np.float64]:
        """Return the moderated test's share of the level; all of it where it stands alone."""
        return np.where(self.has_both, MODERATED_SHARE, 1.0)


def weigh(
    differences: NDArray[np.float64],
    *,
    looks: Looks,
    alpha: float,
    priors: Sequence[SpreadPrior | None] = (),
) -> tuple[Evidence, ...]:
    """Test for each row whether its mean is zero, at every look, paying for the looks.

    `differences` is (tests, pairs): log head - log base, NaN where a pair lacks the metric;
    `priors` has what is known of each test's spread, and is empty where nothing is. The p-value is
    the smallest over the looks at which the mean had the sign that it has at the last one: leaving
    looks out only makes it larger, and a change that turned around is not called by what it was.
    """
    variance, degrees = _known(priors, len(differences))
    alone = fewest_alone(looks.planned)
    moments = [
        _moments(differences[:, :pairs], variance, degrees, alone=alone) for pairs in looks.taken
    ]
    p_values = overall_p_values(np.array([_p_value(each) for each in moments]), looks)
    signs = np.array([np.sign(each.mean) for each in moments])
    smallest = np.where(signs == signs[-1], p_values, 1.0).min(axis=0)
    level = nominal_levels(looks, alpha)[-1]
    return _evidence(moments[-1], np.minimum(smallest, 1.0), level=level, alpha=alpha)


def _known(
    priors: Sequence[SpreadPrior | None], tests: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return variance and degrees known before each test; zeros where nothing is."""
    if not priors:
        return np.zeros(tests), np.zeros(tests)
    known = [(0.0, 0.0) if each is None else (each.variance, each.degrees) for each in priors]
    variance, degrees = np.array(known).T
    return np.maximum(variance, SMALLEST_SPREAD**2 * (degrees > 0)), degrees


def _moments(
    differences: NDArray[np.float64],
    known_variance: NDArray[np.float64],
    known_degrees: NDArray[np.float64],
    *,
    alone: int,
) -> _Moments:
    is_there = ~np.isnan(differences)
    values = np.where(is_there, differences, 0.0)
    pairs = np.count_nonzero(is_there, axis=1)
    mean = values.sum(axis=1) / np.maximum(pairs, 1)
    squares = np.where(is_there, (values - mean[:, np.newaxis]) ** 2, 0.0).sum(axis=1)
    own_degrees: NDArray[np.float64] = np.maximum(pairs - 1, 0).astype(np.float64)
    own_sd = np.maximum(np.sqrt(squares / np.maximum(own_degrees, 1)), SMALLEST_SPREAD)
    has_prior = known_degrees > 0
    variance, degrees = moderate(
        known_variance, known_degrees, squares=squares, own_degrees=own_degrees
    )
    is_identical = ~values.any(axis=1) & (pairs >= FEWEST_PAIRS)
    return _Moments(
        pairs=pairs,
        mean=mean,
        own_sd=own_sd,
        own_degrees=np.maximum(own_degrees, 1),  # so that the quantiles exist
        sd=np.where(is_identical, 0.0, np.where(has_prior, np.sqrt(variance), own_sd)),
        degrees=np.maximum(np.where(has_prior, degrees, own_degrees), 1),
        has_prior=has_prior,
        fewest_alone=alone,
    )


def _p_value(moments: _Moments) -> NDArray[np.float64]:
    """Return the two-sided p-value of one look by itself; 1 without a spread to test with."""
    is_testable, has_both = moments.is_testable, moments.has_both
    size: NDArray[np.float64] = np.abs(moments.mean) * np.sqrt(np.maximum(moments.pairs, 1))
    moderated = 2 * stdtr(moments.degrees, -size / np.where(is_testable, moments.sd, 1.0))
    plain = 2 * stdtr(moments.own_degrees, -size / moments.own_sd)
    both = np.minimum(moderated / MODERATED_SHARE, plain / (1 - MODERATED_SHARE))
    p_value = np.where(has_both, np.minimum(both, 1.0), moderated)
    return np.where(is_testable, p_value, 1.0)


def _half_width(moments: _Moments, level: float) -> NDArray[np.float64]:
    """Return half the interval at confidence 1 - level: what `_p_value` does not reject at it."""
    root = np.sqrt(np.maximum(moments.pairs, 1))
    has_both = moments.has_both
    half_width = -stdtrit(moments.degrees, moments.share * level / 2) * moments.sd / root
    plain = -stdtrit(moments.own_degrees, (1 - MODERATED_SHARE) * level / 2) * moments.own_sd / root
    half_width = np.where(has_both, np.minimum(half_width, plain), half_width)
    is_known = moments.is_testable | (moments.sd == 0)
    return np.where(is_known, half_width, np.inf)


def _evidence(
    moments: _Moments, p_values: NDArray[np.float64], *, level: float, alpha: float
) -> tuple[Evidence, ...]:
    columns = (
        moments.pairs,
        moments.mean,
        moments.sd,
        moments.degrees,
        moments.share,
        _half_width(moments, level),
        _half_width(moments, 2 * alpha),
        p_values,
    )
    return tuple(
        Evidence(
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
