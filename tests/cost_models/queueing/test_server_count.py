import math

import pytest

from perfledger_cost_models.queueing.queue_formulas import QueueError, mmc_quantiles_s
from perfledger_cost_models.queueing.server_count import WaitTarget, assumed_arrivals, queue_plan


def test_a_plan_is_exact_for_random_arrivals_and_meets_its_target():
    arrivals = assumed_arrivals(arrivals_per_s=40 / 3600, service_s=1800.0)
    plan = queue_plan(arrivals, devices=24, target=WaitTarget(wait_s=300.0, share=0.95))

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
    arrivals = assumed_arrivals(arrivals_per_s=1.0, service_s=30.0)
    plan = queue_plan(arrivals, devices=30, target=WaitTarget(wait_s=1.0, share=0.9))

    assert (plan.exact, plan.quantiles_s, plan.met_share) == (None, (), None)
    assert plan.devices_needed is not None
    assert plan.devices_needed > 30


@pytest.mark.parametrize("rate", [0.0, math.nan, math.inf, -1.0])
def test_a_queue_needs_arrivals(rate):
    with pytest.raises(QueueError):
        queue_plan(assumed_arrivals(arrivals_per_s=rate, service_s=30.0), devices=3)


def test_a_queue_of_one_device_is_that_of_the_textbook():
    """M/M/1 at a load of one half: P(W > t) = rho exp(-(1 - rho) t / s)."""
    arrivals = assumed_arrivals(arrivals_per_s=0.05, service_s=10.0)

    plan = queue_plan(arrivals, devices=1, target=WaitTarget(wait_s=20.0, share=0.8))

    assert (arrivals.jobs, plan.load) == (0, 0.5)
    assert plan.met_share == pytest.approx(1 - 0.5 * math.exp(-1))
    assert [share for share, _ in plan.quantiles_s] == [0.5, 0.95, 0.99]
    assert plan.quantiles_s[1][1] == pytest.approx(20 * math.log(10))
    assert len(plan.curve_s) == 102
    assert plan.curve_s[99] == pytest.approx(20 * math.log(50))


def test_a_queue_needs_a_device():
    with pytest.raises(QueueError, match="use at least 1"):
        queue_plan(assumed_arrivals(arrivals_per_s=0.05, service_s=10.0), devices=0)
