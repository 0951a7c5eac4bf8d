"""Assigns each instant of overlapping spans to exactly one of them.

Times are integer nanoseconds, so that shares add up without rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
FloatArray = npt.NDArray[np.float64]

NO_CALL = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSegments:
    """Disjoint segments of time in rising order, and the number of the call that owns each.

    All three arrays have shape (n,); segments are half open, [start_ns, end_ns).
    """

    start_ns: IntArray
    end_ns: IntArray
    owner: IntArray

    def where(self, chosen: BoolArray) -> "TimeSegments":
        """Return the segments whose owner is chosen; `chosen` has one entry per call."""
        mask = chosen[self.owner]
        return TimeSegments(
            start_ns=self.start_ns[mask], end_ns=self.end_ns[mask], owner=self.owner[mask]
        )

    def at(self, times_ns: IntArray) -> IntArray:
        """Return the owner of each instant, NO_CALL if there is none."""
        if self.start_ns.size == 0:
            return np.full(times_ns.shape, NO_CALL, dtype=np.int64)
        index = np.searchsorted(self.start_ns, times_ns, side="right") - 1
        inside = (index >= 0) & (times_ns < self.end_ns[index])
        return np.where(inside, self.owner[index], NO_CALL)

    def length_ns(self) -> int:
        """Return the total time of all segments."""
        return int((self.end_ns - self.start_ns).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedTime:
    """Time in which each instant is divided evenly among the spans that run at it.

    `alone_ns` and `shared_ns` have the shape of `edges`: the total time before each edge in which
    one span runs, and in which several run, divided by their number.
    """

    edges_ns: IntArray
    alone_ns: IntArray
    shared_ns: FloatArray

    def alone_between(self, start_ns: IntArray, end_ns: IntArray) -> IntArray:
        """Return the time from start to end in which nothing else runs; both are edges."""
        begin, end = (np.searchsorted(self.edges_ns, times) for times in (start_ns, end_ns))
        return self.alone_ns[end] - self.alone_ns[begin]

    def between(self, start_ns: IntArray, end_ns: IntArray) -> FloatArray:
        """Return a span's share of the time from start to end; both are edges."""
        begin, end = (np.searchsorted(self.edges_ns, times) for times in (start_ns, end_ns))
        alone = self.alone_ns[end] - self.alone_ns[begin]
        return alone + (self.shared_ns[end] - self.shared_ns[begin])


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanNesting:
    """The nesting of the calls on one timeline.

    `ranked` is the calls' numbers by start, the enclosing call first; `parents[i]` is the number of
    the call around `ranked[i]`, or NO_CALL.
    """

    segments: TimeSegments
    ranked: IntArray
    parents: IntArray

    @property
    def order(self) -> tuple[int, ...]:
        """Return `ranked` as Python integers."""
        return tuple(self.ranked.tolist())

    @property
    def parent_numbers(self) -> tuple[int, ...]:
        """Return `parents` as Python integers."""
        return tuple(self.parents.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedSegments:
    """Pieces of windows: the owning call (NO_CALL if none), the window, and the length."""

    owner: IntArray
    window: IntArray
    length_ns: IntArray


def nest(start_ns: IntArray, end_ns: IntArray, numbers: IntArray) -> SpanNesting:
    """Assign each instant to the call that began last and still runs: the deepest, if calls nest.

    Spans that overlap without nesting (clock rounding, concurrent streams) follow the same rule,
    with a slower algorithm. A call without length owns nothing and contains nothing. All three
    arrays have shape (n,), in any order.
    """
    order = np.lexsort((numbers, -end_ns, start_ns))
    starts, ends = start_ns[order], end_ns[order]
    place = np.flatnonzero(ends > starts)
    long_starts, long_ends = starts[place], ends[place]
    long_parents = nested_parents(long_starts, long_ends)
    if long_parents is None:
        long_parents, cuts = crossing_parents(long_starts, long_ends)
    else:
        cuts = _nested_cuts(long_starts, long_ends, long_parents)
    around = cuts.at(starts)
    around[place] = long_parents
    # Map places among the calls with a length to places among all calls, and those to numbers.
    ranked = numbers[order]
    names = np.append(ranked[place], NO_CALL)
    segments = TimeSegments(start_ns=cuts.start_ns, end_ns=cuts.end_ns, owner=names[cuts.owner])
    return SpanNesting(segments=segments, ranked=ranked, parents=names[around])


def nested_parents(starts: IntArray, ends: IntArray) -> IntArray | None:
    """Return the place of each span's parent, NO_CALL at the top; None unless all spans nest.

    The spans have a length and are sorted by start, the longer one first. The depth at a start is
    the number of spans begun before it minus the number ended; a span's parent is the last span
    before it that is one level up.
    """
    place = np.arange(starts.size, dtype=np.int64)
    depth = place - np.searchsorted(np.sort(ends), starts, side="right")
    size = starts.size + 1
    by_level = np.sort(depth * size + place)
    level_start = (depth - 1) * size
    candidates = by_level[np.searchsorted(by_level, level_start + place) - 1] - level_start
    parents = np.where(depth > 0, candidates, NO_CALL)
    inside = depth > 0
    is_sound = (candidates >= 0) & (candidates < place)
    if not bool(np.all(is_sound[inside])):
        return None
    if bool(np.any(ends[inside] > ends[parents[inside]])):
        return None
    return parents


def crossing_parents(starts: IntArray, ends: IntArray) -> tuple[IntArray, TimeSegments]:
    """Return the place of each span's parent, and the owner of each instant, span by span.

    The spans have a length and are sorted by start, the longer one first.
    """
    begins, stops = starts.tolist(), ends.tolist()
    open_calls: list[int] = []
    parents: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    now = begins[0] if begins else 0
    for index, start in enumerate(begins):
        now = _close(open_calls, stops, cuts, now=now, until=start)
        parents.append(open_calls[-1] if open_calls else NO_CALL)
        open_calls.append(index)
    if begins:
        _close(open_calls, stops, cuts, now=now, until=max(stops))
    table = np.array(cuts, dtype=np.int64).reshape(len(cuts), 3)
    segments = TimeSegments(start_ns=table[:, 0], end_ns=table[:, 1], owner=table[:, 2])
    return np.array(parents, dtype=np.int64), segments


def depths(parents: IntArray) -> IntArray:
    """Return the number of calls around each call; `parents` is the enclosing call, or NO_CALL.

    Each round looks twice as far up as the previous one (pointer doubling).
    """
    places = np.arange(parents.size, dtype=np.int64)
    up = np.where(parents == NO_CALL, places, parents)
    depth: IntArray = (up != places).astype(np.int64)
    while (further := depth[up]).any():
        depth, up = depth + further, up[up]
    return depth


def is_inside(chosen: BoolArray, parents: IntArray) -> BoolArray:
    """Return which calls are chosen or inside a chosen one."""
    places = np.arange(parents.size, dtype=np.int64)
    up = np.where(parents == NO_CALL, places, parents)
    inside = chosen
    while True:
        inside, higher = inside | inside[up], up[up]
        if np.array_equal(higher, up):
            return inside
        up = higher


def union(start_ns: IntArray, end_ns: IntArray) -> TimeSegments:
    """Return the segments in which at least one span runs, merged."""
    order = np.argsort(start_ns, kind="stable")
    starts, ends = start_ns[order], end_ns[order]
    if starts.size == 0:
        return TimeSegments(start_ns=starts, end_ns=ends, owner=starts)
    latest = np.maximum.accumulate(ends)
    begins = np.append(True, starts[1:] > latest[:-1])
    first = np.flatnonzero(begins)
    last = np.append(first[1:], starts.size) - 1
    return TimeSegments(
        start_ns=starts[first], end_ns=latest[last], owner=np.arange(first.size, dtype=np.int64)
    )


def intersection(first: TimeSegments, second: TimeSegments) -> TimeSegments:
    """Return the segments in which both run."""
    # Not numpy.unique, which imports numpy.ma: that takes longer than all the rest.
    edges = np.sort(np.concatenate([first.start_ns, first.end_ns, second.start_ns, second.end_ns]))
    left, right = edges[:-1], edges[1:]
    is_overlap = (left < right) & (first.at(left) != NO_CALL) & (second.at(left) != NO_CALL)
    return TimeSegments(
        start_ns=left[is_overlap],
        end_ns=right[is_overlap],
        owner=np.arange(np.count_nonzero(is_overlap), dtype=np.int64),
    )


def intersection_ns(first: TimeSegments, second: TimeSegments) -> int:
    """Return how long both run."""
    return intersection(first, second).length_ns()


def cut_by_owner(layers: Sequence[TimeSegments], windows: TimeSegments) -> OwnedSegments:
    """Cut the windows where any layer's owner changes; the first layer with an owner wins."""
    parts = (*layers, windows)
    edges = np.sort(np.concatenate([e for s in parts for e in (s.start_ns, s.end_ns)]))
    length = np.diff(edges)
    window = windows.at(edges[:-1])
    is_inside_window = (length > 0) & (window != NO_CALL)
    left = edges[:-1][is_inside_window]
    owner = np.full(left.shape, NO_CALL, dtype=np.int64)
    for layer in layers:
        open_ = np.flatnonzero(owner == NO_CALL)
        owner[open_] = layer.at(left[open_])
    return OwnedSegments(
        owner=owner, window=window[is_inside_window], length_ns=length[is_inside_window]
    )


def run_at_once(start_ns: IntArray, end_ns: IntArray) -> bool:
    """Return whether any two spans overlap."""
    order = np.argsort(start_ns, kind="stable")
    return bool((start_ns[order][1:] < np.maximum.accumulate(end_ns[order])[:-1]).any())


def share_evenly(
    spans: TimeSegments, windows: TimeSegments, *, hidden_by: Sequence[TimeSegments] = ()
) -> SharedTime:
    """Return the spans' time in the windows while none of the other layers runs.

    The spans may overlap, unlike segments.
    """
    parts = (spans, windows, *hidden_by)
    edges = np.sort(np.concatenate([e for s in parts for e in (s.start_ns, s.end_ns)]))
    left, length = edges[:-1], np.diff(edges)
    running = np.searchsorted(np.sort(spans.start_ns), left, side="right")
    running -= np.searchsorted(np.sort(spans.end_ns), left, side="right")
    is_open = windows.at(left) != NO_CALL
    for layer in hidden_by:
        is_open &= layer.at(left) == NO_CALL
    alone = np.where(is_open & (running == 1), length, 0)
    shared = np.where(is_open & (running > 1), length / np.maximum(running, 1), 0.0)
    return SharedTime(
        edges_ns=edges,
        alone_ns=np.concatenate([[0], np.cumsum(alone)]),
        shared_ns=np.concatenate([[0.0], np.cumsum(shared)]),
    )


def to_list(array: IntArray) -> list[int]:
    """Return the numbers as Python integers, which can index tuples."""
    numbers: list[int] = array.tolist()
    return numbers


def sum_by_index(place: IntArray, value: IntArray, *, size: int) -> IntArray:
    """Return the exact sum of the values at each place; the result has shape (size,)."""
    total = np.zeros(size, dtype=np.int64)
    np.add.at(total, place, value)
    return total


def _nested_cuts(starts: IntArray, ends: IntArray, parents: IntArray) -> TimeSegments:
    """Return the owner of each instant: a span from its start, its parent from its end."""
    place = np.arange(starts.size, dtype=np.int64)
    times = np.concatenate([starts, ends])
    owner = np.concatenate([place, parents])
    # At the same instant: ends before starts, inner ends before outer ends, outer starts first.
    tie = np.concatenate([place, -1 - place])
    order = np.lexsort((tie, times))
    times, owner = times[order], owner[order]
    is_owned = (times[1:] > times[:-1]) & (owner[:-1] != NO_CALL)
    return TimeSegments(
        start_ns=times[:-1][is_owned], end_ns=times[1:][is_owned], owner=owner[:-1][is_owned]
    )


def _close(
    open_calls: list[int],
    ends: Sequence[int],
    cuts: list[tuple[int, int, int]],
    *,
    now: int,
    until: int,
) -> int:
    """Assign the time from `now` to `until`, and drop the calls that end on the way."""
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
