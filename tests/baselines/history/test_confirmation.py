import math
from dataclasses import replace

import pytest

from perfledger.metrics import METRICS, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.attribution import CommitRange, Series
from perfledger_baselines.history.confirmation import STRONGER_BY, answer, forget
from perfledger_baselines.history.docket import (
    ConfirmationError,
    Docket,
    Narrowing,
    Purpose,
    Suspicion,
)
from perfledger_baselines.history.findings import Suspect

MACHINE = "cuda:H100:1"


def test_a_suspicion_leads_to_an_ab_of_its_commit_and_the_last_good_one(court):
    _, (request,) = court.begin(Docket(), court.suspicion(99, 100))

    assert (request.workload, request.machine_class) == ("m:f", MACHINE)
    assert (request.base, request.head, request.max_pairs) == (99, 100, 8)
    assert request.purpose is Purpose.CONFIRM


@pytest.mark.parametrize(
    ("index", "good"),
    [(8, 3), (6, 2), (3, 1), (1, 1)],
    ids=["one odd point", "two", "three", "all"],
)
def test_the_newest_commit_is_tried_against_one_that_is_certainly_good(index, good):
    odd = Suspect(index=index, observations=1, change=0.05, strength=4.0)

    found = Suspicion.from_suspect(
        odd, series=Series("m:f", STEP_TIME, MACHINE), commits=[1, 2, 3, 6, 8], pair_seconds=10.0
    )

    assert (found.good, found.bad, found.newest) == (good, 8, 8)
    assert (found.change, found.strength) == (0.05, 4.0)


def test_what_the_ab_bears_out_is_an_alert_with_its_commit(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))

    docket, (alert,) = court.tried(docket, court.regressed)

    assert alert.commits == alert.suspected == CommitRange(100, 100)
    assert (alert.narrowing, alert.is_final, alert.pairs) == (Narrowing.ONE_COMMIT, True, 4)
    assert alert.changes[0].estimate.change == 0.05
    assert not docket.searches


@pytest.mark.parametrize(
    "say",
    [
        lambda court: [court.unchanged],
        lambda court: [court.undecided],
        lambda court: [court.not_measured],
        lambda _: [],
        lambda court: [court.improved],
        lambda court: [replace(court.regressed, workload="m:other")],
        lambda court: [replace(court.regressed, metric=PEAK_MEMORY)],
    ],
    ids=["unchanged", "undecided", "not measured", "nothing", "opposite", "workload", "metric"],
)
def test_what_the_ab_does_not_bear_out_is_silent(court, say):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))

    docket, alerts = court.tried(docket, *say(court))

    assert (alerts, docket.trials, docket.searches) == ((), (), ())


def test_a_gain_is_confirmed_by_an_improvement(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100, change=-0.05))

    _, (alert,) = court.tried(docket, court.improved)

    assert alert.changes[0].suspicion.harm == "better"


def test_one_request_covers_all_metrics_of_a_workload(court):
    _, requests = court.begin(
        Docket(),
        court.suspicion(99, 100),
        court.suspicion(97, 100, metric=PEAK_MEMORY),
        court.suspicion(99, 100),
    )

    assert [(request.base, request.head) for request in requests] == [(97, 100)]


def test_only_the_metrics_that_the_ab_bears_out_are_in_the_alert(court):
    docket, _ = court.begin(
        Docket(), court.suspicion(99, 100), court.suspicion(99, 100, metric=PEAK_MEMORY)
    )

    _, (alert,) = court.tried(docket, court.regressed, replace(court.unchanged, metric=PEAK_MEMORY))

    assert [change.suspicion.series.metric for change in alert.changes] == [STEP_TIME]


def test_a_metric_that_becomes_suspect_while_the_ab_runs_joins_it(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))

    docket, requests = court.begin(
        docket, court.suspicion(99, 100), court.suspicion(99, 100, metric=PEAK_MEMORY)
    )
    _, (alert,) = court.tried(docket, court.regressed, replace(court.regressed, metric=PEAK_MEMORY))

    assert requests == ()
    assert len(alert.changes) == 2


def test_of_two_suspicions_of_the_same_commits_the_stronger_is_asked_for(court):
    _, requests = court.begin(
        Docket(), court.suspicion(97, 100, strength=4.0), court.suspicion(98, 101, strength=6.0)
    )

    assert [(request.base, request.head) for request in requests] == [(98, 101)]


def test_workloads_commits_and_machine_classes_are_asked_for_apart(court):
    elsewhere = Series("m:f", STEP_TIME, "tpu:v4:8")

    _, requests = court.begin(
        Docket(),
        court.suspicion(99, 100),
        court.suspicion(109, 110),
        court.suspicion(99, 100, workload="m:g"),
        court.suspicion(99, 100, series=elsewhere),
    )

    assert len(requests) == 4


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
def test_a_suspicion_that_makes_no_sense_is_refused(court, values):
    with pytest.raises(ConfirmationError, match="is no suspicion"):
        replace(court.suspicion(99, 100), **values)


def test_an_answer_that_nobody_waits_for_is_refused(court):
    docket, (request,) = court.begin(Docket(), court.suspicion(99, 100))
    docket, _ = court.tried(docket, court.unchanged)

    with pytest.raises(ConfirmationError, match="no answer that is waited for"):
        answer(docket, request, verdicts=[court.regressed], pairs=4)


def test_less_than_no_pairs_is_refused(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))

    with pytest.raises(ConfirmationError, match="-1 pairs"):
        court.tried(docket, pairs=-1)


def test_what_is_under_way_is_not_asked_for_again(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))

    _, requests = court.begin(docket, court.suspicion(98, 101, newest=102, strength=50.0))

    assert requests == ()


@pytest.mark.parametrize(
    ("newest", "strength", "is_asked"),
    [
        (100, 50.0, False),
        (101, 5.0 * STRONGER_BY - 0.1, False),
        (101, 5.0 * STRONGER_BY, True),
    ],
    ids=["no newer point", "hardly stronger", "newer and stronger"],
)
def test_a_cleared_suspicion_is_asked_for_again_when_newer_points_make_it_stronger(
    court, newest, strength, is_asked
):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))
    docket, _ = court.tried(docket, court.unchanged)

    _, requests = court.begin(docket, court.suspicion(99, 100, newest=newest, strength=strength))

    assert bool(requests) is is_asked


@pytest.mark.parametrize(("newest", "is_asked"), [(100, False), (101, True)])
def test_what_could_not_be_measured_is_asked_for_again_at_the_next_point(court, newest, is_asked):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))
    docket, _ = court.tried(docket, pairs=0)

    _, requests = court.begin(docket, court.suspicion(99, 100, newest=newest))

    assert bool(requests) is is_asked


def test_other_commits_and_the_opposite_direction_are_other_questions(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100))
    docket, _ = court.tried(docket, court.unchanged)

    _, requests = court.begin(
        docket, court.suspicion(100, 101), court.suspicion(99, 100, change=-0.05)
    )

    assert len(requests) == 2


def test_an_alert_is_never_asked_for_again(court):
    docket, _ = court.convicted(court.suspicion(99, 100))

    _, requests = court.begin(docket, court.suspicion(95, 105, newest=200, strength=1000.0))

    assert requests == ()


def test_what_was_settled_long_ago_can_be_forgotten(court):
    docket, _ = court.begin(Docket(), court.suspicion(99, 100), court.suspicion(109, 110))
    for request in [trial.request for trial in docket.trials]:
        docket, _ = court.tried(docket, court.unchanged, request=request)

    kept = forget(docket, before=101).settled

    assert [settled.commits for settled in kept] == [CommitRange(110, 110)]


def test_every_metric_can_be_suspected(court):
    for metric in METRICS.values():
        assert court.begin(Docket(), court.suspicion(99, 100, metric=metric))[1]
