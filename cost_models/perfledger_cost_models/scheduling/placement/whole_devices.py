"""Tracks and chooses the free devices of equal nodes on which jobs take whole devices.

It gives the same allocations as `FreeDevices` and `JobPlacer`, many times as fast: the free devices
of a node are bits of a number.
"""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from perfledger_cost_models.arrays import BoolArray, IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import UNLIMITED, Cluster, equal_nodes
from perfledger_cost_models.scheduling.placement.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.placement.free_devices import (
    FreeDevices,
    JobAllocation,
    NodeAllocation,
    ResourceRequest,
)
from perfledger_cost_models.scheduling.placement.node_bits import MAX_WIDTH, PLACEMENTS, NodeBits
from perfledger_cost_models.scheduling.policy import (
    DeviceSharing,
    Locality,
    Preemption,
    SchedulingPolicy,
)

_BITS_SAY = np.zeros(0, np.int64)  # instead of the places of devices
_REMEMBERED = 2**16  # allocations and choices of lowest bits


def are_whole(jobs: JobTable, cluster: Cluster, nodes: IntArray, policy: SchedulingPolicy) -> bool:
    """Return whether a pool's nodes are equal, and whether its jobs take whole devices of them.

    With several nodes the placement is one that NodeBits can tell apart.
    """
    sizes = cluster.devices[nodes]
    is_one = len(nodes) == 1
    are_nodes_alike = (
        (sizes == sizes[0]).all()
        and (cluster.cpu_milli[nodes] >= UNLIMITED).all()
        and (cluster.memory_mib[nodes] >= UNLIMITED).all()
        and cluster.model.names == ("",)
    )
    is_whole = policy.sharing is DeviceSharing.WHOLE or (jobs.share_milli == WHOLE_DEVICE).all()
    is_choice_known = is_one or (
        sizes[0] <= MAX_WIDTH
        and policy.placement in PLACEMENTS
        and policy.locality is Locality.FEWEST
    )
    return bool(are_nodes_alike and is_whole and is_choice_known)


class WholeDevices:
    """The free devices of equal nodes, and a placement policy for requests of whole devices."""

    def __init__(
        self, jobs: JobTable, cluster: Cluster, nodes: IntArray, policy: SchedulingPolicy
    ) -> None:
        # Jobs that migrate are placed on nodes only: which of their devices they get is all one.
        self._has_places = policy.preemption is not Preemption.MIGRATION
        self.widest = int(cluster.devices[nodes[0]])
        self._nodes = NodeBits(len(nodes), self.widest, policy.placement)
        self._idle = [(1 << self.widest) - 1] * len(nodes)  # devices of each node
        self.capacity_milli = len(nodes) * self.widest * WHOLE_DEVICE
        self.free_milli = self.capacity_milli
        self._fragments = NodeFragments(jobs, self.widest)
        self._allocations: dict[tuple[ResourceRequest, int, int], JobAllocation] = {}  # of one node

    def idle_counts(self) -> list[int]:
        """Return the number of free devices of each node."""
        return self._nodes.idle_counts()

    def nodes_with(self, devices: int) -> int:
        """Return the number of nodes with at least so many free devices."""
        return self._nodes.nodes_with(devices)

    def place(
        self,
        request: ResourceRequest,
        allowed: BoolArray | None = None,  # noqa: ARG002 - JobPlacer's; here all nodes are allowed
    ) -> JobAllocation | None:
        """Return the allocation for a request; None if it does not fit. Takes nothing."""
        portions = self._nodes.find(request.devices)
        if portions is None:
            return None
        return JobAllocation(request, tuple(self._part(*portion) for portion in portions))

    def claim(
        self,
        request: ResourceRequest,
        allowed: BoolArray | None = None,
    ) -> JobAllocation | None:
        """Take the devices of a request and return their allocation; None if it does not fit."""
        count = request.devices
        if count > self.widest:
            allocation = self.place(request, allowed)
            if allocation is not None:
                self.take(allocation)
            return allocation
        portions = self._nodes.take(count)
        if portions is None:
            return None
        node = portions[0][0]
        bits = self._lowest_bits(node, count)
        if self._has_places:
            self._idle[node] ^= bits
        self.free_milli -= count * WHOLE_DEVICE
        key = (request, node, bits)
        allocation = self._allocations.get(key)
        if allocation is None:
            if len(self._allocations) >= _REMEMBERED:
                self._allocations.clear()
            part = NodeAllocation(node, _BITS_SAY, 0, 0, bits)
            allocation = self._allocations[key] = JobAllocation(request, (part,))
        return allocation

    def _part(self, node: int, count: int) -> NodeAllocation:
        return NodeAllocation(node, _BITS_SAY, 0, 0, self._lowest_bits(node, count))

    def _lowest_bits(self, node: int, count: int) -> int:
        return lowest_bits(self._idle[node], count) if self._has_places else (1 << count) - 1

    def take(self, allocation: JobAllocation) -> None:
        """Take the devices of an allocation."""
        for node, _, _, _, bits in allocation.nodes:
            count = bits.bit_count()
            if self._has_places:
                self._idle[node] ^= bits
            self._nodes.move(node, count)
            self.free_milli -= count * WHOLE_DEVICE

    def give_back(self, allocation: JobAllocation) -> None:
        """Give back the devices of an allocation."""
        for node, _, _, _, bits in allocation.nodes:
            count = bits.bit_count()
            if self._has_places:
                self._idle[node] ^= bits
            self._nodes.move(node, -count)
            self.free_milli += count * WHOLE_DEVICE

    def try_take(self, allocation: JobAllocation) -> bool:
        """Take an allocation in its own places; return whether they were still free."""
        for node, _, _, _, bits in allocation.nodes:
            if self._idle[node] & bits != bits:
                return False
        self.take(allocation)
        return True

    def give_all_back(self, allocations: Iterable[JobAllocation]) -> None:  # noqa: ARG002
        """Give back all allocations that there are."""
        self._nodes.clear()
        if self._has_places:
            self._idle = [(1 << self.widest) - 1] * len(self._idle)
        self.free_milli = self.capacity_milli

    def unusable(self) -> float:
        """Return the thousandths of free devices that typical jobs cannot use."""
        counts = self._nodes.idle_counts()
        return float(np.array([self._fragments.of_node(count) for count in counts]).sum())


class NodeFragments:
    """The fragments of a node, by its number of free devices, for the typical jobs of a log."""

    def __init__(self, jobs: JobTable, size: int) -> None:
        self._mix = Fragmentation(jobs)
        self._node = FreeDevices(equal_nodes(1, devices=size), np.zeros(1, np.int64), jobs)
        self._places = np.arange(size)
        self._amounts: dict[int, float] = {}

    def of_node(self, free: int) -> float:
        """Return the thousandths of devices that are fragments on a node with free devices."""
        if free not in self._amounts:
            self._node.left[0] = np.where(self._places < free, WHOLE_DEVICE, 0)
            self._amounts[free] = float(self._mix.amount(self._node, np.zeros(1, np.int64))[0])
        return self._amounts[free]


@lru_cache(maxsize=_REMEMBERED)
def lowest_bits(bits: int, count: int) -> int:
    """Return the lowest bits of a number that has at least as many."""
    rest = bits
    for _ in range(count):
        rest &= rest - 1
    return bits ^ rest
