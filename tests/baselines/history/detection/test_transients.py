from dataclasses import replace

import numpy as np
import pytest

from perfledger_baselines.history.detection.changes import SeriesFindings
from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.series_analysis import (
    MAX_EXCURSION,
    MIN_RUN,
    RUN_SPREADS,
    remove_transients,
)
from perfledger_baselines.history.segmentation.changepoints import search_rows

NOTHING = SeriesFindings(changes=())


def indices(history):
    return [change.index for change in history.changes]


def test_a_short_excursion_is_a_transient_and_no_change(make):
    values = make.series(make.noise(100, seed=10), [(50, 0.2), (55, 1 / 1.2 - 1)])

    history = detect(values)

    assert history.changes == ()
    (transient,) = history.transients
    assert (transient.first, transient.last) == (50, 54)
    assert transient.change == pytest.approx(0.2, abs=0.02)


def test_a_spike_is_a_transient(make):
    values = make.series(make.noise(100, seed=11))
    values[40] *= 1.3

    (transient,) = detect(values).transients

    assert (transient.first, transient.last) == (40, 40)
    assert transient.change == pytest.approx(0.3, abs=0.05)


def test_an_odd_last_value_has_not_come_back_yet(make):
    values = make.series(make.noise(100, seed=11))
    values[-1] *= 1.3

    assert detect(values) == NOTHING


@pytest.mark.parametrize("count", [25, 60, 100])
@pytest.mark.parametrize("length", [MIN_RUN, 4])
def test_a_run_too_short_for_two_changes_is_a_transient(make, count, length):
    levels = make.noise(count, seed=13)
    middle = count // 2
    levels[middle : middle + length] += 0.2

    history = detect(make.series(levels))

    assert history.changes == ()
    (transient,) = history.transients
    assert (transient.first, transient.last) == (middle, middle + length - 1)
    assert transient.change == pytest.approx(0.22, abs=0.02)


def test_such_runs_of_short_series_are_transients(make):
    series = []
    for seed in range(20):
        for length in (3, 4):
            levels = make.noise(25, seed=seed)
            levels[11 : 11 + length] += np.log1p(0.2)
            series.append(make.series(levels))

    histories = detect_many(series)

    assert sum(bool(history.transients) for history in histories) >= 38
    assert sum(bool(history.changes) for history in histories) <= 1


def quiet_row(**values):
    """Return a searched row of nothing, with a standard deviation of one percent."""
    rows = search_rows(np.zeros((1, 100)), np.zeros((1, 100)), floors=np.array([0.003]))
    return replace(rows[0], sd=0.01, **values)


def runs_in(row):
    excursions = remove_transients(row, floor=0.003).excursions
    return [(each.first, each.last) for each in excursions]


@pytest.mark.parametrize(
    ("first", "odd", "is_transient"),
    [
        pytest.param(40, [RUN_SPREADS + 0.1] * MIN_RUN, True, id="enough"),
        pytest.param(40, [-RUN_SPREADS - 0.1] * MIN_RUN, True, id="enough below"),
        pytest.param(40, [RUN_SPREADS - 0.1] * MIN_RUN, False, id="not far enough"),
        pytest.param(40, [RUN_SPREADS + 0.1] * (MIN_RUN - 1), False, id="too few"),
        pytest.param(40, [RUN_SPREADS + 0.1] * MAX_EXCURSION, True, id="as many as may be"),
        pytest.param(40, [RUN_SPREADS + 0.1] * (MAX_EXCURSION + 1), False, id="too many"),
        pytest.param(40, [4.0, -4.0, 4.0], False, id="on both sides"),
        pytest.param(0, [RUN_SPREADS + 0.1] * MIN_RUN, False, id="at the beginning"),
        pytest.param(97, [RUN_SPREADS + 0.1] * MIN_RUN, False, id="at the end"),
    ],
)
def test_a_run_is_off_on_one_side_by_enough(first, odd, is_transient):
    levels = np.zeros(100)
    levels[first : first + len(odd)] = 0.01 * np.array(odd)

    assert runs_in(quiet_row(levels=levels)) == [(first, first + len(odd) - 1)] * is_transient


@pytest.mark.parametrize(("size", "is_transient"), [(0.0029, False), (0.0031, True)])
def test_a_run_is_off_by_at_least_the_smallest_change(size, is_transient):
    levels = np.zeros(100)
    levels[40:43] = size

    row = replace(quiet_row(levels=levels), sd=0.0001)

    assert runs_in(row) == [(40, 42)] * is_transient


@pytest.mark.parametrize(("dependence", "is_transient"), [(0.75, False), (0.7, True)])
def test_a_run_in_a_random_walk_is_no_transient(dependence, is_transient):
    levels = np.zeros(100)
    levels[40:43] = 0.1

    row = quiet_row(levels=levels, dependence=dependence)

    assert runs_in(row) == [(40, 42)] * is_transient


def test_a_run_of_which_some_are_spikes_is_one_transient():
    levels, is_spike = np.zeros(100), np.zeros(100, dtype=np.bool_)
    levels[40:44] = 0.1
    is_spike[39:43] = True  # the running median leaves the level too early

    assert runs_in(quiet_row(levels=levels, is_spike=is_spike)) == [(40, 43)]


def test_a_spike_smaller_than_the_smallest_change_is_not_told(make):
    small = make.series(make.noise(100, seed=11, sd=0.0002))
    large = small.copy()
    small[40] *= 1.0025
    large[40] *= 1.004

    assert detect(small).transients == ()
    assert len(detect(large).transients) == 1


def test_a_series_of_excursions_without_end_is_answered(make):
    logs = make.noise(300, seed=12, sd=0.002)
    logs[20:280] += 0.1 * (np.arange(260) % 12 < 5)

    assert len(detect(make.series(logs)).changes) <= 2


def stable_row(levels, *, floor=0.003):
    """Return a row of levels without its transients."""
    row = search_rows(levels[None], np.zeros((1, len(levels))), floors=np.array([floor]))[0]
    return remove_transients(row, floor=floor)


@pytest.mark.parametrize(
    ("length", "is_removed"), [(MAX_EXCURSION, True), (MAX_EXCURSION + 1, False)]
)
def test_only_a_short_excursion_is_taken_out_of_the_row(make, length, is_removed):
    levels = make.noise(120, seed=10)
    levels[60 : 60 + length] += 0.1

    stable = stable_row(levels)

    assert (len(stable.places) == 120 - length) is is_removed
    assert (len(stable.row.shifts) == 0) is is_removed
    if is_removed:
        (excursion,) = stable.excursions
        assert (excursion.first, excursion.last) == (60, 60 + length - 1)
        assert excursion.step == pytest.approx(0.1, abs=0.02)


def test_a_change_that_comes_back_by_less_than_half_is_no_transient(make):
    levels = make.noise(120, seed=9)
    levels[60:] += 0.1
    levels[64:] -= 0.04

    assert len(stable_row(levels).places) == 120


def test_an_excursion_is_measured_from_the_middle_of_what_is_around_it(make):
    """The stretch is far from the middle of its row."""
    levels = make.noise(200, seed=10, sd=0.002)
    levels[:80] += 0.5
    levels[40:44] += 0.1

    (excursion,) = stable_row(levels).excursions

    assert (excursion.first, excursion.last) == (40, 43)
    assert excursion.step == pytest.approx(0.1, abs=0.01)


def test_a_spike_on_a_slope_is_measured_from_the_slope(make):
    levels = make.noise(200, seed=2, sd=0.002) + 0.001 * np.arange(200)
    levels[[20, 21, 150]] += 0.2

    excursions = stable_row(levels).excursions

    assert [(each.first, each.last) for each in excursions] == [(20, 21), (150, 150)]
    assert [each.step for each in excursions] == pytest.approx([0.2, 0.2], abs=0.01)


def test_two_excursions_side_by_side_are_both_taken_out(make):
    levels = make.noise(160, seed=4, sd=0.002)
    levels[60:65] += 0.1
    levels[90:95] -= 0.1

    stable = stable_row(levels)

    assert [(each.first, each.last) for each in stable.excursions] == [(60, 64), (90, 94)]
    assert stable.row.shifts == ()


def test_the_change_of_a_transient_is_relative_to_the_middle_on_the_linear_scale(make):
    values = make.series(make.noise(100, seed=10), [(50, 0.2), (55, 1 / 1.2 - 1)])
    values[3] = 0.0

    (zero, transient) = detect(values).transients

    assert zero.change == pytest.approx(-1.0, abs=0.02)
    assert transient.change == pytest.approx(0.2, abs=0.02)
