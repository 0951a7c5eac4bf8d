import math

import pytest
from hypothesis import given, strategies as st

from perfledger.process.asv.parameters import parameter_points
from perfledger.registration.argument_faults import FORBIDDEN_IN_TEXT


def texts(params, names=()):
    return [point.text for point in parameter_points(params, names)]


@pytest.mark.parametrize(
    ("params", "names", "expected"),
    [
        ([], [], [""]),
        ([1, 2], ["n"], ["n=1", "n=2"]),
        ([1, 2], [], ["param1=1", "param1=2"]),
        ([[1], ["a", "b"]], ["n"], ["n=1,param2=a", "n=1,param2=b"]),
        ((("a",), (None, True)), ["x", "y", "z"], ["x=a,y=None", "x=a,y=True"]),
        ([["a,b"], [[1]]], [], ["param1=a_b,param2=_1_"]),
        ([int, "x" * 200], ["t"], ["t=<class _int_>", f"t={'x' * 100}"]),
        ([1, "1"], ["n"], ["n=1", "n=1~2"]),
    ],
)
def test_parameters_are_named_by_their_values(params, names, expected):
    assert texts(params, names) == expected


def test_an_object_is_named_without_its_address():
    assert "0x" not in texts([object()], ["thing"])[0]


def test_a_step_gets_the_values_themselves():
    (point,) = parameter_points([[dict], [math.inf]], ["type", "limit"])

    assert point.values == (dict, math.inf)
    assert point.params == {"type": "<class _dict_>", "limit": "inf"}


VALUES = st.one_of(st.text(max_size=20), st.integers(), st.floats(), st.tuples(st.integers()))


@given(st.lists(VALUES, min_size=1, max_size=6).filter(lambda v: not isinstance(v[0], tuple)))
def test_every_value_has_a_text_of_its_own_that_can_be_part_of_an_id(values):
    named = [text.removeprefix("v=") for text in texts(values, ["v"])]

    assert len(set(named)) == len(values)
    assert all(text.isprintable() and not set(text) & set(FORBIDDEN_IN_TEXT) for text in named)
