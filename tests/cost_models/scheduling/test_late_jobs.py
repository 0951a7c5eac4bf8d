from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.late_jobs import LateJobs
from perfledger_cost_models.scheduling.policy import POLICIES, PlacementPolicy
from perfledger_cost_models.scheduling.simulation import meets_waits, simulate
from tests.suite.tries import tries

# Waits and shares whose floats are not what a decimal reader would compute.
WAITS_S = (0.0, 0.001, 4.35, 60.0, 600.0)
SHARES = (0.1, 1 / 3, 0.5, 0.58, 0.95, 1.0)

jobs_of_a_log = st.lists(
    st.builds(
        Job,
        submit_s=st.integers(0, 4000) | st.floats(0, 4000),
        run_s=st.integers(0, 1500),
        devices=st.integers(1, 14),
        limit_s=st.sampled_from([None, 300.0]),
        priority=st.integers(0, 2),
        team=st.sampled_from(["a", "b"]),
        pool=st.sampled_from(["", "left", "right"]),
    ),
    min_size=1,
    max_size=40,
)


def met_share(outcome, wait_s):
    """Return the share of all jobs that waited at most so long, once all have run."""
    met = np.count_nonzero(outcome.wait_s <= wait_s)
    return met / (len(outcome.jobs) + outcome.unplaceable)


@pytest.mark.slow
@settings(deadline=None, max_examples=tries(150))
@given(
    jobs_of_a_log,
    st.sampled_from(POLICIES),
    st.sampled_from([PlacementPolicy.BEST_FIT, PlacementPolicy.PACKING]),
    st.sampled_from([(1, 8), (3, 4), (2, 8)]),
    st.tuples(st.sampled_from(WAITS_S), st.sampled_from(SHARES)),
)
def test_stopping_early_answers_as_the_whole_replay_does(rows, policy, placement, shape, target):
    jobs, policy = table_of(rows), replace(policy, placement=placement)
    (nodes, devices), (wait_s, share) = shape, target
    cluster = equal_nodes(nodes, devices=devices)
    try:
        expected = met_share(simulate(jobs, cluster, policy), wait_s) >= share
    except JobLogError:  # no job fits
        expected = False

    assert meets_waits(jobs, cluster, policy, wait_s=wait_s, share=share) == expected


def test_jobs_of_a_pool_that_the_cluster_lacks_are_late():
    cluster = read_cluster("devices,pool\n4,left\n4,right\n", devices=4)
    jobs = table_of(
        Job(submit_s=0.0, run_s=1.0, devices=1, pool=pool) for pool in ("left", "right", "other")
    )

    assert meets_waits(jobs, cluster, POLICIES[0], wait_s=0.0, share=2 / 3)
    assert not meets_waits(jobs, cluster, POLICIES[0], wait_s=0.0, share=0.67)


def test_a_wait_as_long_as_the_target_meets_it():
    late = LateJobs(2, wait_s=10.0, met_share=1.0)
    start_ms = [10_000, -1]
    late.watch([0, 1], submit_ms=[0, 1], start_ms=start_ms)

    assert not late.count_until(10_001)
    assert late.count_until(10_002)


def test_a_preempted_job_is_late_by_all_of_its_waits_and_only_once():
    late = LateJobs(2, wait_s=10.0, met_share=0.5)
    late.watch([0, 1], submit_ms=[0, 0], start_ms=[0, 20_000])
    late.end(0, waited_ms=10_000)
    late.end(1, waited_ms=30_000)

    assert not late.count_until(50_000)
    late.end(0, waited_ms=10_001)
    assert late.are_too_many
