from itertools import pairwise

import numpy as np
import pytest

from perfledger_baselines.history.segmentation.noise import (
    CLIP_SPREADS,
    MAX_DEPENDENCE,
    MIN_SPREAD,
    SPIKE_SPREADS,
    estimate_noise,
    median_of_five,
    refit_noise,
)


def estimated(*rows, errors=0.0):
    levels = np.array(rows)
    return estimate_noise(levels, np.full_like(levels, errors))


def test_the_running_median_is_that_of_five_and_repeats_at_the_ends():
    rows = np.random.default_rng(1).standard_normal((3, 40))

    middle = median_of_five(rows)

    expected = [[np.median(row[k : k + 5]) for k in range(36)] for row in rows]
    assert middle[:, 2:-2] == pytest.approx(np.array(expected))
    assert (middle[:, :2] == middle[:, [2]]).all()
    assert (middle[:, -2:] == middle[:, [-3]]).all()


@pytest.mark.parametrize("dependence", [0.0, 0.6])
def test_noise_is_estimated_whatever_steps_there_are(make, dependence):
    rows = np.array([make.noise(2000, seed=seed, dependence=dependence) for seed in range(8)])
    stepped = rows + 0.2 * (np.arange(2000) >= 700)

    for levels in (rows, stepped):
        noise = estimated(*levels)
        assert noise.sd.mean() == pytest.approx(0.01, rel=0.05)
        assert noise.dependence.mean() == pytest.approx(dependence, abs=0.05)


def test_a_spike_is_replaced_by_the_median_and_an_odd_level_is_clipped(make):
    levels = make.noise(200, seed=3)
    levels[50] += 1.0
    levels[100] += 0.06

    noise = estimated(levels)

    assert np.flatnonzero(noise.is_spike[0]).tolist() == [50]
    assert noise.cleaned[0, 50] == pytest.approx(np.median(levels[48:53]))
    off = noise.cleaned[0, 100] - median_of_five(levels[None])[0, 100]
    assert 0 < off < levels[100]
    assert off == pytest.approx(CLIP_SPREADS * 0.01, rel=0.2)
    assert CLIP_SPREADS < 6 < SPIKE_SPREADS


def test_readings_that_agree_have_the_smallest_spread():
    assert estimated([1.0] * 30).sd.tolist() == pytest.approx([MIN_SPREAD])


def test_a_random_walk_depends_as_much_as_noise_may():
    walk = np.cumsum(np.random.default_rng(4).standard_normal(1000))

    assert 0.85 < estimated(walk).dependence[0] <= MAX_DEPENDENCE


def test_a_short_row_counts_as_independent(make):
    assert estimated(make.noise(11, seed=5, dependence=0.9)).dependence.tolist() == [0.0]


def test_levels_weigh_by_their_errors_only_as_far_as_errors_explain_the_noise(make):
    levels = make.noise(200, seed=6)[None]
    errors = np.where(np.arange(200) % 2, 0.002, 0.02)[None]

    noise = estimate_noise(levels, errors)

    precise, rough = noise.weights[0, 1], noise.weights[0, 0]
    assert rough < 1 < precise
    variances = noise.sd[0] ** 2 / np.array([precise, rough])
    typical = np.median(errors) ** 2
    explained = min(1, 0.75 * noise.sd[0] ** 2 / typical)
    assert np.diff(variances)[0] == pytest.approx(explained * (0.02**2 - 0.002**2))
    assert (estimated(levels[0]).weights == 1).all()


def refitted(levels, fitted):
    errors = np.zeros_like(levels)
    return refit_noise(estimate_noise(levels, errors), fitted, levels=levels, errors=errors)


def test_a_tight_core_with_wide_tails_is_known_more_surely_when_refitted():
    rng = np.random.default_rng(8)
    levels = 0.01 * rng.standard_cauchy((20, 200))

    noise, refit = estimated(*levels), refitted(levels, np.zeros_like(levels))

    assert (refit.sd <= noise.sd).all()
    assert refit.sd.mean() < 0.8 * noise.sd.mean()
    location = refit.cleaned.mean(axis=1)
    assert location.std() < 0.8 * np.median(levels, axis=1).std() + 0.001


def test_ordinary_noise_is_known_about_as_well_as_before(make):
    levels = np.array([make.noise(200, seed=seed) for seed in range(20)])

    noise, refit = estimated(*levels), refitted(levels, np.zeros_like(levels))

    assert refit.sd.mean() == pytest.approx(noise.sd.mean(), rel=0.15)


def test_observations_that_are_far_from_their_stretch_are_spikes_three_in_a_row_too(make):
    levels = make.noise(200, seed=3)[None]
    levels[0, 50:53] += 0.2

    refit = refitted(levels, np.zeros_like(levels))

    assert np.flatnonzero(refit.is_spike[0]).tolist() == [50, 51, 52]


def test_a_walk_is_left_as_it_is():
    walks = np.cumsum(np.random.default_rng(10).standard_cauchy((10, 200)), axis=1)

    assert (refitted(walks, np.zeros_like(walks)).cleaned == estimated(*walks).cleaned).all()


def test_readings_of_which_most_agree_are_left_as_they_are(make):
    coarse = np.log(np.round(make.series(make.noise(200, seed=11, sd=0.004))))[None]
    fitted = np.full_like(coarse, np.median(coarse))

    refit = refitted(coarse, fitted)

    assert np.median(np.abs(coarse - fitted)) == 0 < refit.sd[0]
    assert (refit.cleaned == estimated(*coarse).cleaned).all()


def test_pseudo_values_keep_the_levels_of_their_stretches():
    rng = np.random.default_rng(9)
    fitted = np.where(np.arange(400) < 200, 0.0, 0.1)[None]

    refit = refitted(0.002 * rng.standard_cauchy((1, 400)) + fitted, fitted)

    assert refit.cleaned[0, :200].mean() == pytest.approx(0, abs=0.001)
    assert refit.cleaned[0, 200:].mean() == pytest.approx(0.1, abs=0.001)


def noise_by_definition(levels):
    """Return SD and dependence of one row, observation by observation, as the module says them."""
    count = len(levels)
    apart = sorted(abs(later - earlier) for earlier, later in pairwise(levels))
    # P(|difference| <= q sqrt 2) of Gaussian noise is 0.5 at q = 0.6745, 0.8 at 1.2816.
    spread = max(
        apart[(count - 1) // 2] / (0.6745 * 2**0.5),
        apart[int(0.8 * (count - 1))] / (1.2816 * 2**0.5),
        MIN_SPREAD,
    )
    starts = [min(max(at - 2, 0), count - 5) for at in range(count)]
    middle = [sorted(levels[at : at + 5])[2] for at in starts]
    cleaned = []
    for level, median in zip(levels, middle, strict=True):
        off = level - median
        reach = CLIP_SPREADS * spread
        is_spike = abs(off) > SPIKE_SPREADS * spread
        cleaned.append(median + (0 if is_spike else min(max(off, -reach), reach)))
    limit = 2 * (3.5 * spread) ** 2
    squares = [
        np.mean(
            [
                min((cleaned[at + lag] - cleaned[at]) ** 2, limit)
                for at in range(count - lag)
                if all(
                    abs(middle[each + 1] - middle[each]) <= 4 * spread
                    for each in range(at, at + lag)
                )
            ]
        )
        for lag in (1, 2, 3)
    ]
    ratio = (squares[1] + squares[2]) / squares[0]  # 2 + 2 r + r^2 = 1 + (1 + r)^2
    dependence = min(max((ratio - 1) ** 0.5 - 1, 0) if ratio > 1 else 0, MAX_DEPENDENCE)
    return (squares[0] / 2 / (1 - dependence)) ** 0.5, dependence


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("count", [12, 60])
def test_noise_is_what_its_definition_says(make, seed, count):
    levels = make.noise(count, seed=seed, dependence=0.1 * (seed % 7))
    levels[count // 2 :] += 0.1 * (seed % 2)
    levels[[3, count - 4]] += 0.2, 0.035
    levels[count // 3] -= 0.05

    noise = estimated(levels)

    sd, dependence = noise_by_definition(levels.tolist())
    assert noise.sd.tolist() == pytest.approx([sd], rel=1e-3)
    assert noise.dependence.tolist() == pytest.approx([dependence], abs=2e-3)


def test_errors_explain_three_quarters_of_the_noise_at_most(make):
    """Errors that are far larger than the noise of their row, and some that are far smaller."""
    levels = make.noise(200, seed=7)[None]
    sd = estimated(levels[0]).sd[0]

    def variances(*errors):
        weights = estimate_noise(levels, np.resize(errors, 200)[None]).weights[0, :2]
        return (sd**2 / weights).tolist()

    low, high = variances(0.9, 1.1)  # a typical error of 1
    assert high - low == pytest.approx(0.75 * sd**2 * (1.1**2 - 0.9**2))
    assert variances(0.001, 0.003) == pytest.approx([sd**2 + 0.001**2 - 2e-3**2, sd**2 + 5e-6])
