"""Finds a trace's steps by markers, or on the device if it ends them later, and the kept ones."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from perfledger.profile import TORCH_PROFILER, OperationFamily
from perfledger.rounding import digits
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.operation_family import family_of
from perfledger_profiles.parsing.units import NS_PER_MS
from perfledger_profiles.timeline.breakdown import note_on_steps, representative_steps, windows_of
from perfledger_profiles.timeline.device_windows import DeviceTiming, time_on_device
from perfledger_profiles.timeline.idle_reasons import waits_for_others
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    sum_by_index,
    to_list,
)
from perfledger_profiles.timeline.launch_links import launched_work
from perfledger_profiles.timeline.trace import CallKind, Trace

NO_STEPS = "no step markers: the whole trace counts as one step"
DEVICE_WINDOW = "no step markers: the time from the device's first work to its last is one step"
SHORT_WINDOW = (
    "the recording is {} ms long, and only {} ms of it are shown, from the device's first "
    "work to its last: what the host does before and after is left out"
)
ITERATIONS = (
    "iterations detected from repeated kernels: {} of {} kernels, one every {} ms; each may be "
    "a step, or a layer of one"
)
NO_DEVICE_WORK = (
    "the program uses a device, but the file has no work of it: record its activity too "
    "(ProfilerActivity.CUDA, nsys --trace=cuda), with one profiler at a time"
)
NO_WORK_OF_DEVICES = (
    "the file lists devices, but neither their work nor launches: operators count as the "
    "CPU's work, which is wrong if they ran on a device that was not recorded"
)
NO_WORK_RECORDED = (
    "the file lists devices, but neither their work nor launches on them: what they did is unknown"
)
ONLY_COLLECTIVES = (
    "the file has collectives and nothing else: whether compute hides them, and what the devices "
    "do between them, is unknown"
)
STUB = (
    "the last step marker is left out: it holds next to no calls, like the one that prof.step() "
    "opens after the last step"
)
LENT_STEPS = "processes without step markers have the steps of the one with the most markers"
STEPS_OVERLAP = (
    "steps overlap on one thread, so the clock went back, or the file joins processes of the same "
    "number: give one file per process"
)

# Share of a typical step's calls: the profiler's end cuts off a marker whose step has not begun.
MAX_STUB_CALLS = 0.1
# Share of a recording: with a larger one, most of it is shown.
SHORT_SHARE = 0.1
# Share of the shorter of two steps: rounding makes neighbours overlap by a microsecond.
MAX_OVERLAP = 0.1
# If they cover less of the steps, the host's calls say nothing about most of them.
MIN_COVERED_SHARE = 0.5
# No call begins before its launch, but clocks are read with an error.
MAX_EARLY_SHARE = 0.5

# Two may be a coincidence.
MIN_REPEATS = 3
# A single repeated kernel says nothing about steps: it may be an element of a loop.
MIN_KERNELS = 2

# torch.profiler's own marker, and common names of ranges: "step 3", "Iteration_12", "batch".
_MARKER = re.compile(r"ProfilerStep#(\d+)")
# When the profiler ends, it waits for the device, in whatever marker is open.
_WAIT = re.compile(r"(?i)synchronize")
_RANGE = re.compile(r"(?i)(?:train(?:ing)?|eval)?[ _:]?(?:step|iteration|iter|batch)[ _:#]*(\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepMarkers:
    """The step markers on the thread that runs the steps; `spans` are disjoint, owned by place.

    `names` are the places of their names in the trace. `numbers` are those in the names, else
    places.
    """

    spans: TimeSegments
    names: IntArray
    numbers: tuple[int, ...]

    def without_last(self) -> "StepMarkers":
        """Return all but the last marker."""
        spans = self.spans.where(self.spans.owner < self.spans.owner.size - 1)
        return StepMarkers(spans=spans, names=self.names[:-1], numbers=self.numbers[:-1])

    def numbers_of(self, windows: TimeSegments) -> tuple[int, ...]:
        """Return the numbers of the markers that own the windows."""
        return tuple(self.numbers[place] for place in to_list(windows.owner))


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelIterations:
    """The repeats of a sequence of kernels; `mean_ns` is the mean from start to start.

    Each may be a step, or one layer of a longer step. `repeats` counts those that are cut off by
    their part.
    """

    count: int  # complete
    repeats: float
    kernels: int
    mean_ns: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSteps:
    """The steps of a trace; without markers, the device's own window is one step.

    `segments` are all steps, `windows` the kept ones and `numbers` their numbers from the markers;
    the owner of each is its marker's place. `call_steps` has shape (n,): the step of each call,
    NO_CALL for none. `main` is the lane of the thread that runs the steps; `is_marker` marks the
    step markers. `is_device_timed` is true if the steps differ from their markers.
    """

    segments: TimeSegments
    windows: TimeSegments
    markers: StepMarkers
    numbers: tuple[int, ...]
    call_steps: IntArray
    main: int
    is_marker: BoolArray
    has_markers: bool
    notes: tuple[str, ...]
    is_device_timed: bool = False
    iterations: KernelIterations | None = None  # without markers

    @property
    def host_windows(self) -> TimeSegments:
        """Return the kept steps by the host's clock: their markers."""
        if not self.is_device_timed:
            return self.windows
        return self.markers.spans.where(np.isin(self.markers.spans.owner, self.windows.owner))

    @property
    def call_windows(self) -> IntArray:
        """Return the kept step of each call, NO_CALL for none."""
        is_kept = np.isin(self.call_steps, self.windows.owner)
        return np.where(is_kept, self.call_steps, NO_CALL)


def steps_of(trace: Trace, launched_by: IntArray, *, lent: TraceSteps | None = None) -> TraceSteps:
    """Return the steps of a trace; see `time_on_device` and `representative_steps`.

    Without markers, they are the steps of another process if `lent` is given; otherwise one step
    from the device's first work to its last. The host's work before that is not part of the step,
    because it may be a server's or a loader's. Without a device, the whole trace is one step.
    """
    is_marker = step_markers(trace)
    main = _main_lane(trace, is_marker)
    markers = _markers(trace, np.flatnonzero(is_marker & (trace.lane == main)))
    notes: tuple[str, ...] = ()
    if _ends_with_stub(trace, markers.spans, main, is_marker):
        markers, notes = markers.without_last(), (STUB,)
    if lent is not None and not markers.names.size:
        markers, notes = lent.markers, (LENT_STEPS,)
    timing = time_on_device(trace, launched_by, markers.spans, markers.names)
    segments, has_markers = markers.spans, bool(markers.names.size)
    if timing is not None:
        segments, has_markers = timing.windows, bool(timing.windows.owner.size)
        notes = (*notes, *timing.notes)
    iterations = None if has_markers else iterations_of(trace)
    if not has_markers:
        spans, unmarked = _unmarked_span(trace, iterations)
        segments, notes = windows_of(spans), notes or unmarked
    windows = representative_steps(segments)
    return TraceSteps(
        segments=segments,
        windows=windows,
        markers=markers,
        numbers=markers.numbers_of(windows) if has_markers else tuple(to_list(windows.owner)),
        call_steps=_call_steps(trace, segments, markers.spans, timing),
        main=main,
        is_marker=is_marker,
        has_markers=has_markers,
        notes=(*notes, *note_on_steps(segments, windows)),
        is_device_timed=timing is not None and has_markers,
        iterations=iterations,
    )


def is_host_known(trace: Trace, launched_by: IntArray, steps: TraceSteps) -> bool:
    """Return whether the host's calls show what a device waits for in its steps.

    They do not if they cover too little of the steps, or if kernels begin before their launches,
    because then the two clocks differ. They explain only gaps whose next work was launched late,
    and only until its launch. They also explain nothing if the file lacks the work that they
    launch, is cut off, or has only a few runtime calls.
    """
    if trace.is_cut_off or trace.lacks_device_work:
        return False
    work = np.flatnonzero(trace.is_device_work)
    if work.size == 0:
        return bool(np.isin(trace.kind, (CallKind.OPERATOR, CallKind.ANNOTATION)).any())
    linked = work[launched_by[work] != NO_CALL]
    early = trace.start_ns[linked] < trace.start_ns[launched_by[linked]]
    if np.count_nonzero(early) > MAX_EARLY_SHARE * linked.size:
        return False
    if waits_for_others(launched_work(trace, launched_by), steps.windows):
        return False
    host = trace.is_on_host & ~steps.is_marker
    if not host.any():
        return False
    span = windows_of([(int(trace.start_ns[host].min()), int(trace.end_ns[host].max()))])
    return intersection_ns(span, steps.windows) >= MIN_COVERED_SHARE * steps.windows.length_ns()


def notes_on_missing_work(trace: Trace) -> tuple[str, ...]:
    """Return a note if the work of the devices is missing, or only their collectives are there."""
    if trace.lacks_device_work:
        return (NO_DEVICE_WORK,)
    if trace.name.size and _is_only_collectives(trace):
        return (ONLY_COLLECTIVES,)
    if not trace.devices or trace.is_device_work.any():
        return ()
    has_operators = bool((trace.kind == CallKind.OPERATOR).any())
    return (NO_WORK_OF_DEVICES if has_operators else NO_WORK_RECORDED,)


def _is_only_collectives(trace: Trace) -> bool:
    """Return whether all calls are collectives on a device, as in a file reduced by a tool."""
    is_collective = trace.find_by_name(
        [family_of(name) is OperationFamily.COMMUNICATION for name in trace.names]
    )
    is_kernel = trace.kind == CallKind.KERNEL
    return bool((is_kernel & is_collective | (trace.kind == CallKind.DEVICE_ANNOTATION)).all())


def iterations_of(trace: Trace) -> KernelIterations | None:
    """Return the repeats on the busiest stream, or None unless all its kernels are part of one.

    The recording may begin and end within a repeat.
    """
    kernels = np.flatnonzero(trace.kind == CallKind.KERNEL)
    if kernels.size == 0:
        return None
    length = trace.end_ns[kernels] - trace.start_ns[kernels]
    spent = sum_by_index(trace.lane[kernels], length, size=len(trace.lanes))
    kernels = kernels[trace.lane[kernels] == np.argmax(spent)]
    kernels = kernels[np.argsort(trace.start_ns[kernels], kind="stable")]
    period = period_of(trace.name[kernels])
    if period < MIN_KERNELS or kernels.size < MIN_REPEATS * period:
        return None
    begins = trace.start_ns[kernels[::period]]
    return KernelIterations(
        count=kernels.size // period,
        repeats=kernels.size / period,
        kernels=period,
        mean_ns=float(np.diff(begins).mean()),
    )


def period_of(names: IntArray) -> int:
    """Return the length of the shortest sequence that, repeated, gives all names.

    The last repeat may be cut off; without repeats it is the number of names. It is the number of
    names less the longest border (Knuth, Morris & Pratt 1977).
    """
    sequence = to_list(names)
    border = [0] * len(sequence)
    length = 0
    for index in range(1, len(sequence)):
        while length and sequence[index] != sequence[length]:
            length = border[length - 1]
        length += sequence[index] == sequence[length]
        border[index] = length
    return len(sequence) - length


def step_markers(trace: Trace) -> BoolArray:
    """Return which calls are step markers."""
    is_named = trace.find_by_name([_MARKER.fullmatch(name) is not None for name in trace.names])
    is_marker = trace.is_on_host & is_named
    if is_marker.any() or trace.tool == TORCH_PROFILER:
        return is_marker
    is_range = trace.find_by_name([_RANGE.fullmatch(name) is not None for name in trace.names])
    is_range_marker: BoolArray = is_range & (trace.kind == CallKind.ANNOTATION)
    return is_range_marker


def _main_lane(trace: Trace, is_marker: BoolArray) -> int:
    """Return the host thread with the most steps or, without steps, with the most time in calls."""
    chosen = is_marker if is_marker.any() else trace.is_on_host
    if not chosen.any():
        return NO_CALL
    weight = trace.end_ns - trace.start_ns
    if is_marker.any():
        weight = np.ones_like(weight)
    return int(np.argmax(sum_by_index(trace.lane[chosen], weight[chosen], size=len(trace.lanes))))


def _markers(trace: Trace, marks: IntArray) -> StepMarkers:
    """Return the markers with a length; overlapping ones begin where the one before ends."""
    starts, ends = to_list(trace.start_ns[marks]), to_list(trace.end_ns[marks])
    spans = windows_of(list(zip(starts, ends, strict=True)))
    by_end = dict(zip(ends, to_list(trace.name[marks]), strict=True))
    if trace.tool == TORCH_PROFILER:
        _check_order(starts, ends)
    names = [by_end[end] for end in to_list(spans.end_ns)]
    numbers = [_number(trace.names[name], index) for index, name in enumerate(names)]
    return StepMarkers(spans=spans, names=np.array(names, dtype=np.int64), numbers=tuple(numbers))


def _ends_with_stub(trace: Trace, spans: TimeSegments, main: int, is_marker: BoolArray) -> bool:
    """Return whether the last marker holds almost none of the calls that the others hold.

    Waits do not count. If the others hold no calls either, it is unknown, and the answer is no.
    """
    if spans.owner.size <= 1:
        return False
    is_wait = trace.find_by_name([_WAIT.search(name) is not None for name in trace.names])
    is_call = trace.is_on_host & (trace.lane == main) & ~is_marker & ~is_wait
    step = spans.at(trace.start_ns[is_call])
    calls = np.bincount(step[step != NO_CALL], minlength=spans.owner.size)
    return bool(calls[-1] < MAX_STUB_CALLS * np.median(calls[:-1]))


def _check_order(starts: Sequence[int], ends: Sequence[int]) -> None:
    """Raise ProfileError if two of torch.profiler's steps overlap on a thread."""
    spans = sorted(zip(starts, ends, strict=True))
    for (start, end), (next_start, next_end) in pairwise(spans):
        shorter = min(end - start, next_end - next_start)
        if min(end, next_end) - next_start > MAX_OVERLAP * shorter:
            raise ProfileError(STEPS_OVERLAP)


def _number(name: str, place: int) -> int:
    match = _MARKER.fullmatch(name) or _RANGE.fullmatch(name)
    return int(match[1][-18:]) if match and match[1] else place


def _call_steps(
    trace: Trace, segments: TimeSegments, markers: TimeSegments, timing: DeviceTiming | None
) -> IntArray:
    """Return the step of each call: by its start or, if the host runs ahead, by its launch.

    In the second case a host call belongs to its marker's step, and work without a launch to the
    step in which it began.
    """
    by_start = segments.at(trace.start_ns)
    if timing is None or not timing.windows.owner.size:
        return by_start
    by_launch = np.where(timing.step != NO_CALL, timing.step, by_start)
    return np.where(trace.is_on_host, markers.at(trace.start_ns), by_launch)


def _unmarked_span(
    trace: Trace, iterations: KernelIterations | None
) -> tuple[list[tuple[int, int]], tuple[str, ...]]:
    """Return the one step of a trace without markers, and notes on it."""
    work = trace.is_device_work
    chosen = work if work.any() else trace.is_on_host
    if not chosen.any():
        return [], (NO_STEPS,)
    span = int(trace.start_ns[chosen].min()), int(trace.end_ns[chosen].max())
    if not work.any():
        return [span], (NO_STEPS,)
    notes = [DEVICE_WINDOW, *_note_on_short_window(trace, span)]
    if iterations is not None:
        mean_ms = iterations.mean_ns / NS_PER_MS
        notes.append(ITERATIONS.format(iterations.count, iterations.kernels, digits(mean_ms, 3)))
    return [span], tuple(notes)


def _note_on_short_window(trace: Trace, span: tuple[int, int]) -> tuple[str, ...]:
    """Return a note if the device works in a small part of what was recorded of the host."""
    is_call = trace.is_on_host | trace.is_device_work
    recorded_ns = int(trace.end_ns[is_call].max()) - int(trace.start_ns[is_call].min())
    shown_ns = span[1] - span[0]
    if shown_ns >= SHORT_SHARE * recorded_ns:
        return ()
    lengths_ms = (recorded_ns / NS_PER_MS, shown_ns / NS_PER_MS)
    return (SHORT_WINDOW.format(*(digits(length, 3) for length in lengths_ms)),)
