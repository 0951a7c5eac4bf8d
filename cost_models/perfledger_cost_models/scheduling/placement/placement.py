"""Chooses the nodes and devices of a job by a placement policy.

The scores are those of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), section 5, and of
the scheduler plugins published with it: whole numbers from 0 to 100, as in Kubernetes. The first of
equal nodes is chosen. Only nodes that changed are scored again.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import numpy as np

from perfledger_cost_models.arrays import BoolArray, FloatArray, IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.cluster import Cluster
from perfledger_cost_models.scheduling.placement.fragmentation import Fragmentation
from perfledger_cost_models.scheduling.placement.free_devices import (
    FreeDevices,
    JobAllocation,
    NodeAllocation,
    ResourceRequest,
)
from perfledger_cost_models.scheduling.placement.whole_devices import WholeDevices, are_whole
from perfledger_cost_models.scheduling.policy import Locality, PlacementPolicy, SchedulingPolicy

_TOP = 100  # Kubernetes' highest score
_NONE = -1.0e9  # the score of a node that the job does not fit
# Beyond this many changed nodes all are scored again at once.
MANY_CHANGED_NODES = 64


def devices_and_placer(
    jobs: JobTable,
    cluster: Cluster,
    nodes: IntArray,
    policy: SchedulingPolicy,
    *,
    has_calendar: bool,
    seed: int,
) -> tuple[FreeDevices | WholeDevices, "JobPlacer | WholeDevices", Callable[[], float]]:
    """Return a pool's free devices, what places jobs on them, and what measures unusable ones.

    `seed` is that of random placement.
    """
    if are_whole(jobs, cluster, nodes, policy) and not has_calendar:
        whole_devices = WholeDevices(jobs, cluster, nodes, policy)
        return whole_devices, whole_devices, whole_devices.unusable
    free_devices, fragmentation = FreeDevices(cluster, nodes, jobs), Fragmentation(jobs)
    placer = JobPlacer(
        free_devices,
        policy.placement,
        fragmentation=fragmentation,
        locality=policy.locality,
        seed=seed,
    )
    return free_devices, placer, partial(fragmentation.total, free_devices)


class JobPlacer:
    """A placement policy on free devices, with cached scores of the nodes."""

    def __init__(
        self,
        free_devices: FreeDevices,
        placement: PlacementPolicy,
        *,
        fragmentation: Fragmentation,
        locality: Locality = Locality.FEWEST,
        seed: int = 0,
    ) -> None:
        self._free_devices = free_devices
        self._placement = placement
        self._locality = locality
        self._fragmentation = fragmentation
        self._random = Random(seed)  # noqa: S311 - no secret
        self._scores: dict[ResourceRequest, tuple[FloatArray, int]] = {}
        self._all = np.arange(len(free_devices.size))

    def place(
        self, request: ResourceRequest, allowed: BoolArray | None = None
    ) -> JobAllocation | None:
        """Return the allocation for a request; None if it does not fit. Takes nothing.

        `allowed` are the nodes that it may use.
        """
        if request.devices * request.share_milli > self._free_devices.free_milli:
            return None
        if request.devices > self._free_devices.widest:
            allocation = self._on_whole_nodes(request, allowed)
        else:
            allocation = self._on_one_node(request, allowed)
        is_spread = self._locality is Locality.ANY and request.share_milli == WHOLE_DEVICE
        if allocation is None and is_spread and request.devices:
            return self._anywhere(request, allowed)
        return allocation

    def claim(
        self, request: ResourceRequest, allowed: BoolArray | None = None
    ) -> JobAllocation | None:
        """Take the devices of a request and return their allocation; None if it does not fit."""
        allocation = self.place(request, allowed)
        if allocation is not None:
            self._free_devices.take(allocation)
        return allocation

    def _on_one_node(
        self, request: ResourceRequest, allowed: BoolArray | None
    ) -> JobAllocation | None:
        scores = self._current(request)
        if allowed is not None:
            scores = np.where(allowed, scores, _NONE)
        node = int(scores.argmax())
        if scores[node] == _NONE:
            return None
        if self._placement is PlacementPolicy.RANDOM:
            fits = np.flatnonzero(scores > _NONE)
            node = int(fits[self._random.randrange(len(fits))])
        devices = self._devices(request, node)
        return JobAllocation(
            request, (NodeAllocation(node, devices, request.cpu_milli, request.memory_mib),)
        )

    def _devices(self, request: ResourceRequest, node: int) -> IntArray:
        is_part = request.devices == 1 and request.share_milli < WHOLE_DEVICE
        if is_part and self._placement is PlacementPolicy.FRAGMENTATION:
            return np.array([self._fragmentation.best_device(self._free_devices, request, node)])
        if is_part and self._placement is PlacementPolicy.RANDOM:
            fits = np.flatnonzero(self._free_devices.left[node] >= request.share_milli)
            return fits[[self._random.randrange(len(fits))]]
        return self._free_devices.tightest(request, node)

    def _on_whole_nodes(
        self, request: ResourceRequest, allowed: BoolArray | None
    ) -> JobAllocation | None:
        """Place a request larger than any node: on whole nodes, and the remainder on one more."""
        free_devices = self._free_devices
        count, rest = divmod(request.devices, free_devices.widest)
        portion = _portion(request, free_devices.widest)
        fits = free_devices.fitting(portion, self._all)
        if allowed is not None:
            fits &= allowed
        nodes = np.flatnonzero(fits)[:count]
        if len(nodes) < count:
            return None
        parts = [_part(free_devices, portion, int(node)) for node in nodes]
        if rest:
            remaining = (
                np.ones(len(free_devices.size), np.bool_) if allowed is None else allowed.copy()
            )
            remaining[nodes] = False
            last = self._on_one_node(_portion(request, rest), remaining)
            if last is None:
                return None
            parts += last.nodes
        return JobAllocation(request, tuple(parts))

    def _anywhere(self, shape: ResourceRequest, allowed: BoolArray | None) -> JobAllocation | None:
        """Place a request wherever whole devices are free, the emptiest nodes first."""
        free_devices = self._free_devices
        portion = _portion(shape, 1)
        fits = free_devices.fitting(portion, self._all)
        if allowed is not None:
            fits &= allowed
        free = np.where(fits, free_devices.idle_count, 0)
        for request, has in (
            (portion.cpu_milli, free_devices.cpu),
            (portion.memory_mib, free_devices.memory),
        ):
            if request:
                free = np.minimum(free, has // request)
        if free.sum() < shape.devices:
            return None
        parts: list[NodeAllocation] = []
        missing = shape.devices
        for node in np.argsort(-free, kind="stable"):
            count = min(missing, int(free[node]))
            parts.append(_part(free_devices, _portion(shape, count), int(node)))
            missing -= count
            if not missing:
                break
        return JobAllocation(shape, tuple(parts))

    def _current(self, request: ResourceRequest) -> FloatArray:
        """Return the scores of all nodes for a request; changed nodes are scored again."""
        free_devices = self._free_devices
        cached = self._scores.get(request)
        if cached is None:
            scores = self._score(request, self._all)
        else:
            scores, version = cached
            if version == len(free_devices.changed_nodes):
                return scores
            changed = (
                free_devices.changed_nodes[version:]
                if len(free_devices.changed_nodes) - version < MANY_CHANGED_NODES
                else None
            )
            rows = self._all if changed is None else self._rows_to_score(request, scores, changed)
            if len(rows):
                scores[rows] = self._score(request, rows)
        self._scores[request] = (scores, len(free_devices.changed_nodes))
        return scores

    def _rows_to_score(
        self, request: ResourceRequest, scores: FloatArray, nodes: Sequence[int]
    ) -> IntArray:
        """Return the nodes to score again; nodes that cannot fit, the majority, get _NONE here."""
        fitting: list[int] = []
        for node in dict.fromkeys(nodes):
            if self._free_devices.may_fit(request, node):
                fitting.append(node)
            else:
                scores[node] = _NONE
        return np.array(fitting, np.int64)

    def _score(self, request: ResourceRequest, rows: IntArray) -> FloatArray:
        fits = self._free_devices.fitting(request, rows)
        fitting = np.count_nonzero(fits)  # several times faster than all() for a few nodes
        if fitting == len(rows):
            return np.floor(self._raw(request, rows))
        scores = np.full(len(rows), _NONE)
        if fitting:
            nodes = rows[fits]
            scores[fits] = np.floor(self._raw(request, nodes))
        return scores

    def _raw(self, request: ResourceRequest, nodes: IntArray) -> FloatArray:
        scores: FloatArray = np.zeros(len(nodes))
        match self._placement:
            case PlacementPolicy.FIRST_FIT | PlacementPolicy.RANDOM:
                pass
            case PlacementPolicy.BEST_FIT:
                scores = _TOP * (1 - _left_over(self._free_devices, request, nodes))
            case PlacementPolicy.WORST_FIT:
                scores = _TOP * _left_over(self._free_devices, request, nodes)
            case PlacementPolicy.DOT_PRODUCT:
                scores = _TOP * (1 - _alignment(self._free_devices, request, nodes))
            case PlacementPolicy.PACKING:
                scores = _packing(self._free_devices, request, nodes)
            case PlacementPolicy.CLUSTERING:
                scores = _clustering(self._free_devices, request, nodes)
            case PlacementPolicy.FRAGMENTATION:
                scores = self._fragmentation.scores(self._free_devices, request, nodes)
        return scores


def _left_over(free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray) -> FloatArray:
    """Return the mean free share of resources after placement, relative to the largest node."""
    requested_milli = request.devices * request.share_milli
    devices: FloatArray = (free_devices.total[nodes] - requested_milli) / (
        free_devices.widest * WHOLE_DEVICE
    )
    if not free_devices.most_cpu:
        return devices
    return (
        0.5 * devices + 0.5 * (free_devices.cpu[nodes] - request.cpu_milli) / free_devices.most_cpu
    )


def _alignment(free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray) -> FloatArray:
    """Return the mean product of request and free share (Grandl et al., SIGCOMM 2014)."""
    widest = free_devices.widest * WHOLE_DEVICE
    products: FloatArray = (free_devices.total[nodes] / widest) * (
        request.devices * request.share_milli / widest
    )
    if not free_devices.most_cpu:
        return products
    cpus = (free_devices.cpu[nodes] / free_devices.most_cpu) * (
        request.cpu_milli / free_devices.most_cpu
    )
    return 0.5 * (products + cpus)


def _packing(free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray) -> FloatArray:
    """Score shared devices above free devices of used nodes, and these above free nodes."""
    if not request.devices:
        return np.zeros(len(nodes))
    idle_devices = free_devices.idle_count[nodes]
    empty = np.maximum(_TOP // 3 - idle_devices, idle_devices).astype(np.float64)
    left = np.sort(
        np.where(
            free_devices.left[nodes] >= request.share_milli,
            free_devices.left[nodes],
            2 * WHOLE_DEVICE,
        )
    )
    used = left[:, : request.devices]
    is_fresh = used == WHOLE_DEVICE
    fresh: IntArray = np.maximum(_TOP // 2 - np.asarray(is_fresh.sum(axis=1), np.int64), _TOP // 3)
    free_percent: IntArray = np.asarray((used * 100 // WHOLE_DEVICE).sum(axis=1), np.int64)
    shared = np.maximum(_TOP - free_percent // 10, _TOP // 2)
    scores: IntArray = np.where(is_fresh.any(axis=1), fresh, shared)
    return np.where(idle_devices == free_devices.size[nodes], empty, scores).astype(np.float64)


def _clustering(free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray) -> FloatArray:
    """Score nodes with only jobs of the same kind first, then mixed, empty and other nodes."""
    if not request.devices:
        return np.zeros(len(nodes))
    widest = free_devices.widest * WHOLE_DEVICE
    fill: IntArray = (_TOP // 4) * (widest - free_devices.total[nodes]) // widest
    kinds = free_devices.kinds[nodes]
    count = (kinds > 0).sum(axis=1)
    is_same = kinds[:, request.kind] > 0
    tier = np.where(is_same, np.where(count == 1, 3, 2), np.where(count == 0, 1, 0))
    scores: FloatArray = (fill + tier * (_TOP // 4)).astype(np.float64)
    return scores


def _portion(request: ResourceRequest, devices: int) -> ResourceRequest:
    """Return the request of some of a job's devices, with the same share of its other resources."""
    return request._replace(
        devices=devices,
        cpu_milli=-(-request.cpu_milli * devices // request.devices),
        memory_mib=-(-request.memory_mib * devices // request.devices),
    )


def _part(free_devices: FreeDevices, request: ResourceRequest, node: int) -> NodeAllocation:
    return NodeAllocation(
        node, free_devices.tightest(request, node), request.cpu_milli, request.memory_mib
    )
