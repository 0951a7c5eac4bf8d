"""How often confirming is wrong, on made-up pairs whose truth is known."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import stdtrit

from perfledger_baselines.history.commits.confirmation import record_ab_result, request_ab_runs
from perfledger_baselines.history.commits.confirmation_state import (
    Alert,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.judging.verdict import Outcome

CHECKS = 300
PAIRS = 8
NOISE = 0.014  # of a pair's log difference, where a process has 1 %
LIMITS = ConfirmationLimits(max_pairs=PAIRS, pairs_per_window=1_000_000)


def judged(ab, change, rng):
    """Return the verdict of a paired t-test at 5 %."""
    pairs = rng.normal(math.log1p(change), NOISE, PAIRS)
    mean = pairs.mean()
    half_width = pairs.std(ddof=1) / math.sqrt(PAIRS) * stdtrit(PAIRS - 1, 0.975)
    outcome = Outcome.UNDECIDED
    if abs(mean) > half_width:
        outcome = Outcome.REGRESSED if mean > 0 else Outcome.IMPROVED
    return ab.verdict(outcome, ab.estimate_of_logs(mean, half_width, pairs=PAIRS))


def outcome_of(ab, change, count, rng):
    """Follow one candidate of so many commits to its end; return how that was."""
    culprit = int(rng.integers(1, count + 1))
    candidate = ab.candidate(0, count, change=0.03)
    state, requests = request_ab_runs(ConfirmationState(), [candidate], window="", limits=LIMITS)
    alerts: list[Alert] = []
    while requests:
        (request,) = requests
        verdict = judged(ab, change if request.base < culprit <= request.head else 0.0, rng)
        state, said_alerts = record_ab_result(state, request, verdicts=[verdict], pairs=PAIRS)
        alerts += said_alerts
        state, requests = request_ab_runs(state, [], window="", limits=LIMITS)
    if not alerts:
        return "silent"
    commits = alerts[-1].commits
    if commits.count > 1:
        return "several commits"
    return "true commit" if commits.first == culprit else "wrong commit"


def shares(ab, change, count, *, seed):
    rng = np.random.default_rng(seed)
    outcomes = Counter(outcome_of(ab, change, count, rng) for _ in range(CHECKS))
    return {outcome: number / CHECKS for outcome, number in outcomes.items()}


@pytest.mark.slow
def test_of_suspects_without_a_change_one_in_forty_becomes_an_alert(ab):
    found_shares = shares(ab, 0.0, 1, seed=20261121)

    assert found_shares["silent"] > 0.95


@pytest.mark.slow(ci_only=True)
def test_a_change_of_twice_the_noise_finds_its_commit_among_sixteen(ab):
    found_shares = shares(ab, 0.03, 16, seed=20261121)

    assert found_shares["true commit"] > 0.9
    assert found_shares.get("wrong commit", 0.0) < 0.03
