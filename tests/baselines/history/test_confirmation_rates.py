"""How often confirming is wrong, on made-up pairs whose truth is known."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import stdtrit

from perfledger_baselines.history.confirmation import answer, ask
from perfledger_baselines.history.docket import Alert, Docket, Limits
from perfledger_baselines.verdict import Outcome

CHECKS = 300
PAIRS = 8
NOISE = 0.014  # of a pair's log difference, where a process has 1 %
LIMITS = Limits(max_pairs=PAIRS, pairs_per_window=1_000_000)


def judged(court, change, rng):
    """Return the verdict of a paired t-test at 5 %."""
    pairs = rng.normal(math.log1p(change), NOISE, PAIRS)
    mean = pairs.mean()
    half_width = pairs.std(ddof=1) / math.sqrt(PAIRS) * stdtrit(PAIRS - 1, 0.975)
    outcome = Outcome.UNDECIDED
    if abs(mean) > half_width:
        outcome = Outcome.REGRESSED if mean > 0 else Outcome.IMPROVED
    return court.verdict(outcome, court.estimate_of_logs(mean, half_width, pairs=PAIRS))


def outcome_of(court, change, count, rng):
    """Follow one suspicion of so many commits to its end; return how that was."""
    culprit = int(rng.integers(1, count + 1))
    suspicion = court.suspicion(0, count, change=0.03)
    docket, requests = ask(Docket(), [suspicion], window="", limits=LIMITS)
    alerts: list[Alert] = []
    while requests:
        (request,) = requests
        verdict = judged(court, change if request.base < culprit <= request.head else 0.0, rng)
        docket, said = answer(docket, request, verdicts=[verdict], pairs=PAIRS)
        alerts += said
        docket, requests = ask(docket, [], window="", limits=LIMITS)
    if not alerts:
        return "silent"
    commits = alerts[-1].commits
    if commits.count > 1:
        return "several commits"
    return "true commit" if commits.first == culprit else "wrong commit"


def shares(court, change, count, *, seed):
    rng = np.random.default_rng(seed)
    outcomes = Counter(outcome_of(court, change, count, rng) for _ in range(CHECKS))
    return {outcome: number / CHECKS for outcome, number in outcomes.items()}


@pytest.mark.slow
def test_of_suspicions_without_a_change_one_in_forty_becomes_an_alert(court):
    found = shares(court, 0.0, 1, seed=20261121)

    assert found["silent"] > 0.95


@pytest.mark.slow
def test_a_change_of_twice_the_noise_finds_its_commit_among_sixteen(court):
    found = shares(court, 0.03, 16, seed=20261121)

    assert found["true commit"] > 0.9
    assert found.get("wrong commit", 0.0) < 0.03
