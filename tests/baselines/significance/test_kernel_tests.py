import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import trim_mean

from perfledger_baselines.estimation.kernel_families import PairedSeconds
from perfledger_baselines.significance.alpha_spending import nominal_levels
from perfledger_baselines.significance.interim_looks import looks_until
from perfledger_baselines.significance.kernel_tests import (
    changed_members,
    half_width_at_one_look,
    kernel_looks_until,
    largest_change,
    paired_kernel_tests,
    planned_kernel_looks,
    relative_change,
    relative_differences,
    trimmed_t_tests,
)
from perfledger_baselines.significance.power import MAX_CHANGE
from tests.suite.tries import tries

SECONDS = st.floats(1e-9, 1e3)
ONE_LOOK = looks_until((), 12)


@given(SECONDS, SECONDS)
def test_exchanged_sides_have_the_opposite_difference(base, head):
    one, other = np.array([[base]]), np.array([[head]])

    assert relative_differences(one, other) == -relative_differences(other, one)


@given(SECONDS, st.floats(0.2, 5.0))
def test_a_relative_difference_tells_the_change(base, ratio):
    difference = relative_differences(np.array([[base]]), np.array([[base * ratio]]))

    assert relative_change(float(difference[0, 0])) == pytest.approx(ratio - 1, abs=1e-9)


def test_what_is_new_or_gone_has_a_bounded_difference_and_what_never_ran_has_none():
    base, head = np.array([[0.0, 1.0, 0.0]]), np.array([[3.0, 0.0, 0.0]])

    assert relative_differences(base, head).tolist() == [[2.0, -2.0, 0.0]]
    assert relative_change(2.0) == MAX_CHANGE
    assert relative_change(2.5) == MAX_CHANGE
    assert relative_change(-2.0) == -1
    assert relative_change(-2.5) == -1


def test_a_kernel_that_is_new_in_every_pair_is_significant():
    new = PairedSeconds(name="new", base=np.zeros(5), head=np.linspace(1, 2, 5))

    (result,) = paired_kernel_tests([new], looks=looks_until((), 5), alpha=0.05)

    assert result.mean == 2
    assert result.p_value < 1e-9
    assert paired_kernel_tests([], looks=looks_until((), 5), alpha=0.05) == ()


def test_members_of_a_family_share_its_level():
    values = np.array([1.0, 1.01, 0.99, 1.0, 1.02, 0.98])
    seconds = [
        PairedSeconds(name=name, base=values, head=values[::-1] * factor)
        for name, factor in (("slower", 1.2), ("same", 1.0), ("also", 1.0))
    ]
    results = paired_kernel_tests(seconds, looks=looks_until((), 6), alpha=0.05)

    assert changed_members(results, level=0.01).tolist() == [True, False, False]
    # Alone it would do; among three, by Holm's rule, it has to be three times as clear.
    level = results[0].p_value * 2
    assert changed_members(results[:1], level=level).tolist() == [True]
    assert changed_members(results, level=level).tolist() == [False, False, False]


def test_the_trimmed_test_is_that_of_scipy():
    rows = np.random.default_rng(1).normal(0.5, 1, (5, 12))

    results = trimmed_t_tests(rows, looks=ONE_LOOK, alpha=0.05)

    for row, result in zip(rows, results, strict=True):
        kept_values = np.sort(row)[1:-1]
        drawn_in = np.clip(row, kept_values[0], kept_values[-1])
        error = drawn_in.std(ddof=1) / ((1 - 2 / 12) * np.sqrt(12))
        assert result.mean == pytest.approx(trim_mean(row, 1 / 12))
        # Tukey & McLaughlin's error, to the factor by which the forms for a sample differ.
        ratio = result.sd / np.sqrt(12) / error
        assert ratio == pytest.approx(np.sqrt(11 / 12 * 10 / 9))
        assert result.degrees == 8


def test_one_wild_pair_of_twelve_hides_no_change():
    row = np.array([[0.05, 0.051, 0.049, 0.05, 0.052, 0.048] * 2])
    row[0, 3] = -3.0

    (result,) = trimmed_t_tests(row, looks=ONE_LOOK, alpha=0.05)

    assert result.mean == pytest.approx(0.05, abs=0.001)
    assert result.p_value < 0.001
    assert result.half_width > result.narrow_half_width > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "t3", "two states", "spikes"])
def test_unchanged_pairs_are_rejected_no_more_often_than_the_level_by_any_look(kind):
    draw = np.random.default_rng(11)
    size = (tries(100_000), 12)
    rows = {
        "normal": lambda: draw.normal(size=size),
        "t3": lambda: draw.standard_t(3, size=size),
        "two states": lambda: (
            draw.integers(0, 2, size=size)
            - draw.integers(0, 2, size=size)
            + draw.normal(0, 0.1, size=size)
        ),
        "spikes": lambda: (
            draw.normal(size=size)
            + 20 * (draw.random(size) < 0.15) * draw.choice([-1, 1], size=size)
        ),
    }[kind]()

    at_looks = [
        [
            each.p_value
            for each in trimmed_t_tests(
                rows[:, :pairs], looks=kernel_looks_until(12, pairs), alpha=0.05
            )
        ]
        for pairs in planned_kernel_looks(12)
    ]
    at_the_end = [each.p_value for each in trimmed_t_tests(rows, looks=ONE_LOOK, alpha=0.05)]

    for p_values in (np.min(at_looks, axis=0), np.array(at_the_end)):
        for level in (0.05, 0.01, 0.001):
            assert (p_values < level).mean() <= 1.1 * level + 3 * np.sqrt(level / size[0]), level


@pytest.mark.parametrize(
    ("kernel_pairs", "looks"), [(12, (5, 6, 8, 12)), (7, (5, 6, 7)), (4, (4,))]
)
def test_the_looks_at_kernels_end_with_the_planned_pairs(kernel_pairs, looks):
    assert planned_kernel_looks(kernel_pairs) == looks
    assert kernel_looks_until(kernel_pairs, kernel_pairs).completed == looks


@pytest.mark.parametrize("level", [0.01, 1e-3, 1e-4, 1e-6])
def test_the_levels_of_all_looks_at_kernels_add_up_to_little_more_than_one_level(level):
    levels = nominal_levels(kernel_looks_until(12, 12), level)

    assert 0.999 * level <= sum(levels) <= 1.08 * level
    assert levels[-1] >= 0.93 * level


def test_a_look_has_less_of_the_level_and_wider_intervals_than_all_pairs_at_once():
    row = np.random.default_rng(5).normal(3, 1, (1, 5))

    (at_once,) = trimmed_t_tests(row, looks=looks_until((), 5), alpha=0.05)
    (at_look,) = trimmed_t_tests(row, looks=kernel_looks_until(12, 5), alpha=0.05)

    assert at_look.p_value == pytest.approx((12 / 5) ** 6 * at_once.p_value, rel=0.05)
    assert at_look.half_width > at_once.half_width
    assert half_width_at_one_look(at_look, 0.05) == pytest.approx(at_once.half_width)
    assert at_look.narrow_half_width > at_once.narrow_half_width


@pytest.mark.parametrize("change", [0.05, -0.05])
def test_a_change_is_ruled_out_wrongly_in_one_of_a_hundred_looks(change):
    rows = np.random.default_rng(8).normal(change, 0.02, (tries(4000), 5))
    looks = kernel_looks_until(12, 5)

    wrong = [largest_change(each) < 0.05 for each in trimmed_t_tests(rows, looks=looks, alpha=0.05)]

    assert np.mean(wrong) == pytest.approx(0.01, abs=0.006)
