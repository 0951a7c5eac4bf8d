from dataclasses import replace

import numpy as np
import pytest

from perfledger_baselines.history.detection.changes import SeriesFindings
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.variance_changes import (
    MIN_RATIO,
    find_share_shifts,
    find_variance_changes,
)
from perfledger_baselines.history.segmentation.changepoints import search_rows
from perfledger_baselines.history.segmentation.mean_shift import MIN_SIDE

NOTHING = SeriesFindings(changes=())


def indices(history):
    return [change.index for change in history.changes]


def test_noise_that_grows_is_a_change_of_spread_and_not_of_level(make):
    logs = make.noise(200, seed=16)
    logs[100:] *= 3

    history = detect(make.series(logs))

    assert history.changes == ()
    (spread,) = history.spread_changes
    assert abs(spread.index - 100) <= 8
    assert spread.low < 3 < spread.high


def test_a_share_of_slow_runs_that_changed_is_named_as_what_it_is(make):
    rare = make.two_states(200, seed=17, share=0.15)
    often = make.two_states(200, seed=18, share=0.75)

    history = detect(make.series(np.concatenate([rare, often])))

    assert history.changes == ()
    (shift,) = history.state_changes
    assert abs(shift.index - 200) <= 20
    assert shift.share_before < 0.3
    assert shift.share_after > 0.6
    assert shift.distance == pytest.approx(0.025, rel=0.1)


def searched(levels):
    return search_rows(levels, np.zeros_like(levels), floors=np.full(len(levels), 0.003))


def test_the_ratio_of_the_noise_is_in_its_interval(make):
    quiet, noisy = make.noise(200, seed=1), make.noise(200, seed=2)

    ((change,), nothing) = find_variance_changes(
        searched(np.stack([np.append(quiet, 3 * noisy), np.append(quiet, noisy)]))
    )

    assert abs(change.place - 200) <= 10
    assert change.low < 3 < change.high
    assert change.ratio == pytest.approx(3, rel=0.3)
    assert nothing == ()


def test_noise_that_grows_by_less_than_the_smallest_ratio_is_no_change(make):
    levels = make.noise(2000, seed=3)
    levels[1000:] *= 0.9 * MIN_RATIO

    assert find_variance_changes(searched(levels[None])) == [()]


def test_too_short_a_row_has_no_change_of_noise(make):
    assert find_variance_changes(searched(make.noise(39, seed=4)[None])) == [()]


def test_shares_before_and_after_are_those_of_the_stretches():
    is_upper = np.arange(200) % np.where(np.arange(200) < 100, 10, 2) == 0

    (shift,) = find_share_shifts(is_upper)

    assert abs(shift.place - 100) <= 5
    assert shift.before == pytest.approx(0.1, abs=0.03)
    assert shift.after == pytest.approx(0.5, abs=0.03)


@pytest.mark.parametrize("count", [39, 200])
def test_a_share_that_stays_has_no_shift(count):
    assert find_share_shifts(np.arange(count) % 4 == 0) == ()


def test_the_distance_of_two_states_is_relative_also_where_a_zero_makes_the_scale_linear(make):
    rare = make.two_states(200, seed=17, share=0.15)
    often = make.two_states(200, seed=18, share=0.75)
    values = make.series(np.concatenate([rare, often]))
    with_zero = values.copy()
    with_zero[5] = 0.0

    ((logarithmic,), (linear,)) = (detect(each).state_changes for each in (values, with_zero))

    assert linear.distance == pytest.approx(logarithmic.distance, rel=0.1)


def test_forty_observations_show_a_change_of_noise_and_of_a_share():
    """Twenty on either side: residuals of one size, then of another."""
    sizes = np.repeat([0.001, 0.01], MIN_SIDE) * np.resize([1.0, -1.0], 2 * MIN_SIDE)
    (row,) = searched(sizes[None])

    ((change,),) = find_variance_changes([replace(row, sd=0.005, dependence=0.0)])
    (shift,) = find_share_shifts(np.arange(2 * MIN_SIDE) >= MIN_SIDE)

    assert MIN_SIDE == 20
    assert (change.place, shift.place) == (20, 20)
    assert change.ratio == pytest.approx(10, rel=0.01)
    assert (shift.before, shift.after) == (0.0, 1.0)


def test_a_shift_of_a_share_is_less_sure_where_states_last():
    """From a fifth of a row to three fifths: one observation at a time, or ten in turn."""
    rare, often = np.array([False] * 4 + [True]), np.array([True, True, False, True, False])

    switching, lasting = (
        find_share_shifts(np.repeat([*np.tile(rare, turns), *np.tile(often, turns)], length))
        for turns, length in ((20, 1), (2, 10))
    )

    assert [shift.place for shift in switching] == [pytest.approx(100, abs=5)]
    assert lasting == ()


def test_noise_of_a_row_that_drifts_is_that_about_its_slope(make):
    levels = make.noise(200, seed=5) + 0.004 * np.arange(200)
    levels[100:] += 3 * make.noise(100, seed=6)
    (row,) = searched(levels[None])

    ((change,),) = find_variance_changes([row])

    assert row.slope > 0
    assert abs(change.place - 100) <= 10
    assert change.low < 10**0.5 < change.high
