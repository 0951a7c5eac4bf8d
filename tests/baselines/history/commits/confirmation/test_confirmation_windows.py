"""Which A/Bs are asked for first, and how many a window of time has room for."""

import pytest

from perfledger.metrics import PEAK_MEMORY
from perfledger_baselines.history.commits.confirmation_state import (
    AbPurpose,
    ConfirmationLimits,
    ConfirmationState,
)


def test_a_window_has_no_more_pairs_than_it_may(ab):
    candidates = [ab.candidate(99, 100, workload=f"m:f{n}") for n in range(20)]

    state, requests = ab.request(ConfirmationState(), *candidates)

    assert (len(requests), state.pairs) == (10, 80)
    assert ab.request(state, *candidates)[1] == ()


def test_pairs_that_were_not_needed_go_back(ab):
    limits = ConfirmationLimits(max_pairs=8, pairs_per_window=12)
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100), limits=limits)
    state, _ = ab.answer(state, ab.unchanged, pairs=4)

    _, requests = ab.request(state, ab.candidate(109, 110), limits=limits)

    assert (state.pairs, len(requests)) == (4, 1)


def test_another_window_has_pairs_of_its_own(ab):
    candidates = [ab.candidate(99, 100, workload=f"m:f{n}") for n in range(20)]
    state, first = ab.request(ConfirmationState(), *candidates)

    state, second = ab.request(state, *candidates, window="Tuesday")
    state, _ = ab.answer(state, request=first[0], pairs=2)

    assert len({request.workload for request in (*first, *second)}) == 20
    assert state.pairs == 80


def test_an_ab_that_took_more_than_it_was_given_leaves_nothing(ab):
    limits = ConfirmationLimits(max_pairs=8, pairs_per_window=8)
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100), limits=limits)
    state, _ = ab.answer(state, ab.unchanged, pairs=30)

    assert ab.request(state, ab.candidate(109, 110), limits=limits)[1] == ()


def test_strength_per_second_comes_first(ab):
    _, requests = ab.request(
        ConfirmationState(),
        ab.candidate(99, 100, workload="slow", strength=9.0, pair_seconds=100.0),
        ab.candidate(99, 100, workload="weak", strength=1.0),
        ab.candidate(99, 100, workload="strong", strength=5.0),
    )

    assert [request.workload for request in requests] == ["strong", "weak", "slow"]


def test_a_workload_that_cries_wolf_waits_behind_the_others(ab):
    state = ConfirmationState()
    for commit in (10, 20, 30):
        state, _ = ab.request(state, ab.candidate(commit - 1, commit, workload="wolf"))
        state, _ = ab.answer(state, pairs=0)

    _, requests = ab.request(
        state,
        ab.candidate(99, 100, workload="wolf", strength=9.0),
        ab.candidate(99, 100, strength=5.0),
    )

    assert [request.workload for request in requests] == ["m:f", "wolf"]


def test_the_commit_of_a_known_change_comes_before_new_candidates(ab):
    state, _ = ab.confirmed(ab.candidate(90, 100, strength=1.0))

    _, requests = ab.request(state, ab.candidate(99, 100, workload="m:g", strength=50.0))

    assert [request.purpose for request in requests] == [AbPurpose.BISECT, AbPurpose.CONFIRM]


def test_a_window_whose_pairs_are_spent_has_none_for_an_ab_of_one_pair(ab):
    limits = ConfirmationLimits(max_pairs=1, pairs_per_window=1)
    state, first = ab.request(ConfirmationState(), ab.candidate(99, 100), limits=limits)

    assert len(first) == 1
    assert ab.request(state, ab.candidate(109, 110), limits=limits)[1] == ()


def test_the_priority_is_strength_per_second_times_the_share_that_was_confirmed(ab):
    """By Laplace's rule of succession: one more of each answer than there are."""
    candidate = ab.candidate(99, 100, strength=6.0, pair_seconds=10.0)
    confirmed, _ = ab.confirmed(ab.candidate(9, 10))
    denied, _ = ab.request(ConfirmationState(), ab.candidate(9, 10))
    denied, _ = ab.answer(denied, ab.unchanged)

    shares = [
        ab.request(state, candidate)[1][0].priority * (8 * 10.0) / 6.0
        for state in (ConfirmationState(), confirmed, denied)
    ]

    assert shares == pytest.approx([1 / 2, 2 / 3, 1 / 3])


def test_answers_of_another_workload_or_machine_do_not_count(ab):
    other, _ = ab.request(ConfirmationState(), ab.candidate(9, 10, workload="m:g"))
    other, _ = ab.answer(other, pairs=0)
    candidate = ab.candidate(99, 100)

    (request,), (alone,) = (
        ab.request(state, candidate)[1] for state in (other, ConfirmationState())
    )

    assert request.priority == alone.priority


@pytest.mark.parametrize(
    ("good", "workload", "base"),
    [(95, "m:f", 95), (97, "m:f", 95), (94, "m:f", 94), (97, "m:g", 97)],
)
def test_an_ab_under_way_of_the_same_commit_serves_another_metric(ab, good, workload, base):
    state, _ = ab.request(ConfirmationState(), ab.candidate(95, 100))

    state, _ = ab.request(state, ab.candidate(good, 100, workload=workload, metric=PEAK_MEMORY))

    assert state.pending_confirmations[-1].request.base == base


def test_a_candidate_that_could_not_be_measured_may_come_again_however_weak(ab):
    state, _ = ab.request(ConfirmationState(), ab.candidate(99, 100, strength=5.0))
    state, _ = ab.answer(state, ab.not_measured, pairs=0)

    assert [answer.strength for answer in state.answered_candidates] == [0.0]
