import numpy as np
import pytest

from perfledger_baselines.history.segmentation.changepoint_interval import (
    Gaps,
    likely_places,
    place_likelihoods,
)
from perfledger_baselines.history.segmentation.noise import NoiseEstimate


def noise_of(levels, *, sd=0.01, dependence=0.0):
    levels = np.atleast_2d(levels)
    return NoiseEstimate(
        cleaned=levels,
        weights=np.ones_like(levels),
        is_spike=np.zeros_like(levels, dtype=bool),
        sd=np.full(len(levels), sd),
        dependence=np.full(len(levels), dependence),
    )


def gaps_of(*places, count, row=0):
    return Gaps.between(np.full(len(places), row), np.array(places), count=count)


def test_a_gap_ends_at_its_neighbours_or_at_those_of_the_row():
    gaps = Gaps.between(np.array([0, 0, 1]), np.array([10, 20, 5]), count=30)

    assert gaps.first.tolist() == [0, 10, 0]
    assert gaps.stop.tolist() == [20, 30, 30]


def test_the_likeliest_columns_hold_all_but_a_fortieth_on_either_side():
    flat = np.zeros((1, 400))
    sharp = np.where(np.arange(400) == 123, 60.0, 0.0)[None]

    assert [int(each[0]) for each in likely_places(flat)] == pytest.approx([10, 389], abs=1)
    assert [int(each[0]) for each in likely_places(sharp)] == [123, 123]


@pytest.mark.parametrize("dependence", [0.0, 0.6])
def test_a_clear_step_is_likeliest_where_it_is(make, dependence):
    levels = make.noise(100, seed=1, dependence=dependence)
    levels[40:] += 0.1

    likelihoods = place_likelihoods(
        noise_of(levels, dependence=dependence), gaps_of(43, count=100), fewest=3
    )

    row, place = likelihoods.best(np.array([0]))
    earliest, latest = likelihoods.interval()
    assert (row.tolist(), place.tolist()) == ([0], [40])
    assert earliest[0] <= 40 <= latest[0]
    assert latest[0] - earliest[0] <= 4


def test_the_strength_of_a_place_is_its_squared_z():
    levels = np.repeat([0.0, 0.02], 10)

    likelihoods = place_likelihoods(noise_of(levels), gaps_of(10, count=20), fewest=3)

    assert likelihoods.strength[0, 10] == pytest.approx((0.02 / 0.01) ** 2 * 5)


def test_a_step_the_other_way_is_another_change(make):
    levels = np.repeat([0.0, 0.1, 0.0], [30, 5, 30]) + make.noise(65, seed=2)

    likelihoods = place_likelihoods(noise_of(levels), gaps_of(30, count=65), fewest=3)

    assert likelihoods.best(np.array([0]))[1].tolist() == [30]
    assert likelihoods.strength[0, 35] == -np.inf


def test_no_place_leaves_a_stretch_with_too_few_observations():
    likelihoods = place_likelihoods(noise_of(np.arange(9) / 10), gaps_of(4, count=9), fewest=3)

    assert np.isfinite(likelihoods.strength[0]).nonzero()[0].tolist() == [3, 4, 5, 6]


def test_two_changes_that_fit_best_at_one_place_become_one():
    levels = np.repeat([0.0, 1.0], 20)
    likelihoods = place_likelihoods(noise_of(levels), gaps_of(16, 24, count=40), fewest=3)

    assert likelihoods.best(np.array([0, 0]))[1].tolist() == [20]


def test_without_changes_there_is_nothing_to_place():
    likelihoods = place_likelihoods(noise_of([0.0] * 9), gaps_of(count=9), fewest=3)

    assert [len(part) for part in (*likelihoods.interval(), likelihoods.best(np.array([]))[1])] == [
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("dependence", [0.0, 0.6])
def test_the_strength_is_the_squared_z_of_least_squares_on_innovations(make, dependence):
    """Two gaps of different lengths; a step in AR(1) noise, by a general least-squares fit."""
    levels = make.noise(70, seed=4, dependence=dependence)
    levels[30:] += 0.1
    levels[50:] += 0.1
    gaps, extra = gaps_of(30, 50, count=70), dependence / (1 - dependence)
    likelihoods = place_likelihoods(noise_of(levels, dependence=dependence), gaps, fewest=3)

    def whitened(values):
        return values + extra * np.diff(values, prepend=values[0])

    def squared_z(first, place, stop):
        index = np.arange(first, stop)
        columns = np.column_stack([np.ones(stop - first), whitened(1.0 * (index >= place))])
        fit = np.linalg.lstsq(columns, whitened(levels[first:stop]))[0]
        sd = 0.01 * np.sqrt((1 + dependence) / (1 - dependence))
        return fit[1] ** 2 / (sd**2 * np.linalg.inv(columns.T @ columns)[1, 1])

    for number, (first, stop) in enumerate([(0, 50), (30, 70)]):
        strength = likelihoods.strength[number]
        allowed = np.flatnonzero(np.isfinite(strength))
        assert {20, stop - first - 20} & set(allowed.tolist())
        assert strength[allowed] == pytest.approx(
            [squared_z(first, first + at, stop) for at in allowed.tolist()]
        )


def test_likely_places_leave_out_less_than_a_fortieth_on_either_side():
    """The strength is a squared z: twice the logarithm of the likelihood."""
    likelihood = np.array([2.0, 2.0, 92.0, 2.0, 2.0])

    earliest, latest = likely_places(2 * np.log(likelihood)[None])

    assert (earliest.tolist(), latest.tolist()) == ([1], [3])
