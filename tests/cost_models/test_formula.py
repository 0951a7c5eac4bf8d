import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.formula import MAX_CHARACTERS, FormulaError, value_of

NAMES = ("aa_1", "bb_2")
FORMULAS = st.recursive(
    st.sampled_from([*NAMES, "2", "0.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["MAX", "MIN"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=8,
)


@given(FORMULAS, st.floats(-10, 10), st.floats(-10, 10))
def test_a_formula_comes_to_what_python_says(formula, first, second):
    values = dict(zip(NAMES, (first, second), strict=True))

    found_value = value_of(formula, {name: np.array([value]) for name, value in values.items()})

    assert found_value[0] == pytest.approx(eval(formula, {"MAX": max, "MIN": min, **values}))


@given(st.floats(0.01, 10), st.floats(-3, 3))
def test_a_power_is_that_of_python(base, exponent):
    values = {"aa_1": np.array([base]), "bb_2": np.array([exponent])}

    assert value_of("POWER(aa_1, bb_2)", values)[0] == pytest.approx(base**exponent)


def test_draws_are_computed_all_at_once():
    assert value_of("aa_1 / 2", {"aa_1": np.array([2.0, 4.0])}).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "formula",
    [
        "unknown",
        "__import__('os')",
        "aa_1.real",
        "aa_1 ** 2",
        "MAX(1, 2, 3)",
        "POWER(1)",
        "MAX(1, 2, key=3)",
        "[1]",
        "'text'",
        "1 +",
        "\0",
        "-aa_1",
        "1" * (MAX_CHARACTERS + 1),
        "(" * 1500,
    ],
)
def test_what_a_formula_must_not_hold_is_refused(formula):
    with pytest.raises(FormulaError):
        value_of(formula, {"aa_1": np.array([1.0])})


def test_a_formula_may_have_the_most_characters():
    assert value_of("1".ljust(MAX_CHARACTERS), {}) == 1
