"""A change point parts a series, wherever it may lie."""

import pytest
from hypothesis import given, strategies as st

from perfledger.measuring.change_point import count_before_change


@pytest.mark.parametrize(
    ("values", "most", "expected"),
    [
        pytest.param([2.0] * 6 + [1.0] * 18, 12, 6, id="in the first half"),
        pytest.param([2.0] * 15 + [1.0] * 9, 18, 15, id="in the third quarter"),
        pytest.param([1.0] * 15 + [2.0] * 9, 18, 15, id="a rise"),
        pytest.param([2.0] * 20 + [1.0] * 4, 12, 0, id="beyond the first half"),
        pytest.param([1.0] * 24, 12, 0, id="always the same"),
        pytest.param([], 0, 0, id="none"),
    ],
)
def test_it_is_found_among_the_first(values, most, expected):
    assert count_before_change(values, most=most) == expected


@given(values=st.lists(st.floats(-1e3, 1e3), max_size=60), most=st.integers(0, 60))
def test_the_sign_of_the_values_moves_it_nowhere(values, most):
    there = count_before_change(values, most=most)

    assert count_before_change([-value for value in values], most=most) == there <= most
