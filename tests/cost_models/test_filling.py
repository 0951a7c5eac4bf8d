"""Filling a cluster, and fragmentation by its definition; all jobs are made up."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.cluster import equal_nodes, read_cluster
from perfledger_cost_models.filling import allocation_interval, fill
from perfledger_cost_models.fragmentation import Fragmentation
from perfledger_cost_models.jobs import Job, JobLogError, table_of
from perfledger_cost_models.placing import Placer
from perfledger_cost_models.room import Held, Part, Room, shapes_of
from perfledger_cost_models.scheduling import Placement

MIX = table_of(
    Job(submit_s=0, run_s=None, devices=devices, share_milli=share, cpu_milli=cpu)
    for devices, share, cpu, count in (
        (1, 500, 4000, 5),
        (1, 1000, 8000, 4),
        (2, 1000, 8000, 2),
        (0, 1000, 16_000, 1),
    )
    for _ in range(count)
)


@pytest.fixture
def room():
    cluster = equal_nodes(3, devices=4)
    return Room(cluster, np.arange(3), MIX)


def by_definition(left, cpu):
    """Return the mean over the mix of what each job could not use, as the paper defines it."""
    total = 0.0
    for devices, share, asked, weight in zip(
        MIX.devices, MIX.share_milli, MIX.cpu_milli, [1 / len(MIX)] * len(MIX), strict=True
    ):
        can_run = devices and cpu >= asked and (left >= share).sum() >= devices
        total += weight * (left[left < share].sum() if can_run else left.sum())
    return total


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=4), st.integers(0, 20_000))
def test_fragmentation_is_its_definition(left, cpu):
    room = Room(equal_nodes(1, devices=4), np.arange(1), MIX)
    room.left[0], room.cpu[0] = left, cpu

    (found,) = Fragmentation(MIX).amount(room, np.arange(1))

    assert found == pytest.approx(by_definition(np.array(left), cpu))


def test_gradient_descent_completes_a_device_that_is_half_taken(room):
    shapes, _ = shapes_of(MIX)
    half = next(shape for shape in shapes if shape.share_milli == 500)
    room.take(Held(half, (Part(1, np.array([2]), 4000, 0),)))

    held = Placer(room, Placement.FRAGMENTATION, mix=Fragmentation(MIX)).place(half)

    assert held is not None
    assert (held.parts[0].node, held.parts[0].devices.tolist()) == (1, [2])


@pytest.mark.parametrize(
    ("placement", "node"),
    [
        (Placement.FIRST_FIT, 0),
        (Placement.BEST_FIT, 1),
        (Placement.WORST_FIT, 0),
        (Placement.PACKING, 1),
        (Placement.CLUSTERING, 1),
        (Placement.DOT_PRODUCT, 1),
    ],
)
def test_each_placement_has_its_node(room, placement, node):
    shapes, _ = shapes_of(MIX)
    whole = next(shape for shape in shapes if (shape.devices, shape.share_milli) == (1, 1000))
    room.take(Held(whole, (Part(1, np.array([0]), 8000, 0),)))

    held = Placer(room, placement, mix=Fragmentation(MIX)).place(whole)

    assert held is not None
    assert held.parts[0].node == node


def test_random_placement_is_that_of_its_seed(room):
    shapes, _ = shapes_of(MIX)
    placers = [Placer(room, Placement.RANDOM, mix=Fragmentation(MIX), seed=4) for _ in range(2)]
    found = [[each.place(shapes[1]) for _ in range(20)] for each in placers]
    nodes = [[held.parts[0].node for held in row if held is not None] for row in found]

    assert nodes[0] == nodes[1]
    assert set(nodes[0]) == {0, 1, 2}


def test_random_placement_draws_the_device_of_a_part_too(room):
    half = next(shape for shape in shapes_of(MIX)[0] if shape.share_milli == 500)
    placer = Placer(room, Placement.RANDOM, mix=Fragmentation(MIX), seed=4)
    found = [placer.place(half) for _ in range(40)]

    assert {held.parts[0].devices.item() for held in found if held is not None} == {0, 1, 2, 3}


@pytest.mark.parametrize("placement", list(Placement))
def test_a_cluster_is_never_more_than_full(placement):
    found = [fill(MIX, equal_nodes(5, devices=4), placement, seed=seed) for seed in range(2)]

    low, mean, high = allocation_interval(found)
    assert 0.5 < low <= mean <= high <= 1
    for each in found:
        assert each.allocated_at_capacity <= each.allocated
        assert 0 <= each.fragmented <= 1
        assert list(each.curve) == sorted(each.curve)


def test_more_than_is_wanted_is_drawn_down():
    found = fill(MIX, equal_nodes(1, devices=2), Placement.BEST_FIT, load=1.0)

    assert found.jobs < len(MIX)


@pytest.mark.parametrize("load", [0.0, float("nan"), float("inf"), -1.0])
def test_a_load_is_positive(load):
    with pytest.raises(JobLogError, match="load above 0"):
        fill(MIX, equal_nodes(1, devices=2), Placement.BEST_FIT, load=load)


def test_a_load_that_takes_too_many_jobs_is_refused():
    with pytest.raises(JobLogError, match="lower load"):
        fill(MIX, equal_nodes(1, devices=2), Placement.BEST_FIT, load=1e300)


def test_equal_nodes_are_met_in_another_order_with_each_seed():
    jobs = table_of(Job(submit_s=0, run_s=None, devices=1, models=models) for models in ("", "A"))
    cluster = read_cluster("gpu,model\n1,B\n1,A\n", devices=1)

    found = {
        fill(jobs, cluster, Placement.FIRST_FIT, load=1.0, seed=seed).allocated
        for seed in range(20)
    }

    assert found == {0.5, 1.0}


def test_a_job_of_processors_alone_is_of_no_kind(room):
    shapes, _ = shapes_of(MIX)
    alone = next(shape for shape in shapes if not shape.devices)

    room.take(Held(alone, (Part(1, np.array([], np.int64), 16_000, 0),)))

    assert not room.kinds.any()
