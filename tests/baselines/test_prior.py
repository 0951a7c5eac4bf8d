import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.prior import (
    PRIOR_DEGREES,
    PriorError,
    PriorSource,
    prior_from_pairs,
    prior_from_runs,
)

values = st.lists(st.floats(0.1, 10.0), min_size=5, max_size=40)


def draw(sd, count=2000, seed=3):
    return np.random.default_rng(seed).normal(0.0, sd, count)


def test_earlier_pairs_tell_the_variance_of_pairs():
    prior = prior_from_pairs(draw(0.02).tolist())

    assert prior.variance == pytest.approx(0.02**2, rel=0.1)
    assert (prior.degrees, prior.source) == (PRIOR_DEGREES, PriorSource.PAIRS)


def test_a_pair_of_runs_differs_with_twice_the_variance_of_one():
    prior = prior_from_runs(np.exp(draw(0.01)).tolist())

    assert prior.variance == pytest.approx(2 * 0.01**2, rel=0.1)
    assert prior.source is PriorSource.RUNS


def test_a_level_that_moved_is_no_spread():
    logs = np.concatenate([draw(0.01, 15), 0.5 + draw(0.01, 15, seed=4)])

    prior = prior_from_runs(np.exp(logs).tolist(), changes=[15])

    assert math.sqrt(prior.variance / 2) == pytest.approx(0.01, rel=0.4)


def test_single_spikes_are_no_spread():
    spiky = draw(0.01)
    spiky[::100] += 0.5

    assert math.sqrt(prior_from_pairs(spiky.tolist()).variance) < 0.013


@pytest.mark.parametrize("share", [0.15, 0.35, 0.5, 0.85])
def test_two_states_are_a_spread(share):
    states = np.where(np.random.default_rng(1).random(400) < share, 0.02, 0.0)

    prior = prior_from_pairs(states.tolist())

    assert prior.variance == pytest.approx(states.var(), rel=0.01)


@pytest.mark.parametrize(("count", "changes", "degrees"), [(5, (), 4), (8, (4,), 6), (30, (), 12)])
def test_a_short_history_is_worth_less(count, changes, degrees):
    prior = prior_from_runs(np.exp(draw(0.01, count)).tolist(), changes=changes)

    assert prior.degrees == degrees


@pytest.mark.parametrize(
    "history",
    [
        pytest.param([1.0] * 4, id="too few"),
        pytest.param([], id="none"),
        pytest.param([1.0] * 5 + [0.0], id="a zero"),
        pytest.param([1.0] * 5 + [-1.0], id="a negative one"),
        pytest.param([1.0] * 5 + [math.nan], id="no number"),
    ],
)
def test_what_has_no_spread_is_an_error(history):
    with pytest.raises(PriorError, match="a spread needs 5"):
        prior_from_runs(history)


@given(values, st.floats(0.01, 100.0))
def test_another_unit_changes_no_spread(history, factor):
    one = prior_from_runs(history)
    other = prior_from_runs([factor * value for value in history])

    assert other.variance == pytest.approx(one.variance, rel=1e-6, abs=1e-18)


@given(values, st.randoms(use_true_random=False))
def test_the_order_of_a_history_without_changes_is_irrelevant(history, random):
    shuffled = random.sample(history, len(history))

    assert prior_from_runs(shuffled).variance == pytest.approx(prior_from_runs(history).variance)
