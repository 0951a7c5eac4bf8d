"""Turn overlapping spans of time into exclusive shares: each instant belongs to exactly one.

Times are whole nanoseconds, so that shares add up without rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

NOBODY = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Segments:
    """Disjoint stretches of time in rising order, and the number of the call that fills each.

    All three arrays have shape (n,); stretches are half open, [start_ns, end_ns).
    """

    start_ns: IntArray
    end_ns: IntArray
    owner: IntArray

    def where(self, chosen: BoolArray) -> "Segments":
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

    def length_ns(self) -> int:
        """Return the time that all stretches take together."""
        return int((self.end_ns - self.start_ns).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class Nesting:
    """How the calls on one line of time contain each other.

    `ranked` is the calls' numbers by start, the enclosing one first; `around[i]` is the number of
    the call around `ranked[i]`, or NOBODY.
    """

    segments: Segments
    ranked: IntArray
    around: IntArray

    @property
    def order(self) -> tuple[int, ...]:
        """Return `ranked` as numbers to index lists with."""
        return tuple(self.ranked.tolist())

    @property
    def parent(self) -> tuple[int, ...]:
        """Return `around` as numbers to index lists with."""
        return tuple(self.around.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class Owned:
    """Pieces of windows: which call has each (NOBODY if none), in which window, for how long."""

    owner: IntArray
    window: IntArray
    length_ns: IntArray


def nest(start_ns: IntArray, end_ns: IntArray, numbers: IntArray) -> Nesting:
    """Give each instant to the call that began last and still runs: the deepest, if they nest.

    Spans that overlap without nesting (clock rounding, concurrent streams) follow the same rule,
    for which there is only a slow way. A call without length owns nothing and contains nothing.
    All three arrays have shape (n,), in any order.
    """
    order = np.lexsort((numbers, -end_ns, start_ns))
    starts, ends = start_ns[order], end_ns[order]
    place = np.flatnonzero(ends > starts)
    long_starts, long_ends = starts[place], ends[place]
    parents = nested_parents(long_starts, long_ends)
    if parents is None:
        parents, cuts = crossing_parents(long_starts, long_ends)
    else:
        cuts = _nested_cuts(long_starts, long_ends, parents)
    around = cuts.at(starts)
    around[place] = parents
    # From places among the calls with a length to places among all, and on to numbers.
    ranked = numbers[order]
    names = np.append(ranked[place], NOBODY)
    segments = Segments(start_ns=cuts.start_ns, end_ns=cuts.end_ns, owner=names[cuts.owner])
    return Nesting(segments=segments, ranked=ranked, around=names[around])


def nested_parents(starts: IntArray, ends: IntArray) -> IntArray | None:
    """Return the place of the span around each, NOBODY if none is; None unless all spans nest.

    The spans have a length and are sorted by start, the longer one first. How many are open at a
    start is how many began before less how many had ended; the one around a span is then the last
    before it that is one level up.
    """
    place = np.arange(starts.size, dtype=np.int64)
    depth = place - np.searchsorted(np.sort(ends), starts, side="right")
    size = starts.size + 1
    by_level = np.sort(depth * size + place)
    wanted = (depth - 1) * size
    found = by_level[np.searchsorted(by_level, wanted + place) - 1] - wanted
    parents = np.where(depth > 0, found, NOBODY)
    inside = depth > 0
    is_sound = (found >= 0) & (found < place)
    if not bool(np.all(is_sound[inside])):
        return None
    if bool(np.any(ends[inside] > ends[parents[inside]])):
        return None
    return parents


def crossing_parents(starts: IntArray, ends: IntArray) -> tuple[IntArray, Segments]:
    """Return the place of the span open around each, and who has each instant, span by span.

    The spans have a length and are sorted by start, the longer one first.
    """
    begins, stops = starts.tolist(), ends.tolist()
    open_calls: list[int] = []
    parents: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    now = begins[0] if begins else 0
    for index, start in enumerate(begins):
        now = _close(open_calls, stops, cuts, now=now, until=start)
        parents.append(open_calls[-1] if open_calls else NOBODY)
        open_calls.append(index)
    if begins:
        _close(open_calls, stops, cuts, now=now, until=max(stops))
    table = np.array(cuts, dtype=np.int64).reshape(-1, 3)
    segments = Segments(start_ns=table[:, 0], end_ns=table[:, 1], owner=table[:, 2])
    return np.array(parents, dtype=np.int64), segments


def depths(around: IntArray) -> IntArray:
    """Return how many calls are around each; `around` is each call's next outer one, or NOBODY.

    Each round looks twice as far up as the one before.
    """
    own = np.arange(around.size, dtype=np.int64)
    up = np.where(around == NOBODY, own, around)
    depth: IntArray = (up != own).astype(np.int64)
    while (further := depth[up]).any():
        depth, up = depth + further, up[up]
    return depth


def is_inside(chosen: BoolArray, around: IntArray) -> BoolArray:
    """Tell which calls are chosen themselves or have a chosen one around them."""
    own = np.arange(around.size, dtype=np.int64)
    up = np.where(around == NOBODY, own, around)
    found = chosen
    while True:
        found, higher = found | found[up], up[up]
        if np.array_equal(higher, up):
            return found
        up = higher


def union(start_ns: IntArray, end_ns: IntArray) -> Segments:
    """Return when at least one of the spans runs, as few stretches as there can be."""
    order = np.argsort(start_ns, kind="stable")
    starts, ends = start_ns[order], end_ns[order]
    if starts.size == 0:
        return Segments(start_ns=starts, end_ns=ends, owner=starts)
    latest = np.maximum.accumulate(ends)
    begins = np.append(True, starts[1:] > latest[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], starts.size) - 1
    return Segments(
        start_ns=starts[first],
        end_ns=latest[last],
        owner=np.arange(first.size, dtype=np.int64),
    )


def common(one: Segments, other: Segments) -> Segments:
    """Return the stretches in which both are running."""
    # Sorted and no more: numpy.unique imports numpy.ma, which takes longer than all the rest.
    edges = np.sort(np.concatenate([one.start_ns, one.end_ns, other.start_ns, other.end_ns]))
    left, right = edges[:-1], edges[1:]
    both = (left < right) & (one.at(left) != NOBODY) & (other.at(left) != NOBODY)
    return Segments(
        start_ns=left[both],
        end_ns=right[both],
        owner=np.arange(np.count_nonzero(both), dtype=np.int64),
    )


def common_ns(one: Segments, other: Segments) -> int:
    """Return for how long both are running."""
    return common(one, other).length_ns()


def owned(layers: Sequence[Segments], windows: Segments) -> Owned:
    """Cut the windows where any layer's owner changes; the first layer that has one wins."""
    parts = (*layers, windows)
    edges = np.sort(np.concatenate([e for s in parts for e in (s.start_ns, s.end_ns)]))
    length = np.diff(edges)
    window = windows.at(edges[:-1])
    kept = (length > 0) & (window != NOBODY)
    left = edges[:-1][kept]
    owner = np.full(left.shape, NOBODY, dtype=np.int64)
    for layer in layers:
        open_ = np.flatnonzero(owner == NOBODY)
        owner[open_] = layer.at(left[open_])
    return Owned(owner=owner, window=window[kept], length_ns=length[kept])


def listed(array: IntArray) -> list[int]:
    """Return the numbers as Python's own, which index tuples."""
    numbers: list[int] = array.tolist()
    return numbers


def summed(place: IntArray, value: IntArray, *, size: int) -> IntArray:
    """Return the sum of the values at each place, exactly; the result has shape (size,)."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, place, value)
    return total


def _nested_cuts(starts: IntArray, ends: IntArray, parents: IntArray) -> Segments:
    """Return who has each instant: a start gives it to the span, an end back to the one around."""
    place = np.arange(starts.size, dtype=np.int64)
    times = np.concatenate([starts, ends])
    owner = np.concatenate([place, parents])
    # At one instant: ends before starts, inner ends before outer ones, outer starts first.
    tie = np.concatenate([place, -1 - place])
    order = np.lexsort((tie, times))
    times, owner = times[order], owner[order]
    kept = (times[1:] > times[:-1]) & (owner[:-1] != NOBODY)
    return Segments(start_ns=times[:-1][kept], end_ns=times[1:][kept], owner=owner[:-1][kept])


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
