"""What each look may spend: against theory, published bounds and simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import norm

from perfledger_baselines.significance import alpha_spending
from perfledger_baselines.significance.alpha_spending import (
    equivalence_level,
    nominal_levels,
    overall_p_values,
)
from perfledger_baselines.significance.interim_looks import InterimLooks, looks_until, planned_looks

PLAN = planned_looks(40, fewest=2)
ALPHAS = st.floats(1e-6, 0.4)


def overall(p_value, looks):
    """The last look's p-value, over all of them."""
    rows = np.ones((len(looks.completed), 1))
    rows[-1] = p_value
    return float(overall_p_values(rows, looks)[-1, 0])


def test_a_single_look_has_all_of_alpha():
    one = looks_until((), 7)

    assert nominal_levels(one, 0.05) == pytest.approx([0.05])
    assert overall(0.03, one) == pytest.approx(0.03, rel=1e-3)


def test_the_first_look_of_four_spends_the_root_of_its_share():
    first = looks_until((10, 20, 30, 40), 10)

    assert nominal_levels(first, 0.05) == pytest.approx([0.05 * math.sqrt(0.25)])


def test_equivalence_spends_alpha_of_each_side_by_the_share_of_the_pairs():
    """With all of it at a single look, and more than a change has at the last of many."""
    planned = (10, 20, 30, 40)

    levels = [equivalence_level(looks_until(planned, pairs), 0.05) for pairs in planned]

    assert equivalence_level(looks_until((), 7), 0.05) == pytest.approx(0.05)
    assert levels[0] == pytest.approx(0.05 / 4)
    assert levels == sorted(levels)
    assert levels[-1] > nominal_levels(looks_until(planned, 40), 0.1)[-1] / 2


def test_two_looks_leave_what_theory_says():
    """P(|Z1| < c1, |Z2| > c2) for the bivariate normal, by one integral."""
    looks = InterimLooks((1, 2), (1, 2))
    first, second = nominal_levels(looks, 0.05)

    c1, c2 = norm.isf(first / 2), norm.isf(second / 2) * math.sqrt(2)
    x = np.linspace(-c1, c1, 20_001)
    crossing = norm.pdf(x) * (norm.sf(c2 - x) + norm.cdf(-c2 - x))
    assert first + np.trapezoid(crossing, x) == pytest.approx(0.05, abs=1e-7)


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_random_walks_cross_with_the_chance_that_was_to_be_spent(alpha):
    rng = np.random.default_rng(7)
    looks = looks_until(PLAN, 40)
    walks = rng.standard_normal((100_000, 40)).cumsum(axis=1)
    statistics = walks[:, np.array(looks.completed) - 1] / np.sqrt(looks.completed)

    crossed = 2 * norm.sf(np.abs(statistics)) < nominal_levels(looks, alpha)

    by_look = crossed.argmax(axis=1)[crossed.any(axis=1)]
    assert crossed.any(axis=1).mean() == pytest.approx(alpha, abs=3 * math.sqrt(alpha / 1e5))
    half = np.count_nonzero(np.array(looks.completed)[by_look] <= 10) / 100_000
    assert half == pytest.approx(alpha / 2, abs=3 * math.sqrt(alpha / 2e5))


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=30)
@given(ALPHAS, st.integers(1, 40))
def test_the_p_value_at_a_level_is_that_level(alpha, pairs):
    looks = looks_until(PLAN, pairs)
    level = nominal_levels(looks, alpha)[-1]

    assert overall(level, looks) == pytest.approx(alpha, rel=1e-2)


@pytest.mark.slow(ci_only=True)
@given(st.integers(1, 40), st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_smaller_p_values_stay_smaller(pairs, p_values):
    looks = looks_until(PLAN, pairs)
    small, large = sorted(p_values)

    assert overall(small, looks) <= overall(large, looks)


@pytest.mark.slow(ci_only=True)
@given(st.integers(1, 40), st.floats(1e-300, 1e-12))
def test_far_out_looks_do_not_overlap_and_a_level_is_its_share(pairs, p_value):
    looks = looks_until(PLAN, pairs)
    shares = np.diff(np.sqrt(np.array([0, *looks.completed]) / 40))

    assert 0.25 <= overall(p_value, looks) / (p_value / shares[-1]) <= 1.01


@pytest.mark.slow(ci_only=True)
@given(st.integers(1, 40))
def test_looking_never_makes_a_p_value_smaller(pairs):
    looks = looks_until(PLAN, pairs)

    assert overall(0.01, looks) >= 0.01 * (1 - 1e-9)
    assert overall(0.0, looks) == 0.0
    assert overall(1.0, looks) == pytest.approx(1.0)


def test_a_stop_off_the_plan_spends_no_more_than_one_on_it():
    between = nominal_levels(looks_until((4, 8, 12), 6), 0.05)

    assert between[0] == nominal_levels(looks_until((4, 8, 12), 4), 0.05)[0]
    assert between[1] < nominal_levels(looks_until((4, 8, 12), 8), 0.05)[1]


@pytest.mark.slow
def test_twice_as_many_nodes_change_nothing(monkeypatch):
    coarse = np.array(nominal_levels(looks_until(PLAN, 40), 1e-7))
    nodes = 2 * alpha_spending.NODES
    monkeypatch.setattr(alpha_spending, "NODES", nodes)

    fine = np.array(nominal_levels(looks_until(PLAN, 40), 1.0000001e-7))

    assert fine == pytest.approx(coarse, rel=1e-6)


@pytest.mark.parametrize("pairs", [20, 30, 40])
def test_values_below_the_table_go_on_where_it_begins(pairs):
    """From one value to one tenth smaller the overall value falls by about a tenth, everywhere."""
    looks = looks_until((10, 20, 30, 40), pairs)
    values = [overall(10.0 ** (-place / 20), looks) for place in range(160, 400)]

    ratios = [after / before for before, after in pairwise(values)]
    assert all(0.8 < ratio < 0.95 for ratio in ratios)
