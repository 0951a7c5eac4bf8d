"""Quantiles of latencies, and how often their intervals hold what is true."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import binom

from perfledger_baselines.estimation.latency_quantiles import latency_quantile

TIMES = st.lists(st.floats(1e-9, 1e6), min_size=1, max_size=60)
SHARES = st.sampled_from((0.5, 0.95, 0.99))


def sojourns(random, *, load, count, before=3000):
    """Latencies of an M/M/1 queue with services of 1 on average, by Lindley's recursion."""
    services = random.exponential(size=count + before)
    gaps = random.exponential(1 / load, size=count + before)
    walk = np.concatenate([[0.0], np.cumsum(services - gaps)[:-1]])
    return (walk - np.minimum.accumulate(walk) + services)[before:]


@pytest.mark.slow
@given(times=TIMES, share=SHARES)
def test_a_quantile_is_one_of_the_times_and_within_its_interval(times, share):
    found_latency_quantile = latency_quantile(times, share)

    assert found_latency_quantile.seconds in times
    assert (
        sum(time <= found_latency_quantile.seconds for time in times) >= share * len(times) - 1e-6
    )
    assert (
        found_latency_quantile.low is None
        or found_latency_quantile.low <= found_latency_quantile.seconds
    )
    assert (
        found_latency_quantile.high is None
        or found_latency_quantile.high >= found_latency_quantile.seconds
    )


@pytest.mark.slow
@given(times=TIMES, share=SHARES, power=st.integers(-9, 9))
def test_the_unit_changes_nothing(times, share, power):
    plain_latency_quantile, scaled = (
        latency_quantile([f * t for t in times], share) for f in (1, 2.0**power)
    )

    assert scaled.seconds == plain_latency_quantile.seconds * 2.0**power
    assert (scaled.low is None, scaled.high is None) == (
        plain_latency_quantile.low is None,
        plain_latency_quantile.high is None,
    )


def test_independent_times_have_the_binomials_order_statistics():
    times = [float(n * 37 % 1000) for n in range(1000)]  # spread more evenly than by chance

    found_latency_quantile = latency_quantile(times, 0.95)

    assert found_latency_quantile.seconds == 949.0
    assert found_latency_quantile.low == binom.ppf(0.025, 1000, 0.95) - 1
    assert found_latency_quantile.high == binom.ppf(0.975, 1000, 0.95)


@pytest.mark.parametrize(("count", "is_known"), [(367, False), (368, True)])
def test_so_few_requests_do_not_bound_the_tail(count, is_known):
    times = [2.0 if n in {50, 150, 250, 350} else n / count for n in range(count)]

    assert (latency_quantile(times, 0.99).high is not None) is is_known


def test_requests_that_come_late_together_are_reckoned_as_fewer():
    jitter = [n * 37 % 1000 / 1e6 for n in range(1000)]
    apart = [(2.0 if n % 10 == 9 else 1.0) + each for n, each in enumerate(jitter)]
    joint_latencies = [(2.0 if n >= 900 else 1.0) + each for n, each in enumerate(jitter)]

    assert latency_quantile(apart, 0.95).high is not None
    assert latency_quantile(joint_latencies, 0.95).high is None


def test_a_single_time_is_every_quantile():
    found_latency_quantile = latency_quantile([3.0], 0.99)

    assert (
        found_latency_quantile.seconds,
        found_latency_quantile.low,
        found_latency_quantile.high,
    ) == (3.0, 3.0, None)


@pytest.mark.parametrize(("times", "share"), [([], 0.5), ([1.0], 0.0), ([1.0], 1.0)])
def test_what_has_no_quantile_is_an_error(times, share):
    with pytest.raises(ValueError, match="give at least one"):
        latency_quantile(times, share)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "share", "least"),
    [(0.05, 0.99, 0.9), (0.5, 0.5, 0.9), (0.5, 0.95, 0.85), (0.8, 0.5, 0.85), (0.8, 0.95, 0.75)],
)
def test_an_interval_holds_the_truth_about_as_often_as_it_says(load, share, least):
    random = np.random.default_rng(5)
    truth = -math.log(1 - share) / (1 - load)  # exponential, with rate mu - lambda
    hits = 0
    for _ in range(100):
        found_latency_quantile = latency_quantile(sojourns(random, load=load, count=2000), share)
        hits += (
            (found_latency_quantile.low or 0) <= truth <= (found_latency_quantile.high or math.inf)
        )

    assert hits / 100 >= least


@pytest.mark.parametrize("share", [0.5, 0.6])
def test_requests_count_as_so_many_as_ten_batches_of_them_vary_like(share):
    slow = [n // 8 % 3 == 0 for n in range(105)]  # the last five are in no batch
    times = [n + (1000.0 if is_slow else 0.0) for n, is_slow in enumerate(slow)]
    ordered = sorted(times)

    found_latency_quantile = latency_quantile(times, share)

    rank = math.ceil(share * 105)
    batches = (np.array(times[:100]).reshape(10, 10) > ordered[rank - 1]).sum(axis=1)
    part = (105 - rank) / 105
    independent = int(105 / (batches.var(ddof=1) / (10 * part * (1 - part))))
    low, high = (binom.ppf(tail, independent, share) for tail in (0.025, 0.975))
    assert independent < 30
    assert found_latency_quantile.low == ordered[math.floor(low * 105 / independent) - 1]
    assert high < independent
    assert found_latency_quantile.high == ordered[math.ceil((high + 1) * 105 / independent) - 1]
