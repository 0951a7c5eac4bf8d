from dataclasses import replace

import pytest

from perfledger.metrics import METRICS, PEAK_MEMORY, STEP_TIME
from perfledger_baselines.history.commits.attribution import CommitRange, Series
from perfledger_baselines.history.commits.confirmation import (
    STRONGER_BY,
    drop_answers,
    record_ab_result,
)
from perfledger_baselines.history.commits.confirmation_state import (
    AbPurpose,
    BisectionStatus,
    ConfirmationError,
    ConfirmationState,
)

MACHINE = "cuda:H100:1"


def test_a_candidate_leads_to_an_ab_of_its_commit_and_the_last_good_one(ab):
    _, (request,) = ab.request(ConfirmationState(), ab.candidate(99, 100))

    assert (request.workload, request.machine_class) == ("m:f", MACHINE)
    assert (request.base, request.head, request.max_pairs) == (99, 100, 8)
    assert request.purpose is AbPurpose.CONFIRM


def test_what_the_ab_bears_out_is_an_alert_with_its_commit(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))

    state, (alert,) = ab.answer(state, ab.regressed)

    assert alert.commits == alert.suspected_range == CommitRange(100, 100)
    assert (alert.narrowing, alert.is_final, alert.pairs) == (BisectionStatus.ONE_COMMIT, True, 4)
    assert alert.changes[0].estimate.change == 0.05
    assert not state.bisections


@pytest.mark.parametrize(
    "say",
    [
        lambda ab: [ab.unchanged],
        lambda ab: [ab.undecided],
        lambda ab: [ab.not_measured],
        lambda _: [],
        lambda ab: [ab.improved],
        lambda ab: [replace(ab.regressed, workload="m:other")],
        lambda ab: [replace(ab.regressed, metric=PEAK_MEMORY)],
    ],
    ids=["unchanged", "undecided", "not measured", "nothing", "opposite", "workload", "metric"],
)
def test_what_the_ab_does_not_bear_out_is_silent(ab, say):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))

    state, alerts = ab.answer(state, *say(ab))

    assert (alerts, state.pending_confirmations, state.bisections) == ((), (), ())


def test_a_gain_is_confirmed_by_an_improvement(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100, change=-0.05))

    _, (alert,) = ab.answer(state, ab.improved)

    assert alert.changes[0].candidate.harm == "better"


def test_one_request_covers_all_metrics_of_a_workload(ab):
    _, requests = ab.request(
        ConfirmationState(),
        ab.candidate(99, 100),
        ab.candidate(97, 100, metric=PEAK_MEMORY),
        ab.candidate(99, 100),
    )

    assert [(request.base, request.head) for request in requests] == [(97, 100)]


def test_only_the_metrics_that_the_ab_bears_out_are_in_the_alert(ab):
    state, _ = ab.request(
        ConfirmationState(), ab.candidate(99, 100), ab.candidate(99, 100, metric=PEAK_MEMORY)
    )

    _, (alert,) = ab.answer(state, ab.regressed, replace(ab.unchanged, metric=PEAK_MEMORY))

    assert [change.candidate.series.metric for change in alert.changes] == [STEP_TIME]


def test_a_metric_that_becomes_suspect_while_the_ab_runs_joins_it(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))

    state, requests = ab.request(
        state, ab.candidate(99, 100), ab.candidate(99, 100, metric=PEAK_MEMORY)
    )
    _, (alert,) = ab.answer(state, ab.regressed, replace(ab.regressed, metric=PEAK_MEMORY))

    assert requests == ()
    assert len(alert.changes) == 2


def test_of_two_suspects_of_the_same_commits_the_stronger_is_asked_for(ab):
    _, requests = ab.request(
        ConfirmationState(),
        ab.candidate(97, 100, strength=4.0),
        ab.candidate(98, 101, strength=6.0),
    )

    assert [(request.base, request.head) for request in requests] == [(98, 101)]


def test_workloads_commits_and_machine_classes_are_asked_for_apart(ab):
    series = Series("m:f", STEP_TIME, "tpu:v4:8")

    _, requests = ab.request(
        ConfirmationState(),
        ab.candidate(99, 100),
        ab.candidate(109, 110),
        ab.candidate(99, 100, workload="m:g"),
        ab.candidate(99, 100, series=series),
    )

    assert len(requests) == 4


def test_an_answer_that_nobody_waits_for_is_refused(ab):
    state, (request,) = ab.request(ConfirmationState(), ab.candidate(99, 100))
    state, _ = ab.answer(state, ab.unchanged)

    with pytest.raises(ConfirmationError, match="is not under way"):
        record_ab_result(state, request, verdicts=[ab.regressed], pairs=4)


def test_less_than_no_pairs_is_refused(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))

    with pytest.raises(ConfirmationError, match="-1 pairs"):
        ab.answer(state, pairs=-1)


def test_what_is_under_way_is_not_asked_for_again(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))

    _, requests = ab.request(state, ab.candidate(98, 101, newest=102, strength=50.0))

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
def test_a_cleared_candidate_is_asked_for_again_when_newer_points_make_it_stronger(
    ab, newest, strength, is_asked
):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))
    state, _ = ab.answer(state, ab.unchanged)

    _, requests = ab.request(state, ab.candidate(99, 100, newest=newest, strength=strength))

    assert bool(requests) is is_asked


@pytest.mark.parametrize(("newest", "is_asked"), [(100, False), (101, True)])
def test_what_could_not_be_measured_is_asked_for_again_at_the_next_point(ab, newest, is_asked):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))
    state, _ = ab.answer(state, pairs=0)

    _, requests = ab.request(state, ab.candidate(99, 100, newest=newest))

    assert bool(requests) is is_asked


def test_other_commits_and_the_opposite_direction_are_other_questions(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100))
    state, _ = ab.answer(state, ab.unchanged)

    _, requests = ab.request(state, ab.candidate(100, 101), ab.candidate(99, 100, change=-0.05))

    assert len(requests) == 2


def test_an_alert_is_never_asked_for_again(ab):
    state, _ = ab.confirmed(ab.candidate(99, 100))

    _, requests = ab.request(state, ab.candidate(95, 105, newest=200, strength=1000.0))

    assert requests == ()


def test_what_was_settled_long_ago_can_be_forgotten(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100), ab.candidate(109, 110))
    for request in [trial.request for trial in state.pending_confirmations]:
        state, _ = ab.answer(state, ab.unchanged, request=request)

    kept_answered_candidates = drop_answers(state, before=101).answered_candidates

    assert [settled_state.commits for settled_state in kept_answered_candidates] == [
        CommitRange(110, 110)
    ]


def test_every_metric_can_be_suspected(ab):
    for metric in METRICS.values():
        assert ab.request(ConfirmationState(), ab.candidate(99, 100, metric=metric))[1]
