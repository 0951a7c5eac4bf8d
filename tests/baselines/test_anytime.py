"""Evidence at any moment: a bet that is fair without a change, and grows with one."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.anytime import MIXTURE, weigh_anytime
from perfledger_baselines.prior import PriorSource, SpreadPrior

PRIOR = SpreadPrior(variance=0.01**2, degrees=10, source=PriorSource.PAIRS, values=30)
differences = st.lists(st.floats(-0.5, 0.5).map(lambda x: round(x, 6)), min_size=2, max_size=20)


@given(differences, st.sampled_from([None, PRIOR]))
def test_zero_is_in_the_interval_until_the_bet_has_won(values, prior):
    evidence = weigh_anytime(tuple(values), alpha=0.05, prior=prior)

    is_out = abs(evidence.mean) > evidence.half_width * (1 + 1e-9)
    is_in = abs(evidence.mean) < evidence.half_width * (1 - 1e-9)
    assert not (is_out and evidence.e_value < 20 * (1 - 1e-6))
    assert not (is_in and evidence.e_value > 20 * (1 + 1e-6))


@given(differences, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_is_irrelevant(values, random):
    shuffled = random.sample(values, len(values))

    there, again = (weigh_anytime(tuple(each), alpha=0.05) for each in (values, shuffled))

    assert again.e_value == pytest.approx(there.e_value, rel=1e-6)


@given(differences)
def test_swapping_the_sides_changes_the_sign_and_nothing_else(values):
    there = weigh_anytime(tuple(values), alpha=0.05)
    back = weigh_anytime(tuple(-each for each in values), alpha=0.05)

    assert back.mean == -there.mean
    assert (back.e_value, back.half_width) == (there.e_value, there.half_width)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, PRIOR])
def test_whoever_stops_when_it_looks_best_is_wrong_no_more_often_than_alpha(prior):
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(1000):
        sd = 0.01 if prior is None else 0.01 * math.sqrt(10 / rng.chisquare(10))
        values = rng.normal(0.0, sd, 40).tolist()
        wrong += any(
            weigh_anytime(tuple(values[:k]), alpha=0.05, prior=prior).e_value >= 20
            for k in range(1, 41)
        )

    assert wrong / 1000 <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)


def test_a_change_of_two_standard_deviations_is_found_in_ten_pairs():
    values = tuple(np.random.default_rng(2).normal(0.02, 0.01, 10).tolist())

    evidence = weigh_anytime(values, alpha=0.05)

    assert evidence.e_value > 20
    assert evidence.p_value < 0.05
    assert evidence.mean - evidence.half_width > 0


@pytest.mark.parametrize("values", [(), (0.3,)])
def test_too_little_is_no_evidence(values):
    evidence = weigh_anytime(values, alpha=0.05)

    assert (evidence.e_value, evidence.p_value, evidence.half_width) == (1.0, 1.0, math.inf)


def test_one_pair_is_evidence_where_the_spread_is_known():
    assert weigh_anytime((0.1,), alpha=0.05, prior=PRIOR).e_value > 10


def test_identical_pairs_speak_for_no_change_and_equal_ones_for_a_change():
    nothing = weigh_anytime((0.0,) * 4, alpha=0.05)
    something = weigh_anytime((0.25,) * 4, alpha=0.05)

    assert nothing.e_value == pytest.approx(1 / math.sqrt(1 + 4 * MIXTURE))
    assert nothing.p_value == 1.0
    assert 1 < something.e_value < math.inf


def test_the_wildest_differences_are_finite_evidence():
    assert weigh_anytime((700.0,) * 40, alpha=0.05).e_value < math.inf
