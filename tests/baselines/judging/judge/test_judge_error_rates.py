"""Some error rates of the judge; benchmarks/baselines/judge_error_rates.py measures more."""

import math

import numpy as np
import pytest

from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome
from perfledger_baselines.significance.interim_looks import looks_until, planned_looks
from perfledger_baselines.significance.paired_t_tests import t_tests
from tests.suite.tries import tries

pytestmark = pytest.mark.slow

ALPHA = 0.05
SERIES = tries(4000)
PAIRS = 20
LOOKS = planned_looks(PAIRS)
# Three standard errors above what is allowed: a seed is no excuse, and so many series hide little.
MOST = ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / SERIES)


def gaussian(rng, shape):
    return rng.standard_normal(shape)


def heavy_tailed(rng, shape):
    return rng.standard_t(3, shape)


def skewed_processes(rng, shape):
    return rng.exponential(size=shape) - rng.exponential(size=shape)


noises = pytest.mark.parametrize("noise", [gaussian, heavy_tailed, skewed_processes])


def differences(noise, mean=0.0):
    return mean + 0.01 * noise(np.random.default_rng(20261120), (SERIES, PAIRS))


def evidence_at_each_look(values):
    for pairs in LOOKS:
        yield t_tests(values[:, :pairs], looks=looks_until(LOOKS, pairs), alpha=ALPHA)


@noises
def test_all_looks_together_find_what_is_not_there_no_more_often_than_alpha(noise):
    at_the_end = t_tests(differences(noise), looks=looks_until(LOOKS, PAIRS), alpha=ALPHA)

    assert np.mean([evidence.p_value < ALPHA for evidence in at_the_end]) <= MOST


@noises
def test_the_intervals_of_all_looks_together_miss_no_more_often_than_alpha(noise):
    misses = np.zeros(SERIES, dtype=bool)
    for at_look in evidence_at_each_look(differences(noise, mean=0.02)):
        misses |= [abs(evidence.mean - 0.02) > evidence.half_width for evidence in at_look]

    assert misses.mean() <= MOST


@noises
@pytest.mark.parametrize(
    ("change", "most"),
    [
        pytest.param(0.02, 4 * ALPHA, id="of the margin: the price of looking after every pair"),
        pytest.param(0.025, ALPHA, id="of five quarters of it"),
        pytest.param(0.04, 0.002, id="of twice the margin"),
    ],
)
def test_a_change_is_proven_absent_only_where_it_nearly_is(noise, change, most):
    margin = 0.02
    called = np.zeros(SERIES, dtype=bool)
    for at_look in evidence_at_each_look(differences(noise, mean=change)):
        called |= [abs(item.mean) + item.narrow_half_width <= margin for item in at_look]

    assert called.mean() <= most


def test_a_check_of_twelve_unchanged_tests_is_seldom_red(build):
    checks = tries(80)
    rng = np.random.default_rng(20261120)
    red = 0
    for _ in range(checks):
        sides = np.exp(0.01 * rng.standard_normal((12, 6, 2)))
        workloads = {f"m:w{k}": {"step_time_p50": sides[k].tolist()} for k in range(12)}
        verdicts = judge_bundle(build.bundle(workloads))
        red += any(v.outcome in {Outcome.REGRESSED, Outcome.IMPROVED} for v in verdicts)

    assert red / checks <= ALPHA + 3 * math.sqrt(ALPHA * (1 - ALPHA) / checks)
