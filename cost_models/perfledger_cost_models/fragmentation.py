"""What typical jobs ask for into how much of a node's free devices none of them could use.

Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient
Descent", USENIX ATC 2023, section 4: F_n(M) = sum over tasks m of p_m F_n(m), where F_n(m) is all
that is free on node n if m does not fit or asks for no device, else what is free on devices that
have less than m's share. FGD takes the node, and of it the device, whose F grows least.
"""

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.jobs import WHOLE, IntArray, Jobs
from perfledger_cost_models.room import Room, Shape, shapes_of

# Shapes that make up this share of the jobs count, the most frequent first, as in the paper.
POPULAR = 0.95

FloatArray = NDArray[np.float64]


class Fragmentation:
    """The mix of typical jobs, and the fragmentation that it sees."""

    def __init__(self, jobs: Jobs) -> None:
        shapes, places = shapes_of(jobs)
        counts: dict[tuple[int, int, int, int], int] = {}
        found: list[int] = np.bincount(places).tolist()
        for shape, count in zip(shapes, found, strict=True):
            share = shape.share_milli if shape.devices else 0
            key = (shape.cpu_milli, share, shape.devices, shape.models)
            counts[key] = counts.get(key, 0) + count
        ranked = sorted(counts, key=lambda key: (counts[key], key), reverse=True)
        sums: IntArray = np.cumsum(np.array([counts[key] for key in ranked], np.int64))
        enough: int = int(np.searchsorted(sums, POPULAR * int(sums[-1]))) + 1
        kept = ranked[:enough]
        columns: IntArray = np.array(kept, np.int64).T
        self._cpu, self._share, self._devices, self._models = columns
        weights = np.array([counts[key] for key in kept], np.float64)
        self._weights: FloatArray = weights / weights.sum()

    def amount(self, room: Room, nodes: IntArray) -> FloatArray:
        """Return how many thousandths of devices are fragments on each node."""
        return self._amount(room, room.left[nodes], room.cpu[nodes], room.models[nodes])

    def scores(self, room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
        """Return 100 / (1 + exp(growth)) for each node, growth in devices."""
        after = self._after(room, shape, nodes)
        return _score(self.amount(room, nodes), after.min(axis=1))

    def best_device(self, room: Room, shape: Shape, node: int) -> int:
        """Return the device of a node on which a part of one makes fragments grow least.

        Among equal ones the first, scores being whole numbers.
        """
        nodes = np.array([node])
        after = self._after(room, shape, nodes)[0]
        return int(np.argmax(np.floor(_score(self.amount(room, nodes), after))))

    def _after(self, room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
        """Return the amount on nodes once they hold the job, for each device that it may get.

        Infinite where that device has no room for it.
        """
        left = room.left[nodes]
        count, width = left.shape
        cpu = room.cpu[nodes] - shape.cpu_milli
        models = room.models[nodes]
        if shape.devices != 1 or shape.share_milli == WHOLE:
            rows = left.copy()
            order = np.argsort(np.where(left >= shape.share_milli, left, 2 * WHOLE), kind="stable")
            chosen = order[:, : shape.devices]
            lowered = np.take_along_axis(left, chosen, axis=1) - shape.share_milli
            np.put_along_axis(rows, chosen, lowered, axis=1)
            return self._amount(room, rows, cpu, models)[:, None]
        # One copy of each node for each of its devices, less the job on that one.
        rows = np.repeat(left[:, None, :], width, axis=1)
        places: IntArray = np.arange(width, dtype=np.int64)
        rows[:, places, places] -= shape.share_milli
        fits = left >= shape.share_milli
        amounts = np.full((count, width), np.inf)
        amounts[fits] = self._amount(
            room,
            rows[fits],
            np.repeat(cpu, fits.sum(axis=1)),
            np.repeat(models, fits.sum(axis=1)),
        )
        return amounts

    def _amount(self, room: Room, left: IntArray, cpu: IntArray, models: IntArray) -> FloatArray:
        """Return the amount of states of nodes; each different one is worked out once."""
        states = np.column_stack((left, np.minimum(cpu, self._cpu.max()), models))
        different, places = np.unique(states, axis=0, return_inverse=True)
        left, cpu, models = different[:, :-2], different[:, -2], different[:, -1]
        total = left.sum(axis=1, keepdims=True)
        can_use = left[:, None, :] >= self._share[None, :, None]
        # Of a job that is wider than any node each node holds a part.
        fits = can_use.sum(axis=2) >= np.minimum(self._devices, room.widest)
        fits &= (cpu[:, None] >= self._cpu) & (self._devices > 0)
        fits &= room.accepts[self._models].T[models]
        usable = np.einsum("nmg,ng->nm", can_use, left)
        fragments = total - np.where(fits, usable, 0)
        amounts: FloatArray = fragments @ self._weights
        return amounts[places.reshape(-1)]


def _score(before: FloatArray, after: FloatArray) -> FloatArray:
    scores: FloatArray = 100 / (1 + np.exp((after - before) / WHOLE))
    return scores
