"""Measures fragmentation: the free devices of a node that typical jobs cannot use.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023, section 4: F_n(M) = sum over tasks m of p_m F_n(m), where F_n(m) is
everything free on node n if m does not fit or requests no device, else the free part of devices
with less than m's share. FGD chooses the node, and its device, whose F grows least.
"""

import numpy as np

from perfledger_cost_models.arrays import FloatArray, IntArray
from perfledger_cost_models.job_logs.table import WHOLE_DEVICE, JobTable
from perfledger_cost_models.scheduling.placement.free_devices import (
    FreeDevices,
    ResourceRequest,
    resource_requests,
)

# The most frequent requests that make up this share of the jobs count, as in the paper.
POPULAR = 0.95


class Fragmentation:
    """The mix of typical jobs, and the fragmentation it implies."""

    def __init__(self, jobs: JobTable) -> None:
        shapes, places = resource_requests(jobs)
        counts: dict[tuple[int, int, int, int], int] = {}
        shape_counts: list[int] = np.bincount(places).tolist()
        for request, count in zip(shapes, shape_counts, strict=True):
            share = request.share_milli if request.devices else 0
            key = (request.cpu_milli, share, request.devices, request.models)
            counts[key] = counts.get(key, 0) + count
        ranked = sorted(counts, key=lambda key: (counts[key], key), reverse=True)
        sums: IntArray = np.cumsum(np.array([counts[key] for key in ranked], np.int64))
        enough: int = int(np.searchsorted(sums, POPULAR * int(sums[-1]))) + 1
        typical = ranked[:enough]
        columns: IntArray = np.array(typical, np.int64).T
        self._cpu, self._share, self._devices, self._models = columns
        weights = np.array([counts[key] for key in typical], np.float64)
        self._weights: FloatArray = weights / weights.sum()

    def amount(self, free_devices: FreeDevices, nodes: IntArray) -> FloatArray:
        """Return the thousandths of devices that are fragments on each node."""
        return self._amount(
            free_devices,
            free_devices.left[nodes],
            free_devices.cpu[nodes],
            free_devices.models[nodes],
        )

    def total(self, free_devices: FreeDevices) -> float:
        """Return the thousandths of devices that are fragments on all nodes."""
        return float(self.amount(free_devices, np.arange(len(free_devices.size))).sum())

    def scores(
        self, free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray
    ) -> FloatArray:
        """Return 100 / (1 + exp(growth)) for each node, growth in devices."""
        after = self._after(free_devices, request, nodes)
        return _score(self.amount(free_devices, nodes), after.min(axis=1))

    def best_device(self, free_devices: FreeDevices, request: ResourceRequest, node: int) -> int:
        """Return the device on which a shared request makes fragments grow least.

        Scores are whole numbers; the first of equal devices is chosen.
        """
        nodes = np.array([node])
        after = self._after(free_devices, request, nodes)[0]
        return int(np.argmax(np.floor(_score(self.amount(free_devices, nodes), after))))

    def _after(
        self, free_devices: FreeDevices, request: ResourceRequest, nodes: IntArray
    ) -> FloatArray:
        """Return the amount on nodes after placing the job, for each device that it may get.

        It is infinite if the job does not fit the device.
        """
        left = free_devices.left[nodes]
        count, width = left.shape
        cpu = free_devices.cpu[nodes] - request.cpu_milli
        models = free_devices.models[nodes]
        if request.devices != 1 or request.share_milli == WHOLE_DEVICE:
            rows = left.copy()
            order = np.argsort(np.where(left >= request.share_milli, left, np.inf), kind="stable")
            chosen = order[:, : request.devices]
            lowered = np.take_along_axis(left, chosen, axis=1) - request.share_milli
            np.put_along_axis(rows, chosen, lowered, axis=1)
            return self._amount(free_devices, rows, cpu, models)[:, None]
        # One copy of each node for each of its devices, with the job on that device.
        rows = np.repeat(left[:, None, :], width, axis=1)
        places: IntArray = np.arange(width, dtype=np.int64)
        rows[:, places, places] -= request.share_milli
        fits = left >= request.share_milli
        amounts = np.full((count, width), np.inf)
        amounts[fits] = self._amount(
            free_devices,
            rows[fits],
            np.repeat(cpu, fits.sum(axis=1)),
            np.repeat(models, fits.sum(axis=1)),
        )
        return amounts

    def _amount(
        self, free_devices: FreeDevices, left: IntArray, cpu: IntArray, models: IntArray
    ) -> FloatArray:
        """Return the amount of node states; each distinct state is computed once."""
        states = np.column_stack((left, np.minimum(cpu, self._cpu.max()), models))
        different, places = np.unique(states, axis=0, return_inverse=True)
        left, cpu, models = different[:, :-2], different[:, -2], different[:, -1]
        total = left.sum(axis=1, keepdims=True)
        can_use = left[:, None, :] >= self._share[None, :, None]
        # A job that is wider than any node has a part on each node.
        fits = can_use.sum(axis=2) >= np.minimum(self._devices, free_devices.widest)
        fits &= (cpu[:, None] >= self._cpu) & (self._devices > 0)
        fits &= free_devices.accepts[self._models].T[models]
        usable = np.einsum("nmg,ng->nm", can_use, left)
        fragments = total - np.where(fits, usable, 0)
        amounts: FloatArray = fragments @ self._weights
        return amounts[places.ravel()]


def _score(before: FloatArray, after: FloatArray) -> FloatArray:
    return 100 / (1 + np.exp((after - before) / WHOLE_DEVICE))
