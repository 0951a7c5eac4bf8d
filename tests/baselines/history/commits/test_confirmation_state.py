import math
from dataclasses import replace

import pytest

from perfledger.metrics import STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange, Harm, Series
from perfledger_baselines.history.commits.confirmation_state import (
    CERTAINLY_BEFORE,
    AbCandidate,
    ConfirmationError,
    ConfirmationLimits,
    ConfirmationState,
)
from perfledger_baselines.history.detection.changes import Suspect

MACHINE = "cuda:H100:1"


@pytest.mark.parametrize(
    ("index", "good"),
    [(8, 3), (6, 2), (3, 1), (1, 1)],
    ids=["one odd point", "two", "three", "all"],
)
def test_the_newest_commit_is_tried_against_one_that_is_certainly_good(index, good):
    odd = Suspect(index=index, observations=1, change=0.05, strength=4.0)

    candidate = AbCandidate.from_suspect(
        odd, series=Series("m:f", STEP_TIME, MACHINE), commits=[1, 2, 3, 6, 8], pair_seconds=10.0
    )

    assert (candidate.good, candidate.bad, candidate.newest) == (good, 8, 8)
    assert (candidate.change, candidate.strength) == (0.05, 4.0)


@pytest.mark.parametrize(
    "values",
    [
        {"good": 100},
        {"good": -1},
        {"newest": 99},
        {"change": 0.0},
        {"change": math.nan},
        {"strength": math.inf},
        {"pair_seconds": 0.0},
    ],
)
def test_a_candidate_that_makes_no_sense_is_refused(ab, values):
    with pytest.raises(ConfirmationError, match="is not a candidate"):
        replace(ab.candidate(99, 100), **values)


@pytest.mark.parametrize(("most", "window"), [(0, 10), (11, 10)])
def test_a_limit_without_a_single_ab_is_refused(most, window):
    with pytest.raises(ConfirmationError, match="allow at least one"):
        ConfirmationLimits(max_pairs=most, pairs_per_window=window)


def test_a_candidate_covers_the_commits_after_the_good_one():
    suspect = Suspect(index=10, observations=1, change=-0.05, strength=4.0)

    candidate = AbCandidate.from_suspect(
        suspect,
        series=Series("m:f", STEP_TIME, MACHINE),
        commits=range(12),
        pair_seconds=10.0,
    )

    assert candidate.commits == CommitRange(10 - CERTAINLY_BEFORE + 1, 11)
    assert candidate.harm is Harm.BETTER


def test_a_request_for_a_candidate_and_a_bisection_is_under_way_once(ab):
    state, _ = ab.confirmed(ab.candidate(90, 94))
    state, (request,) = ab.request(state, ab.candidate(90, 92, workload="m:f"))

    assert state.bisections[0].request == request
    assert state.requests == (request,)


def test_an_empty_state_requests_nothing():
    assert ConfirmationState().requests == ()


def test_the_first_commit_of_a_range_may_be_at_the_begin_of_the_history(ab):
    assert ab.candidate(0, 1).commits.last == 1
    with pytest.raises(ConfirmationError, match="good < bad <= newest"):
        ab.candidate(-1, 1)
