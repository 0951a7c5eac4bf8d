"""What policies gain, and what a log says of a queue; all jobs are made up."""

import math

import numpy as np
import pytest

from perfledger_cost_models.arrivals import arrivals_of
from perfledger_cost_models.cluster import equal_nodes
from perfledger_cost_models.jobs import Job, JobLogError, table_of
from perfledger_cost_models.meter import DAY_MS, Meter
from perfledger_cost_models.policy_gain import policy_rows, recorded
from perfledger_cost_models.queue_plan import Target, given_arrivals, queue_plan
from perfledger_cost_models.queueing import QueueError, mmc_quantiles_s
from perfledger_cost_models.scheduling import POLICIES
from perfledger_cost_models.simulation import simulate


def days_of_blocking(days):
    """Return jobs of which, each day, a wide one keeps a narrow one waiting for three hours."""
    rows = []
    for day in range(days):
        start = day * 86_400.0
        rows += [(start, 4 * 3600, 3), (start + 60, 60, 4), (start + 3600, 60, 1)]
    return table_of(Job(submit_s=at, run_s=run, devices=devices) for at, run, devices in rows)


def replayed(jobs, *names):
    by_name = {policy.name: policy for policy in POLICIES}
    return [simulate(jobs, equal_nodes(1, devices=4), by_name[name]) for name in names]


def test_a_policy_gains_what_stood_idle_while_it_was_wanted():
    base, other = policy_rows(replayed(days_of_blocking(10), "fifo", "easy"))

    assert base.hours_gained is None
    assert other.wait_saved_s is not None
    assert other.wait_saved_s.middle == pytest.approx(10_800 / 3, rel=0.01)
    # One device was free for four hours, a minute less, and two waited for it: both count it once.
    assert base.figures.wanted_idle_hours == pytest.approx(10 * 4, rel=0.02)


def test_a_policy_gains_nothing_over_itself():
    _, again = policy_rows(replayed(days_of_blocking(10), "fifo", "fifo"))

    assert again.hours_gained is not None
    assert (again.hours_gained.low, again.hours_gained.high) == (0, 0)


def test_too_few_days_have_no_interval():
    _, other = policy_rows(replayed(days_of_blocking(3), "fifo", "easy"))

    assert other.hours_gained is not None
    assert other.hours_gained.low is None


def test_the_log_itself_is_a_row_where_it_says_enough():
    jobs = table_of(Job(submit_s=at, run_s=10.0, devices=2, wait_s=5.0) for at in (0.0, 10.0, 20.0))

    found = recorded(jobs, devices=4)

    assert found is not None
    assert (found.wait_mean_s, found.wait_p95_s) == (5, 5)
    assert found.allocated == pytest.approx((20 + 10) / 80)
    assert recorded(days_of_blocking(1), devices=4) is None


def test_a_stretch_over_midnight_counts_on_both_days():
    meter = Meter(capacity_milli=4000, until_ms=DAY_MS)
    meter.go_on(DAY_MS - 1000, free_milli=4000, waiting_milli=0, unusable=lambda: 0.0)
    meter.go_on(DAY_MS + 2000, free_milli=1000, waiting_milli=9000, unusable=lambda: 0.0)

    assert meter.taken == {0: 3_000_000, 1: 6_000_000}
    assert meter.wanted == {0: 1_000_000, 1: 2_000_000}
    assert sum(meter.taken_before_end.values()) == 3_000_000


def test_random_arrivals_of_single_devices_vary_as_random():
    rng = np.random.default_rng(5)
    at, run = np.cumsum(rng.exponential(60, 20_000)), rng.exponential(600, 20_000)
    found = arrivals_of(
        table_of(Job(submit_s=a, run_s=r, devices=1) for a, r in zip(at, run, strict=True))
    )

    assert found.arrivals_per_s == pytest.approx(1 / 60, rel=0.03)
    assert (found.arrival_cv2, found.service_cv2) == pytest.approx((1, 1), rel=0.06)


def test_devices_of_one_job_come_together():
    jobs = table_of(Job(submit_s=float(at), run_s=10.0, devices=4) for at in range(40))

    found = arrivals_of(jobs)

    assert (found.arrivals_per_s, found.arrival_cv2) == pytest.approx((4.0, 0.0))
    assert found.service_cv2 == pytest.approx(0.0, abs=1e-12)


def test_a_few_jobs_say_nothing():
    with pytest.raises(JobLogError, match="at least 30"):
        arrivals_of(days_of_blocking(2))


def test_a_plan_is_exact_for_random_arrivals_and_meets_its_target():
    arrivals = given_arrivals(arrivals_per_s=40 / 3600, service_s=1800.0)
    plan = queue_plan(arrivals, devices=24, target=Target(wait_s=300.0, share=0.95))

    assert plan.exact is not None
    assert plan.screening is not None
    assert plan.screening.wait_s == pytest.approx(plan.exact.wait_s)
    (p95,) = mmc_quantiles_s((0.95,), arrivals_per_s=40 / 3600, service_s=1800.0, servers=24)
    assert plan.quantiles_s[1][1] == pytest.approx(p95)
    assert plan.devices_needed is not None
    better = queue_plan(arrivals, devices=plan.devices_needed, target=plan.target)
    assert better.met_share is not None
    assert better.met_share >= 0.95


def test_a_queue_without_end_has_no_waits_but_a_way_out():
    arrivals = given_arrivals(arrivals_per_s=1.0, service_s=30.0)
    plan = queue_plan(arrivals, devices=30, target=Target(wait_s=1.0, share=0.9))

    assert (plan.exact, plan.quantiles_s, plan.met_share) == (None, (), None)
    assert plan.devices_needed is not None
    assert plan.devices_needed > 30


@pytest.mark.parametrize("rate", [0.0, math.nan, math.inf, -1.0])
def test_a_queue_needs_arrivals(rate):
    with pytest.raises(QueueError):
        queue_plan(given_arrivals(arrivals_per_s=rate, service_s=30.0), devices=3)
