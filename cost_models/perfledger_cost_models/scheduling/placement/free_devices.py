"""Tracks free devices, processors and memory on the nodes of one pool."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from perfledger_cost_models.arrays import BoolArray, IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.prices.mig_profiles import MIG_PARTS
from perfledger_cost_models.scheduling.cluster import UNLIMITED, Cluster
from perfledger_cost_models.scheduling.policy import DeviceSharing

MAX_KINDS = 16  # kinds of jobs by number of devices, which clustering distinguishes


class ResourceRequest(NamedTuple):
    """The resources that a job requests; equal requests fit in the same places."""

    devices: int
    share_milli: int
    cpu_milli: int
    memory_mib: int
    models: int  # code of the acceptable accelerators

    @property
    def kind(self) -> int:
        """Return the kind that clustering groups by: shared, or the number of devices."""
        return 0 if self.share_milli < WHOLE_DEVICE else min(self.devices, MAX_KINDS - 1)


class NodeAllocation(NamedTuple):
    """The resources of a job on one node."""

    node: int
    devices: IntArray  # their places on the node
    cpu_milli: int
    memory_mib: int
    bits: int = 0  # the places of WholeDevices, whose `devices` is empty

    @property
    def device_count(self) -> int:
        """Return the number of devices."""
        return self.bits.bit_count() or len(self.devices)


class JobAllocation(NamedTuple):
    """The resources of a job on all its nodes."""

    request: ResourceRequest
    nodes: tuple[NodeAllocation, ...]

    def has_nodes_of(self, allocation: "JobAllocation") -> bool:
        """Return whether both have the same nodes, in the same order."""
        return [part.node for part in self.nodes] == [part.node for part in allocation.nodes]


class FreeDevices:
    """The free devices, processors and memory of a pool's nodes."""

    def __init__(self, cluster: Cluster, nodes: IntArray, jobs: JobTable) -> None:
        self.size = cluster.devices[nodes]
        width = int(self.size.max())
        places = np.arange(width)
        self.left: IntArray = np.where(places[None, :] < self.size[:, None], WHOLE_DEVICE, 0)
        self.idle_count: IntArray = self.size.copy()  # entirely free devices of each node
        self.total: IntArray = (
            self.size * WHOLE_DEVICE
        )  # thousandths of a node's devices that are free
        self.cpu: IntArray = cluster.cpu_milli[nodes].copy()
        self.memory: IntArray = cluster.memory_mib[nodes].copy()
        self.most_cpu = int(np.where(self.cpu < UNLIMITED, self.cpu, 0).max())
        self.widest = width
        self.kinds = np.zeros((len(nodes), MAX_KINDS), np.int64)
        self.models = cluster.model.codes[nodes]
        self.accepts = _accepted_models(jobs, cluster)
        self._takes_any = [bool(models.all()) for models in self.accepts]
        self.capacity_milli = int(self.total.sum())
        self.free_milli = self.capacity_milli
        self.changed_nodes: list[int] = []  # nodes in the order in which they changed

    def fitting(self, request: ResourceRequest, rows: IntArray) -> BoolArray:
        """Return which of the nodes fit a request on one node."""
        if request.share_milli == WHOLE_DEVICE:
            fits = self.idle_count[rows] >= request.devices
        else:
            fits = (self.left[rows] >= request.share_milli).sum(axis=1) >= request.devices
        if request.cpu_milli:
            fits &= self.cpu[rows] >= request.cpu_milli
        if request.memory_mib:
            fits &= self.memory[rows] >= request.memory_mib
        if request.devices and not self._takes_any[request.models]:
            fits &= self.accepts[request.models][self.models[rows]]
        return fits

    def may_fit(self, request: ResourceRequest, node: int) -> bool:
        """Return whether a node has enough resources in sum: much faster than `fitting`."""
        is_whole = request.share_milli == WHOLE_DEVICE
        requested_milli = request.devices * (1 if is_whole else request.share_milli)
        if (self.idle_count[node] if is_whole else self.total[node]) < requested_milli:
            return False
        return bool(self.cpu[node] >= request.cpu_milli and self.memory[node] >= request.memory_mib)

    def tightest(self, request: ResourceRequest, node: int) -> IntArray:
        """Return the devices of a node for a request: free ones, or the fullest that fit."""
        left = self.left[node]
        if request.share_milli == WHOLE_DEVICE:
            idle_devices: IntArray = (left == WHOLE_DEVICE).nonzero()[0]
            return idle_devices[: request.devices]
        order = np.argsort(np.where(left >= request.share_milli, left, np.inf), kind="stable")
        return order[: request.devices]

    def idle_counts(self) -> list[int]:
        """Return the number of entirely free devices of each node."""
        counts: list[int] = self.idle_count.tolist()
        return counts

    def nodes_with(self, devices: int) -> int:
        """Return the number of nodes with at least so many entirely free devices."""
        return int(np.count_nonzero(self.idle_count >= devices))

    def try_take(self, allocation: JobAllocation) -> bool:
        """Take an allocation in its own places; return whether they were still free."""
        is_free = all(
            not np.count_nonzero(
                self.left[part.node, part.devices] < allocation.request.share_milli
            )
            and self.cpu[part.node] >= part.cpu_milli
            and self.memory[part.node] >= part.memory_mib
            for part in allocation.nodes
        )
        if is_free:
            self.take(allocation)
        return is_free

    def take(self, allocation: JobAllocation) -> None:
        """Take the resources of an allocation."""
        self._change(allocation, -1)

    def give_back(self, allocation: JobAllocation) -> None:
        """Give back the resources of an allocation."""
        self._change(allocation, 1)

    def give_all_back(self, allocations: Iterable[JobAllocation]) -> None:
        """Give back all allocations that there are."""
        for allocation in allocations:
            self.give_back(allocation)

    def _change(self, allocation: JobAllocation, sign: int) -> None:
        share = allocation.request.share_milli
        for node, devices, cpu, memory, _ in allocation.nodes:
            milli = len(devices) * share
            if share == WHOLE_DEVICE:
                self.left[node, devices] = WHOLE_DEVICE if sign > 0 else 0
                self.idle_count[node] += sign * len(devices)
            else:
                self.left[node, devices] += sign * share
                self.idle_count[node] = np.count_nonzero(self.left[node] == WHOLE_DEVICE)
            self.total[node] += sign * milli
            if cpu:
                self.cpu[node] += sign * cpu
            if memory:
                self.memory[node] += sign * memory
            if milli:  # a job without devices has no kind
                self.kinds[node, allocation.request.kind] -= sign
            self.free_milli += sign * milli
            self.changed_nodes.append(node)


def resource_requests(
    jobs: JobTable, *, smallest: Sequence[int] = ()
) -> tuple[list[ResourceRequest], IntArray]:
    """Return the distinct requests of jobs, and the index of each job's request.

    `smallest` are the available shares of a device; a job gets the next larger one.
    """
    share = jobs.share_milli
    if smallest:
        slices = np.array(smallest, np.int64)
        share = slices[np.searchsorted(slices, share)]
    columns = (jobs.devices, share, jobs.cpu_milli, jobs.memory_mib, jobs.models.codes)
    table, places = _distinct_rows(columns)
    return [ResourceRequest(*map(int, row)) for row in table], places


def request_classes(
    jobs: JobTable, sharing: DeviceSharing, *, has_calendar: bool
) -> tuple[list[ResourceRequest], IntArray]:
    """Return the requests of the job classes, and the class of each job.

    Jobs of one class wait in one line. With a calendar, the team and the time limit of a job also
    decide where it may start, so they are part of the class.
    """
    shapes, places = resource_requests(jobs, smallest=_slices(sharing))
    if not has_calendar:
        return shapes, places
    columns = (places, jobs.team.codes, jobs.limit_ms)
    classes, places = _distinct_rows(columns)
    return [shapes[request] for request in classes[:, 0].tolist()], places


def _distinct_rows(columns: Sequence[IntArray]) -> tuple[IntArray, IntArray]:
    """Return the distinct rows of columns, sorted, and the index of each row among them.

    It is np.unique along an axis, ten times as fast: columns are numbered one after the other.
    """
    places: IntArray = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, codes = np.unique(column, return_inverse=True)
        if len(values) > 1:
            _, places = np.unique(places * len(values) + codes, return_inverse=True)
    _, first = np.unique(places, return_index=True)
    return np.stack(columns, axis=1)[first], places


def _slices(sharing: DeviceSharing) -> Sequence[int]:
    match sharing:
        case DeviceSharing.EXACT:
            return ()
        case DeviceSharing.WHOLE:
            return (WHOLE_DEVICE,)
        case DeviceSharing.MIG:
            return tuple(MIG_PARTS.values())


def _accepted_models(jobs: JobTable, cluster: Cluster) -> BoolArray:
    """Return which of the cluster's models each accelerator name of the jobs accepts.

    All names accept a node without a model.
    """
    models = [
        {"", *name.split("|")} if name else set(cluster.model.names) for name in jobs.models.names
    ]
    table = [[model in each for model in cluster.model.names] for each in models]
    return np.array(table, dtype=np.bool_)
