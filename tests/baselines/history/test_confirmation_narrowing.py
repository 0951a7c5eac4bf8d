"""A change among several commits: which halves are measured, and where the search ends."""

from dataclasses import replace

import pytest

from perfledger.metrics import PEAK_MEMORY
from perfledger_baselines.history.attribution import CommitRange
from perfledger_baselines.history.bisection import MOST_TRIES
from perfledger_baselines.history.docket import Docket, Narrowing, Purpose
from perfledger_baselines.verdict import Outcome


def test_skipped_commits_are_halved_while_the_alert_is_out(court):
    docket, alert = court.convicted(court.suspicion(90, 100))

    _, (request,) = court.begin(docket)

    assert (alert.commits, alert.is_final) == (CommitRange(91, 100), False)
    assert (request.base, request.head, request.purpose) == (90, 95, Purpose.BISECT)


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
def test_an_ab_in_the_middle_says_which_half(court, outcome, figures, commits):
    said = court.verdict(outcome, court.estimate(*figures))
    docket, _ = court.convicted(court.suspicion(90, 100))
    docket, _ = court.begin(docket)

    _, (alert,) = court.tried(docket, said)

    assert (alert.commits, alert.suspected, alert.pairs) == (commits, CommitRange(91, 100), 8)


def test_half_of_a_gain_is_looked_at_from_the_other_side(court):
    docket, _ = court.begin(Docket(), court.suspicion(90, 100, change=-0.05))
    docket, _ = court.tried(docket, court.improved)
    docket, _ = court.begin(docket)

    _, (alert,) = court.tried(
        docket, court.verdict(Outcome.UNDECIDED, court.estimate(-0.005, -0.015, 0.005))
    )

    assert alert.commits == CommitRange(96, 100)


def tried_again_and_again(court, said, times):
    """Return the docket and the last alert after so many A/Bs of the middle."""
    docket, alert = court.convicted(court.suspicion(90, 100))
    for _ in range(times):
        docket, _ = court.begin(docket)
        docket, (alert,) = court.tried(docket, said)
    return docket, alert


def test_a_middle_that_cannot_be_told_is_measured_again(court):
    docket, alert = tried_again_and_again(court, court.undecided, times=1)

    _, (request,) = court.begin(docket)

    assert (request.base, request.head, alert.is_final) == (90, 95, False)


def test_abs_of_one_middle_tell_together_what_none_tells_alone(court):
    hint = court.verdict(Outcome.UNDECIDED, court.estimate(0.01, -0.005, 0.025))

    _, once = tried_again_and_again(court, hint, times=1)
    _, twice = tried_again_and_again(court, hint, times=2)

    assert (once.commits, twice.commits) == (CommitRange(91, 100), CommitRange(96, 100))


def test_half_of_the_change_is_the_first_of_two_commits_when_it_stays_half(court):
    half = court.verdict(Outcome.REGRESSED, court.estimate(0.024, 0.02, 0.028))

    _, doubtful = tried_again_and_again(court, half, times=2)
    _, found = tried_again_and_again(court, half, times=MOST_TRIES)

    assert (doubtful.commits, found.commits) == (CommitRange(91, 100), CommitRange(91, 95))


@pytest.mark.parametrize("figures", [(0.024, -0.03, 0.08), None], ids=["a half", "no estimate"])
def test_a_middle_that_can_never_be_told_ends_the_search_with_what_is_left(court, figures):
    measured = court.estimate(*figures) if figures else None
    said = court.verdict(Outcome.UNDECIDED, measured)

    docket, alert = tried_again_and_again(court, said, times=MOST_TRIES)

    assert (alert.narrowing, alert.commits) == (Narrowing.UNDECIDED, CommitRange(91, 100))
    assert court.begin(docket)[1] == ()


def test_a_commit_that_cannot_be_measured_is_gone_around(court):
    docket, _ = court.convicted(court.suspicion(90, 100))
    docket, _ = court.begin(docket)
    docket, _ = court.tried(docket, court.not_measured)

    _, (request,) = court.begin(docket)

    assert request.head == 94


def test_commits_none_of_which_can_be_measured_stay_together(court):
    docket, _ = court.convicted(court.suspicion(97, 100))
    docket, _ = court.begin(docket)
    docket, _ = court.tried(docket)
    docket, _ = court.begin(docket)

    _, (alert,) = court.tried(docket)

    assert (alert.narrowing, alert.commits) == (Narrowing.NOT_MEASURED, CommitRange(98, 100))


def test_metrics_that_moved_at_different_commits_part(court):
    docket, _ = court.convicted(
        court.suspicion(90, 100), court.suspicion(90, 100, metric=PEAK_MEMORY)
    )
    docket, _ = court.begin(docket)

    docket, alerts = court.tried(
        docket, court.regressed, replace(court.unchanged, metric=PEAK_MEMORY)
    )

    found = {alert.changes[0].suspicion.series.metric.name: alert.commits for alert in alerts}
    assert found == {"peak_memory": CommitRange(96, 100), "step_time_p50": CommitRange(91, 95)}
    assert len(court.begin(docket)[1]) == 2


def test_a_commit_that_two_searches_want_is_measured_once(court):
    docket, _ = court.convicted(court.suspicion(90, 100))
    docket, _ = court.begin(docket, court.suspicion(90, 100, metric=PEAK_MEMORY))
    trial = docket.trials[0].request
    docket, _ = court.tried(docket, court.not_measured, request=docket.searches[0].request)
    docket, _ = court.tried(docket, replace(court.regressed, metric=PEAK_MEMORY), request=trial)
    docket, _ = court.begin(docket)
    docket, _ = court.tried(
        docket,
        replace(court.not_measured, metric=PEAK_MEMORY),
        request=next(s.request for s in docket.searches if s.request.head == 95),
    )

    docket, requests = court.begin(docket)

    assert requests == ()
    assert len({search.request for search in docket.searches}) == 1


def test_a_suspicion_whose_commit_is_being_searched_is_not_asked_for(court):
    docket, _ = court.convicted(court.suspicion(90, 100))

    _, requests = court.begin(docket, court.suspicion(95, 100, newest=105, strength=90.0))

    assert [request.purpose for request in requests] == [Purpose.BISECT]
