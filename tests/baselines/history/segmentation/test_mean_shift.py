import numpy as np
import pytest

from perfledger_baselines.history.segmentation.mean_shift import (
    MIN_SIDE,
    find_shifts,
    strongest_shifts,
)
from perfledger_baselines.history.segmentation.pruning import confidences


def test_the_strongest_shift_is_where_the_means_differ_most():
    sequence = np.repeat([0.0, 1.0], [60, 40])

    z, place = strongest_shifts(sequence[None], np.zeros(1))

    assert place.tolist() == [60]
    expected = 1.0 * np.sqrt(60 * 40 / 100) / sequence.std()
    assert z.tolist() == pytest.approx([expected])


def test_dependence_makes_a_shift_weaker():
    sequence = np.repeat([0.0, 1.0], 50)[None]

    free, dependent = (strongest_shifts(sequence, np.array([r]))[0][0] for r in (0.0, 0.6))

    assert dependent == pytest.approx(free / 2)


def test_a_constant_has_no_shift():
    assert strongest_shifts(np.ones((1, 60)), np.zeros(1))[0].tolist() == [0.0]


def test_shifts_come_in_order_between_their_neighbours(make):
    sequence = np.repeat([0.0, 0.1, -0.1], [60, 60, 60]) + make.noise(180, seed=1)

    shifts = find_shifts(sequence, dependence=0.0, extra=0.0)

    assert [shift.place for shift in shifts] == [60, 120]
    assert all(shift.first < shift.place < shift.stop for shift in shifts)
    z, _ = strongest_shifts(sequence[None], np.zeros(1))
    assert max(shift.confidence for shift in shifts) == pytest.approx(confidences(z, count=180)[0])


def test_what_is_asked_for_in_addition_must_be_reached_too(make):
    sequence = np.repeat([0.0, 0.01], 100) + make.noise(200, seed=2)

    assert len(find_shifts(sequence, dependence=0.0, extra=0.0)) == 1
    assert find_shifts(sequence, dependence=0.0, extra=5.0) == []


def test_a_stretch_too_short_to_split_stays_whole():
    sequence = np.repeat([0.0, 1.0], [MIN_SIDE - 1, MIN_SIDE])

    assert find_shifts(sequence, dependence=0.0, extra=0.0) == []


def test_the_shortest_stretch_that_can_be_split_is_twice_the_fewest():
    sequence = np.repeat([0.0, 1.0], MIN_SIDE)

    assert [shift.place for shift in find_shifts(sequence, dependence=0.0, extra=0.0)] == [MIN_SIDE]
