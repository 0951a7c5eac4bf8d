import numpy as np
import pytest

from perfledger_cost_models.forecasting.forecast import backtest, pinball
from perfledger_cost_models.forecasting.sample_paths import sample_paths
from tests.suite.tries import tries


def noisy(count, *, seed=1, spread=0.1):
    return 1000 * np.exp(np.random.default_rng(seed).normal(0, spread, count))


def test_pinball_counts_what_was_missed_by_side():
    quantiles = np.full((5, 1), 10.0)

    assert pinball(np.array([12.0]), quantiles) == pytest.approx(2 * 0.5)
    assert pinball(np.array([10.0]), quantiles) == 0


def test_a_backtest_knows_nothing_of_what_came_later():
    series = noisy(30)
    later = np.concatenate([series[:-1], [50 * series[-1]]])

    one, other = (backtest(each, horizon=1, season=12) for each in (series, later))

    assert one is not None
    assert other is not None
    assert (one.origins, one.periods) == (12, 12)
    assert one.inside - other.inside in {0, 1}
    assert backtest(noisy(12), horizon=6, season=12) is None


@pytest.mark.slow(ci_only=True)
@pytest.mark.parametrize("count", [30, 60])
def test_eight_of_ten_come_true(count):
    inside = told_count = 0
    for seed in range(tries(120)):
        rng = np.random.default_rng((seed, count))
        trend = np.exp(rng.uniform(-0.01, 0.04) * np.arange(count + 6))
        series = trend * noisy(count + 6, seed=seed, spread=rng.uniform(0.05, 0.2))
        paths = sample_paths(series[:count], horizon=6, season=12).paths
        low, high = np.quantile(paths, [0.1, 0.9], axis=0)
        inside += int(((low <= series[count:]) & (series[count:] <= high)).sum())
        told_count += 6

    assert 0.7 <= inside / told_count <= 0.9


@pytest.mark.parametrize(
    ("count", "horizon", "counts", "losses"),
    [
        (30, 4, (12, 42, 27, 30), (0.0347047265, 0.0469009462)),
        (13, 3, (1, 1, 0, 0), (0.032611878, 0.0406337787)),
    ],
)
def test_backtests_of_made_up_series_have_known_figures(count, horizon, counts, losses):
    """So that a change of the method shows; other tests say what is right."""
    found_backtest = backtest(noisy(count), horizon=horizon, season=0)

    assert found_backtest is not None
    assert (
        found_backtest.origins,
        found_backtest.periods,
        found_backtest.inside,
        found_backtest.naive_inside,
    ) == counts
    assert (found_backtest.loss, found_backtest.naive_loss) == pytest.approx(losses, rel=1e-5)


def test_no_forecast_goes_farther_than_half_of_what_is_known():
    """Of 14 periods the first 12 tell two, and the first 13 one, however far it is asked for."""
    found_backtest = backtest(noisy(30), horizon=20, season=0)

    assert found_backtest is not None
    assert found_backtest.periods == sum(min(30 - origin, origin // 2) for origin in range(18, 30))
