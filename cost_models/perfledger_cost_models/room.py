"""What is free on the nodes of one pool, as jobs take devices and give them back."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.cluster import UNLIMITED, Cluster
from perfledger_cost_models.jobs import WHOLE, IntArray, Jobs
from perfledger_cost_models.scheduling import Sharing

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
        self._takes_any = [bool(models.all()) for models in self.accepts]
        self.capacity_milli = int(self.total.sum())
        self.free_milli = self.capacity_milli
        self.changed: list[int] = []  # nodes in the order in which they changed

    def fitting(self, shape: Shape, rows: IntArray) -> NDArray[np.bool_]:
        """Return which of the nodes have room for a job of this shape, on one node."""
        if shape.share_milli == WHOLE:
            fits = self.whole[rows] >= shape.devices
        else:
            fits = (self.left[rows] >= shape.share_milli).sum(axis=1) >= shape.devices
        if shape.cpu_milli:
            fits &= self.cpu[rows] >= shape.cpu_milli
        if shape.memory_mib:
            fits &= self.memory[rows] >= shape.memory_mib
        if shape.devices and not self._takes_any[shape.models]:
            fits &= self.accepts[shape.models][self.models[rows]]
        return fits

    def may_fit(self, shape: Shape, node: int) -> bool:
        """Return whether a node has what a job asks for in sum: much faster than `fitting`."""
        is_whole = shape.share_milli == WHOLE
        asked = shape.devices * (1 if is_whole else shape.share_milli)
        if (self.whole[node] if is_whole else self.total[node]) < asked:
            return False
        return bool(self.cpu[node] >= shape.cpu_milli and self.memory[node] >= shape.memory_mib)

    def tightest(self, shape: Shape, node: int) -> IntArray:
        """Return the devices of a node that a job gets: whole ones, or the fullest with room."""
        left = self.left[node]
        if shape.share_milli == WHOLE:
            whole: IntArray = (left == WHOLE).nonzero()[0]
            return whole[: shape.devices]
        order = np.argsort(np.where(left >= shape.share_milli, left, 2 * WHOLE), kind="stable")
        return order[: shape.devices]

    def has_taken_again(self, held: Held) -> bool:
        """Take again what was given back, in the same places; return False where it is gone."""
        is_free = all(
            not np.count_nonzero(self.left[part.node, part.devices] < held.shape.share_milli)
            and self.cpu[part.node] >= part.cpu_milli
            and self.memory[part.node] >= part.memory_mib
            for part in held.parts
        )
        if is_free:
            self.take(held)
        return is_free

    def take(self, held: Held) -> None:
        """Take what a job holds."""
        self._move(held, -1)

    def give_back(self, held: Held) -> None:
        """Give back what a job held."""
        self._move(held, 1)

    def _move(self, held: Held, sign: int) -> None:
        share = held.shape.share_milli
        for node, devices, cpu, memory in held.parts:
            moved = len(devices) * share
            if share == WHOLE:
                self.left[node, devices] = WHOLE if sign > 0 else 0
                self.whole[node] += sign * len(devices)
            else:
                self.left[node, devices] += sign * share
                self.whole[node] = np.count_nonzero(self.left[node] == WHOLE)
            self.total[node] += sign * moved
            if cpu:
                self.cpu[node] += sign * cpu
            if memory:
                self.memory[node] += sign * memory
            if moved:  # a job of processors alone is of no kind
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


def classes_of(jobs: Jobs, sharing: Sharing, *, has_calendar: bool) -> tuple[list[Shape], IntArray]:
    """Return what jobs ask for, and each job's place in that list: who is alike waits alike.

    With a calendar a job's team and time limit also say where it may go.
    """
    shapes, places = shapes_of(jobs, smallest=_slices(sharing))
    if not has_calendar:
        return shapes, places
    columns = (places, jobs.team.codes, jobs.limit_ms)
    classes, places = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    return [shapes[shape] for shape in classes[:, 0].tolist()], places.reshape(-1)


def _slices(sharing: Sharing) -> Sequence[int]:
    match sharing:
        case Sharing.EXACT:
            return ()
        case Sharing.WHOLE:
            return (WHOLE,)
        case Sharing.MIG:
            return MIG_SLICES


def _accepted(jobs: Jobs, cluster: Cluster) -> NDArray[np.bool_]:
    """Return for each name of the jobs' accelerators which of the cluster's models it accepts.

    A node that says nothing of its model is accepted by all.
    """
    wanted = [
        {"", *name.split("|")} if name else set(cluster.model.names) for name in jobs.models.names
    ]
    table = [[model in each for model in cluster.model.names] for each in wanted]
    return np.array(table, dtype=np.bool_)
