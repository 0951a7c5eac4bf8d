from inspect import unwrap

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_baselines.history.segmentation.pruning import needed_z
from perfledger_baselines.history.segmentation.robust_levels import (
    CHUNK,
    COSTS_AT_ONCE,
    END,
    END_EXTRA,
    MAX_LOSS,
    MIN_TOGETHER,
    UNITS,
    cheapest_path,
    fit_levels,
    path_by_rounds,
    path_in_order,
    paths_in_order,
    paths_without_compiler,
    step_penalties,
)


def steps_of(*rows, penalty=None):
    """Return the places at which the fit of each row steps."""
    levels = np.array(rows)
    if penalty is None:
        penalty = needed_z(levels.shape[1]) ** 2 / 2
    return [np.flatnonzero(np.diff(row)) + 1 for row in fit_levels(levels, penalty=penalty)]


def test_the_fit_steps_where_the_level_does_and_is_the_median_between(make):
    levels = make.noise(120, seed=1)
    levels[50:] += 0.06
    levels[90:] -= 0.1

    (fitted,) = fit_levels(levels[None], penalty=7.6)

    assert (np.flatnonzero(np.diff(fitted)) + 1).tolist() == [50, 90]
    assert fitted[[0, 60, 100]].tolist() == [
        np.median(levels[:50]),
        np.median(levels[50:90]),
        np.median(levels[90:]),
    ]


@pytest.mark.parametrize(("length", "count"), [(1, 0), (3, 0), (4, 0), (8, 2)])
def test_a_few_odd_observations_are_no_stretch_however_far_off(make, length, count):
    levels = make.noise(120, seed=2)
    levels[60 : 60 + length] += 5.0

    assert [len(steps) for steps in steps_of(levels)] == [count]


def test_three_observations_at_the_end_are_a_stretch_as_nobody_knows_yet_whether_they_stay(make):
    levels = make.noise(120, seed=3)
    levels[-3:] += 0.08

    assert END > 3
    assert [steps.tolist() for steps in steps_of(levels)] == [[117]]


def test_a_step_costs_more_within_six_observations_of_either_end():
    penalties = step_penalties(20, 2.0)

    assert END == 6
    assert penalties[7:14].tolist() == [2.0] * 7
    assert penalties[[1, 6, 14, 19]].tolist() == [2.0 + END_EXTRA] * 4


def test_heavy_tails_do_not_hide_a_step():
    rng = np.random.default_rng(4)
    levels = 0.002 * rng.standard_cauchy((20, 120))
    levels[:, 70:] += 0.015

    results = [any(abs(place - 70) <= 3 for place in steps) for steps in steps_of(*levels)]

    assert sum(results) >= 19


def test_rows_are_fitted_as_if_alone(make):
    rows = np.array([make.noise(90, seed=seed) for seed in range(4)])
    rows[1, 40:] += 0.05

    together_fit_levels = fit_levels(rows, penalty=7.5)

    assert np.array_equal(
        together_fit_levels, np.concatenate([fit_levels(r[None], penalty=7.5) for r in rows])
    )


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4), st.floats(0, 3))
def test_no_path_is_cheaper(seed, count, size, penalty):
    costs = np.random.default_rng(seed).uniform(0, 2, (count, size))
    paths = np.indices((size,) * count).reshape(count, -1).T

    def cost(path):
        return costs[np.arange(count), path].sum() + penalty * np.count_nonzero(np.diff(path))

    cheapest = cheapest_path(costs, np.full(count, penalty))

    assert cost(cheapest) == pytest.approx(min(map(cost, paths)))


def test_the_compiled_path_is_the_plain_one():
    pytest.importorskip("numba", reason="numba is not installed: compiled kernels go untested")
    costs, penalties = whole_costs(5, 200, 30, largest=500), np.full(200, 900.0)

    interpreted = unwrap(path_in_order)(costs, penalties)

    assert path_in_order(costs, penalties).tolist() == interpreted.tolist()


def whole_costs(seed, count, size, *, largest):
    return np.random.default_rng(seed).integers(0, largest + 1, (count, size)).astype(np.float64)


@settings(deadline=None, max_examples=100)
@given(
    st.integers(0, 10_000),
    st.integers(1, 60),
    st.integers(1, 6),
    st.sampled_from([1, 3, 1000]),
    st.integers(0, 6),
)
def test_rounds_find_the_path_that_is_found_in_order_even_among_equal_ones(
    seed, count, size, largest, penalty
):
    costs, penalties = (
        whole_costs(seed, count, size, largest=largest),
        np.full(count, float(penalty)),
    )

    assert path_by_rounds(costs, penalties).tolist() == path_in_order(costs, penalties).tolist()


@pytest.mark.parametrize("count", [CHUNK - 1, CHUNK, CHUNK + 1, CHUNK + 2, 2 * CHUNK + 1])
def test_rounds_find_the_path_across_chunks(count):
    costs, penalties = whole_costs(count, count, 5, largest=4), np.full(count, 3.0)

    assert path_by_rounds(costs, penalties).tolist() == path_in_order(costs, penalties).tolist()


def test_costs_have_sums_without_a_rounding_error():
    """The path is the same in any order of the sums."""
    costs = np.random.default_rng(7).uniform(0, MAX_LOSS, (1000, 3))
    whole_values = np.rint(costs * UNITS)

    assert (
        whole_values[::-1].cumsum(axis=0)[-1].tolist() == whole_values.cumsum(axis=0)[-1].tolist()
    )
    assert MAX_LOSS * 9_000_000 * UNITS < 2**53


def test_the_grid_reaches_from_the_lowest_level_to_the_highest(make):
    """The top level of three is an eighth of the row, the bottom one too."""
    levels = np.repeat([0.0, 0.1, 0.2], [8, 48, 8]) + make.noise(64, seed=6, sd=0.0002)

    assert [steps.tolist() for steps in steps_of(levels)] == [[8, 56]]


@pytest.mark.parametrize("count", [8, COSTS_AT_ONCE + 3, CHUNK + 9])
@pytest.mark.parametrize("rows", [1, MIN_TOGETHER + 1])
def test_rows_that_are_fitted_together_have_the_paths_that_each_has_alone(make, count, rows):
    """Also where the last chunk of costs is shorter than the end whose loss has no bound."""
    levels = np.array([make.noise(count, seed=seed) for seed in range(rows)])
    levels[::2, count // 2 :] += 0.05
    levels[:, -3:] += 0.3
    grids, scales = np.sort(levels, axis=1)[:, :: count // 8], np.linspace(0.004, 0.01, rows)
    penalties = np.rint(step_penalties(count, 7.0) * UNITS)
    squares = ((levels[:, :, None] - grids[:, None]) / scales[:, None, None]) ** 2
    costs = MAX_LOSS * squares / (MAX_LOSS + squares)
    costs[:, -END:] = np.log1p(squares[:, -END:])
    costs = np.rint(costs * UNITS)
    paths_alone = [path_in_order(each, penalties).tolist() for each in costs]
    ends = np.ascontiguousarray(costs[:, -END:].transpose(1, 2, 0))

    plain_paths = paths_without_compiler(levels, grids, scales, penalties)
    compiled_paths = paths_in_order(levels, grids, scales, penalties, ends)

    assert plain_paths.tolist() == compiled_paths.tolist() == paths_alone
