"""Runs that were not made in pairs are compared with care."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t as student

from perfledger_baselines.significance.spread_prior import PriorSource, SpreadPrior
from perfledger_baselines.significance.unpaired_t_tests import unpaired_t_test

RUN_SD = 0.01
PRIOR = SpreadPrior(variance=2 * RUN_SD**2, degrees=10, source=PriorSource.RUNS, values=30)
logs = st.lists(st.floats(-0.1, 0.1), min_size=4, max_size=12)


@given(logs, logs)
def test_swapping_the_sides_turns_the_difference_around(base, head):
    there = unpaired_t_test(base, head, alpha=0.05, prior=PRIOR)
    back = unpaired_t_test(head, base, alpha=0.05, prior=PRIOR)

    assert there.mean == pytest.approx(-back.mean)
    assert there.p_value == pytest.approx(back.p_value)
    assert there.half_width == pytest.approx(back.half_width)


def test_one_run_a_side_decides_nothing_however_well_the_spread_is_known():
    evidence = unpaired_t_test([0.0], [0.2], alpha=0.05, prior=PRIOR)

    assert not evidence.is_enough
    assert (evidence.p_value, evidence.half_width) == (1.0, math.inf)


@pytest.mark.parametrize(("base", "head"), [([-0.005, 0.005], [0.2]), ([0.0], [0.2, 0.19])])
def test_two_runs_of_one_side_are_a_test_where_the_spread_is_known(base, head):
    evidence = unpaired_t_test(base, head, alpha=0.05, prior=PRIOR)

    assert evidence.is_enough
    assert evidence.p_value < 1e-6


@pytest.mark.parametrize(("base", "head"), [((0.0,) * 3, (0.5,) * 9), ((0.0,), (0.5,))])
def test_without_a_history_a_side_needs_four_runs(base, head):
    evidence = unpaired_t_test(base, head, alpha=0.05)

    assert not evidence.is_enough
    assert (evidence.p_value, evidence.half_width) == (1.0, math.inf)


def test_without_a_history_four_runs_a_side_are_a_test():
    evidence = unpaired_t_test([0.0, 0.001, 0.002, 0.001], [0.1, 0.101, 0.102, 0.1], alpha=0.05)

    assert evidence.p_value < 0.001
    assert evidence.mean == pytest.approx(0.09975)


def test_a_session_quieter_than_the_history_has_a_state_of_its_own():
    quiet = unpaired_t_test([0.0] * 8, [0.0] * 8, alpha=0.05, prior=PRIOR)
    usual = (RUN_SD * np.array([-1, 1] * 4)).tolist()
    as_ever = unpaired_t_test(usual, usual, alpha=0.05, prior=PRIOR)

    assert quiet.half_width > 1.4 * as_ever.half_width


def test_more_runs_of_one_session_narrow_it_only_a_little():
    usual = RUN_SD * np.array([-1, 1] * 2)
    four = unpaired_t_test(usual, usual, alpha=0.05, prior=PRIOR)
    sixteen = unpaired_t_test(np.tile(usual, 4), np.tile(usual, 4), alpha=0.05, prior=PRIOR)

    assert 0.5 < sixteen.half_width / four.half_width < 0.8


def test_a_side_without_runs_is_an_error():
    with pytest.raises(ValueError, match="0 base and 3 head runs"):
        unpaired_t_test([], [1.0, 1.0, 1.0], alpha=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("runs", [2, 4, 8])
def test_two_sessions_of_one_code_are_rarely_called_different(runs):
    """Each session has a state, each run a level of its own; the history has seen both."""
    rng = np.random.default_rng(11)
    prior = SpreadPrior(
        variance=2 * (0.01**2 + 0.01**2), degrees=10, source=PriorSource.RUNS, values=30
    )
    false = 0
    for _ in range(2000):
        states = rng.normal(0.0, 0.01, 2)
        base, head = (state + rng.normal(0.0, 0.01, runs) for state in states)
        false += unpaired_t_test(base, head, alpha=0.05, prior=prior).p_value < 0.05

    assert false / 2000 < 0.07


def test_the_test_is_that_of_its_formula():
    """Of the docstring; the degrees are Satterthwaite's, of ten and of three."""
    base, head = (0.0, 0.004), (0.01, 0.014, 0.012)
    squares = 2 * 0.002**2 + 2 * 0.002**2
    usual, weight, own = RUN_SD**2, 10, 3
    moderated = (weight * usual + squares) / (weight + own)
    apart = 2 * (usual - squares / own)
    error = math.sqrt((1 / math.sqrt(2) + 1 / math.sqrt(3)) * moderated + apart)
    share = weight * usual / (weight * usual + squares)
    degrees = 1 / (share**2 / 10 + (1 - share) ** 2 / 3)

    t_test_result = unpaired_t_test(base, head, alpha=0.05, prior=PRIOR)

    assert t_test_result.mean == pytest.approx(0.01)
    assert t_test_result.p_value == pytest.approx(2 * student.sf(0.01 / error, degrees))
    assert t_test_result.half_width == pytest.approx(student.isf(0.025, degrees) * error)
    assert t_test_result.narrow_half_width == pytest.approx(student.isf(0.05, degrees) * error)
    assert t_test_result.degrees == pytest.approx(degrees)


@pytest.mark.parametrize(("before", "after"), [(4, 4), (4, 9)])
def test_without_a_history_the_spread_is_that_of_both_sides(before, after):
    """The error is of (1 / sqrt n + 1 / sqrt m) s^2: a side's own runs are not independent."""
    base, head = np.arange(before) * 0.01, 0.1 + np.arange(after) * 0.005
    squares = ((base - base.mean()) ** 2).sum() + ((head - head.mean()) ** 2).sum()
    degrees = before + after - 2
    error = math.sqrt(squares / degrees * (before**-0.5 + after**-0.5))

    evidence = unpaired_t_test(base, head, alpha=0.05)

    assert evidence.half_width == pytest.approx(student.ppf(0.975, degrees) * error)
    assert evidence.narrow_half_width == pytest.approx(student.ppf(0.95, degrees) * error)
    assert evidence.sd == pytest.approx(error * math.sqrt(before))


def test_runs_that_agree_differ_by_the_smallest_spread():
    """1e-4 of a pair, which has twice the variance of a run."""
    evidence = unpaired_t_test([0.0] * 4, [0.0] * 4, alpha=0.05)

    assert evidence.half_width == pytest.approx(student.ppf(0.975, 6) * 1e-4 * math.sqrt(0.5))


def test_a_run_a_side_has_the_spread_of_its_history():
    assert unpaired_t_test([0.0], [0.2], alpha=0.05, prior=PRIOR).sd == pytest.approx(
        RUN_SD * math.sqrt(2)
    )
