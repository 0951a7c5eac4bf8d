"""Runs in one of two states are seen as such, and nothing else is."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import fisher_exact

from perfledger_baselines.significance.bimodality import (
    MIN_PER_SIDE,
    MIN_SDS,
    find_bimodality,
)
from perfledger_baselines.significance.power import MAX_CHANGE

MIXED = [1.0, 1.001, 1.02, 0.999, 1.021, 1.0, 1.019, 1.0]
LOW = [1.0, 1.001, 0.999, 1.0, 1.0, 1.001, 0.999, 1.0]
HIGH = [1.02, 1.021, 1.019, 1.02, 1.02, 1.021, 1.02, 1.019]


def test_two_states_on_both_sides_are_found_and_counted():
    states = find_bimodality(MIXED, MIXED)

    assert states is not None
    assert states.distance == pytest.approx(0.02, rel=0.02)
    assert (states.base_upper, states.base_runs) == (states.head_upper, states.head_runs) == (3, 8)
    assert states.p_value == 1.0


def test_a_side_that_is_all_in_one_of_the_states_shows_that_the_share_changed():
    states = find_bimodality([*MIXED, *LOW], [*HIGH, *HIGH, 1.02])

    assert states is not None
    assert (states.base_upper, states.base_runs) == (3, 16)
    assert (states.head_upper, states.head_runs) == (17, 17)
    assert states.p_value < 0.001


@given(st.integers(2, 10), st.integers(2, 10), st.integers(0, 12))
def test_the_p_value_is_that_of_fishers_exact_test(lower, upper, head_upper):
    base = [1.0] * lower + [1.05] * upper
    head = [1.0] * (12 - head_upper) + [1.05] * head_upper

    states = find_bimodality(base, head)

    if len(base) >= MIN_PER_SIDE:
        exact = fisher_exact(np.array([[upper, head_upper], [lower, 12 - head_upper]]))
        assert states.p_value == pytest.approx(exact.pvalue)
    else:
        assert states is None


def test_two_sides_that_differ_are_a_change_and_no_states():
    assert find_bimodality(LOW, HIGH) is None


def test_a_side_whose_runs_lie_elsewhere_is_in_neither_state():
    assert find_bimodality(MIXED, [1.1 * value for value in LOW]) is None


def test_a_single_run_far_away_is_an_outlier():
    assert find_bimodality([*LOW, 1.5], LOW) is None


def test_few_runs_have_no_states():
    few = MIXED[: MIN_PER_SIDE - 1]

    assert find_bimodality(few, few) is None


@pytest.mark.slow
@pytest.mark.parametrize("runs", [8, 20, 40])
@pytest.mark.parametrize("tails", [3, 1000])
def test_noise_without_states_has_none(runs, tails):
    rng = np.random.default_rng(13)

    findings = [
        find_bimodality(*np.exp(0.01 * rng.standard_t(tails, (2, runs)))) is not None
        for _ in range(1500)
    ]

    assert np.mean(findings) < 0.002


@given(
    st.lists(st.booleans(), min_size=8, max_size=20),
    st.lists(st.booleans(), min_size=8, max_size=20),
    st.floats(0.001, 1000.0),
)
def test_swapping_the_sides_or_the_unit_changes_only_the_sides(base, head, unit):
    values = [[1.05 if upper else 1.0 for upper in side] for side in (base, head)]
    there = find_bimodality(*values)
    back = find_bimodality(*([unit * value for value in side] for side in reversed(values)))

    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert (back.base_upper, back.head_upper) == (there.head_upper, there.base_upper)
        assert back.p_value == pytest.approx(there.p_value)


@pytest.mark.parametrize(("runs", "has_states"), [(1, False), (2, True)])
def test_a_state_has_two_runs_of_a_side_that_has_enough(runs, has_states):
    side = [1.0] * (MIN_PER_SIDE - runs) + [1.05] * runs

    assert (find_bimodality(side, side) is not None) is has_states
    assert find_bimodality(side, side[1:]) is None


@pytest.mark.parametrize(("place", "has_states"), [(0.24, True), (0.26, False)])
def test_every_run_is_within_a_quarter_of_the_distance_of_a_state(place, has_states):
    side = [1.0] * 8 + [math.e] * 8
    other = [1.0] * 8 + [math.exp(place)]

    assert (find_bimodality(side, other) is not None) is has_states


@pytest.mark.parametrize(("factor", "has_states"), [(0.99, False), (1.01, True)])
def test_states_are_so_many_spreads_of_their_runs_apart(factor, has_states):
    spread = math.sqrt(16 / (16 - 2))
    half = factor * MIN_SDS * spread / 2
    side = [math.exp(0.01 * (centre + sign)) for centre in (-half, half) for sign in (-1, 1) * 4]

    assert (find_bimodality(side, side) is not None) is has_states


def test_states_at_the_ends_of_all_numbers_have_a_finite_distance():
    side = [1e-300, 1e30] * MIN_PER_SIDE

    states = find_bimodality(side, side)

    assert states is not None
    assert states.distance == pytest.approx(MAX_CHANGE)
