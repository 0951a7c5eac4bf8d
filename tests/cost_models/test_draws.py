import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.draws import DRAWS, draw_pert, draw_ratios, pert_shape

three = st.tuples(*[st.floats(0.01, 100)] * 3).map(sorted).filter(lambda x: x[2] > 1.001 * x[0])


@settings(deadline=None)
@given(three)
def test_pert_draws_stay_within_their_ends_and_have_the_pert_mean(figures):
    low, mode, high = figures
    draws = draw_pert(low, mode, high, name="x")

    assert draws.shape == (DRAWS,)
    assert low <= draws.min()
    assert draws.max() <= high * (1 + 1e-12)
    assert draws.mean() == pytest.approx((low + 4 * mode + high) / 6, abs=0.01 * (high - low))


@given(three)
def test_the_distribution_has_the_moments_of_the_closed_form_to_the_ninth_digit(figures):
    low, mode, high = figures
    left, right = pert_shape(*figures)
    share = left / (left + right)
    mean = low + (high - low) * share
    variance = (high - low) ** 2 * share * (1 - share) / (left + right + 1)

    assert mean == pytest.approx((low + 4 * mode + high) / 6, rel=1e-9)
    assert variance == pytest.approx((mean - low) * (high - mean) / 7, rel=1e-9)


def test_a_figure_without_a_range_is_drawn_as_itself():
    assert set(draw_pert(3.0, 3.0, 3.0, name="x")) == {3.0}


@pytest.mark.parametrize("coverage", [0.90, 0.95])
def test_ratios_have_the_middle_as_median_and_the_ends_as_quantiles_even_when_lopsided(coverage):
    draws = draw_ratios(0.9, 1.0, 1.5, coverage=coverage, name="x")
    tail = (1 - coverage) / 2

    assert np.quantile(draws, [tail, 0.5, 1 - tail]) == pytest.approx([0.9, 1.0, 1.5], rel=0.02)


def test_a_name_always_draws_alike_and_another_name_differently():
    first = draw_pert(0, 1, 2, name="wacc")

    assert np.array_equal(first, draw_pert(0, 1, 2, name="wacc"))
    assert abs(np.corrcoef(first, draw_pert(0, 1, 2, name="years"))[0, 1]) < 0.05
