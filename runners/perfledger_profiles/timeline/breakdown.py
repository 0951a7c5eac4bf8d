"""Breaks labelled calls down into exclusive seconds and counts per operation."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, Operation, Profile, ProfiledStep
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    FloatArray,
    IntArray,
    OwnedSegments,
    SpanNesting,
    TimeSegments,
    cut_by_owner,
    nest,
    share_evenly,
    sum_by_index,
    to_list,
    union,
)

# The longest 200 make up most of every step seen so far; the rest is summed per bucket.
MAX_OPERATIONS = 200
# With two steps, neither can be left out.
MIN_STEPS_TO_CHOOSE = 3
MAX_OVER_MEDIAN = 1.5
# Each step is kept; printed, this many are ten megabytes.
MAX_STEPS = 50_000
# Seconds of single calls: a window of a check has about ten thousand. More are not kept.
MAX_CALL_TIMES = 1_000_000
# The buckets of a device's own work, in order of priority.
DEVICE_ORDER = (
    Bucket.COMPUTE,
    Bucket.COMMUNICATION,
    Bucket.PEER_COPY,
    Bucket.DEVICE_COPY,
    Bucket.COPY,
    Bucket.MEMSET,
)
OUTSIDE_OPERATIONS = "(outside operations)"
OTHER_OPERATIONS = "(other operations)"

_BUCKETS = {bucket: index for index, bucket in enumerate(Bucket)}


@dataclass(frozen=True, slots=True)
class CallLabel:
    """What the calls of one operation have in common."""

    name: str
    bucket: Bucket
    shapes: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTimeline:
    """The calls of one device (of the host if there is none), and the owner of each instant.

    `layers` refer to calls by number, the layer with the highest priority first; `windows` are the
    kept steps. If calls of a layer run at once, the layer's entry in `shared` holds their spans,
    and they share its time evenly; otherwise the entry is None. `is_counted` marks the calls that
    add to an operation's count. `label` is each call's place in `labels`; without it there is one
    label per call. `call_window` is the window in which each call counts; without it, the one in
    which the call starts.
    """

    labels: Sequence[CallLabel]
    label: IntArray | None = None
    call_window: IntArray | None = None
    start_ns: IntArray
    is_counted: npt.NDArray[np.bool_]
    layers: Sequence[TimeSegments]
    windows: TimeSegments
    shared: Sequence[TimeSegments | None] = ()


# If steps are timed on the device: its time between a kernel and the next in its queue.
BETWEEN_KERNELS = CallLabel("(between kernels)", Bucket.COMPUTE)


class TimeSpan(Protocol):
    """A span of time, in nanoseconds."""

    @property
    def start_ns(self) -> int:
        """Return the start."""
        ...

    @property
    def end_ns(self) -> int:
        """Return the end."""
        ...


def nest_calls(calls: Sequence[TimeSpan], numbers: Sequence[int]) -> SpanNesting:
    """Nest the numbered calls, which share a timeline."""
    return nest(
        np.array([calls[number].start_ns for number in numbers], dtype=np.int64),
        np.array([calls[number].end_ns for number in numbers], dtype=np.int64),
        np.array(numbers, dtype=np.int64),
    )


def union_of(calls: Sequence[TimeSpan]) -> TimeSegments:
    """Return the disjoint segments in which at least one call runs."""
    return union(
        np.array([call.start_ns for call in calls], dtype=np.int64),
        np.array([call.end_ns for call in calls], dtype=np.int64),
    )


def windows_of(spans: Sequence[tuple[int, int]]) -> TimeSegments:
    """Return steps as disjoint windows: sorted, without empty ones, overlaps cut off.

    Raises ProfileError above MAX_STEPS.
    """
    if len(spans) > MAX_STEPS:
        msg = f"the profile has more than {MAX_STEPS} steps: profile fewer"
        raise ProfileError(msg)
    windows: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        begin = max(start, windows[-1][1]) if windows else start
        if end > begin:
            windows.append((begin, end))
    table = np.array(windows, dtype=np.int64).reshape(len(windows), 2)
    return TimeSegments(
        start_ns=table[:, 0], end_ns=table[:, 1], owner=np.arange(len(windows), dtype=np.int64)
    )


def representative_steps(windows: TimeSegments) -> TimeSegments:
    """Drop the first of at least three steps, then those far longer than the median.

    Starting the profiler costs the first step up to tens of milliseconds. The judged metric is the
    median (step_time_p50), and an outlier would distort the mean.
    """
    if windows.owner.size < MIN_STEPS_TO_CHOOSE:
        return windows
    length_ns = windows.end_ns - windows.start_ns
    is_kept = length_ns <= MAX_OVER_MEDIAN * np.median(length_ns[1:])
    is_kept[0] = False
    return TimeSegments(
        start_ns=windows.start_ns[is_kept],
        end_ns=windows.end_ns[is_kept],
        owner=windows.owner[is_kept],
    )


def note_on_steps(windows: TimeSegments, representative: TimeSegments) -> tuple[str, ...]:
    """Return a note on how many slow steps were left out, empty if none."""
    slow = (
        windows.owner.size - representative.owner.size - (windows.owner.size >= MIN_STEPS_TO_CHOOSE)
    )
    if slow == 0:
        return ()
    return (f"{slow} of {windows.owner.size} steps left out: far longer than the median",)


def breakdown(
    timelines: Sequence[CallTimeline],
    *,
    workload: str,
    side: Side,
    tool: str,
    dropped_events: int = 0,
    notes: Sequence[str] = (),
) -> Profile:
    """Return the mean step over all windows of all timelines.

    A step of `each_step` is the mean over the timelines that have a window of its number. Raises
    ProfileError if no window has a length.
    """
    windows = sum(timeline.windows.owner.size for timeline in timelines)
    if windows == 0:
        msg = "the profile has no step with a length: profile at least one complete step"
        raise ProfileError(msg)
    spent_ns: dict[CallLabel, float] = defaultdict(float)
    calls: dict[CallLabel, int] = defaultdict(int)
    steps_ns = [_add(timeline, spent_ns, calls) for timeline in timelines]
    operations = [
        Operation(
            name=label.name,
            bucket=label.bucket,
            seconds=spent_ns[label] / windows / NS_PER_S,
            count=calls[label] / windows,
            shapes=label.shapes,
            path=label.path,
        )
        for label in spent_ns
    ]
    listed = longest_operations(operations)
    return Profile(
        workload=workload,
        side=side,
        tool=tool,
        steps=max(timeline.windows.owner.size for timeline in timelines),
        step_seconds=sum(spent_ns.values()) / windows / NS_PER_S,
        operations=listed,
        call_times=_times_of_steps(timelines, listed),
        dropped_events=dropped_events,
        notes=tuple(notes),
        each_step=_each_step(timelines, steps_ns),
    )


def longest_operations(
    operations: Sequence[Operation], *, most: int = MAX_OPERATIONS
) -> tuple[Operation, ...]:
    """Return the longest operations, longest first, and the sum of the others per bucket."""
    ranked = sorted(operations, key=_rank)
    rest = {bucket: [one for one in ranked[most:] if one.bucket is bucket] for bucket in Bucket}
    sums = [
        Operation(
            name=OTHER_OPERATIONS,
            bucket=bucket,
            seconds=sum(one.seconds for one in group),
            count=sum(one.count for one in group),
        )
        for bucket, group in rest.items()
        if group
    ]
    return tuple(sorted([*ranked[:most], *sums], key=_rank))


def _add(
    timeline: CallTimeline, spent_ns: dict[CallLabel, float], calls: dict[CallLabel, int]
) -> IntArray:
    """Add the calls up by label; return the nanoseconds by window and bucket."""
    label = _label_numbers(timeline)
    pieces = cut_by_owner(timeline.layers, timeline.windows)
    size = len(timeline.labels) + 1
    labelled = label[pieces.owner]
    spent = sum_by_index(labelled, pieces.length_ns, size=size).astype(np.float64)
    excess_ns = _even_excess(timeline, pieces, timeline.windows)
    if excess_ns is not None:
        spent += np.bincount(label[:-1], weights=excess_ns, minlength=size)
    begun = timeline.is_counted & (_call_windows(timeline) != NO_CALL)
    count = np.bincount(label[:-1][begun], minlength=size)
    labels = (*timeline.labels, CallLabel(OUTSIDE_OPERATIONS, Bucket.OTHER))
    for number in np.flatnonzero((spent > 0) | (count > 0)).tolist():
        spent_ns[labels[number]] += float(spent[number])
        calls[labels[number]] += int(count[number])
    bucket = np.array([_BUCKETS[each.bucket] for each in labels], dtype=np.int64)
    window = np.searchsorted(timeline.windows.owner, pieces.window)
    place = window * len(Bucket) + bucket[labelled]
    steps = timeline.windows.owner.size
    by_step = sum_by_index(place, pieces.length_ns, size=steps * len(Bucket))
    return by_step.reshape(steps, len(Bucket))


def _times_of_steps(
    timelines: Sequence[CallTimeline], operations: Sequence[Operation]
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the seconds of each operation's calls in each step; of several devices, the mean.

    That is each operation's time in a step of its number, as of one call.
    """
    devices = [_call_times(timeline, operations) for timeline in timelines]
    if len(devices) == 1 or not all(devices):
        return devices[0] if len(devices) == 1 else ()
    by_number: dict[int, list[tuple[tuple[float, ...], ...]]] = defaultdict(list)
    for timeline, steps in zip(timelines, devices, strict=True):
        for number, step in zip(to_list(timeline.windows.owner), steps, strict=True):
            by_number[number].append(step)
    return tuple(
        tuple((sum(map(sum, calls)) / len(steps),) for calls in zip(*steps, strict=True))
        for _, steps in sorted(by_number.items())
    )


def _call_times(
    timeline: CallTimeline, operations: Sequence[Operation]
) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return the seconds of each operation's calls in each window, in the order of their starts.

    A call whose time belongs entirely to others took 0. Empty if there would be too many values.
    """
    windows, calls = timeline.windows.owner, timeline.start_ns.size
    size = calls + 1  # the last one is for time without a call
    if size * windows.size > MAX_CALL_TIMES:
        return ()
    rows = {_label_of(one): row for row, one in enumerate(operations)}
    rests = {one.bucket: row for row, one in enumerate(operations) if one.name == OTHER_OPERATIONS}
    labels = (*timeline.labels, CallLabel(OUTSIDE_OPERATIONS, Bucket.OTHER))
    row_of_label = np.array(
        [rows.get(label, rests.get(label.bucket, NO_CALL)) for label in labels], dtype=np.int64
    )
    row_of = row_of_label[_label_numbers(timeline)]
    pieces = cut_by_owner(timeline.layers, timeline.windows)
    owner = np.where(pieces.owner == NO_CALL, calls, pieces.owner)
    place = np.searchsorted(windows, pieces.window) * size + owner
    spent = sum_by_index(place, pieces.length_ns, size=windows.size * size)
    by_window = spent.reshape(windows.size, size) + _evened_by_window(timeline, pieces, size)
    first_window = np.append(_call_windows(timeline), NO_CALL)
    is_in = (by_window > 0) | (first_window == windows[:, np.newaxis])
    order = np.append(np.argsort(timeline.start_ns, kind="stable"), calls)
    steps: list[tuple[tuple[float, ...], ...]] = []
    for seconds, is_call in zip(by_window / NS_PER_S, is_in, strict=True):
        times: list[list[float]] = [[] for _ in operations]
        chosen = order[is_call[order]]
        durations: list[float] = seconds[chosen].tolist()
        for row, one in zip(to_list(row_of[chosen]), durations, strict=True):
            if row != NO_CALL:
                times[row].append(one)
        steps.append(tuple(map(tuple, times)))
    return tuple(steps)


def _even_excess(
    timeline: CallTimeline, pieces: OwnedSegments, windows: TimeSegments
) -> FloatArray | None:
    """Return the excess of each call's even share of the windows over its pieces, None without any.

    Of calls that run at once, one owns all of the layer's pieces.
    """
    calls = timeline.start_ns.size
    if not any(spans is not None for spans in timeline.shared):
        return None
    excess_ns = np.zeros(calls)
    for index, spans in enumerate(timeline.shared):
        if spans is None:
            continue
        time = share_evenly(spans, windows, hidden_by=timeline.layers[:index])
        share_ns = time.between(spans.start_ns, spans.end_ns)
        is_mine = np.zeros(calls + 1, dtype=np.bool_)
        is_mine[spans.owner] = True
        is_shared = is_mine[pieces.owner] & np.isin(pieces.window, windows.owner)
        owned_ns = sum_by_index(pieces.owner[is_shared], pieces.length_ns[is_shared], size=calls)
        excess_ns += np.bincount(spans.owner, weights=share_ns, minlength=calls) - owned_ns
    return excess_ns


def _evened_by_window(timeline: CallTimeline, pieces: OwnedSegments, size: int) -> FloatArray:
    """Return `_even_excess` for each window, of shape (windows, size)."""
    windows = timeline.windows
    excess_ns = np.zeros((windows.owner.size, size))
    for row, owner in enumerate(to_list(windows.owner)):
        is_row = windows.owner == owner
        window = TimeSegments(
            start_ns=windows.start_ns[is_row],
            end_ns=windows.end_ns[is_row],
            owner=windows.owner[is_row],
        )
        more_ns = _even_excess(timeline, pieces, window)
        if more_ns is None:
            break
        excess_ns[row, : more_ns.size] = more_ns
    return excess_ns


def _label_numbers(timeline: CallTimeline) -> IntArray:
    """Return the place of each call's label; time without a call has the last one."""
    label = timeline.label
    if label is None:
        label = np.arange(len(timeline.labels), dtype=np.int64)
    return np.append(label, len(timeline.labels))


def _call_windows(timeline: CallTimeline) -> IntArray:
    if timeline.call_window is not None:
        return timeline.call_window
    return timeline.windows.at(timeline.start_ns)


def _label_of(operation: Operation) -> CallLabel:
    return CallLabel(operation.name, operation.bucket, operation.shapes, operation.path)


def _each_step(
    timelines: Sequence[CallTimeline], steps_ns: Sequence[npt.NDArray[np.int64]]
) -> tuple[ProfiledStep, ...]:
    longest = max(timelines, key=lambda timeline: timeline.windows.owner.size)
    by_number = [
        dict(zip(to_list(timeline.windows.owner), by_step, strict=True))
        for timeline, by_step in zip(timelines, steps_ns, strict=True)
    ]
    steps: list[ProfiledStep] = []
    for number in to_list(longest.windows.owner):
        rows = [table[number] for table in by_number if number in table]
        mean = tuple((np.mean(rows, axis=0) / NS_PER_S).tolist())
        steps.append(ProfiledStep(number=number, seconds=sum(mean), buckets=mean))
    return tuple(steps)


def _rank(operation: Operation) -> tuple[float, str, str, str]:
    return -operation.seconds, operation.name, operation.path, operation.shapes
