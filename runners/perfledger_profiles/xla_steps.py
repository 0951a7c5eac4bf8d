"""Turn timelines and their kept steps into each step's buckets and the picture of a median one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, Slice, Step
from perfledger_profiles.breakdown import Label, Timeline, nest_calls
from perfledger_profiles.spans import NOBODY, IntArray, Segments
from perfledger_profiles.xla_host import Labelled

# More than a picture shows; the longest are kept.
MAX_SLICES = 2_000

_NS = 1e9
_BUCKETS = {bucket: number for number, bucket in enumerate(Bucket)}
_OTHER = _BUCKETS[Bucket.OTHER]

Shares = npt.NDArray[np.float64]


def each_step(timelines: Sequence[Timeline]) -> tuple[Step, ...]:
    """Return the kept steps with their buckets, each the mean over the devices that have it.

    Buckets are exclusive, by the timeline's layers, and sum to the step.
    """
    shares = [_bucket_ns(timeline) for timeline in timelines]
    most = max((len(each) for each in shares), default=0)
    longest = next((t.windows for t in timelines if t.windows.owner.size == most), None)
    numbers: list[int] = [] if longest is None else longest.owner.tolist()
    steps: list[Step] = []
    for place, number in enumerate(numbers):
        row = np.mean([each[place] for each in shares if place < len(each)], axis=0) / _NS
        steps.append(Step(number=number, seconds=float(row.sum()), buckets=tuple(row.tolist())))
    return tuple(steps)


def median_window(windows: Segments) -> tuple[int, int] | None:
    """Return the beginning and the end of the step nearest to the median; None without a step."""
    if windows.owner.size == 0:
        return None
    length = windows.end_ns - windows.start_ns
    place = int(np.argmin(np.abs(length - np.median(length))))
    return int(windows.start_ns[place]), int(windows.end_ns[place])


def slices_of(
    lanes: Sequence[tuple[tuple[int, int], Mapping[str, Sequence[Labelled]]]],
) -> tuple[Slice, ...]:
    """Return the longest calls of some windows, lane by lane, by their start.

    Each entry is a window, as `median_window` gives it, and the lanes that are drawn in it. What
    sticks out of the window is cut off.
    """
    drawn = [
        each
        for window, named in lanes
        for lane, calls in named.items()
        for each in _nested(lane, calls, window)
    ]
    if len(drawn) > MAX_SLICES:
        longest = sorted(range(len(drawn)), key=lambda number: -drawn[number].length_ns)
        drawn = [drawn[number] for number in sorted(longest[:MAX_SLICES])]
    return tuple(each.slice() for each in drawn)


@dataclass(slots=True)
class _Drawn:
    """A call as it is drawn in its window."""

    lane: str
    label: Label
    start_ns: int  # since the window began
    length_ns: int
    depth: int

    def slice(self) -> Slice:
        """Return it as a profile has it."""
        return Slice(
            lane=self.lane,
            name=self.label.name,
            bucket=self.label.bucket,
            start_seconds=self.start_ns / _NS,
            seconds=self.length_ns / _NS,
            depth=self.depth,
        )


def _bucket_ns(timeline: Timeline) -> Shares:
    """Return the nanoseconds that each bucket has of each window, of shape (windows, buckets)."""
    windows = timeline.windows
    parts = (*timeline.layers, windows)
    edges = np.unique(np.concatenate([e for s in parts for e in (s.start_ns, s.end_ns)]))
    left, length = edges[:-1], np.diff(edges)
    owner: IntArray = np.full(left.shape, NOBODY, dtype=np.int64)
    for layer in timeline.layers:
        owner = np.where(owner == NOBODY, layer.at(left), owner)
    # The last entry is for NOBODY, whose number is -1.
    bucket = np.array([*(_BUCKETS[label.bucket] for label in timeline.labels), _OTHER])
    inside = windows.at(left) != NOBODY
    place = np.searchsorted(windows.start_ns, left[inside], side="right") - 1
    table = np.zeros((windows.owner.size, len(_BUCKETS)), dtype=np.float64)
    np.add.at(table, (place, bucket[owner[inside]]), length[inside])
    return table


def _nested(lane: str, calls: Sequence[Labelled], window: tuple[int, int]) -> Iterator[_Drawn]:
    begin, end = window
    seen = [call for call in calls if call.start_ns < end and call.end_ns > begin]
    nesting = nest_calls(seen, range(len(seen)))
    depths: dict[int, int] = {NOBODY: -1}
    for number, parent in zip(nesting.order, nesting.parent, strict=True):
        call = seen[number]
        depths[number] = depths[parent] + 1
        start_ns = max(call.start_ns, begin)
        length_ns = min(call.end_ns, end) - start_ns
        yield _Drawn(lane, call.label, start_ns - begin, length_ns, depths[number])
