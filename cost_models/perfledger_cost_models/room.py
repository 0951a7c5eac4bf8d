"""What is free on the nodes of one pool, as jobs take devices and give them back."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.cluster import UNLIMITED, Cluster
from perfledger_cost_models.jobs import WHOLE, IntArray, Jobs

# Of MIG's slices the thousandths of a device that each occupies: it has seven compute slices, and
# eight of memory, of which a slice of three takes four (NVIDIA MIG user guide, A100 and H100).
MIG_SLICES = (142, 285, 500, 571, WHOLE)
_KINDS = 16  # of jobs, by how many devices they ask for: what clustering tells apart


class Shape(NamedTuple):
    """What a job asks for; jobs of one shape fit in the same places."""

    devices: int
    share_milli: int
    cpu_milli: int
    memory_mib: int
    models: int  # code of the accelerators that will do

    @property
    def kind(self) -> int:
        """Return the class that clustering keeps together: shared, or by number of devices."""
        return 0 if self.share_milli < WHOLE else min(self.devices, _KINDS - 1)


class Part(NamedTuple):
    """What a job holds on one node."""

    node: int
    devices: IntArray  # their places on the node
    cpu_milli: int
    memory_mib: int


class Held(NamedTuple):
    """What a job holds in all."""

    shape: Shape
    parts: tuple[Part, ...]


class Room:
    """The free devices, processors and memory of a pool's nodes."""

    def __init__(self, cluster: Cluster, nodes: IntArray, jobs: Jobs) -> None:
        self.size = cluster.devices[nodes]
        width = int(self.size.max())
        places = np.arange(width)
        self.left: IntArray = np.where(places[None, :] < self.size[:, None], WHOLE, 0)
        self.whole: IntArray = self.size.copy()  # devices of a node that are all free
        self.total: IntArray = self.size * WHOLE  # thousandths of a node's devices that are free
        self.cpu: IntArray = cluster.cpu_milli[nodes].copy()
        self.memory: IntArray = cluster.memory_mib[nodes].copy()
        self.most_cpu = int(np.where(self.cpu < UNLIMITED, self.cpu, 0).max())
        self.widest = width
        self.kinds = np.zeros((len(nodes), _KINDS), np.int64)
        self.models = cluster.model.codes[nodes]
        self.accepts = _accepted(jobs, cluster)
        self.capacity_milli = int(self.total.sum())
        self.free_milli = self.capacity_milli
        self.changed: list[int] = []  # nodes in the order in which they changed

    def fitting(self, shape: Shape, rows: IntArray) -> NDArray[np.bool_]:
        """Return which of the nodes have room for a job of this shape, on one node."""
        fits = (self.cpu[rows] >= shape.cpu_milli) & (self.memory[rows] >= shape.memory_mib)
        if shape.share_milli == WHOLE:
            fits &= self.whole[rows] >= shape.devices
        elif shape.devices:
            fits &= (self.left[rows] >= shape.share_milli).sum(axis=1) >= shape.devices
        if shape.devices:
            fits &= self.accepts[shape.models][self.models[rows]]
        return fits

    def may_fit(self, shape: Shape, node: int) -> bool:
        """Return whether a node has what a job asks for in sum: much faster than `fitting`."""
        free = self.whole[node] if shape.share_milli == WHOLE else self.total[node]
        asked = shape.devices * (1 if shape.share_milli == WHOLE else shape.share_milli)
        is_enough = free >= asked and self.cpu[node] >= shape.cpu_milli
        return bool(is_enough and self.memory[node] >= shape.memory_mib)

    def tightest(self, shape: Shape, node: int) -> IntArray:
        """Return the devices of a node that a job gets: whole ones, or the fullest with room."""
        left = self.left[node]
        if shape.share_milli == WHOLE:
            return np.flatnonzero(left == WHOLE)[: shape.devices]
        order = np.argsort(np.where(left >= shape.share_milli, left, 2 * WHOLE), kind="stable")
        return order[: shape.devices]

    def has(self, held: Held) -> bool:
        """Return whether what was given back can be taken again, in the same places."""
        return all(
            bool((self.left[part.node, part.devices] >= held.shape.share_milli).all())
            and self.cpu[part.node] >= part.cpu_milli
            and self.memory[part.node] >= part.memory_mib
            for part in held.parts
        )

    def take(self, held: Held) -> None:
        """Take what a job holds."""
        self._move(held, -1)

    def give_back(self, held: Held) -> None:
        """Give back what a job held."""
        self._move(held, 1)

    def _move(self, held: Held, sign: int) -> None:
        share = held.shape.share_milli
        for node, devices, cpu, memory in held.parts:
            self.left[node, devices] += sign * share
            moved = len(devices) * share
            if share == WHOLE:
                self.whole[node] += sign * len(devices)
            else:
                self.whole[node] = np.count_nonzero(self.left[node] == WHOLE)
            self.total[node] += sign * moved
            self.cpu[node] += sign * cpu
            self.memory[node] += sign * memory
            self.kinds[node, held.shape.kind] -= sign
            self.free_milli += sign * moved
            self.changed.append(node)


def shapes_of(jobs: Jobs, *, smallest: Sequence[int] = ()) -> tuple[list[Shape], IntArray]:
    """Return the different shapes of jobs, and each job's place among them.

    `smallest` are the only shares that there are; a job gets the next larger one.
    """
    share = jobs.share_milli
    if smallest:
        slices = np.array(smallest, np.int64)
        share = slices[np.searchsorted(slices, share)]
    columns = (jobs.devices, share, jobs.cpu_milli, jobs.memory_mib, jobs.models.codes)
    table, places = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return [Shape(*map(int, row)) for row in table], places.reshape(-1)


def _accepted(jobs: Jobs, cluster: Cluster) -> NDArray[np.bool_]:
    """Return for each name of the jobs' accelerators which of the cluster's models it accepts.

    A node that says nothing of its model is accepted by all.
    """
    wanted = [
        {"", *name.split("|")} if name else set(cluster.model.names) for name in jobs.models.names
    ]
    table = [[model in each for model in cluster.model.names] for each in wanted]
    return np.array(table, dtype=np.bool_)
