import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger.metrics import SM_ACTIVE, STEP_TIME, MetricScale
from perfledger_baselines.estimation.estimators import (
    MAX_POINTS,
    MAX_ROWS,
    hodges_lehmann,
    left_out_samples,
    location_estimates,
    point_estimates,
)

samples = st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=2 * MAX_POINTS)


def log_location(values):
    return location_estimates([values], scale=MetricScale.LOG)[0]


def every_average(row):
    left, right = np.triu_indices(len(row))
    return np.median((row[left] + row[right]) / 2)


def test_it_is_the_median_of_the_averages_of_all_pairs():
    # 1, 1.5, 3, 2, 3.5, 5
    assert hodges_lehmann(np.array([[1.0, 2.0, 5.0]])).tolist() == [2.5]


def test_one_sample_stands_for_itself():
    assert log_location((0.25,)) == pytest.approx(0.25)


def test_a_few_wild_samples_do_not_move_it():
    assert log_location([1.0] * 8 + [1e9] * 2) == pytest.approx(1.0)


def test_a_few_zero_readings_do_not_make_it_zero():
    assert log_location([1.0] * 8 + [0.0] * 2) == pytest.approx(1.0)


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan, math.inf])
def test_a_few_samples_that_are_no_readings_are_left_out_whatever_they_are(wrong, build):
    samples = [1.0, 1.1, 0.9, 1.2] * 4 + [0.95] * 3

    assert log_location([*samples, wrong]) == pytest.approx(log_location(samples))
    assert left_out_samples(build.run(step_time_p50=[*samples, wrong]), STEP_TIME) == 1
    assert left_out_samples(build.run(step_time_p50=samples), STEP_TIME) == 0


@pytest.mark.parametrize(("wrong", "value"), [(0.0, 0.0), (-1.0, math.nan), (math.nan, math.nan)])
def test_more_than_a_quarter_of_them_leave_a_process_without_a_value(wrong, value):
    assert log_location([1.0] * 6 + [wrong] * 2) == pytest.approx(1.0)
    assert log_location([1.0] * 5 + [wrong] * 2) == pytest.approx(value, nan_ok=True)


def test_of_a_share_of_time_zero_is_a_reading(build):
    shares = [0.0, 0.2, 0.2, 0.3, 0.3]

    run = build.run(sm_active=shares)

    assert left_out_samples(run, SM_ACTIVE) == 0
    assert point_estimates([run], SM_ACTIVE)[0] < log_location(shares[1:])


def test_mostly_zero_readings_make_it_zero():
    assert log_location([1.0, 0.0, 0.0]) == 0.0


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_a_reading_that_is_no_size_spoils_its_process_alone(wrong):
    located = location_estimates(
        [(1.0, wrong, 1.0), (2.0, 2.0, 2.0), (wrong,)], scale=MetricScale.LOG
    )

    assert located == pytest.approx([math.nan, 2.0, math.nan], nan_ok=True)


def test_processes_with_different_numbers_of_samples_keep_their_order():
    located = location_estimates([(1.0,), (2.0, 2.0), (3.0,), (4.0, 4.0)], scale=MetricScale.LOG)

    assert located == pytest.approx([1.0, 2.0, 3.0, 4.0])


def test_more_rows_than_are_worked_on_at_once_give_the_same():
    rows = np.arange(3.0 * (MAX_ROWS + 1)).reshape(-1, 3)

    assert np.array_equal(hodges_lehmann(rows), rows[:, 1])


@pytest.mark.parametrize("count", [MAX_POINTS + 1, 48, 200])
def test_thinning_many_samples_moves_it_by_less_than_a_tenth_of_its_error(count):
    rows = np.random.default_rng(7).exponential(size=(300, count))

    thinned = hodges_lehmann(rows)

    whole_averages = np.array([every_average(row) for row in rows])
    assert np.sqrt(np.mean((thinned - whole_averages) ** 2)) < 0.1 * whole_averages.std()


def test_no_processes_have_no_locations():
    assert location_estimates([], scale=MetricScale.LOG).shape == (0,)
    assert location_estimates([], scale=MetricScale.EXACT).shape == (0,)


def test_an_exact_metric_is_its_value_to_the_last_bit():
    assert location_estimates([(0.1, 0.1, 0.1)], scale=MetricScale.EXACT)[0] == 0.1


def test_an_exact_metric_that_varies_is_its_median():
    assert location_estimates([(1.0, 2.0, 9.0)], scale=MetricScale.EXACT)[0] == 2.0


@given(samples)
def test_it_lies_among_the_samples(values):
    located = log_location(values)

    assert min(values) * (1 - 1e-9) <= located <= max(values) * (1 + 1e-9)


@pytest.mark.slow
@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))

    assert log_location(shuffled) == pytest.approx(log_location(values), rel=1e-12)


@pytest.mark.slow
@given(samples, st.sampled_from([1e-3, 8.0, 1e3]))
def test_it_changes_with_the_unit(values, factor):
    scaled = [value * factor for value in values]

    assert log_location(scaled) == pytest.approx(factor * log_location(values), rel=1e-9)
