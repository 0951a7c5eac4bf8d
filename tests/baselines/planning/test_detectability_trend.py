import numpy as np
import pytest

from perfledger_baselines.planning.detectability_trend import (
    MAX_CHECKS,
    MIN_CHECKS,
    detectability_trend,
)


def checks_of(values):
    """Return checks of one workload, the newest last in `values`."""
    return [{"m:f": float(value)} for value in reversed(values)]


def test_a_line_on_the_log_scale_has_its_slope_over_ten_checks():
    trend = detectability_trend(checks_of(0.01 * 1.02 ** np.arange(20)))

    assert trend.change == pytest.approx(1.02**10 - 1)
    assert (trend.low, trend.high) == pytest.approx((trend.change, trend.change))
    assert (trend.is_shown, trend.checks) == (True, 20)


def test_a_gate_that_stays_as_it_is_shows_no_trend():
    trend = detectability_trend(checks_of([0.01] * 12))

    assert (trend.change, trend.low, trend.high, trend.is_shown) == (0.0, 0.0, 0.0, False)


@pytest.mark.parametrize("count", [MIN_CHECKS - 1, MIN_CHECKS])
def test_too_few_checks_show_none(count):
    assert (detectability_trend(checks_of([0.01] * count)) is None) is (count < MIN_CHECKS)


def test_checks_that_found_nothing_do_not_count():
    assert detectability_trend([*checks_of([0.01] * 9), {}, {"m:f": 0.0}]) is None
    assert detectability_trend([*checks_of([0.01] * 10), {}]).checks == 10


def test_only_the_newest_checks_count():
    old, new = [0.5] * 30, [0.01] * MAX_CHECKS

    assert detectability_trend(checks_of([*old, *new])).change == 0.0


def test_a_harder_workload_that_came_later_is_no_trend():
    checks = [{"easy": 0.01} for _ in range(10)] + [{"hard": 0.09} for _ in range(10)]

    assert detectability_trend(checks).change == 0.0


def test_one_loud_check_tilts_nothing():
    values = [0.01] * 20
    values[-1] = 0.4

    assert detectability_trend(checks_of(values)).change == 0.0


def test_the_interval_holds_the_slope_about_as_often_as_it_says():
    draw = np.random.default_rng(4)
    slope = 0.01
    count, is_shown = 0, 0
    for _ in range(400):
        logs = slope * np.arange(20) + 0.1 * draw.standard_t(4, 20)
        trend = detectability_trend(checks_of(0.01 * np.exp(logs)))
        count += trend.low <= np.expm1(10 * slope) <= trend.high
        still = detectability_trend(checks_of(0.01 * np.exp(0.1 * draw.standard_t(4, 20))))
        is_shown += still.is_shown

    assert 0.92 <= count / 400 <= 0.98
    assert is_shown / 400 <= 0.08


def test_a_gate_that_gets_worse_shows_as_soon_as_one_that_gets_better():
    draw = np.random.default_rng(0)
    logs = [0.015 * np.arange(12) + 0.1 * draw.standard_normal(12) for _ in range(40)]

    worse = [detectability_trend(checks_of(0.01 * np.exp(each))) for each in logs]
    better = [detectability_trend(checks_of(0.01 * np.exp(-each))) for each in logs]

    for up, down in zip(worse, better, strict=True):
        bounds = 1 / (1 + down.high) - 1, 1 / (1 + down.low) - 1
        assert (up.low, up.high) == pytest.approx(bounds)
    assert 0 < sum(trend.is_shown for trend in worse) < len(logs)
