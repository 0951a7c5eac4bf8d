import numpy as np
import pytest

from perfledger_cost_models.scheduling.day_bootstrap import (
    MAX_STRETCHES,
    latest_ratio_interval,
    quantile_interval,
    ratio_interval,
)


def test_a_mean_of_days_lies_where_the_normal_distribution_says():
    days = np.random.default_rng(1).normal(10, 2, 400)

    bootstrap_interval = ratio_interval(days, np.ones(400))

    assert bootstrap_interval.low is not None
    assert bootstrap_interval.high is not None
    assert bootstrap_interval.high - bootstrap_interval.low == pytest.approx(
        2 * 1.96 * days.std() / 20, rel=0.1
    )


@pytest.mark.slow
def test_of_a_week_the_interval_of_a_mean_holds_it_nine_times_of_ten():
    rng = np.random.default_rng(5)
    bootstrap_intervals = [ratio_interval(rng.normal(10, 2, 7), np.ones(7)) for _ in range(400)]

    coverage = np.mean([(each.low or 0) <= 10 <= (each.high or 0) for each in bootstrap_intervals])

    assert coverage == pytest.approx(0.9, abs=0.03)


@pytest.mark.slow(ci_only=True)
def test_of_an_uneven_week_the_interval_of_a_p95_holds_it_less_often():
    rng = np.random.default_rng(6)
    days = np.repeat(np.arange(7), 20)
    truth = np.quantile(rng.exponential(rng.gamma(2, 1, 1_000_000)), 0.95)
    loads = (np.repeat(rng.gamma(2, 1, 7), 20) for _ in range(200))
    bootstrap_intervals = [quantile_interval(rng.exponential(load), days, 0.95) for load in loads]

    coverage = np.mean(
        [(each.low or 0) <= truth <= (each.high or 0) for each in bootstrap_intervals]
    )

    assert coverage == pytest.approx(0.85, abs=0.06)


def test_a_quantile_lies_where_drawing_whole_days_puts_it():
    rng = np.random.default_rng(2)
    days = np.repeat(np.arange(30), 20)
    values = rng.exponential(1 + days % 3)
    quantiles = [
        np.quantile(values.reshape(30, 20)[rng.integers(0, 30, 30)], 0.95) for _ in range(2000)
    ]

    bootstrap_interval = quantile_interval(values, days, 0.95)

    low, high = np.quantile(quantiles, [0.0188, 0.9812])  # of 30 days
    assert (bootstrap_interval.low, bootstrap_interval.high) == pytest.approx((low, high), rel=0.05)


def test_of_many_jobs_a_quantile_has_as_much_to_either_side():
    values = np.random.default_rng(3).exponential(1, 200_000)
    days = np.arange(200_000) // 200

    bootstrap_interval = quantile_interval(values, days, 0.95)

    # Of independent jobs: the root of p (1 - p) / n over the density there.
    half = 1.96 * np.sqrt(0.95 * 0.05 / 200_000) / 0.05
    assert (bootstrap_interval.low, bootstrap_interval.high) == pytest.approx(
        (bootstrap_interval.middle - half, bootstrap_interval.middle + half), abs=0.15 * half
    )


@pytest.mark.slow(ci_only=True)
def test_a_log_of_a_million_days_is_drawn_in_stretches():
    values = np.arange(1_000_000.0)

    bootstrap_interval = quantile_interval(values, values.astype(np.int64), 0.5)

    assert bootstrap_interval.low is not None
    assert bootstrap_interval.low < bootstrap_interval.middle == 499_999.5


def test_days_without_jobs_are_no_days_to_draw():
    few = np.zeros(1000)
    few[[0, 999]] = 1

    assert ratio_interval(few, few).low is None
    assert quantile_interval(np.ones(2), np.array([0, 999]), 0.5).low is None


def test_draws_without_any_job_do_not_count():
    some = np.zeros(100)
    some[:7] = 3

    bootstrap_interval = ratio_interval(some, some / 3)

    assert (bootstrap_interval.low, bootstrap_interval.high) == (3, 3)


def test_the_latest_end_lies_where_drawing_single_days_puts_it():
    """Of a log with as many days as are drawn singly: one more would join two to a stretch."""
    rng = np.random.default_rng(4)
    days = np.arange(MAX_STRETCHES)
    ends, references = days + 1, np.full(MAX_STRETCHES, 100)
    latest_ends = rng.integers(0, MAX_STRETCHES, (2000, MAX_STRETCHES)).max(axis=1) + 1

    bootstrap_interval = latest_ratio_interval(ends, references, days)

    assert bootstrap_interval.middle == MAX_STRETCHES / 100
    assert bootstrap_interval.low == pytest.approx(np.quantile(latest_ends, 0.025) / 100, abs=0.006)
    assert bootstrap_interval.high == bootstrap_interval.middle


def test_jobs_that_end_after_a_millisecond_have_a_ratio_too():
    days = np.arange(14)

    bootstrap_interval = latest_ratio_interval(np.full(14, 3), np.ones(14, np.int64), days)

    assert (bootstrap_interval.middle, bootstrap_interval.low, bootstrap_interval.high) == (3, 3, 3)
