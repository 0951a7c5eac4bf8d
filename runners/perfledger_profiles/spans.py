"""Turn overlapping spans of time into exclusive shares: each instant belongs to exactly one.

Times are whole nanoseconds, so that shares add up without rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]

NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Disjoint stretches of time in rising order, and the number of the call that fills each.

    All three arrays have shape (n,); stretches are half open, [start_ns, end_ns).
    """

    start_ns: IntArray
    end_ns: IntArray
    owner: IntArray

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Segments":
        """Return the stretches whose owner is chosen; `chosen` has one entry per call."""
        mask = chosen[self.owner]
        return Segments(
            start_ns=self.start_ns[mask], end_ns=self.end_ns[mask], owner=self.owner[mask]
        )

    def at(self, times_ns: IntArray) -> IntArray:
        """Return who owns each of these instants, NOBODY where no one does."""
        if self.start_ns.size == 0:
            return np.full(times_ns.shape, NOBODY, dtype=np.int64)
        index = np.searchsorted(self.start_ns, times_ns, side="right") - 1
        inside = (index >= 0) & (times_ns < self.end_ns[index])
        return np.where(inside, self.owner[index], NOBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """How the calls on one line of time contain each other.

    `order` is the calls' numbers by start, the enclosing one first; `parent[i]` is the number of
    the call around `order[i]`, or NOBODY.
    """

    segments: Segments
    order: tuple[int, ...]
    parent: tuple[int, ...]


def nest(start_ns: IntArray, end_ns: IntArray, numbers: IntArray) -> Nesting:
    """Give each instant to the call that began last and still runs: the deepest, if they nest.

    Spans that overlap without nesting (clock rounding, concurrent streams) follow the same rule.
    All three arrays have shape (n,), in any order.
    """
    order = np.lexsort((numbers, -end_ns, start_ns))
    starts, ends = start_ns[order].tolist(), end_ns[order].tolist()
    open_calls: list[int] = []
    parents: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    now = starts[0] if starts else 0
    for index, start in enumerate(starts):
        now = _close(open_calls, ends, cuts, now=now, until=start)
        parents.append(open_calls[-1] if open_calls else NOBODY)
        open_calls.append(index)
    if starts:
        _close(open_calls, ends, cuts, now=now, until=max(ends))
    ranked = numbers[order]
    table = np.array(cuts, dtype=np.int64).reshape(-1, 3)
    names = ranked.tolist()
    return Nesting(
        segments=Segments(start_ns=table[:, 0], end_ns=table[:, 1], owner=ranked[table[:, 2]]),
        order=tuple(names),
        parent=tuple(NOBODY if index == NOBODY else names[index] for index in parents),
    )


def exclusive_ns(layers: Sequence[Segments], windows: Segments, *, calls: int) -> IntArray:
    """Return each call's nanoseconds inside the windows; the first layer that has an owner wins.

    The result has shape (calls + 1,): its last entry is the time that no layer accounts for, so
    that it always sums to the length of the windows.
    """
    parts = (*layers, windows)
    edges = np.sort(np.concatenate([e for s in parts for e in (s.start_ns, s.end_ns)]))
    length = np.diff(edges)
    left, length = edges[:-1][length > 0], length[length > 0]
    owner = np.full(left.shape, NOBODY, dtype=np.int64)
    for layer in layers:
        owner = np.where(owner == NOBODY, layer.at(left), owner)
    inside = windows.at(left) != NOBODY
    shares = np.zeros(calls + 1, dtype=np.int64)
    np.add.at(shares, owner[inside], length[inside])
    return shares


def _close(
    open_calls: list[int],
    ends: Sequence[int],
    cuts: list[tuple[int, int, int]],
    *,
    now: int,
    until: int,
) -> int:
    """Share out the time from `now` to `until`, and forget the calls that end on the way."""
    while open_calls:
        last = open_calls[-1]
        end = min(ends[last], until)
        if end > now:
            cuts.append((now, end, last))
            now = end
        if ends[last] > until:
            break
        open_calls.pop()
    return until
