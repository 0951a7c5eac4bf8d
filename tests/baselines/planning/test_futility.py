from dataclasses import replace

import numpy as np
import pytest

from perfledger_baselines.planning.futility import MIN_CHANCE, chance_to_settle
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import looks_until, planned_looks
from perfledger_baselines.significance.multiple_testing import AdjustedResult
from perfledger_baselines.significance.paired_t_tests import TTestResult, t_tests

RULE = DecisionRule(looks=planned_looks(20), alpha=0.05, margin=0.05, floor=0.003)
SHARING = 3


def adjusted(result):
    return AdjustedResult(result=result, holm=1.0, benjamini_hochberg=1.0, sharing=SHARING)


def result(mean=0.0, sd=0.05, pairs=5):
    return TTestResult(
        pairs=pairs,
        mean=mean,
        sd=sd,
        degrees=pairs - 1,
        share=1.0,
        half_width=1.0,
        narrow_half_width=1.0,
        p_value=1.0,
    )


def chance(pairs=20, rule=RULE, **values):
    return chance_to_settle(adjusted(result(**values)), pairs=pairs, rule=rule, floor=rule.floor)


def is_settled(one):
    """Whether a result is decided, with its share of the family's alpha."""
    is_same = abs(one.mean) + one.narrow_half_width <= RULE.log_margin
    return is_same or abs(one.mean) > one.half_width


def test_no_more_pairs_settle_nothing():
    assert chance(pairs=5) == 0.0


def test_quiet_pairs_will_be_settled_and_wild_ones_will_not():
    assert chance(sd=0.02) > 0.95
    assert chance(sd=1.0) < MIN_CHANCE


@pytest.mark.parametrize("mean", [0.0, 0.02, 0.3])
def test_more_pairs_and_a_wider_margin_raise_the_chance(mean):
    by_pairs = [chance(mean=mean, sd=0.1, pairs=pairs) for pairs in (8, 12, 20)]
    by_margin = [
        chance(mean=mean, sd=0.1, rule=replace(RULE, margin=margin)) for margin in (0.02, 0.05, 0.1)
    ]

    assert by_pairs == sorted(by_pairs)
    assert by_margin == sorted(by_margin)


def test_a_large_change_has_a_chance_where_its_absence_has_none():
    assert chance(mean=0.0, sd=0.5) < MIN_CHANCE < chance(mean=1.0, sd=0.5)


@pytest.mark.parametrize(("true_mean", "sd"), [(0.0, 0.15), (0.1, 0.2), (0.0, 0.3)])
def test_few_of_the_futile_ones_would_have_been_settled(true_mean, sd):
    noise = np.random.default_rng(7).normal(true_mean, sd, (1000, 20))
    early, late = after(noise, 6), after(noise, 20)

    chances = np.array(
        [chance_to_settle(adjusted(one), pairs=20, rule=RULE, floor=RULE.floor) for one in early]
    )

    futile = chances < MIN_CHANCE
    settled_flags = np.array([is_settled(one) for one in late])
    assert futile.mean() > 0.2  # or nothing is shown
    assert settled_flags[futile].mean() < MIN_CHANCE
    assert settled_flags[~futile].mean() > settled_flags[futile].mean()


def after(noise, pairs):
    """Return the results after so many pairs, with their share of the family's alpha."""
    looks = looks_until(RULE.looks, pairs)
    shared = t_tests(noise[:, :pairs], looks=looks, alpha=RULE.alpha / SHARING)
    whole_t_test_results = t_tests(noise[:, :pairs], looks=looks, alpha=RULE.alpha)
    # Of an equivalence the family takes no share.
    return [
        replace(one, narrow_half_width=other.narrow_half_width)
        for one, other in zip(shared, whole_t_test_results, strict=True)
    ]
