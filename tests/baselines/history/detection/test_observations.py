import math

import numpy as np
import pytest

from perfledger_baselines.history.detection.changes import Movement, SeriesFindings
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.observations import SeriesError, observe

NOTHING = SeriesFindings(changes=())


def indices(history):
    return [change.index for change in history.changes]


def test_a_zero_puts_the_series_on_the_linear_scale(make):
    values = make.series(make.noise(100, seed=8), [(50, 0.05)])
    values[3] = 0.0

    (change,) = detect(values).changes

    assert change.index == 50
    assert change.change == pytest.approx(0.05, abs=0.01)


def test_relative_to_nothing_a_change_has_no_size_but_a_direction():
    (change,) = detect([0.0] * 30 + [-4.0] * 30).changes

    assert change.index == 30
    assert math.isnan(change.change)
    assert math.isnan(change.low)
    assert change.after == pytest.approx(-4.0)
    assert change.movement is Movement.DOWN


def test_negative_values_are_searched_on_the_linear_scale(make):
    (change,) = detect(make.noise(100, seed=9) - 3 + 0.1 * (np.arange(100) >= 40)).changes

    assert change.index == 40
    assert change.movement is Movement.UP


def test_a_level_and_its_value_are_one_scale_apart():
    for values in ([1.0, 2.0, 4.0], [-1.0, 0.0, 3.0]):
        observations = observe(values)

        assert [observations.value(level) for level in observations.levels] == pytest.approx(values)


def test_positive_values_are_compared_as_ratios():
    observations = observe([1.0, 2.0, 4.0])

    assert observations.is_relative
    assert observations.ratio(math.log(2.0), before=math.nan) == pytest.approx(1.0)


def test_a_linear_change_is_relative_to_the_value_before():
    observations = observe([0.0, 2.0, 4.0])

    assert observations.ratio(0.5, before=2.0) == pytest.approx(1.0)
    assert math.isnan(observations.ratio(0.5, before=0.0))


def test_places_skip_the_gaps():
    observations = observe([math.nan, 1.0, math.nan, 2.0])

    assert observations.places.tolist() == [1, 3]
    assert len(observations.levels) == 2


def test_an_error_is_relative_where_levels_are_logs_and_typical_where_unknown():
    observations = observe([1.0, 2.0, 4.0], errors=[0.1, math.nan, 0.1])

    assert observations.errors == pytest.approx([0.1, 0.05, 0.025])


def test_no_error_is_larger_than_a_factor_of_a_thousand():
    assert observe([1.0], errors=[1e9]).errors[0] == pytest.approx(math.log(1000))


@pytest.mark.parametrize(
    ("errors", "match"),
    [([0.1], "1 standard errors for 2 values"), ([-0.1, 0.1], "negative or infinite")],
)
def test_errors_must_fit_their_values(errors, match):
    with pytest.raises(SeriesError, match=match):
        observe([1.0, 2.0], errors=errors, name="the series")


@pytest.mark.parametrize("values", [[4.0, 1.0, 100.0, 2.0, 3.0], [-1.0, 0.0, 3.0, 2.0, 0.5]])
def test_levels_are_about_the_median_value(values):
    observations = observe(values)

    assert observations.middle == pytest.approx(sorted(values)[2])
    assert observations.levels[values.index(sorted(values)[2])] == 0.0


def test_a_linear_change_is_relative_to_any_value_above_zero():
    assert observe([0.0, 2.0, 4.0]).ratio(0.5, before=0.25) == pytest.approx(8.0)


def test_a_series_of_zeros_stays_where_it_is():
    observations = observe([0.0] * 5)

    assert [observations.value(level) for level in observations.levels] == [0.0] * 5
