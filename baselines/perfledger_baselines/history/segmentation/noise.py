"""Estimates the noise of rows, SD and lag-1 dependence, whatever steps they contain."""

from dataclasses import dataclass

import numpy as np

from perfledger_baselines.estimation.arrays import BoolArray, FloatArray, IntArray

# On the log scale: one part in ten thousand. Series that agree better do so because the readings
# are coarse, not because the machine is that quiet (the A/B judge has the same floor).
MIN_SPREAD = 1e-4

# Quantiles of |first difference| and their values for Gaussian noise of SD 1. The median alone
# underestimates noise in two states; a higher quantile alone overestimates when there are a few
# outliers.
MIDDLE, HIGH = 0.5, 0.8
MIDDLE_OF_GAUSSIAN, HIGH_OF_GAUSSIAN = 0.9539, 1.8124

# Levels are clipped at this many spreads from the running median. It costs next to nothing in
# Gaussian noise, and reduces the SD of t(3) noise from 1.7 of its scales to 1.4.
CLIP_SPREADS = 2.5

# A level further than this from the running median is a spike and is replaced by the median. Bursts
# of five-fold noise rarely get there, and must continue to look as noisy as they are.
SPIKE_SPREADS = 8.0

# A running median that changes by this many spreads at once is at a step.
STEP_SPREADS = 4.0

# A difference counts as at most this many spreads times sqrt 2.
DIFFERENCE_SPREADS = 3.5

# Above this the noise is a random walk, in which steps cannot be separated from chance anyway.
MAX_DEPENDENCE = 0.95

# The largest share of a typical level's variance that is its own error. The effect that a session
# has on all of its processes is in none of their errors, and moves public series more than those
# errors suggest.
MAX_ERROR_SHARE = 0.75

# The dependence of a shorter series cannot be estimated.
MIN_FOR_DEPENDENCE = 12

# Median distances from the level of a stretch beyond which an observation counts for less.
PSEUDO_SPREADS = 2.2

# Noise with more dependence is close to a random walk, whose stretches have no level.
MOST_DEPENDENT = 0.7

# With a smaller gain of a step of the M-estimator the pseudo-values of spikes would be large.
MIN_GAIN = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class NoiseEstimate:
    """The noise of R rows: (R, N) `cleaned` levels, and (R,) SD and lag-1 dependence of these.

    `is_spike`, (R, N), marks the levels replaced by the running median, and `weights`, (R, N), is
    how many typical levels each counts as.
    """

    cleaned: FloatArray
    weights: FloatArray
    is_spike: BoolArray
    sd: FloatArray
    dependence: FloatArray


def estimate_noise(levels: FloatArray, errors: FloatArray) -> NoiseEstimate:
    """Return the noise of (R, N) levels, N of at least five, that have standard errors.

    Unknown errors are zero.
    """
    spread = _spreads(levels)
    middle = median_of_five(levels)
    off = levels - middle
    is_spike = np.abs(off) > SPIKE_SPREADS * spread[:, None]
    reach = CLIP_SPREADS * spread[:, None]
    cleaned = middle + np.where(is_spike, 0.0, np.clip(off, -reach, reach))
    sd, dependence = _dependence(cleaned, middle, spread)
    weights = _weights(sd, errors)
    return NoiseEstimate(
        cleaned=cleaned, weights=weights, is_spike=is_spike, sd=sd, dependence=dependence
    )


def refit_noise(
    noise: NoiseEstimate, fitted: FloatArray, *, levels: FloatArray, errors: FloatArray
) -> NoiseEstimate:
    """Return the noise of levels about `fitted`, (R, N), the levels of their stretches.

    `cleaned` become pseudo-values: each observation contributes to its stretch what it contributes
    to the location of Cauchy noise (one step of an M-estimator; Huber 1964). In noise with a tight
    core and wide tails that location is far more precise than the mean. Rows that are close to a
    random walk, and those in which most readings agree to the last digit, keep their noise.
    """
    off = levels - fitted
    spread = _spreads(levels)
    middle = np.sort(np.abs(off), axis=1)[:, off.shape[1] // 2]
    is_coarse = (middle <= MIN_SPREAD) & (spread > MIN_SPREAD)
    keeps = (noise.dependence > MOST_DEPENDENT) | is_coarse
    scales = PSEUDO_SPREADS * np.maximum(middle, MIN_SPREAD)
    inverse = 1 / (1 + (off / scales[:, None]) ** 2)
    gain = ((2 * inverse - 1) * inverse).mean(axis=1, keepdims=True)
    pseudo = fitted + off * inverse / np.maximum(gain, MIN_GAIN)
    cleaned = np.where(keeps[:, None], noise.cleaned, pseudo)
    sd, dependence = _dependence(cleaned, median_of_five(cleaned), _spreads(cleaned))
    return NoiseEstimate(
        cleaned=cleaned,
        weights=_weights(sd, errors),
        is_spike=noise.is_spike | (np.abs(off) > SPIKE_SPREADS * spread[:, None]),
        sd=sd,
        dependence=dependence,
    )


def median_of_five(levels: FloatArray) -> FloatArray:
    """Return the running median of five of each row; its ends repeat the nearest full window.

    One or two odd values in a row never change it; three in a row, even the last three, do.
    """
    x0, x1, x2, x3, x4 = (levels[:, lag : levels.shape[1] - 4 + lag] for lag in range(5))
    low, high = np.minimum(x0, x1), np.maximum(x0, x1)
    late_low, late_high = np.minimum(x3, x4), np.maximum(x3, x4)
    # The smallest and the largest of four drop out; what is left is the median of the other two and
    # x2.
    inner, outer = np.maximum(low, late_low), np.minimum(high, late_high)
    least, most = np.minimum(inner, outer), np.maximum(inner, outer)
    middle = np.minimum(np.maximum(least, x2), most)
    return np.concatenate([middle[:, [0, 0]], middle, middle[:, [-1, -1]]], axis=1)


def _weights(sd: FloatArray, errors: FloatArray) -> FloatArray:
    """Return (R, N) weights: the variance of a typical level over that of each level.

    The SD of a row includes a typical error; the rest is the same for all levels.
    """
    if not errors.any():
        return np.ones_like(errors)
    typical = np.median(errors, axis=1) ** 2
    share = np.minimum(1, MAX_ERROR_SHARE * sd**2 / np.maximum(typical, MIN_SPREAD**4))
    extra = share[:, None] * (errors**2 - typical[:, None])
    return sd[:, None] ** 2 / (sd[:, None] ** 2 + extra)


def _spreads(levels: FloatArray) -> FloatArray:
    """Return (R,) SDs estimated from two quantiles of first differences."""
    count = levels.shape[1] - 1
    middle, high = int(MIDDLE * count), int(HIGH * count)
    differences = np.abs(levels[:, 1:] - levels[:, :-1])
    differences.partition((middle, high), axis=1)
    spreads = np.maximum(
        differences[:, middle] / MIDDLE_OF_GAUSSIAN, differences[:, high] / HIGH_OF_GAUSSIAN
    )
    return np.maximum(spreads, MIN_SPREAD)


def _dependence(
    cleaned: FloatArray, middle: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return marginal SD and lag-1 dependence by differences one, two and three commits apart.

    For AR(1) noise their mean squares are 2 s^2 (1 - r), 2 s^2 (1 - r^2) and 2 s^2 (1 - r^3): the
    latter two over the first are 2 + 2 r + r^2. Steps hardly matter: differences across an obvious
    one are left out, and any other step affects only one, two and three differences.
    """
    rows, count = cleaned.shape
    steps = np.abs(middle[:, 1:] - middle[:, :-1]) > STEP_SPREADS * spread[:, None]
    crossed = np.zeros((rows, count), dtype=np.int64)
    np.cumsum(steps, axis=1, out=crossed[:, 1:])
    limit = (2 * (DIFFERENCE_SPREADS * spread) ** 2)[:, None]
    lag1, lag2, lag3 = (
        _mean_square_difference(cleaned, crossed, lag=lag, limit=limit) for lag in (1, 2, 3)
    )
    lag1 = np.maximum(lag1, 2 * MIN_SPREAD**2)
    if count < MIN_FOR_DEPENDENCE:
        return np.sqrt(lag1 / 2), np.zeros_like(lag1)
    estimate = np.sqrt(np.maximum((lag2 + lag3) / lag1 - 1, 1.0)) - 1
    dependence = np.minimum(estimate, MAX_DEPENDENCE)
    return np.sqrt(lag1 / 2 / (1 - dependence)), dependence


def _mean_square_difference(
    cleaned: FloatArray, crossed: IntArray, *, lag: int, limit: FloatArray
) -> FloatArray:
    square = cleaned[:, lag:] - cleaned[:, :-lag]
    square *= square
    np.minimum(square, limit, out=square)
    is_within = crossed[:, lag:] == crossed[:, :-lag]
    square *= is_within
    mean: FloatArray = square.sum(axis=1) / np.maximum(is_within.sum(axis=1), 1)
    return mean
