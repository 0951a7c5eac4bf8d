from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.job_logs.table import Job, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.event_loop import PoolSimulation
from perfledger_cost_models.scheduling.placement.whole_devices import are_whole, lowest_bits
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    DeviceSharing,
    Locality,
    PlacementPolicy,
    Preemption,
)
from tests.suite.tries import tries

BY_NAME = {policy.name: policy for policy in POLICIES}
# Memory that the nodes list and no job asks for: it changes nothing but the way of counting.
LISTED_MIB = 2**30

jobs_of_a_log = st.lists(
    st.builds(
        Job,
        submit_s=st.integers(0, 400) | st.integers(0, 200_000),
        run_s=st.integers(0, 900) | st.integers(0, 20_000),
        devices=st.integers(1, 14),
        limit_s=st.sampled_from([None, 20.0, 1000.0]),
        priority=st.integers(0, 2),
        team=st.sampled_from(["a", "b", "c"]),
    ),
    min_size=1,
    max_size=50,
)
policies = st.builds(
    replace,
    st.sampled_from(POLICIES)
    | st.builds(
        replace,
        st.sampled_from([BY_NAME[name] for name in ("srtf", "srsf", "priority-preempt")]),
        preemption=st.just(Preemption.MIGRATION),
    ),
    placement=st.sampled_from(
        [PlacementPolicy.BEST_FIT, PlacementPolicy.FIRST_FIT, PlacementPolicy.WORST_FIT]
    ),
    checkpoint_s=st.sampled_from([None, 0, 45]),
)


def simulated(jobs, cluster, policy):
    """Return all that the simulation of a pool found."""
    pool = PoolSimulation(
        jobs,
        cluster,
        np.arange(len(cluster.devices)),
        policy,
        (),
        until_ms=int(jobs.submit_ms.max()),
        seed=0,
        samples=50,
    )
    pool.run()
    meter = pool.meter
    times = [each.tolist() for each in (pool.start_ms, pool.end_ms, pool.ran_ms)]
    accounts = (
        meter.allocated,
        meter.allocated_before_end,
        meter.idle_demand,
        meter.wasted,
        meter.free_samples,
        meter.unusable_samples,
    )
    return times, accounts, (pool.rounded, pool.preemptions)


@pytest.mark.slow
@settings(deadline=None, max_examples=tries(150))
@given(jobs_of_a_log, policies, st.sampled_from([(1, 8), (3, 4), (5, 2), (2, 8), (4, 1)]))
def test_every_job_and_account_is_that_of_devices_with_places(rows, policy, shape):
    jobs, (count, size) = table_of(rows), shape
    cluster = equal_nodes(count, devices=size)
    listed = replace(cluster, memory_mib=np.full(count, LISTED_MIB, np.int64))
    nodes = np.arange(count)
    assert are_whole(jobs, cluster, nodes, policy)
    assert not are_whole(jobs, listed, nodes, policy)

    assert simulated(jobs, cluster, policy) == simulated(jobs, listed, policy)


def test_shared_devices_and_other_placements_have_places():
    half = table_of([Job(submit_s=0.0, run_s=1.0, devices=1, share_milli=500)])
    one_device = table_of([Job(submit_s=0.0, run_s=1.0, devices=1)])
    cluster, nodes = equal_nodes(2, devices=4), np.arange(2)
    fifo = BY_NAME["fifo"]

    assert not are_whole(half, cluster, nodes, fifo)
    assert are_whole(half, cluster, nodes, replace(fifo, sharing=DeviceSharing.WHOLE))
    for change in ({"placement": PlacementPolicy.PACKING}, {"locality": Locality.ANY}):
        assert not are_whole(one_device, cluster, nodes, replace(fifo, **change))
        assert are_whole(one_device, equal_nodes(1, devices=4), nodes[:1], replace(fifo, **change))
    assert not are_whole(one_device, equal_nodes(2, devices=51), nodes, fifo)


def test_the_lowest_devices_are_taken():
    assert lowest_bits(0b11010, 2) == 0b01010
    assert lowest_bits(0b1, 1) == 0b1
    assert lowest_bits(0b11010, 0) == 0
