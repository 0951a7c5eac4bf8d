import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm, t as student

from perfledger_baselines.history.segmentation.noise import NoiseEstimate
from perfledger_baselines.history.segmentation.pruning import search_changes
from perfledger_baselines.history.segmentation.two_sample_tests import (
    PRIOR_DEGREES,
    PRIOR_OBSERVATIONS,
    PrefixSums,
    dependence_factors,
    fit_gain,
    fit_step,
    mean_factor,
    normal_quantile,
    step_gain_beside_line,
    step_gain_over_line,
    stretch_mean,
    welch_split,
)


def sums_of(levels, *, sd=0.01, dependence=0.0):
    def running(values):
        return np.concatenate([[0.0], np.cumsum(values)])

    levels = np.asarray(levels, dtype=float)
    ones = np.ones_like(levels)
    return PrefixSums(
        levels=running(levels),
        moments=running(levels * np.arange(len(levels))),
        weights=running(ones),
        weighted=running(levels),
        squares=running(levels**2),
        sd=sd,
        dependence=dependence,
    )


@pytest.mark.parametrize("count", [3, 20, 100])
@pytest.mark.parametrize("dependence", [0.0, 0.3, 0.9])
def test_a_mean_of_dependent_noise_varies_by_the_sum_of_its_correlations(count, dependence):
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    expected = (dependence**lags).sum() / count

    assert mean_factor(count, dependence) == pytest.approx(expected)
    factors = dependence_factors(np.array([float(count)]), np.array([dependence]))
    assert factors == pytest.approx([expected])


@pytest.mark.parametrize("degrees", [4.0, 10.0, 50.0])
@pytest.mark.parametrize("t", [0.5, 2.0, 5.0])
def test_a_t_is_as_likely_as_its_normal_quantile(t, degrees):
    exact = norm.isf(student.sf(t, degrees))

    assert normal_quantile(t, degrees) == pytest.approx(exact, abs=0.021)


def test_a_stretch_shares_the_spread_of_its_row():
    levels = np.array([0.01, -0.01, 0.03])

    mean, variance, degrees = stretch_mean(levels.sum(), (levels**2).sum(), 3.0, 0.02, 0.0)

    rest = ((levels - levels.mean()) ** 2).sum()
    prior = PRIOR_OBSERVATIONS * 0.02**2
    assert mean == pytest.approx(levels.mean())
    assert variance == pytest.approx((prior + rest) / (PRIOR_OBSERVATIONS + 2) / 3)
    expected = (prior + rest) ** 2 / (prior**2 / PRIOR_DEGREES + rest**2 / 2)
    assert degrees == pytest.approx(expected)


def test_a_split_says_both_levels_and_how_sure_their_difference_is(make):
    levels = make.noise(80, seed=1)
    levels[40:] += 0.05

    before, after, error, degrees, z = welch_split(sums_of(levels), 0, 40, 80)

    assert (before, after) == pytest.approx((levels[:40].mean(), levels[40:].mean()))
    assert error == pytest.approx(0.01 * math.sqrt(2 / 40), rel=0.2)
    assert z == pytest.approx(normal_quantile((after - before) / error, degrees))
    assert z > 10


def test_a_split_reaches_no_further_than_a_hundred_observations():
    levels = np.concatenate([[5.0] * 50, [0.0] * 100, [1.0] * 100, [9.0] * 50])

    before, after, *_ = welch_split(sums_of(levels), 0, 150, 300)

    assert (before, after) == pytest.approx((0.0, 1.0))


@pytest.mark.parametrize("dependence", [0.3, 0.8])
def test_a_fitted_step_is_exact_where_there_is_no_noise(dependence):
    levels = np.repeat([0.2, 0.5], [7, 12])

    assert fit_step(sums_of(levels, dependence=dependence), 0, 7, 19) == pytest.approx((0.2, 0.5))


@pytest.mark.parametrize("dependence", [0.3, 0.8])
def test_a_step_is_fitted_by_least_squares_on_innovations(make, dependence):
    """Each is divided by 1 - r; the first level counts as 1 + 2 r / (1 - r) of them."""
    levels, extra = make.noise(30, seed=3, dependence=dependence), dependence / (1 - dependence)
    levels[16:] += 0.05

    def innovations(values):
        return values + extra * np.diff(values, prepend=values[0])

    weight = np.sqrt(np.where(np.arange(20) == 0, 1 + 2 * extra, 1))
    columns = np.column_stack([np.ones(20), innovations(1.0 * (np.arange(20) >= 11))])
    level, step = np.linalg.lstsq(weight[:, None] * columns, weight * innovations(levels[5:25]))[0]

    found_fit_step = fit_step(sums_of(levels, dependence=dependence), 5, 16, 25)

    assert found_fit_step == pytest.approx((level, level + step))


def test_fitting_a_step_is_worth_most_in_short_dependent_stretches():
    assert fit_gain(20, 20, 0.6) == pytest.approx(0.76, abs=0.005)
    assert fit_gain(20, 20, 1e-9) == pytest.approx(1.0)
    assert fit_gain(1e5, 1e5, 0.6) == pytest.approx(1.0, abs=1e-3)


def test_a_step_explains_itself_better_than_a_line_does_and_a_slope_does_not():
    step, slope = np.repeat([0.0, 1.0], 20), np.arange(40) / 40

    bounds = (0, 0, 20, 40, 40)
    gains = [step_gain_over_line(sums_of(levels), bounds) for levels in (step, slope)]

    assert gains[0][0] > 0 > gains[1][0]
    assert [steps for _, steps in gains] == [1, 1]


def test_a_stair_is_held_against_one_line_through_all_of_it():
    stair = np.repeat([0.0, 1.0, 2.0, 3.0], 20)

    alone, steps_alone = step_gain_over_line(sums_of(stair[20:60]), (0, 0, 20, 40, 40))
    among, steps_among = step_gain_over_line(sums_of(stair), (0, 20, 40, 60, 80))

    assert among < alone
    assert (steps_alone, steps_among) == (1, 3)


def test_on_top_of_a_line_only_a_step_is_left():
    line = np.arange(40) / 40

    assert step_gain_beside_line(sums_of(line), 0, 20, 40) == pytest.approx(0.0, abs=1e-20)
    stepped = line + np.repeat([0.0, 1.0], 20)
    assert step_gain_beside_line(sums_of(stepped), 0, 20, 40) > 1.0


def test_observations_count_by_their_weights(make):
    levels = np.array([make.noise(60, seed=2)])
    levels[0, 30:] += 0.1
    weights = np.ones_like(levels)
    weights[0, ::2] = 0.01
    noise = NoiseEstimate(
        cleaned=levels,
        weights=weights,
        is_spike=np.zeros_like(levels, dtype=bool),
        sd=np.array([0.01]),
        dependence=np.array([0.0]),
    )

    fitted = np.repeat([[0.0, 0.1]], 30, axis=1)
    changes = search_changes(noise, fitted, floors=np.array([0.003]))

    expected = np.average(levels[0, :30], weights=weights[0, :30])
    assert changes.before.tolist() == pytest.approx([expected])


@pytest.mark.parametrize("count", [3, 20])
def test_a_stretch_of_dependent_noise_counts_as_fewer_observations(count):
    """In AR(1) noise squares about the mean sum to count - factor times the variance."""
    levels = np.array([0.01, -0.01, 0.03, 0.02, -0.04] * 4)[:count]
    lags = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    factor = (0.9**lags).sum() / count
    rest, prior = ((levels - levels.mean()) ** 2).sum(), PRIOR_OBSERVATIONS * 0.02**2

    _, variance, degrees = stretch_mean(levels.sum(), (levels**2).sum(), float(count), 0.02, 0.9)

    free = count - factor
    assert variance == pytest.approx((prior + rest) / (PRIOR_OBSERVATIONS + free) * factor / count)
    own = rest**2 / (free / factor)
    assert degrees == pytest.approx((prior + rest) ** 2 / (prior**2 / PRIOR_DEGREES + own))


def squares_about(levels, *terms):
    """Return the sum of squares that a least-squares fit of a constant and these terms leaves."""
    columns = np.column_stack([np.ones(len(levels)), *terms])
    return ((levels - columns @ np.linalg.lstsq(columns, levels)[0]) ** 2).sum()


@pytest.mark.parametrize("seed", range(20))
def test_the_gain_of_a_step_is_the_difference_of_two_least_squares_fits(seed):
    rng = np.random.default_rng(seed)
    start, first, place, stop, end = np.cumsum([rng.integers(0, 9), *rng.integers(3, 15, 4)])
    levels = rng.standard_normal(end + 5)
    levels += np.linspace(0, rng.uniform(-9, 9), end + 5)
    bounds = (int(start), int(first), int(place), int(stop), int(end))
    means = [levels[low:high].mean() for low, high in pairwise(bounds)]
    changes = np.sign(np.diff(means))
    low = start if changes[0] == changes[1] else first
    high = end if changes[2] == changes[1] else stop
    inner = [each for each in bounds if low <= each <= high]
    stairs = [np.arange(low, high) >= each for each in inner[1:-1]]

    gain, steps = step_gain_over_line(sums_of(levels), bounds)

    around = levels[low:high]
    line = squares_about(around, np.arange(low, high))
    assert steps == len(stairs)
    assert gain == pytest.approx((line - squares_about(around, *stairs)) / steps)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("before", "after"), [(3, 3), (4, 30), (25, 25)])
def test_the_gain_of_a_step_beside_a_line_is_the_difference_of_two_least_squares_fits(
    seed, before, after
):
    levels = np.random.default_rng(seed).standard_normal(before + after + 7)
    place, stop = 5 + before, 5 + before + after
    inner, index = levels[5:stop], np.arange(5, stop)

    gain = step_gain_beside_line(sums_of(levels), 5, place, stop)

    line, both = squares_about(inner, index), squares_about(inner, index, index >= place)
    assert gain == pytest.approx(line - both)
