import pytest

from perfledger_cost_models.scheduling.placement.node_bits import NodeBits
from perfledger_cost_models.scheduling.policy import PlacementPolicy


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
