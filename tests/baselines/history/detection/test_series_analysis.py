import math

import pytest

from perfledger_baselines.history.detection.changes import SeriesFindings
from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.observations import observe
from perfledger_baselines.history.detection.series_analysis import (
    MIN_OBSERVATIONS,
    analyse_series,
)

NOTHING = SeriesFindings(changes=())


def indices(history):
    return [change.index for change in history.changes]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_too_few_observations_show_nothing(count):
    assert detect([float(2**index) for index in range(count)]) == NOTHING


def test_series_of_any_lengths_come_back_in_order(make):
    batch = [
        make.series(make.noise(count, seed=count), [(count // 2, 0.1)])
        for count in (50, 8, 90, 50, 30)
    ]

    assert detect_many(batch) == tuple(detect(values) for values in batch)


def test_series_are_numbered_as_given_and_short_ones_left_out():
    counts = (20, MIN_OBSERVATIONS - 1, MIN_OBSERVATIONS, 20)
    observed = [observe([100.0 + n % 3 for n in range(count)]) for count in counts]

    analyses = dict(analyse_series(observed))

    assert sorted(analyses) == [0, 2, 3]
    assert all(analysis.observations is observed[n] for n, analysis in analyses.items())


def test_the_floor_is_a_ratio_of_logs_and_a_share_of_a_linear_middle():
    relative, linear = observe([2.0] * 9), observe([-8.0, *[4.0] * 9])

    analyses = dict(analyse_series([relative, linear]))

    assert analyses[0].floor == pytest.approx(math.log(1.003))
    assert analyses[1].floor == pytest.approx(0.003 * 4 / 8)


def test_the_upper_state_adds_its_share_of_the_distance(make):
    values = make.series(make.two_states(200, seed=5))

    ((_, analysis),) = analyse_series([observe(values)])

    assert analysis.states is not None
    share = analysis.states.is_upper.mean()
    assert analysis.typical_state == pytest.approx(analysis.states.distance * share)
    assert analysis.states.distance == pytest.approx(0.025, rel=0.1)


def test_a_series_in_one_state_adds_nothing(make):
    ((_, analysis),) = analyse_series([observe(make.series(make.noise(60, seed=6)))])

    assert (analysis.states, analysis.typical_state) == (None, 0.0)
