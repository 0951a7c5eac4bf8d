from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_baselines.significance.multiple_testing import (
    adjust_family,
    benjamini_hochberg,
    holm,
)
from perfledger_baselines.significance.paired_t_tests import exact_result

adjustments = pytest.mark.parametrize("adjust", [holm, benjamini_hochberg])
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def test_holm_multiplies_by_the_tests_that_are_still_in():
    adjusted = holm(np.array([0.01, 0.04, 0.03, 0.005]))

    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_multiplies_by_tests_over_rank():
    adjusted = benjamini_hochberg(np.array([0.01, 0.04, 0.03, 0.005]))

    assert adjusted == pytest.approx([0.02, 0.04, 0.04, 0.02])


@adjustments
def test_a_family_of_one_is_not_adjusted(adjust):
    assert adjust(np.array([0.04])).tolist() == [0.04]


@adjustments
def test_an_empty_family_stays_empty(adjust):
    assert adjust(np.array([])).shape == (0,)


@adjustments
@pytest.mark.parametrize("wrong", [-0.1, 1.1, np.nan])
def test_what_is_no_p_value_is_refused(adjust, wrong):
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust(np.array([0.5, wrong]))


@pytest.mark.slow
@adjustments
@given(p_lists)
def test_adjusting_makes_no_p_value_smaller_and_none_above_one(adjust, values):
    adjusted = adjust(np.array(values))

    assert (adjusted >= np.array(values) * (1 - 1e-12)).all()
    assert (adjusted <= 1).all()


@pytest.mark.slow
@adjustments
@given(p_lists)
def test_adjusting_keeps_the_order(adjust, values):
    adjusted = adjust(np.array(values))[np.argsort(values)]

    assert (np.diff(adjusted) >= 0).all()


@pytest.mark.slow
@adjustments
@given(p_lists, st.randoms(use_true_random=False))
def test_a_permutation_permutes_the_result(adjust, values, random):
    order = random.sample(range(len(values)), len(values))

    permuted = adjust(np.array(values)[order])

    assert permuted == pytest.approx(adjust(np.array(values))[order])


@given(p_lists)
def test_benjamini_hochberg_is_never_stricter_than_holm(values):
    p_values = np.array(values)

    assert (benjamini_hochberg(p_values) <= holm(p_values) * (1 + 1e-12)).all()


@given(p_lists)
def test_holm_rejects_something_exactly_when_bonferroni_does(values):
    p_values = np.array(values)

    assert holm(p_values).min() == pytest.approx(min(1, len(values) * p_values.min()))


@pytest.mark.slow
@adjustments
@given(p_lists, st.integers(0, 29))
def test_a_test_that_comes_to_nothing_makes_no_other_significant(adjust, values, place):
    p_values = np.array(values)
    place %= len(values)
    without = p_values.copy()
    without[place] = 1.0

    others = np.arange(len(values)) != place
    assert (adjust(without)[others] >= adjust(p_values)[others] * (1 - 1e-12)).all()


@pytest.mark.parametrize(("alpha", "sharing"), [(0.04, (2, 2, 3)), (0.041, (1, 2, 2))])
def test_a_rejection_is_below_alpha_and_leaves_its_share_to_the_others(alpha, sharing):
    results = [
        replace(exact_result(1.0, 2.0, pairs=4), is_exact=False, p_value=p)
        for p in (0.5, 0.02, 0.001)
    ]

    adjusted = adjust_family(results, alpha=alpha)

    assert [each.holm for each in adjusted] == pytest.approx([0.5, 0.04, 0.003])
    assert tuple(each.sharing for each in adjusted) == sharing
