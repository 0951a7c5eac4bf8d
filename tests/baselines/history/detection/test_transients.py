import numpy as np
import pytest

from perfledger_baselines.history.detection.changes import SeriesFindings
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.series_analysis import (
    MAX_EXCURSION,
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
