from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_service.rendering.review.whole_dollars import (
    nearest_dollar,
    whole_difference,
    whole_parts,
)

amounts = st.decimals("-1e9", "1e9", places=4)


@given(st.lists(amounts, max_size=8))
def test_shown_parts_sum_to_the_shown_total_and_none_is_off_by_a_dollar(parts):
    dollars = whole_parts(parts)

    assert sum(dollars) == nearest_dollar(sum(parts, Decimal(0)))
    assert all(abs(one - part) < 1 for one, part in zip(dollars, parts, strict=True))
    assert all(one == int(one) for one in dollars)


@given(amounts, amounts)
def test_a_shown_difference_is_that_of_the_shown_amounts(left, right):
    difference = whole_difference(left, right)

    assert nearest_dollar(right) + difference == nearest_dollar(left)
    assert abs(difference - (left - right)) <= 1


@pytest.mark.parametrize(
    ("parts", "dollars"),
    [
        (("0.4", "0.4", "0.4"), (1, 0, 0)),
        (("10.5", "20.5"), (11, 20)),
        (("-0.6", "1.2"), (0, 1)),
        ((), ()),
    ],
)
def test_missing_dollars_go_to_the_parts_that_lost_most(parts, dollars):
    assert whole_parts([Decimal(part) for part in parts]) == dollars


def test_an_amount_that_rounds_to_nothing_is_not_negative():
    assert str(nearest_dollar(Decimal("-0.2"))) == "0"
