import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.scheduling.cluster import equal_nodes
from perfledger_cost_models.scheduling.placement.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.placement.free_devices import FreeDevices, ResourceRequest
from tests.cost_models.example_job_mix import MIX


def by_definition(left, cpu):
    """Return the mean over the mix of what each job could not use, as the paper defines it."""
    total = 0.0
    for devices, share, demand, weight in zip(
        MIX.devices, MIX.share_milli, MIX.cpu_milli, [1 / len(MIX)] * len(MIX), strict=True
    ):
        can_run = devices and cpu >= demand and (left >= share).sum() >= devices
        total += weight * (left[left < share].sum() if can_run else left.sum())
    return total


@settings(deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=4, max_size=4), st.integers(0, 20_000))
def test_fragmentation_is_its_definition(left, cpu):
    free_devices = FreeDevices(equal_nodes(1, devices=4), np.arange(1), MIX)
    free_devices.left[0], free_devices.cpu[0] = left, cpu

    (amount,) = Fragmentation(MIX).amount(free_devices, np.arange(1))

    assert amount == pytest.approx(by_definition(np.array(left), cpu))


def test_a_node_on_which_nothing_changes_has_half_of_the_points():
    """100 / (1 + exp(growth)), growth in devices; a request of nothing leaves all as it was."""
    nodes = np.arange(2)
    free_devices = FreeDevices(equal_nodes(2, devices=4), nodes, MIX)
    request = ResourceRequest(devices=0, share_milli=0, cpu_milli=0, memory_mib=0, models=0)

    assert Fragmentation(MIX).scores(free_devices, request, nodes).tolist() == [50, 50]
