"""Holds the free devices of equal nodes: for each number of them the nodes, as bits of a number."""

from collections.abc import Iterable

from perfledger_cost_models.scheduling.policy import PlacementPolicy

# Scores are whole numbers up to 100: on wider nodes two counts of free devices may have one score.
MAX_WIDTH = 50
PLACEMENTS = frozenset(
    {PlacementPolicy.BEST_FIT, PlacementPolicy.FIRST_FIT, PlacementPolicy.WORST_FIT}
)

Portion = tuple[int, int]  # a node, and how many of its devices


class NodeBits:
    """The free devices of equal nodes under a placement policy, one of PLACEMENTS.

    With one node any policy is the same.
    """

    def __init__(self, nodes: int, size: int, placement: PlacementPolicy) -> None:
        self._size = size
        self._count = nodes
        self._is_first_fit = placement is PlacementPolicy.FIRST_FIT
        self._is_best_fit = placement is PlacementPolicy.BEST_FIT
        self._bits = [*[0] * size, (1 << nodes) - 1]
        self._idle = [size] * nodes
        self.free = nodes * size
        self.most = self.free  # no job of more devices fits; one of as many need not fit

    def can_fit(self, devices: int) -> bool:
        """Return whether a job fits on empty nodes."""
        return -(-devices // self._size) <= self._count

    def levels(self) -> tuple[tuple[int, int], ...]:
        """Return counts of free devices, each with the number of nodes that have it."""
        if self._count == 1:
            return ((self.free, 1),)
        return tuple((free, bits.bit_count()) for free, bits in enumerate(self._bits) if bits)

    def idle_counts(self) -> list[int]:
        """Return the number of free devices of each node."""
        return self._idle.copy()

    def nodes_with(self, devices: int) -> int:
        """Return the number of nodes with at least so many free devices."""
        if self._count == 1:
            return int(self.free >= devices)
        return sum(bits.bit_count() for bits in self._bits[devices:])

    def clear(self) -> None:
        """Free all devices."""
        self._bits = [*[0] * self._size, (1 << self._count) - 1]
        self._idle = [self._size] * self._count
        self.free = self.most = self._count * self._size

    def find(self, devices: int) -> tuple[Portion, ...] | None:
        """Return one node for a job, or whole nodes and part of one; None if it does not fit."""
        if devices > self.most:
            return None
        portions: tuple[Portion, ...] | None = None
        if devices <= self._size:
            node = self.node_for(devices)
            if node is not None:
                portions = ((node, devices),)
        elif devices <= self.free:
            portions = self._find_nodes(*divmod(devices, self._size))
        if portions is None:
            self.most = devices - 1
        return portions

    def _find_nodes(self, count: int, rest: int) -> tuple[Portion, ...] | None:
        idle_nodes = self._bits[self._size]
        if idle_nodes.bit_count() < count:
            return None
        portions: list[Portion] = []
        for _ in range(count):
            portions.append((_lowest(idle_nodes), self._size))
            idle_nodes &= idle_nodes - 1
        if rest:
            # The last part takes none of the whole nodes.
            self._bits[self._size], before = idle_nodes, self._bits[self._size]
            node = self.node_for(rest)
            self._bits[self._size] = before
            if node is None:
                return None
            portions.append((node, rest))
        return tuple(portions)

    def take(self, devices: int) -> tuple[Portion, ...] | None:
        """Take devices for a job, of the nodes that `find` returns; None if it does not fit."""
        size = self._size
        if devices <= size and self._is_best_fit and self._count > 1:
            bits = self._bits
            for free in range(devices, size + 1):
                if bits[free]:
                    bit = bits[free] & -bits[free]
                    bits[free] ^= bit
                    bits[free - devices] |= bit
                    node = bit.bit_length() - 1
                    self._idle[node] = free - devices
                    self.free -= devices
                    return ((node, devices),)
            self.most = min(self.most, devices - 1)
            return None
        portions = self.find(devices)
        for portion in portions or ():
            self.move(*portion)
        return portions

    def give_back(self, portions: Iterable[Portion]) -> None:
        """Give back devices of nodes."""
        bits, idle, size = self._bits, self._idle, self._size
        for node, devices in portions:
            free = idle[node]
            rest = free + devices
            bit = 1 << node
            bits[free] ^= bit
            bits[rest] |= bit
            idle[node] = rest
            self.free += devices
            if bits[size]:  # a job gets whole nodes, and a part of one more
                rest = (bits[size].bit_count() + 1) * size - 1
            if rest > self.most:  # noqa: PLR1730 - max() takes longer than all of this
                self.most = rest

    def move(self, node: int, devices: int) -> None:
        """Take devices of a node, or give them back if negative."""
        if devices < 0:
            self.give_back(((node, -devices),))
            return
        free = self._idle[node]
        rest = free - devices
        bit = 1 << node
        self._bits[free] ^= bit
        self._bits[rest] |= bit
        self._idle[node] = rest
        self.free -= devices

    def node_for(self, devices: int) -> int | None:
        """Return the node with the best score, the first of several; None if none has room."""
        if self._count == 1:
            return 0 if self.free >= devices else None
        if self._is_best_fit:
            for bits in self._bits[devices:]:
                if bits:
                    return (bits & -bits).bit_length() - 1
            return None
        fitting = range(devices, self._size + 1)
        if self._is_first_fit:
            return min(
                (_lowest(self._bits[free]) for free in fitting if self._bits[free]), default=None
            )
        fullest = (free for free in reversed(fitting) if self._bits[free])
        return next((_lowest(self._bits[free]) for free in fullest), None)


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1
