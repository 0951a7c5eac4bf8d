import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.significance.decision_rule import CheckPlanError
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS,
    MIN_PAIRS_WITH_HISTORY,
    InterimLooks,
    fewest_pairs,
    looks_until,
    planned_looks,
)

max_pairs = st.integers(MIN_PAIRS, 60)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (4, (4,)),
        (5, (5,)),
        (6, (5, 6)),
        (11, (5, 6, 7, 8, 9, 10, 11)),
        (20, (5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20)),
        (50, (5, 6, 7, 8, 9, 10, 12, 14, 16, 18, 20, 23, 26, 30, 35, 40, 50)),
    ],
)
def test_the_last_look_is_at_all_pairs(most, expected):
    assert planned_looks(most) == expected


def test_where_the_spread_is_known_the_second_pair_is_looked_at():
    assert planned_looks(3, fewest=MIN_PAIRS_WITH_HISTORY) == (2, 3)


@pytest.mark.parametrize(
    ("planned", "expected"),
    [
        pytest.param((), 4, id="no plan"),
        pytest.param((4, 6), 4, id="a plan of its own"),
        pytest.param((2, 3, 4, 5, 6), 5, id="on the way of one that leans on histories"),
        pytest.param((2, 4), 4, id="that ends there"),
        pytest.param((2, 3), 4, id="that never gets there"),
    ],
)
def test_a_test_without_a_history_waits_for_its_first_look(planned, expected):
    assert fewest_pairs(planned, has_history=False) == expected
    assert fewest_pairs(planned, has_history=True) == MIN_PAIRS_WITH_HISTORY == 2


def test_fewer_than_four_pairs_are_no_plan():
    with pytest.raises(CheckPlanError, match="max_pairs is 3"):
        planned_looks(3)


@pytest.mark.parametrize(
    ("planned", "pairs", "looks"),
    [
        pytest.param((4, 6, 8), 8, (4, 6, 8), id="to the end"),
        pytest.param((4, 6, 8), 6, (4, 6), id="looks to come are not taken"),
        pytest.param((4, 6, 8), 5, (4, 5), id="a stop between looks is a look"),
        pytest.param((4, 8), 2, (2,), id="and so is one before the first"),
        pytest.param((4, 8), 11, (4, 8), id="what is beyond the plan is not looked at"),
    ],
)
def test_the_looks_taken_end_with_the_pairs_there_are(planned, pairs, looks):
    assert looks_until(planned, pairs) == InterimLooks(looks, planned)


def test_without_a_plan_there_is_one_look_at_all_pairs():
    assert looks_until((), 7) == InterimLooks((7,), (7,))


@given(max_pairs, st.integers(1, 80))
def test_looks_increase_and_end_with_the_pairs_or_the_plan(most, pairs):
    looks = looks_until(planned_looks(most), pairs)

    assert list(looks.completed) == sorted(set(looks.completed))
    assert looks.pairs == min(pairs, most)
