import numpy as np
import pytest

from perfledger_baselines.history.segmentation.changepoint_interval import Gaps
from perfledger_baselines.history.segmentation.changepoints import MIN_FOR_DRIFT, pool_slopes
from perfledger_baselines.history.segmentation.noise import NoiseEstimate, estimate_noise

NONE = np.zeros(0, dtype=np.int64)


def pooled(levels, *places):
    noise = estimate_noise(levels[None], np.zeros((1, len(levels))))
    row = np.zeros(len(places), dtype=np.int64)
    gaps = Gaps.between(row, np.array(places, dtype=np.int64), count=len(levels))
    return pool_slopes(noise, gaps)


@pytest.mark.parametrize("slope", [0.001, -0.001])
def test_a_slope_is_found_beside_the_steps(make, slope):
    levels = make.noise(120, seed=1) + slope * np.arange(120)
    levels[50:] += 0.3

    slopes = pooled(levels, 50)

    assert slopes.slope[0] == pytest.approx(slope, abs=4 * slopes.error[0])
    assert slopes.is_drift.tolist() == [True]


def test_a_step_that_is_known_is_no_slope(make):
    levels = make.noise(120, seed=2)
    levels[60:] += 0.3

    assert pooled(levels, 60).is_drift.tolist() == [False]
    assert pooled(levels).is_drift.tolist() == [True]


def test_noise_alone_does_not_drift(make):
    drifts = [pooled(make.noise(200, seed=seed)).is_drift[0] for seed in range(50)]

    assert not any(drifts)


def test_the_error_allows_for_dependent_noise(make):
    slopes = [pooled(make.noise(300, seed=seed, dependence=0.6)) for seed in range(60)]

    spread = np.std([each.slope[0] for each in slopes])
    assert np.mean([each.error[0] for each in slopes]) == pytest.approx(spread, rel=0.3)


def test_a_short_row_has_no_slope():
    slopes = pooled(np.arange(MIN_FOR_DRIFT - 1, dtype=float))

    assert (slopes.slope.tolist(), slopes.is_drift.tolist()) == ([0.0], [False])


def test_the_shortest_row_that_can_drift_has_a_slope():
    slopes = pooled(np.arange(MIN_FOR_DRIFT, dtype=float))

    assert slopes.slope == pytest.approx([1.0])


def test_the_pooled_slope_is_the_least_squares_slope_beside_the_levels_of_the_stretches(make):
    levels = make.noise(90, seed=3, dependence=0.5) + 0.002 * np.arange(90)
    noise = NoiseEstimate(
        cleaned=levels[None],
        weights=np.ones((1, 90)),
        is_spike=np.zeros((1, 90), dtype=bool),
        sd=np.array([0.01]),
        dependence=np.array([0.5]),
    )
    gaps = Gaps.between(np.zeros(2, dtype=np.int64), np.array([20, 55]), count=90)
    index = np.arange(90)
    stretches = [index < 20, (index >= 20) & (index < 55), index >= 55]
    columns = np.column_stack([index, *stretches])
    around = index - sum(each * index[each].mean() for each in stretches)

    slopes = pool_slopes(noise, gaps)

    assert slopes.slope == pytest.approx(np.linalg.lstsq(columns, levels)[0][:1])
    # (1 + r) / (1 - r) is the variance of a long mean of AR(1) noise over that of independent noise
    assert slopes.error == pytest.approx([0.01 * np.sqrt(3 / (around**2).sum())])
