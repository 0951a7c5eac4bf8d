import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_baselines.history.segmentation.pruning import needed_z
from perfledger_baselines.history.segmentation.robust_levels import (
    END,
    END_EXTRA,
    cheapest_path,
    fit_levels,
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

    found = [any(abs(place - 70) <= 3 for place in steps) for steps in steps_of(*levels)]

    assert sum(found) >= 19


def test_rows_are_fitted_as_if_alone(make):
    rows = np.array([make.noise(90, seed=seed) for seed in range(4)])
    rows[1, 40:] += 0.05

    together = fit_levels(rows, penalty=7.5)

    assert np.array_equal(
        together, np.concatenate([fit_levels(r[None], penalty=7.5) for r in rows])
    )


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 4), st.floats(0, 3))
def test_no_path_is_cheaper(seed, count, size, penalty):
    costs = np.random.default_rng(seed).uniform(0, 2, (count, size))
    paths = np.indices((size,) * count).reshape(count, -1).T

    def cost(path):
        return costs[np.arange(count), path].sum() + penalty * np.count_nonzero(np.diff(path))

    found = cheapest_path(costs, np.full(count, penalty))

    assert cost(found) == pytest.approx(min(map(cost, paths)))


def test_the_compiled_path_is_the_plain_one():
    pytest.importorskip("numba", reason="numba is not installed: compiled kernels go untested")
    costs = np.random.default_rng(5).uniform(0, 2, (200, 30))
    penalties = np.full(200, 4.0)

    plain = getattr(cheapest_path, "py_func", cheapest_path)(costs, penalties)

    assert cheapest_path(costs, penalties).tolist() == plain.tolist()


def test_the_grid_reaches_from_the_lowest_level_to_the_highest(make):
    """The top level of three is an eighth of the row, the bottom one too."""
    levels = np.repeat([0.0, 0.1, 0.2], [8, 48, 8]) + make.noise(64, seed=6, sd=0.0002)

    assert [steps.tolist() for steps in steps_of(levels)] == [[8, 56]]
