"""Turn labelled calls on timelines into a Profile: exclusive seconds and counts per operation."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, Operation, Profile, Step
from perfledger.records import Side
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.spans import (
    NOBODY,
    IntArray,
    Nesting,
    Segments,
    nest,
    owned,
    summed,
    union,
)

# What is longer than these is most of any step that was looked at; the rest is folded per bucket.
MAX_OPERATIONS = 200
# Of two steps neither can be spared.
MIN_STEPS_TO_CHOOSE = 3
MAX_OVER_MEDIAN = 1.5
# A profile is of a few steps. Each is kept, and what is printed of so many is ten megabytes.
MAX_STEPS = 50_000
OUTSIDE = "(outside operations)"
FOLDED = "(other operations)"

_NS = 1e9
_BUCKETS = {bucket: place for place, bucket in enumerate(Bucket)}


@dataclass(frozen=True, slots=True)
class Label:
    """What calls have in common that are one operation."""

    name: str
    bucket: Bucket
    shapes: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The calls of one device (or of the host, if there is none), and who wins each instant.

    `layers` own calls by their number, the layer that wins first; `windows` are the kept steps.
    `is_counted` says which calls add to an operation's count. `label` is each call's place in
    `labels`; without it there is one label per call.
    """

    labels: Sequence[Label]
    label: IntArray | None = None
    start_ns: IntArray
    is_counted: npt.NDArray[np.bool_]
    layers: Sequence[Segments]
    windows: Segments


class Spanned(Protocol):
    """Anything with a beginning and an end, in nanoseconds."""

    @property
    def start_ns(self) -> int:
        """Return when it began."""
        ...

    @property
    def end_ns(self) -> int:
        """Return when it was over."""
        ...


def nest_calls(calls: Sequence[Spanned], numbers: Sequence[int]) -> Nesting:
    """Nest these of the calls, which share a line of time."""
    return nest(
        np.array([calls[number].start_ns for number in numbers], dtype=np.int64),
        np.array([calls[number].end_ns for number in numbers], dtype=np.int64),
        np.array(numbers, dtype=np.int64),
    )


def union_of(calls: Sequence[Spanned]) -> Segments:
    """Return the disjoint stretches in which at least one of the calls runs."""
    return union(
        np.array([call.start_ns for call in calls], dtype=np.int64),
        np.array([call.end_ns for call in calls], dtype=np.int64),
    )


def windows_of(spans: Sequence[tuple[int, int]]) -> Segments:
    """Return steps as disjoint windows: in order, empty ones left out, overlaps cut off.

    Raises ProfileError when there are more than any profile has.
    """
    if len(spans) > MAX_STEPS:
        msg = f"the profile has more than {MAX_STEPS} steps: profile fewer of them"
        raise ProfileError(msg)
    kept: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        begin = max(start, kept[-1][1]) if kept else start
        if end > begin:
            kept.append((begin, end))
    table = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return Segments(
        start_ns=table[:, 0], end_ns=table[:, 1], owner=np.arange(len(kept), dtype=np.int64)
    )


def kept_steps(windows: Segments) -> Segments:
    """Leave out the first of at least three steps, then those far longer than the median.

    Starting the profiler costs the first one up to tens of milliseconds. The median is what is
    judged (step_time_p50), and a step that something else held up would bend the mean.
    """
    if windows.owner.size < MIN_STEPS_TO_CHOOSE:
        return windows
    rest = windows.where(windows.owner > 0)
    length_ns = rest.end_ns - rest.start_ns
    is_kept = np.ones(windows.owner.size, dtype=np.bool_)
    is_kept[rest.owner] = length_ns <= MAX_OVER_MEDIAN * np.median(length_ns)
    return rest.where(is_kept)


def note_on_steps(found: Segments, kept: Segments) -> tuple[str, ...]:
    """Say how many steps were left out for being slow; nothing if none was."""
    slow = found.owner.size - kept.owner.size - (found.owner.size >= MIN_STEPS_TO_CHOOSE)
    if slow == 0:
        return ()
    return (f"{slow} of {found.owner.size} steps left out: far longer than the median",)


def breakdown(
    timelines: Sequence[Timeline],
    *,
    workload: str,
    side: Side,
    tool: str,
    dropped_events: int = 0,
    notes: Sequence[str] = (),
) -> Profile:
    """Return the mean step over all windows of all timelines.

    A step of `each_step` is the mean over the timelines that have a window by its number.
    Raises ProfileError when there is no window with a length.
    """
    windows = sum(timeline.windows.owner.size for timeline in timelines)
    if windows == 0:
        msg = "the profile has no step with a length: profile at least one whole step"
        raise ProfileError(msg)
    spent_ns: dict[Label, int] = defaultdict(int)
    calls: dict[Label, int] = defaultdict(int)
    steps_ns = [_add(timeline, spent_ns, calls) for timeline in timelines]
    operations = [
        Operation(
            name=label.name,
            bucket=label.bucket,
            seconds=spent_ns[label] / windows / _NS,
            count=calls[label] / windows,
            shapes=label.shapes,
            path=label.path,
        )
        for label in spent_ns
    ]
    return Profile(
        workload=workload,
        side=side,
        tool=tool,
        steps=max(timeline.windows.owner.size for timeline in timelines),
        step_seconds=sum(spent_ns.values()) / windows / _NS,
        operations=folded(operations),
        dropped_events=dropped_events,
        notes=tuple(notes),
        each_step=_each_step(timelines, steps_ns),
    )


def folded(operations: Sequence[Operation], *, most: int = MAX_OPERATIONS) -> tuple[Operation, ...]:
    """Return the longest operations, and what the rest amounts to in each bucket, longest first."""
    ranked = sorted(operations, key=_rank)
    rest = {bucket: [one for one in ranked[most:] if one.bucket is bucket] for bucket in Bucket}
    sums = [
        Operation(
            name=FOLDED,
            bucket=bucket,
            seconds=sum(one.seconds for one in group),
            count=sum(one.count for one in group),
        )
        for bucket, group in rest.items()
        if group
    ]
    return tuple(sorted([*ranked[:most], *sums], key=_rank))


def _add(timeline: Timeline, spent_ns: dict[Label, int], calls: dict[Label, int]) -> IntArray:
    """Add up the calls by label; return the nanoseconds by window and bucket."""
    label = timeline.label
    if label is None:
        label = np.arange(len(timeline.labels), dtype=np.int64)
    pieces = owned(timeline.layers, timeline.windows)
    # What no call accounts for has the place after the last label.
    size = len(timeline.labels) + 1
    labelled = np.append(label, size - 1)[pieces.owner]
    spent = summed(labelled, pieces.length_ns, size=size)
    begun = timeline.is_counted & (timeline.windows.at(timeline.start_ns) != NOBODY)
    count = np.bincount(label[begun], minlength=size)
    labels = (*timeline.labels, Label(OUTSIDE, Bucket.OTHER))
    for number in np.flatnonzero((spent > 0) | (count > 0)).tolist():
        spent_ns[labels[number]] += int(spent[number])
        calls[labels[number]] += int(count[number])
    bucket = np.array([_BUCKETS[each.bucket] for each in labels], dtype=np.int64)
    window = np.searchsorted(timeline.windows.owner, pieces.window)
    place = window * len(Bucket) + bucket[labelled]
    steps = timeline.windows.owner.size
    by_step = summed(place, pieces.length_ns, size=steps * len(Bucket))
    return by_step.reshape(steps, len(Bucket))


def _each_step(
    timelines: Sequence[Timeline], steps_ns: Sequence[npt.NDArray[np.int64]]
) -> tuple[Step, ...]:
    longest = max(timelines, key=lambda timeline: timeline.windows.owner.size)
    steps: list[Step] = []
    for place, number in enumerate(longest.windows.owner.tolist()):
        rows = [by_step[place] for by_step in steps_ns if place < len(by_step)]
        mean = tuple((np.mean(rows, axis=0) / _NS).tolist())
        steps.append(Step(number=number, seconds=sum(mean), buckets=mean))
    return tuple(steps)


def _rank(operation: Operation) -> tuple[float, str, str, str]:
    return -operation.seconds, operation.name, operation.path, operation.shapes
