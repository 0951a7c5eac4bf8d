from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.job_logs.table import Job, JobLogError, table_of
from perfledger_cost_models.scheduling.cluster import equal_nodes, read_cluster
from perfledger_cost_models.scheduling.placement.free_devices import (
    FreeDevices,
    JobAllocation,
    NodeAllocation,
    ResourceRequest,
)
from perfledger_cost_models.scheduling.policy import (
    POLICIES,
    Backfill,
    DeviceSharing,
    JobOrder,
    Locality,
    PlacementPolicy,
    Preemption,
    SchedulingPolicy,
)
from perfledger_cost_models.scheduling.preemption import PreemptibleDevices, RunningJob
from perfledger_cost_models.scheduling.reservations import Reservation
from perfledger_cost_models.scheduling.simulation import simulate
from tests.suite.tries import tries

ONE_NODE = equal_nodes(1, devices=4)


JOBS = 120  # that migrate


def policy_of(name):
    return next(policy for policy in POLICIES if policy.name == name)


def seconds(moments):
    return (moments / 1000).tolist()


mixes = st.builds(
    replace,
    st.sampled_from(POLICIES),
    placement=st.sampled_from(PlacementPolicy),
    sharing=st.sampled_from(DeviceSharing),
    checkpoint_s=st.sampled_from([None, 0, 45]),
)


moving = st.builds(
    replace,
    st.sampled_from(
        [policy for policy in POLICIES if policy.name in {"srtf", "srsf", "priority-preempt"}]
    ),
    preemption=st.just(Preemption.MIGRATION),
    placement=st.sampled_from(PlacementPolicy),
    checkpoint_s=st.sampled_from([None, 0]),
)


anyone = st.builds(
    Job,
    submit_s=st.integers(0, 3000),
    run_s=st.integers(0, 900),
    devices=st.integers(0, 10),
    share_milli=st.sampled_from([1000, 1000, 250, 600]),
    cpu_milli=st.sampled_from([0, 1000, 6000]),
    limit_s=st.sampled_from([None, 300.0]),
    priority=st.integers(0, 2),
    team=st.sampled_from(["a", "b", "c"]),
)


reserved = st.builds(
    Reservation,
    team=st.sampled_from(["a", "b"]),
    nodes=st.integers(1, 2),
    start_ms=st.integers(0, 999).map(lambda second: second * 1000),
    end_ms=st.integers(1000, 2000).map(lambda second: second * 1000),
)


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=tries(120))
@given(st.lists(anyone, min_size=1, max_size=30), mixes | moving, st.lists(reserved, max_size=2))
def test_device_time_is_conserved_by_every_policy_with_reservations(rows, policy, reservations):
    cluster = read_cluster("gpu,cpu_milli,count\n4,8000,3\n", devices=4)
    jobs = table_of(rows)
    try:
        outcome = simulate(jobs, cluster, policy, reservations=reservations)
    except JobLogError:
        return

    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
    assert len(outcome.jobs) + outcome.unplaceable + outcome.unknown == len(jobs)
    assert (outcome.wait_s >= 0).all()
    assert (outcome.ran_ms >= outcome.jobs.run_ms).all()


def test_least_device_time_left_is_next_and_displaces_more():
    jobs = table_of(
        [
            Job(submit_s=0, run_s=100, devices=3),
            Job(submit_s=10, run_s=60, devices=4),
            Job(submit_s=10, run_s=120, devices=1),
            Job(submit_s=20, run_s=70, devices=2),
        ]
    )
    policy = replace(policy_of("srsf"), checkpoint_s=0)

    outcome = simulate(jobs, ONE_NODE, policy)

    # At 20 s: 240 of the first and 110 of the third run, 240 and 140 wait.
    assert seconds(outcome.end_ms) == [170, 230, 130, 90]
    assert outcome.preemptions == 1


def test_a_checkpoint_that_takes_no_time_wastes_nothing():
    jobs = table_of([Job(submit_s=0, run_s=100, devices=4), Job(submit_s=10, run_s=20, devices=4)])

    outcome = simulate(jobs, ONE_NODE, replace(policy_of("srtf"), checkpoint_s=0))

    assert seconds(outcome.end_ms) == [120, 30]
    assert (outcome.preemptions, outcome.wasted) == (1, 0)


def test_a_job_that_migrates_makes_room_and_pays_for_its_checkpoint():
    jobs = table_of(
        [
            Job(submit_s=0, run_s=100, devices=2),
            Job(submit_s=1, run_s=8, devices=2),
            Job(submit_s=2, run_s=100, devices=2),
            Job(submit_s=10, run_s=200, devices=4),
        ]
    )
    two_nodes = equal_nodes(2, devices=4)
    policy = replace(policy_of("srtf"), checkpoint_s=5)

    stays = simulate(jobs, two_nodes, policy)
    moves = simulate(jobs, two_nodes, replace(policy, preemption=Preemption.MIGRATION))

    assert seconds(stays.start_ms) == [0, 1, 2, 100]
    assert seconds(moves.start_ms) == [0, 1, 2, 10]
    assert seconds(moves.end_ms) == [100, 9, 107, 210]
    assert (moves.preemptions, moves.wasted) == (1, 5000 * 2000)


@pytest.mark.parametrize("placement", [PlacementPolicy.BEST_FIT, PlacementPolicy.RANDOM])
def test_everybody_ends_who_migrates_only_as_somebody_comes_or_goes(placement):
    jobs = table_of(
        Job(submit_s=i * 37 % 4001, run_s=40 + i * 101 % 1800, devices=1 + i * 7 % 8)
        for i in range(JOBS)
    )
    policy = replace(policy_of("srsf"), preemption=Preemption.MIGRATION, placement=placement)

    outcome = simulate(jobs, equal_nodes(4, devices=8), policy)

    assert len(outcome.jobs) == JOBS
    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
    assert outcome.preemptions <= 2 * JOBS * 32  # each time all devices' jobs at most


def test_who_displaces_stays_out_of_what_is_reserved_for_others():
    reservation = Reservation(team="a", nodes=1, start_ms=0, end_ms=50_000)
    jobs = table_of(
        [
            Job(submit_s=0, run_s=100, devices=4, team="a", priority=0),
            Job(submit_s=10, run_s=10, devices=4, team="b", priority=1),
        ]
    )

    outcome = simulate(jobs, ONE_NODE, policy_of("priority-preempt"), reservations=(reservation,))

    assert seconds(outcome.start_ms) == [0, 50]


def test_who_is_past_its_time_limit_is_moved_to_no_node_that_is_reserved_before_it_ends():
    reservation = Reservation(team="a", nodes=1, start_ms=13_000, end_ms=50_000)
    jobs = table_of(
        [
            Job(submit_s=0, run_s=10, devices=4, team="b", priority=0),
            Job(submit_s=1, run_s=100, devices=4, team="b", priority=1),
            Job(submit_s=12, run_s=10, devices=4, team="b", priority=2),
        ]
    )
    policy = replace(policy_of("priority-preempt"), preemption=Preemption.MIGRATION, checkpoint_s=5)

    outcome = simulate(jobs, equal_nodes(3, devices=4), policy, reservations=(reservation,))

    # At 12 s all move on by a node, and 8 s are left of the first: it waits for the third's end.
    assert seconds(outcome.end_ms) == [30, 111, 22]


def test_who_yields_and_stands_before_who_displaced_it_waits_in_its_place():
    """The third yields to the fourth, and the first to the third, at one moment and in one line."""
    jobs = table_of(
        [
            Job(submit_s=0, run_s=1000, devices=2),
            Job(submit_s=5, run_s=98, devices=2),
            Job(submit_s=100, run_s=1000, devices=2),
            Job(submit_s=250, run_s=1000, devices=2),
        ]
    )
    turns = replace(policy_of("time-slice"), quantum_s=100, checkpoint_s=0)

    outcome = simulate(jobs, ONE_NODE, turns)

    assert outcome.allocated == outcome.requested + outcome.wasted + outcome.rounded
    assert outcome.ran_ms.tolist() == outcome.jobs.run_ms.tolist()
    assert (outcome.end_ms >= outcome.jobs.submit_ms + outcome.jobs.run_ms).all()


def test_jobs_without_a_device_run_where_processors_are_listed():
    jobs = table_of(
        [
            Job(submit_s=0, run_s=10, devices=1, cpu_milli=2000),
            Job(submit_s=0, run_s=10, devices=0, cpu_milli=3000),
            Job(submit_s=0, run_s=10, devices=0, cpu_milli=0),
        ]
    )
    listed = read_cluster("gpu,cpu_milli\n4,4000\n", devices=4)

    with_them = simulate(jobs, listed, policy_of("fifo"))
    without = simulate(jobs, ONE_NODE, policy_of("fifo"))

    assert seconds(with_them.start_ms) == [0, 10]
    assert (with_them.unknown, without.unknown) == (1, 2)


def test_a_node_that_does_not_say_its_model_is_accepted():
    jobs = table_of([Job(submit_s=0, run_s=10, devices=4, models="V100")])

    assert seconds(simulate(jobs, ONE_NODE, policy_of("fifo")).start_ms) == [0]


def test_who_fits_may_pass_in_the_order_of_the_rest():
    jobs = table_of(
        [
            Job(submit_s=0, run_s=10, devices=2),
            Job(submit_s=1, run_s=50, devices=3),
            Job(submit_s=2, run_s=40, devices=1),
            Job(submit_s=3, run_s=30, devices=2),
            Job(submit_s=4, run_s=20, devices=1),
        ]
    )
    policy = SchedulingPolicy(name="sjf", order=JobOrder.SHORTEST, backfill=Backfill.ALWAYS)

    assert seconds(simulate(jobs, ONE_NODE, policy).start_ms) == [0, 40, 2, 10, 4]


def full_nodes(count):
    """Return nodes of four devices each, all taken."""
    jobs = table_of([Job(submit_s=0, run_s=1, devices=4)])
    full = FreeDevices(equal_nodes(count, devices=4), np.arange(count), jobs)
    request = ResourceRequest(4, 1000, 0, 0, 0)
    for node in range(count):
        part = NodeAllocation(node, np.arange(4), 0, 0)
        full.take(JobAllocation(request, (part,)))
    return full


def run_on(allocation):
    return RunningJob(
        job=0, allocation=allocation, milli=0, priority=0, since_ms=0, end_ms=1, expected_ms=1
    )


@pytest.mark.parametrize(
    ("devices", "share_milli", "locality", "fits_after", "least_of_node"),
    [
        (1, 500, Locality.FEWEST, 1, 0),  # a part of a device may be free beside other parts
        (3, 1000, Locality.ANY, 1, 0),
        (1, 1000, Locality.FEWEST, 1, 1),
        (3, 1000, Locality.FEWEST, 3, 3),
        (10, 1000, Locality.FEWEST, 8, 2),  # two nodes of four, and two devices of a third
    ],
)
def test_whole_devices_on_few_nodes_are_counted_before_any_job_is_displaced(
    devices, share_milli, locality, fits_after, least_of_node
):
    request = ResourceRequest(devices, share_milli, 0, 0, 0)
    full = full_nodes(4)
    bound = PreemptibleDevices(full, request, is_local=locality is Locality.FEWEST)

    fits, in_reach = [], []
    for device in range(12):  # node by node
        part = NodeAllocation(device // 4, np.array([device % 4]), 0, 0)
        allocation = JobAllocation(request, (part,))
        fits.append(bound.may_fit(allocation))
        in_reach.append(bool(bound.in_reach([run_on(allocation)])))

    assert fits.index(True) == fits_after - 1
    assert in_reach == [device % 4 + 1 >= least_of_node for device in range(12)]


def test_on_a_full_node_a_job_of_parts_of_devices_is_in_reach():
    request = ResourceRequest(1, 500, 0, 0, 0)
    full = full_nodes(1)
    part = NodeAllocation(0, np.array([0]), 0, 0)

    bound = PreemptibleDevices(full, request, is_local=True)

    run = run_on(JobAllocation(request, (part,)))
    assert bound.in_reach([run]) == [run]
