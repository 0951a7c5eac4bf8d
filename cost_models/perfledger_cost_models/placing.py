"""A job's shape and what is free into the node and the devices that a placement policy chooses.

The scores are those of Weng et al., "Beware of Fragmentation" (USENIX ATC 2023), section 5 and the
scheduler plugins published with it: as Kubernetes has them, whole numbers from 0 to 100. Among
equal nodes the first of the list is taken. Only nodes that changed are scored again.
"""

from collections.abc import Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.fragmentation import Fragmentation
from perfledger_cost_models.jobs import WHOLE, IntArray
from perfledger_cost_models.room import Held, Part, Room, Shape
from perfledger_cost_models.scheduling import Locality, Placement

FloatArray = NDArray[np.float64]

_TOP = 100  # Kubernetes' highest score
_NONE = -1.0e9  # the score of a node without room
# Beyond this many changed nodes all are scored again at once.
_MANY = 64


class Placer:
    """Chooses places in a room by one policy, and remembers the scores of nodes."""

    def __init__(
        self,
        room: Room,
        placement: Placement,
        *,
        mix: Fragmentation,
        locality: Locality = Locality.FEWEST,
        seed: int = 0,
    ) -> None:
        self._room = room
        self._placement = placement
        self._locality = locality
        self._mix = mix
        self._random = Random(seed)  # noqa: S311 - no secret
        self._scores: dict[Shape, tuple[FloatArray, int]] = {}
        self._all = np.arange(len(room.size))

    def place(self, shape: Shape, allowed: NDArray[np.bool_] | None = None) -> Held | None:
        """Return where a job goes, None where it has to wait; takes nothing.

        `allowed` says which nodes it may go to at all.
        """
        if shape.devices * shape.share_milli > self._room.free_milli:
            return None
        if shape.devices > self._room.widest:
            held = self._on_whole_nodes(shape, allowed)
        else:
            held = self._on_one_node(shape, allowed)
        is_spread = self._locality is Locality.ANY and shape.share_milli == WHOLE
        if held is None and is_spread and shape.devices:
            return self._anywhere(shape, allowed)
        return held

    def _on_one_node(self, shape: Shape, allowed: NDArray[np.bool_] | None) -> Held | None:
        scores = self._current(shape)
        if allowed is not None:
            scores = np.where(allowed, scores, _NONE)
        node = int(scores.argmax())
        if scores[node] == _NONE:
            return None
        if self._placement is Placement.RANDOM:
            fits = np.flatnonzero(scores > _NONE)
            node = int(fits[self._random.randrange(len(fits))])
        devices = self._devices(shape, node)
        return Held(shape, (Part(node, devices, shape.cpu_milli, shape.memory_mib),))

    def _devices(self, shape: Shape, node: int) -> IntArray:
        is_part = shape.devices == 1 and shape.share_milli < WHOLE
        if is_part and self._placement is Placement.FRAGMENTATION:
            return np.array([self._mix.best_device(self._room, shape, node)])
        if is_part and self._placement is Placement.RANDOM:
            fits = np.flatnonzero(self._room.left[node] >= shape.share_milli)
            return fits[[self._random.randrange(len(fits))]]
        return self._room.tightest(shape, node)

    def _on_whole_nodes(self, shape: Shape, allowed: NDArray[np.bool_] | None) -> Held | None:
        """Place a job that asks for more than any node has: on whole nodes, the rest on one."""
        room = self._room
        count, rest = divmod(shape.devices, room.widest)
        each = _portion(shape, room.widest)
        fits = room.fitting(each, self._all)
        if allowed is not None:
            fits &= allowed
        nodes = np.flatnonzero(fits)[:count]
        if len(nodes) < count:
            return None
        parts = [_part(room, each, int(node)) for node in nodes]
        if rest:
            others = np.ones(len(room.size), np.bool_) if allowed is None else allowed.copy()
            others[nodes] = False
            last = self._on_one_node(_portion(shape, rest), others)
            if last is None:
                return None
            parts += last.parts
        return Held(shape, tuple(parts))

    def _anywhere(self, shape: Shape, allowed: NDArray[np.bool_] | None) -> Held | None:
        """Place a job wherever whole devices are free, the emptiest nodes first."""
        room = self._room
        one = _portion(shape, 1)
        fits = room.fitting(one, self._all)
        if allowed is not None:
            fits &= allowed
        free = np.where(fits, room.whole, 0)
        for asked, has in ((one.cpu_milli, room.cpu), (one.memory_mib, room.memory)):
            if asked:
                free = np.minimum(free, has // asked)
        if free.sum() < shape.devices:
            return None
        parts: list[Part] = []
        wanted = shape.devices
        for node in np.argsort(-free, kind="stable"):
            count = min(wanted, int(free[node]))
            parts.append(_part(room, _portion(shape, count), int(node)))
            wanted -= count
            if not wanted:
                break
        return Held(shape, tuple(parts))

    def _current(self, shape: Shape) -> FloatArray:
        """Return the scores of all nodes for a shape, those of changed nodes made anew."""
        room = self._room
        found = self._scores.get(shape)
        if found is None:
            scores = self._score(shape, self._all)
        else:
            scores, seen = found
            if seen == len(room.changed):
                return scores
            changed = room.changed[seen:] if len(room.changed) - seen < _MANY else None
            rows = self._all if changed is None else self._with_room(shape, scores, changed)
            if len(rows):
                scores[rows] = self._score(shape, rows)
        self._scores[shape] = (scores, len(room.changed))
        return scores

    def _with_room(self, shape: Shape, scores: FloatArray, nodes: Sequence[int]) -> IntArray:
        """Return the nodes to score again: those without room, the most by far, get none here."""
        kept: list[int] = []
        for node in dict.fromkeys(nodes):
            if self._room.may_fit(shape, node):
                kept.append(node)
            else:
                scores[node] = _NONE
        return np.array(kept, np.int64)

    def _score(self, shape: Shape, rows: IntArray) -> FloatArray:
        fits = self._room.fitting(shape, rows)
        fitting = np.count_nonzero(fits)  # several times as fast as all() for the few that changed
        if fitting == len(rows):
            return np.floor(self._raw(shape, rows))
        scores = np.full(len(rows), _NONE)
        if fitting:
            nodes = rows[fits]
            scores[fits] = np.floor(self._raw(shape, nodes))
        return scores

    def _raw(self, shape: Shape, nodes: IntArray) -> FloatArray:
        scores: FloatArray = np.zeros(len(nodes))
        match self._placement:
            case Placement.FIRST_FIT | Placement.RANDOM:
                pass
            case Placement.BEST_FIT:
                scores = _TOP * (1 - _left_over(self._room, shape, nodes))
            case Placement.WORST_FIT:
                scores = _TOP * _left_over(self._room, shape, nodes)
            case Placement.DOT_PRODUCT:
                scores = _TOP * (1 - _alignment(self._room, shape, nodes))
            case Placement.PACKING:
                scores = _packing(self._room, shape, nodes)
            case Placement.CLUSTERING:
                scores = _clustering(self._room, shape, nodes)
            case Placement.FRAGMENTATION:
                scores = self._mix.scores(self._room, shape, nodes)
        return scores


def _left_over(room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
    """Return the mean over resources of what would be left, as a share of the largest node's."""
    asked = shape.devices * shape.share_milli
    devices: FloatArray = (room.total[nodes] - asked) / (room.widest * WHOLE)
    if not room.most_cpu:
        return devices
    return 0.5 * devices + 0.5 * (room.cpu[nodes] - shape.cpu_milli) / room.most_cpu


def _alignment(room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
    """Return the mean product of demand and rest (Grandl et al., SIGCOMM 2014, normalized)."""
    widest = room.widest * WHOLE
    products: FloatArray = (room.total[nodes] / widest) * (
        shape.devices * shape.share_milli / widest
    )
    if not room.most_cpu:
        return products
    cpus = (room.cpu[nodes] / room.most_cpu) * (shape.cpu_milli / room.most_cpu)
    return 0.5 * (products + cpus)


def _packing(room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
    """Score shared devices above free ones of used nodes, those above free nodes."""
    if not shape.devices:
        return np.zeros(len(nodes))
    whole = room.whole[nodes]
    empty = np.maximum(_TOP // 3 - whole, whole).astype(np.float64)
    left = np.sort(np.where(room.left[nodes] >= shape.share_milli, room.left[nodes], 2 * WHOLE))
    used = left[:, : shape.devices]
    is_fresh = used == WHOLE
    fresh: IntArray = np.maximum(_TOP // 2 - np.asarray(is_fresh.sum(axis=1), np.int64), _TOP // 3)
    free_percent: IntArray = np.asarray((used * 100 // WHOLE).sum(axis=1), np.int64)
    shared = np.maximum(_TOP - free_percent // 10, _TOP // 2)
    scores: IntArray = np.where(is_fresh.any(axis=1), fresh, shared)
    found: FloatArray = np.where(whole == room.size[nodes], empty, scores).astype(np.float64)
    return found


def _clustering(room: Room, shape: Shape, nodes: IntArray) -> FloatArray:
    """Score nodes with jobs of the same kind alone, then among others, then empty, then others."""
    if not shape.devices:
        return np.zeros(len(nodes))
    widest = room.widest * WHOLE
    fill: IntArray = (_TOP // 4) * (widest - room.total[nodes]) // widest
    kinds = room.kinds[nodes]
    count = (kinds[:, 1:] > 0).sum(axis=1) + (kinds[:, 0] > 0)
    is_same = kinds[:, shape.kind] > 0
    tier = np.where(is_same, np.where(count == 1, 3, 2), np.where(count == 0, 1, 0))
    scores: FloatArray = (fill + tier * (_TOP // 4)).astype(np.float64)
    return scores


def _portion(shape: Shape, devices: int) -> Shape:
    """Return what some of a job's devices ask for, with as large a part of all else."""
    return shape._replace(
        devices=devices,
        cpu_milli=-(-shape.cpu_milli * devices // shape.devices),
        memory_mib=-(-shape.memory_mib * devices // shape.devices),
    )


def _part(room: Room, shape: Shape, node: int) -> Part:
    return Part(node, room.tightest(shape, node), shape.cpu_milli, shape.memory_mib)
