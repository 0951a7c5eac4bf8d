from dataclasses import replace

import pytest

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    DeviceSharing,
    FairShareRule,
    JobOrder,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.preemption import PreemptionRank
from perfledger_cost_models.scheduling.simulated_jobs import SimulatedJobs

FIFO = SchedulingPolicy(name="fifo")
TABLE = table_of(
    [
        Job(submit_s=0, run_s=30, devices=2, team="a", priority=5),
        Job(submit_s=1, run_s=20, devices=1, share_milli=250, team="b"),
    ]
)


def jobs_of(policy=FIFO):
    return SimulatedJobs(TABLE, policy, has_calendar=False)


@pytest.mark.parametrize(
    ("order", "keys"),
    [
        (JobOrder.SUBMISSION, (0, 0)),
        (JobOrder.SHORTEST, (30_000, 20_000)),
        (JobOrder.REMAINING, (30_000, 20_000)),
        (JobOrder.SERVICE, (30_000 * 2000, 20_000 * 250)),
        (JobOrder.PRIORITY, (-5, 0)),
        (JobOrder.TIME_SLICE, (7, 7)),
    ],
)
def test_each_order_sorts_by_its_own_key(order, keys):
    jobs = jobs_of(replace(FIFO, order=order))

    assert tuple(jobs.sort_key(job, 7) for job in range(2)) == keys


def test_only_remaining_orders_see_the_remaining_time():
    jobs = jobs_of(replace(FIFO, order=JobOrder.REMAINING))
    jobs.remaining_ms[0] = 10_000

    assert jobs.sort_key(0, 0) == 10_000
    assert jobs.run_ms[0] == 30_000
    assert jobs.preemption_rank(0) == PreemptionRank(10_000, 2000, 5)


def test_a_share_is_rounded_up_to_what_can_be_shared():
    whole_simulated_jobs = jobs_of(replace(FIFO, sharing=DeviceSharing.WHOLE))
    slices = jobs_of(replace(FIFO, sharing=DeviceSharing.MIG))

    assert [jobs_of().rounded_milli(job) for job in range(2)] == [0, 0]
    assert [whole_simulated_jobs.rounded_milli(job) for job in range(2)] == [0, 750]
    assert (slices.milli(1), slices.rounded_milli(1)) == (285, 35)


def test_teams_wait_in_lines_of_their_own_only_under_fair_shares():
    fair = next(policy for policy in POLICIES if policy.share is FairShareRule.FAIR)

    assert [jobs_of().queue_key(job)[0] for job in range(2)] == [0, 0]
    assert [jobs_of(fair).queue_key(job)[0] for job in range(2)] == [0, 1]
