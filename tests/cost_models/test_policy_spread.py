"""The intervals of a policy's own figures; all jobs are made up."""

import numpy as np
import pytest

from perfledger_cost_models.cluster import equal_nodes, read_cluster
from perfledger_cost_models.day_draws import quantile_interval, ratio_interval
from perfledger_cost_models.jobs import Job, table_of
from perfledger_cost_models.outcome import summary
from perfledger_cost_models.policy_spread import spread
from perfledger_cost_models.scheduling import POLICIES
from perfledger_cost_models.simulation import simulate


def replayed(rows, name="fifo", devices=4):
    policy = next(policy for policy in POLICIES if policy.name == name)
    jobs = table_of(
        Job(submit_s=at, run_s=run, devices=wide, priority=urgency)
        for at, run, wide, urgency in rows
    )
    return simulate(jobs, equal_nodes(1, devices=devices), policy)


def test_a_mean_of_days_lies_where_the_normal_distribution_says():
    days = np.random.default_rng(1).normal(10, 2, 400)

    found = ratio_interval(days, np.ones(400))

    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low == pytest.approx(2 * 1.96 * days.std() / 20, rel=0.1)


@pytest.mark.slow
def test_of_a_week_the_interval_of_a_mean_holds_it_nine_times_of_ten():
    rng = np.random.default_rng(5)
    found = [ratio_interval(rng.normal(10, 2, 7), np.ones(7)) for _ in range(400)]

    held = np.mean([(each.low or 0) <= 10 <= (each.high or 0) for each in found])

    assert held == pytest.approx(0.9, abs=0.03)


@pytest.mark.slow
def test_of_an_uneven_week_the_interval_of_a_p95_holds_it_less_often():
    rng = np.random.default_rng(6)
    days = np.repeat(np.arange(7), 20)
    truth = np.quantile(rng.exponential(rng.gamma(2, 1, 1_000_000)), 0.95)
    loads = (np.repeat(rng.gamma(2, 1, 7), 20) for _ in range(200))
    found = [quantile_interval(rng.exponential(load), days, 0.95) for load in loads]

    held = np.mean([(each.low or 0) <= truth <= (each.high or 0) for each in found])

    assert held == pytest.approx(0.85, abs=0.06)


def test_a_quantile_lies_where_drawing_whole_days_puts_it():
    rng = np.random.default_rng(2)
    days = np.repeat(np.arange(30), 20)
    values = rng.exponential(1 + days % 3)
    drawn = [
        np.quantile(values.reshape(30, 20)[rng.integers(0, 30, 30)], 0.95) for _ in range(2000)
    ]

    found = quantile_interval(values, days, 0.95)

    low, high = np.quantile(drawn, [0.0188, 0.9812])  # of 30 days
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.05)


def test_of_many_jobs_a_quantile_has_as_much_to_either_side():
    values = np.random.default_rng(3).exponential(1, 200_000)
    days = np.arange(200_000) // 200

    found = quantile_interval(values, days, 0.95)

    # Of independent jobs: the root of p (1 - p) / n over the density there.
    half = 1.96 * np.sqrt(0.95 * 0.05 / 200_000) / 0.05
    assert (found.low, found.high) == pytest.approx(
        (found.middle - half, found.middle + half), abs=0.15 * half
    )


def test_a_log_of_a_million_days_is_drawn_in_stretches():
    values = np.arange(1_000_000.0)

    found = quantile_interval(values, values.astype(np.int64), 0.5)

    assert found.low is not None
    assert found.low < found.middle == 499_999.5


def test_days_without_jobs_are_no_days_to_draw():
    few = np.zeros(1000)
    few[[0, 999]] = 1

    assert ratio_interval(few, few).low is None
    assert quantile_interval(np.ones(2), np.array([0, 999]), 0.5).low is None


def test_draws_without_any_job_do_not_count():
    some = np.zeros(100)
    some[:7] = 3

    found = ratio_interval(some, some / 3)

    assert (found.low, found.high) == (3, 3)


def test_each_figure_lies_between_its_ends():
    rows = [(86_400.0 * day, 20_000, 3, 0) for day in range(14)]
    rows += [(86_400.0 * day + 60, 60 + 30 * day, 4, day % 2) for day in range(14)]

    outcome = replayed(rows, "priority-preempt")

    figures, around = summary(outcome), spread(outcome)
    assert around.wasted_hours.middle == pytest.approx(figures.wasted_hours)
    for name in ("wait_mean_s", "wait_p95_s", "slowdown_mean", "useful", "fragmented"):
        each = getattr(around, name)
        assert each.middle == pytest.approx(getattr(figures, name))
        assert each.low <= each.middle <= each.high


def test_what_is_idle_while_a_queue_empties_is_in_the_interval_of_what_is():
    rows = [(86_400.0 * day, 3600, 1, 0) for day in range(10)]
    rows += [(86_400.0 * 9 + 1 + place, 86_400, 3, 0) for place in range(9)]

    outcome = replayed(rows)

    figures, around = summary(outcome), spread(outcome)
    assert around.wanted_idle_hours.middle == pytest.approx(figures.wanted_idle_hours)
    assert figures.wanted_idle_hours > 150


def test_what_typical_jobs_cannot_use_is_a_fragment():
    three_of_four = replayed([(0, 100, 3, 0), (100, 100, 3, 0)])
    one_of_four = replayed([(0, 100, 1, 0), (100, 100, 1, 0)])

    assert summary(three_of_four).fragmented == 1
    assert summary(one_of_four).fragmented == 0


def test_what_is_free_of_a_pool_counts_after_its_own_last_job():
    rows = [Job(submit_s=0, run_s=3600, devices=3, pool="a")]
    rows += [Job(submit_s=3600.0 * hour, run_s=3600, devices=4, pool="b") for hour in range(100)]

    outcome = simulate(table_of(rows), read_cluster("pool,gpu\na,4\nb,4\n", devices=4), POLICIES[0])

    assert summary(outcome).fragmented == pytest.approx(1 / (1 + 98 * 4), rel=0.05)


def test_a_node_holds_a_part_of_a_job_that_is_wider_than_any():
    policy = POLICIES[0]
    jobs = table_of(Job(submit_s=at, run_s=10, devices=8) for at in (0, 100))

    outcome = simulate(jobs, equal_nodes(2, devices=4), policy)

    assert summary(outcome).fragmented == 0


def test_without_a_time_between_submissions_nothing_is_in_use():
    found = spread(replayed([(0, 10, 1, 0)]))

    assert found.useful is None
    assert found.fragmented is None
