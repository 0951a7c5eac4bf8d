from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.scheduling.placement.node_bits import PLACEMENTS, NodeBits, Portion
from perfledger_cost_models.scheduling.policy import PlacementPolicy
from tests.suite.tries import tries


@pytest.mark.parametrize(
    ("placement", "node"),
    [
        (PlacementPolicy.BEST_FIT, 1),
        (PlacementPolicy.FIRST_FIT, 0),
        (PlacementPolicy.WORST_FIT, 2),
    ],
)
def test_a_job_gets_the_node_of_its_placement(placement, node):
    nodes = NodeBits(4, 4, placement)
    nodes.move(0, 1)
    nodes.move(1, 2)

    assert nodes.find(2) == ((node, 2),)
    assert nodes.idle_counts() == [3, 2, 4, 4]


def test_a_wide_job_gets_whole_nodes_and_its_rest_none_of_them():
    nodes = NodeBits(3, 4, PlacementPolicy.BEST_FIT)

    assert nodes.take(9) == ((0, 4), (1, 4), (2, 1))
    assert (nodes.free, nodes.nodes_with(3), nodes.nodes_with(4)) == (3, 1, 0)
    assert nodes.find(4) is None
    nodes.give_back([(0, 4)])
    assert nodes.find(6) == ((0, 4), (2, 2))
    nodes.clear()
    assert nodes.levels() == ((4, 3),)


def test_a_job_whose_rest_fits_nowhere_does_not_fit():
    nodes = NodeBits(2, 4, PlacementPolicy.BEST_FIT)
    nodes.move(1, 3)

    assert nodes.find(5) == ((0, 4), (1, 1))
    nodes.move(1, 1)
    assert nodes.find(5) is None
    assert nodes.idle_counts() == [4, 0]
    assert not nodes.can_fit(9)


def test_one_wide_node_counts_its_devices():
    nodes = NodeBits(1, 1000, PlacementPolicy.RANDOM)
    nodes.move(0, 400)

    assert nodes.find(600) == ((0, 600),)
    assert nodes.find(601) is None
    assert (nodes.nodes_with(600), nodes.nodes_with(601), nodes.levels()) == (1, 0, ((600, 1),))


@dataclass
class Nodes:
    """Node bits, and the counts of free devices that they should have."""

    bits: NodeBits
    size: int
    free: list[int]
    allocations: list[tuple[Portion, ...]] = field(default_factory=list)

    def fits(self, devices):
        count, rest = divmod(devices, self.size)
        free = sorted(self.free, reverse=True)
        has_whole = len(free) >= count and all(each == self.size for each in free[:count])
        return has_whole and (not rest or any(each >= rest for each in free[count:]))

    def take(self, devices):
        expected = self.fits(devices)
        portions = self.bits.take(devices)
        assert (portions is not None) == expected
        for node, count in portions or ():
            self.free[node] -= count
            assert self.free[node] >= 0
        if portions is not None:
            assert sum(count for _, count in portions) == devices
            self.allocations.append(portions)

    def give_back(self, place):
        if self.allocations:
            portions = self.allocations.pop(place % len(self.allocations))
            for node, count in portions:
                self.free[node] += count
            self.bits.give_back(portions)


@pytest.mark.slow
@settings(deadline=None, max_examples=tries(200))
@given(
    st.sampled_from([(1, 8), (3, 4), (5, 2), (2, 8), (4, 1)]),
    st.sampled_from(sorted(PLACEMENTS)),
    st.lists(st.tuples(st.booleans(), st.integers(1, 18)), max_size=60),
)
def test_a_job_is_refused_only_where_it_does_not_fit(shape, placement, steps):
    count, size = shape
    nodes = Nodes(NodeBits(count, size, placement), size, [size] * count)
    for is_start, number in steps:
        if is_start:
            nodes.take(number)
        else:
            nodes.give_back(number)

        most = nodes.bits.most
        assert not any(nodes.fits(devices) for devices in range(most + 1, count * size + 2))
        assert nodes.bits.free == sum(nodes.free)
        assert nodes.bits.idle_counts() == nodes.free


def test_a_node_that_gets_devices_back_bounds_what_may_fit():
    bits = NodeBits(2, 8, min(PLACEMENTS))
    (wide,), (narrow,) = bits.take(8) or (), bits.take(7) or ()
    assert bits.take(2) is None
    assert bits.most == 1

    bits.give_back([(narrow[0], 2)])
    assert bits.most == 3
    bits.give_back([wide])
    assert bits.most == 15
