"""A change among several commits: which halves are measured, and where the search ends."""

from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY
from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.bisection import MAX_TRIES
from perfledger_baselines.history.commits.confirmation_state import (
    AbPurpose,
    BisectionStatus,
    ConfirmationState,
)
from perfledger_baselines.judging.verdict import Outcome


def test_skipped_commits_are_halved_while_the_alert_is_out(ab):
    state, alert = ab.confirmed(ab.candidate(90, 100))

    _, (request,) = ab.request(state)

    assert (alert.commits, alert.is_final) == (CommitRange(91, 100), False)
    assert (request.base, request.head, request.purpose) == (90, 95, AbPurpose.BISECT)


@pytest.mark.parametrize(
    ("outcome", "figures", "commits"),
    [
        (Outcome.REGRESSED, (0.05,), CommitRange(91, 95)),
        (Outcome.UNCHANGED, (0.0,), CommitRange(96, 100)),
        (Outcome.UNDECIDED, (0.005, -0.005, 0.015), CommitRange(96, 100)),
        (Outcome.UNDECIDED, (0.045, 0.035, 0.055), CommitRange(91, 95)),
        (Outcome.IMPROVED, (-0.05,), CommitRange(96, 100)),
    ],
    ids=["changed", "unchanged", "almost none", "almost all", "opposite"],
)
def test_an_ab_in_the_middle_says_which_half(ab, outcome, figures, commits):
    verdict = ab.verdict(outcome, ab.estimate(*figures))
    state, _ = ab.confirmed(ab.candidate(90, 100))
    state, _ = ab.request(state)

    _, (alert,) = ab.answer(state, verdict)

    assert (alert.commits, alert.suspected_range, alert.pairs) == (commits, CommitRange(91, 100), 8)


def test_half_of_a_gain_is_looked_at_from_the_other_side(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(90, 100, change=-0.05))
    state, _ = ab.answer(state, ab.improved)
    state, _ = ab.request(state)

    _, (alert,) = ab.answer(
        state, ab.verdict(Outcome.UNDECIDED, ab.estimate(-0.005, -0.015, 0.005))
    )

    assert alert.commits == CommitRange(96, 100)


def tried_again_and_again(ab, estimate_of, times):
    """Return the state and the last alert after so many A/Bs of the middle."""
    state, alert = ab.confirmed(ab.candidate(90, 100))
    for _ in range(times):
        state, _ = ab.request(state)
        state, (alert,) = ab.answer(state, estimate_of)
    return state, alert


def test_a_middle_that_cannot_be_told_is_measured_again(ab):
    state, alert = tried_again_and_again(ab, ab.undecided, times=1)

    _, (request,) = ab.request(state)

    assert (request.base, request.head, alert.is_final) == (90, 95, False)


def test_abs_of_one_middle_tell_together_what_none_tells_alone(ab):
    hint = ab.verdict(Outcome.UNDECIDED, ab.estimate(0.01, -0.005, 0.025))

    _, once = tried_again_and_again(ab, hint, times=1)
    _, twice = tried_again_and_again(ab, hint, times=2)

    assert (once.commits, twice.commits) == (CommitRange(91, 100), CommitRange(96, 100))


def test_half_of_the_change_is_the_first_of_two_commits_when_it_stays_half(ab):
    half = ab.verdict(Outcome.REGRESSED, ab.estimate(0.024, 0.02, 0.028))

    _, doubtful = tried_again_and_again(ab, half, times=2)
    _, result = tried_again_and_again(ab, half, times=MAX_TRIES)

    assert (doubtful.commits, result.commits) == (CommitRange(91, 100), CommitRange(91, 95))


@pytest.mark.parametrize("figures", [(0.024, -0.03, 0.08), None], ids=["a half", "no estimate"])
def test_a_middle_that_can_never_be_told_ends_the_search_with_what_is_left(ab, figures):
    measured = ab.estimate(*figures) if figures else None
    verdict = ab.verdict(Outcome.UNDECIDED, measured)

    state, alert = tried_again_and_again(ab, verdict, times=MAX_TRIES)

    assert (alert.narrowing, alert.commits) == (BisectionStatus.UNDECIDED, CommitRange(91, 100))
    assert ab.request(state)[1] == ()


def test_a_commit_that_cannot_be_measured_is_gone_around(ab):
    state, _ = ab.confirmed(ab.candidate(90, 100))
    state, _ = ab.request(state)
    state, _ = ab.answer(state, ab.not_measured)

    _, (request,) = ab.request(state)

    assert request.head == 94


def test_commits_none_of_which_can_be_measured_stay_together(ab):
    state, _ = ab.confirmed(ab.candidate(97, 100))
    state, _ = ab.request(state)
    state, _ = ab.answer(state)
    state, _ = ab.request(state)

    _, (alert,) = ab.answer(state)

    assert (alert.narrowing, alert.commits) == (BisectionStatus.NOT_MEASURED, CommitRange(98, 100))


def test_metrics_that_moved_at_different_commits_part(ab):
    state, _ = ab.confirmed(ab.candidate(90, 100), ab.candidate(90, 100, metric=PEAK_MEMORY))
    state, _ = ab.request(state)

    state, alerts = ab.answer(state, ab.regressed, replace(ab.unchanged, metric=PEAK_MEMORY))

    commits = {alert.changes[0].candidate.series.metric.name: alert.commits for alert in alerts}
    assert commits == {"peak_memory": CommitRange(96, 100), "step_time_p50": CommitRange(91, 95)}
    assert len(ab.request(state)[1]) == 2


def test_a_commit_that_two_searches_want_is_measured_once(ab):
    state, _ = ab.confirmed(ab.candidate(90, 100))
    state, _ = ab.request(state, ab.candidate(90, 100, metric=PEAK_MEMORY))
    trial = state.pending_confirmations[0].request
    state, _ = ab.answer(state, ab.not_measured, request=state.bisections[0].request)
    state, _ = ab.answer(state, replace(ab.regressed, metric=PEAK_MEMORY), request=trial)
    state, _ = ab.request(state)
    state, _ = ab.answer(
        state,
        replace(ab.not_measured, metric=PEAK_MEMORY),
        request=next(s.request for s in state.bisections if s.request.head == 95),
    )

    state, requests = ab.request(state)

    assert requests == ()
    assert len({search.request for search in state.bisections}) == 1


def test_a_candidate_whose_commit_is_being_searched_is_not_asked_for(ab):
    state, _ = ab.confirmed(ab.candidate(90, 100))

    _, requests = ab.request(state, ab.candidate(95, 100, newest=105, strength=90.0))

    assert [request.purpose for request in requests] == [AbPurpose.BISECT]
