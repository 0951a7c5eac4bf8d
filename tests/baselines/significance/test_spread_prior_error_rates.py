"""How often a judge is wrong that leans on what earlier, made-up checks told of the spread.

The checks that are learnt from are as the product leaves them behind: each stopped where it was
satisfied, with a level of its own, and the later ones leaned on the earlier ones in turn.
"""

import math
from functools import cache

import numpy as np
import pytest

from perfledger_baselines.judging.judge import judgement_of
from perfledger_baselines.judging.pair_spreads import pair_differences
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.planning.stopping import GroupSequentialStopping
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS_WITH_HISTORY,
    looks_until,
    planned_looks,
)
from perfledger_baselines.significance.paired_t_tests import t_tests
from perfledger_baselines.significance.spread_prior import PriorError, prior_from_checks
from tests.suite.tries import tries

pytestmark = pytest.mark.slow

ALPHA = 0.05
SERIES = tries(2000)
PAIRS = 20
SCALE = 0.01
SEED = 20261121
LOOKS = planned_looks(PAIRS, fewest=MIN_PAIRS_WITH_HISTORY)
# Three standard errors above what is allowed: a seed is no excuse.
MOST = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / SERIES)


def gaussian(rng, shape):
    return rng.standard_normal(shape)


def heavy_tailed(rng, shape):
    return rng.standard_t(3, shape)


def skewed_processes(rng, shape):
    return rng.exponential(size=shape) - rng.exponential(size=shape)


def two_states(rng, shape):
    """Processes that are two standard deviations slower in one run of three."""
    state = (rng.random(shape) < 1 / 3).astype(float) - (rng.random(shape) < 1 / 3)
    return 2 * state + 0.2 * rng.standard_normal(shape)


def rare_spikes(rng, shape):
    """Pairs of which one in twenty is ten times as far apart as the others."""
    return rng.standard_normal(shape) * np.where(rng.random(shape) < 0.05, 10.0, 1.0)


def coarse(rng, shape):
    """Readings in steps of two standard deviations: most pairs agree to the last bit."""
    return 2 * np.round(rng.standard_normal(shape) / 2)


def rare_jumps(rng, shape):
    """A quiet reading that is a hundred times as far off in one pair of twenty, up or down."""
    jump = np.where(rng.random(shape) < 0.05, 100.0, 0.0)
    return rng.standard_normal(shape) + jump * rng.choice((-1.0, 1.0), shape)


noises = pytest.mark.parametrize(
    "noise", [gaussian, heavy_tailed, skewed_processes, two_states, rare_spikes, rare_jumps]
)
histories = pytest.mark.parametrize(
    "sizes", [pytest.param((5, 3), id="short"), pytest.param((5, 2, 3, 20) * 5, id="long")]
)


def learnt(noise, sizes, rng):
    """Learn a series' spread from checks of so many pairs, each with a change of its own."""
    checks = [SCALE * (noise(rng, pairs) + 5 * rng.standard_normal()) for pairs in sizes]
    return prior_from_checks([check.tolist() for check in checks])


@cache
def all_learnt(noise, sizes):
    rng = np.random.default_rng(SEED)
    return [learnt(noise, sizes, rng) for _ in range(SERIES)]


def evidence_after(pairs, noise, sizes, *, mean=0.0, most=PAIRS):
    rows = mean + SCALE * noise(np.random.default_rng(SEED + pairs), (SERIES, pairs))
    looks = looks_until(planned_looks(most, fewest=MIN_PAIRS_WITH_HISTORY), pairs)
    return t_tests(rows, looks=looks, alpha=ALPHA, priors=all_learnt(noise, sizes))


@noises
@histories
@pytest.mark.parametrize("pairs", [2, 3, 4, 5, PAIRS])
def test_false_calls_stay_below_alpha_at_any_number_of_pairs(noise, sizes, pairs):
    t_test_results = evidence_after(pairs, noise, sizes)

    assert np.mean([each.p_value < ALPHA for each in t_test_results]) <= MOST


@noises
def test_they_do_where_five_pairs_are_all_there_will_be(noise):
    t_test_results = evidence_after(5, noise, (5, 2, 3, 20) * 5, most=5)

    assert np.mean([each.p_value < ALPHA for each in t_test_results]) <= MOST


def test_five_percent_is_found_with_two_pairs():
    """Without a history it takes five, however large the change is."""
    t_test_results = evidence_after(2, gaussian, (5, 2, 3, 20) * 5, mean=0.05)

    assert np.mean([each.p_value < ALPHA for each in t_test_results]) > 0.99


def a_check(build, rng, prior):
    """Measure one workload until the rule is satisfied; return its bundle."""
    priors = {} if prior is None else {("m:f", "step_time_p50"): prior}
    looks = LOOKS if priors else planned_looks(PAIRS)
    plan = build.plan(looks=looks)
    sides = np.exp(rng.normal(0.0, SCALE / math.sqrt(2), (PAIRS, 2)))
    pairs = [(base, head) for base, head in sides.tolist()]
    rule = GroupSequentialStopping(
        looks=looks,
        alpha=plan.alpha,
        margin=plan.margin,
        floor=plan.floor,
        metrics=build.bundle({}).metrics[:1],
        priors=priors,
    )
    rule.start(["m:f"])
    drawn_pairs = build.pairs(step_time_p50=pairs)
    count = 0
    while rule.unfinished():
        rule.add(*drawn_pairs[count])
        count += 1
    bundle = build.bundle({"m:f": {"step_time_p50": pairs[:count]}}, plan=plan)
    return bundle, priors


@pytest.mark.slow(ci_only=True)
def test_a_history_that_feeds_on_its_own_checks_keeps_its_error_and_its_spread(build):
    rng = np.random.default_rng(SEED)
    history: list[tuple[float, ...]] = []
    calls, pairs, spreads = [], [], []
    for _ in range(tries(400)):
        try:
            prior = prior_from_checks(history)
        except PriorError:
            prior = None
        bundle, priors = a_check(build, rng, prior)
        judgement = judgement_of(bundle, priors=priors)
        (verdict,) = judgement.verdicts
        calls.append(verdict.outcome in {Outcome.REGRESSED, Outcome.IMPROVED})
        assert verdict.estimate is not None
        pairs.append(verdict.estimate.pairs)
        spreads += [prior.variance] if prior else []
        found_pair_differences = pair_differences(judgement.tests, bundle.machines())
        history[:0] = [each.values for each in found_pair_differences]

    assert np.mean(calls) <= ALPHA
    assert np.mean(pairs[20:]) < 12
    assert SCALE**2 * 0.8 < np.mean(spreads[20:]) < SCALE**2 * 1.6
