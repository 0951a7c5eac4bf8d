from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.easy_pool import EasyPool
from perfledger_cost_models.scheduling.equal_nodes import EqualNodesPool, is_plain
from perfledger_cost_models.scheduling.event_loop import PoolSimulation
from perfledger_cost_models.scheduling.placement.node_bits import MAX_WIDTH
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    DeviceSharing,
    Locality,
    PlacementPolicy,
)
from perfledger_cost_models.scheduling.reservations import Reservation
from tests.suite.tries import tries

BY_NAME = {policy.name: policy for policy in POLICIES}
PLAIN = tuple(BY_NAME[name] for name in ("fifo", "fifo-pass", "easy", "sjf"))
DAY_S = 86_400

rows = st.lists(
    st.tuples(
        st.integers(0, 400) | st.integers(0, 3 * DAY_S),
        st.integers(0, 90) | st.integers(0, 2 * DAY_S),
        st.integers(1, 14),
        st.sampled_from([None, 20.0, 100.0, 1000.0]),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=60,
)


def log_of(jobs, share=1000):
    return table_of(
        Job(
            submit_s=submit,
            run_s=run,
            devices=devices,
            limit_s=limit,
            priority=priority,
            share_milli=share,
            team="abc"[(submit + run) % 3],
        )
        for submit, run, devices, limit, priority in jobs
    )


def simulated(pool):
    """Return all that a pool's simulation found, in the accounts of its days."""
    pool.run()
    meter = pool.meter
    accounts = [
        {day: amount for day, amount in account.items() if amount}
        for account in (
            meter.allocated,
            meter.allocated_before_end,
            meter.idle_demand,
            meter.wasted,
            meter.free_samples,
        )
    ]
    times = [each.tolist() for each in (pool.start_ms, pool.end_ms, pool.ran_ms)]
    return times, accounts, (pool.rounded, pool.preemptions)


def both(jobs, cluster, policy, until_ms=None):
    nodes = np.arange(len(cluster.devices))
    until_ms = int(jobs.submit_ms.max()) if until_ms is None else until_ms
    assert is_plain(jobs, cluster, nodes, policy, ())
    # Memory that no job asks for: the event loop then counts devices in their places.
    listed = replace(cluster, memory_mib=np.full(len(nodes), 2**30, np.int64))
    plain_pool = EasyPool if policy.backfill is Backfill.EASY else EqualNodesPool
    return (
        plain_pool(jobs, cluster, nodes, policy, until_ms=until_ms, samples=50),
        PoolSimulation(jobs, listed, nodes, policy, (), until_ms=until_ms, seed=0, samples=50),
    )


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=tries(250))
@given(
    rows,
    st.sampled_from(
        (
            *PLAIN,
            *(BY_NAME[name] for name in ("priority", "fair")),
            *(replace(BY_NAME["fair"], backfill=each) for each in (Backfill.NEVER, Backfill.EASY)),
        )
    ),
    st.sampled_from(
        [PlacementPolicy.BEST_FIT, PlacementPolicy.FIRST_FIT, PlacementPolicy.WORST_FIT]
    ),
    st.sampled_from([(1, 8), (3, 4), (5, 2), (2, 8), (4, 1)]),
)
def test_every_job_and_account_is_that_of_the_event_loop(jobs, policy, placement, shape):
    count, size = shape
    policy = replace(policy, placement=placement)

    fast, general = both(log_of(jobs), equal_nodes(count, devices=size), policy)

    assert simulated(fast) == simulated(general)
    for day, unusable in general.meter.unusable_samples.items():
        assert fast.meter.unusable_samples[day] == pytest.approx(unusable, abs=60)


def test_samples_go_on_until_the_last_submission_of_other_pools():
    fast, general = both(
        log_of([(0, 50, 2, None, 0)]), equal_nodes(1, devices=4), PLAIN[0], until_ms=5 * 86_400_000
    )

    assert simulated(fast) == simulated(general)


def test_shared_devices_are_rounded_up_to_whole_ones():
    policy = replace(PLAIN[0], sharing=DeviceSharing.WHOLE)

    fast, general = both(
        log_of([(0, 50, 1, None, 0), (1, 5, 2, None, 0)], share=500),
        equal_nodes(1, devices=2),
        policy,
    )

    assert simulated(fast) == simulated(general)
    assert fast.rounded > 0


@pytest.mark.parametrize(
    ("nodes", "policy", "has_reservation"),
    [
        ("gpu\n4\n8\n", PLAIN[0], False),
        ("gpu,cpu_milli\n4,1000\n", PLAIN[0], False),
        ("gpu,memory_mib\n4,1000\n", PLAIN[0], False),
        ("gpu,model\n4,A100\n", PLAIN[0], False),
        (f"gpu,count\n{MAX_WIDTH + 1},2\n", PLAIN[0], False),
        ("gpu,count\n4,2\n", BY_NAME["srtf"], False),
        ("gpu,count\n4,2\n", BY_NAME["drf"], False),
        ("gpu,count\n4,2\n", replace(PLAIN[0], placement=PlacementPolicy.FRAGMENTATION), False),
        ("gpu,count\n4,2\n", replace(PLAIN[0], locality=Locality.ANY), False),
        ("gpu,count\n4,2\n", PLAIN[0], True),
    ],
)
def test_what_is_not_plain_is_left_to_the_event_loop(nodes, policy, has_reservation):
    cluster = read_cluster(nodes, devices=4)
    calendar = [Reservation(team="", nodes=1, start_ms=0, end_ms=1)] if has_reservation else []
    jobs = log_of([(0, 1, 1, None, 0)])

    assert not is_plain(jobs, cluster, np.arange(len(cluster.devices)), policy, calendar)


def test_parts_of_devices_are_left_to_the_event_loop():
    cluster = equal_nodes(1, devices=4)

    assert not is_plain(
        log_of([(0, 1, 1, None, 0)], share=500), cluster, np.arange(1), PLAIN[0], ()
    )
    with pytest.raises(JobLogError):
        log_of([])
