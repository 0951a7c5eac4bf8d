"""The order of the two sides in pairs is random, drawn by a seed, and balanced."""

from hypothesis import given, strategies as st

from perfledger.records import Side
from perfledger_runners.measuring.rounds.pair_order import pair_order


@given(st.integers(), st.integers(min_value=0, max_value=99))
def test_of_any_two_pairs_that_belong_together_each_side_is_first_in_one(seed, pairs):
    order = pair_order(seed, pairs)

    assert len(order) == pairs
    for first, second in zip(order[::2], order[1::2], strict=False):
        assert {first, second} == {Side.BASE, Side.HEAD}


def test_the_order_is_drawn_and_can_be_drawn_again():
    starts = {pair_order(seed, 20) for seed in range(50)}

    assert len(starts) > 40
    assert pair_order(7, 20) == pair_order(7, 20)
    assert pair_order(7, 20)[:10] == pair_order(7, 10)
