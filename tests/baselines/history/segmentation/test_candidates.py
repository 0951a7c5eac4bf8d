import numpy as np
import pytest

from perfledger_baselines.history.segmentation.candidates import (
    candidates,
    unlikely_jumps,
    vector_peaks,
)
from perfledger_baselines.history.segmentation.noise import estimate_noise


def places_in(levels, *, need=4.0, fewest=3):
    noise = estimate_noise(levels[None], np.zeros((1, len(levels))))
    return candidates(noise, need=need, fewest=fewest)[1].tolist()


def test_a_step_is_a_candidate_where_it_is(make):
    levels = make.noise(200, seed=1)
    levels[90:] += 0.1

    assert 90 in places_in(levels)


def test_candidates_are_as_far_apart_as_a_stretch_is_long(make):
    levels = make.noise(300, seed=2)

    places = places_in(levels, need=1.0, fewest=5)

    assert len(places) > 5
    assert min(np.diff(places)) >= 5
    assert 5 <= places[0] <= places[-1] <= 295


def test_of_two_steps_too_close_that_are_equally_high_one_stays():
    half = [2, 1, 0, -2, -1, -3, -3, -3, -2, 2, 1, 3, 0, 1, 3, 2, 1, 0, 0, 3]
    levels = np.array([*half, *reversed(half)], dtype=float)  # there and back: steps come in pairs

    assert places_in(levels, need=0.3, fewest=5) == [9, 19, 31]


def test_rows_come_in_order_with_their_places(make):
    levels = np.array([make.noise(100, seed=seed) for seed in (3, 4)])
    levels[:, 60:] += 0.2

    row, place = candidates(estimate_noise(levels, np.zeros_like(levels)), need=4.0, fewest=3)

    assert list(zip(row.tolist(), place.tolist(), strict=True)) == sorted(
        zip(row.tolist(), place.tolist(), strict=True)
    )
    assert {(0, 60), (1, 60)} <= set(zip(row.tolist(), place.tolist(), strict=True))


@pytest.mark.parametrize("dependence", [0.0, 0.9])
def test_a_jump_is_unlikely_by_the_standard_deviation_of_a_difference(make, dependence):
    levels = make.noise(400, seed=5, dependence=dependence)[None]
    noise = estimate_noise(levels, np.zeros_like(levels))

    (jump,) = unlikely_jumps(noise, need=2.0)

    assert jump == pytest.approx(2 * np.std(np.diff(levels)), rel=0.15)


def test_a_peak_says_how_many_times_enough_it_is():
    levels = np.repeat([0.0, 1.0], 10)
    sums = np.concatenate([[0.0], np.cumsum(levels)])[None]

    strength = vector_peaks(sums, np.array([[0.5]]), np.array([4]), 3)

    assert np.flatnonzero(strength[0]).tolist() == [10]
    assert strength[0, 10] == pytest.approx(np.sqrt(2) / 0.5)
