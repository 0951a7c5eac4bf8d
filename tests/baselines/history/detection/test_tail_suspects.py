import math

import numpy as np
import pytest

from perfledger_baselines.history.detection.observations import SeriesError
from perfledger_baselines.history.detection.tail_suspects import tail_suspects


def tail_suspect(values):
    (suspect,) = tail_suspects([values])
    return suspect


def test_one_odd_value_at_the_end_is_suspect(make):
    values = make.series(make.noise(80, seed=1), [(79, 0.06)])

    suspect = tail_suspect(values)

    assert suspect is not None
    assert (suspect.index, suspect.observations) == (79, 1)
    assert suspect.change == pytest.approx(0.06, abs=0.03)
    assert suspect.strength > 3


def test_a_step_of_a_few_observations_is_suspected_where_it_began(make):
    suspect = tail_suspect(make.series(make.noise(80, seed=2), [(78, -0.04)]))

    assert suspect is not None
    assert suspect.index == 78
    assert suspect.change < 0


def test_an_ordinary_end_is_not_suspect(make):
    assert tail_suspect(make.series(make.noise(80, seed=3))) is None


def test_a_spike_like_those_before_it_is_not_suspect(make):
    values = make.series(make.noise(80, seed=3))
    values[[20, 45]] *= 1.3
    values[-1] *= 1.2

    assert tail_suspect(values) is None


def test_a_spike_that_is_over_is_not_suspect(make):
    values = make.series(make.noise(80, seed=3))
    values[-2] *= 1.2

    assert tail_suspect(values) is None


def test_a_newcomer_is_held_against_where_a_creeping_series_would_be(make):
    logs = make.noise(100, seed=4, sd=0.004) + np.linspace(0, 0.06, 100)

    usual, suspect = tail_suspect(make.series(logs)), tail_suspect(make.series(logs, [(99, 0.05)]))

    assert usual is None
    assert suspect is not None
    assert suspect.index == 99


def test_a_change_below_the_smallest_one_is_not_suspect(make):
    noise = make.noise(80, seed=5, sd=0.0003)

    assert tail_suspect(make.series(noise, [(78, 0.004)])) is not None
    assert tail_suspect(make.series(noise, [(78, 0.002)])) is None


def test_gaps_do_not_shift_the_suspect(make):
    values = make.series(make.noise(80, seed=6), [(78, 0.1)])
    values[70:78] = math.nan

    suspect = tail_suspect(values)

    assert suspect is not None
    assert suspect.index == 78


@pytest.mark.parametrize("count", [1, 8, 12])
def test_nothing_is_suspect_before_it_is_known_what_is_usual(count):
    assert tail_suspect([1.0] * (count - 1) + [9.0]) is None


def test_soon_after_a_change_nothing_is_suspect(make):
    assert tail_suspect(make.series(make.noise(80, seed=7), [(70, 0.2), (79, 0.2)])) is None


def test_a_series_without_values_is_an_error():
    with pytest.raises(SeriesError, match="holds no value"):
        tail_suspect([math.nan])


@pytest.mark.parametrize(
    ("step", "drift", "change", "strength"),
    [
        ((78, 0.03), 0.0, 0.023087921197, 3.5476605018),
        ((79, -0.05), 0.002, -0.056140657261, 5.4418095117),
    ],
)
def test_suspects_have_known_figures(make, step, drift, change, strength):
    """They rest on the noise, on what is usual and on the drift that goes on."""
    noise = make.noise(80, seed=31) + drift * np.arange(80)

    suspect = tail_suspect(make.series(noise, [step]))

    assert suspect is not None
    assert (suspect.index, suspect.observations) == (step[0], 80 - step[0])
    assert (suspect.change, suspect.strength) == pytest.approx((change, strength), rel=1e-8)
