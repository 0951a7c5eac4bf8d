import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.looks import FEWEST_PAIRS, Look, default_looks, looks_taken
from perfledger_baselines.rule import PlanError

max_pairs = st.integers(FEWEST_PAIRS, 60)


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (4, (4,)),
        (5, (4, 5)),
        (6, (4, 6)),
        (20, (4, 6, 8, 11, 15, 20)),
        (40, (4, 6, 8, 11, 15, 20, 28, 40)),
        (50, (4, 6, 8, 11, 15, 20, 28, 40, 50)),
    ],
)
def test_the_last_look_is_at_all_pairs(most, expected):
    assert default_looks(most) == expected


def test_fewer_than_four_pairs_are_no_plan():
    with pytest.raises(PlanError, match="max_pairs is 3"):
        default_looks(3)


def test_a_look_weighs_as_much_as_the_pairs_that_are_new_at_it():
    assert looks_taken((4, 6, 8), 8) == (Look(4, 0.5), Look(6, 0.25), Look(8, 0.25))


def test_looks_to_come_are_not_taken():
    assert looks_taken((4, 6, 8), 6) == (Look(4, 0.5), Look(6, 0.25))


def test_a_stop_between_looks_takes_the_next_look_early():
    assert looks_taken((4, 6, 8), 5) == (Look(4, 0.5), Look(5, 0.25))


def test_a_stop_before_the_first_look_takes_that_one_early():
    assert looks_taken((4, 8), 2) == (Look(2, 0.5),)


def test_pairs_beyond_the_plan_are_not_looked_at():
    assert looks_taken((4, 8), 11) == (Look(4, 0.5), Look(8, 0.5))


def test_without_a_plan_there_is_one_look_with_all_of_alpha():
    assert looks_taken((), 7) == (Look(7, 1.0),)


@given(max_pairs, st.integers(1, 80))
def test_the_weights_of_the_looks_taken_never_exceed_one(most, pairs):
    weights = [look.weight for look in looks_taken(default_looks(most), pairs)]

    assert all(weight > 0 for weight in weights)
    assert sum(weights) <= 1 + 1e-12


@given(max_pairs)
def test_a_plan_that_is_followed_to_its_end_spends_all(most):
    weights = [look.weight for look in looks_taken(default_looks(most), most)]

    assert sum(weights) == pytest.approx(1)
