"""Which A/Bs are asked for first, and how many a window of time has room for."""

import pytest

from perfledger_baselines.history.docket import ConfirmationError, Docket, Limits, Purpose


def test_a_window_has_no_more_pairs_than_it_may(court):
    suspicions = [court.suspicion(99, 100, workload=f"m:f{n}") for n in range(20)]

    docket, requests = court.begin(Docket(), *suspicions)

    assert (len(requests), docket.pairs) == (10, 80)
    assert court.begin(docket, *suspicions)[1] == ()


def test_pairs_that_were_not_needed_go_back(court):
    limits = Limits(max_pairs=8, pairs_per_window=12)
    docket, _ = court.begin(Docket(), court.suspicion(99, 100), limits=limits)
    docket, _ = court.tried(docket, court.unchanged, pairs=4)

    _, requests = court.begin(docket, court.suspicion(109, 110), limits=limits)

    assert (docket.pairs, len(requests)) == (4, 1)


def test_another_window_has_pairs_of_its_own(court):
    suspicions = [court.suspicion(99, 100, workload=f"m:f{n}") for n in range(20)]
    docket, first = court.begin(Docket(), *suspicions)

    docket, second = court.begin(docket, *suspicions, window="Tuesday")
    docket, _ = court.tried(docket, request=first[0], pairs=2)

    assert len({request.workload for request in (*first, *second)}) == 20
    assert docket.pairs == 80


def test_an_ab_that_took_more_than_it_was_given_leaves_nothing(court):
    limits = Limits(max_pairs=8, pairs_per_window=8)
    docket, _ = court.begin(Docket(), court.suspicion(99, 100), limits=limits)
    docket, _ = court.tried(docket, court.unchanged, pairs=30)

    assert court.begin(docket, court.suspicion(109, 110), limits=limits)[1] == ()


def test_strength_per_second_comes_first(court):
    _, requests = court.begin(
        Docket(),
        court.suspicion(99, 100, workload="slow", strength=9.0, pair_seconds=100.0),
        court.suspicion(99, 100, workload="weak", strength=1.0),
        court.suspicion(99, 100, workload="strong", strength=5.0),
    )

    assert [request.workload for request in requests] == ["strong", "weak", "slow"]


def test_a_workload_that_cries_wolf_waits_behind_the_others(court):
    docket = Docket()
    for commit in (10, 20, 30):
        docket, _ = court.begin(docket, court.suspicion(commit - 1, commit, workload="wolf"))
        docket, _ = court.tried(docket, pairs=0)

    _, requests = court.begin(
        docket,
        court.suspicion(99, 100, workload="wolf", strength=9.0),
        court.suspicion(99, 100, strength=5.0),
    )

    assert [request.workload for request in requests] == ["m:f", "wolf"]


def test_the_commit_of_a_known_change_comes_before_new_suspicions(court):
    docket, _ = court.convicted(court.suspicion(90, 100, strength=1.0))

    _, requests = court.begin(docket, court.suspicion(99, 100, workload="m:g", strength=50.0))

    assert [request.purpose for request in requests] == [Purpose.BISECT, Purpose.CONFIRM]


@pytest.mark.parametrize(("most", "window"), [(0, 10), (11, 10)])
def test_a_limit_without_a_single_ab_is_refused(most, window):
    with pytest.raises(ConfirmationError, match="allow at least one"):
        Limits(max_pairs=most, pairs_per_window=window)
