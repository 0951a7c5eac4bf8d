"""Finds a trace's steps by their markers, and the ones to keep."""

import re
from dataclasses import dataclass, replace

import numpy as np

from perfledger_profiles.timeline.breakdown import note_on_steps, representative_steps, windows_of
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    sum_by_index,
    to_list,
)
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.trace import TORCH_PROFILER, CallKind, Trace

OTHER_PROCESSES = "processes with their own steps, whose work is left out: {}"
NO_STEPS = "no ProfilerStep markers: the whole trace counts as one step"

# torch.profiler's own marker, and common names of ranges: "step 3", "Iteration_12", "batch".
_MARKER = re.compile(r"ProfilerStep#(\d+)")
_RANGE = re.compile(r"(?i)(?:train(?:ing)?|eval)?[ _:]?(?:step|iteration|iter|batch)[ _:#]*(\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSteps:
    """The steps of a trace; without markers its whole length is one step.

    `segments` are all steps, `windows` the kept ones and `numbers` their numbers by the markers.
    `main` is the lane of the thread that takes the steps; `is_marker` marks the step markers.
    """

    segments: TimeSegments
    windows: TimeSegments
    numbers: tuple[int, ...]
    main: int
    is_marker: BoolArray
    has_markers: bool
    notes: tuple[str, ...]


def steps_of(trace: Trace) -> TraceSteps:
    """Return the steps of a trace; see `representative_steps`."""
    is_marker = _markers(trace)
    main = _main_lane(trace, is_marker)
    marks = np.flatnonzero(is_marker & (trace.lane == main))
    segments = windows_of(_spans(trace, marks) if marks.size else _whole_trace(trace))
    windows = representative_steps(segments)
    notes = () if marks.size else (NO_STEPS,)
    return TraceSteps(
        segments=segments,
        windows=windows,
        numbers=_numbers(trace, marks, windows),
        main=main,
        is_marker=is_marker,
        has_markers=marks.size > 0,
        notes=(*notes, *note_on_steps(segments, windows)),
    )


def keep_one_process(trace: Trace) -> Trace:
    """Drop the device work that other processes with their own steps launched, and note it.

    A recording may contain all ranks of a job, and the other ranks' device work is not part of
    these steps. torch.profiler records one process; in joined files its correlation numbers are
    not unique and cannot assign work to processes.
    """
    if trace.tool == TORCH_PROFILER:
        return trace
    is_marker = _markers(trace)
    processes_with_steps = {
        trace.lanes[lane].process for lane in to_list(np.unique(trace.lane[is_marker]))
    }
    if len(processes_with_steps) <= 1:
        return trace
    other_processes = processes_with_steps - {trace.lanes[_main_lane(trace, is_marker)].process}
    is_others = np.array(
        [not lane.is_device and lane.process in other_processes for lane in trace.lanes]
    )
    launched_by = launches_of(trace)
    is_foreign = (launched_by != NO_CALL) & is_others[trace.lane[launched_by]]
    note = OTHER_PROCESSES.format(len(other_processes))
    return replace(trace.where(~is_foreign), notes=(*trace.notes, note))


def _markers(trace: Trace) -> BoolArray:
    """Return which calls are step markers."""
    is_named = trace.find_by_name([_MARKER.fullmatch(name) is not None for name in trace.names])
    is_marker = trace.is_on_host & is_named
    if is_marker.any() or trace.tool == TORCH_PROFILER:
        return is_marker
    is_range = trace.find_by_name([_RANGE.fullmatch(name) is not None for name in trace.names])
    is_range_marker: BoolArray = is_range & (trace.kind == CallKind.ANNOTATION)
    return is_range_marker


def _main_lane(trace: Trace, is_marker: BoolArray) -> int:
    """Return the host thread with the most steps or, without steps, the most time in calls."""
    chosen = is_marker if is_marker.any() else trace.is_on_host
    if not chosen.any():
        return NO_CALL
    weight = trace.end_ns - trace.start_ns
    if is_marker.any():
        weight = np.ones_like(weight)
    return int(np.argmax(sum_by_index(trace.lane[chosen], weight[chosen], size=len(trace.lanes))))


def _spans(trace: Trace, marks: IntArray) -> list[tuple[int, int]]:
    return list(zip(trace.start_ns[marks].tolist(), trace.end_ns[marks].tolist(), strict=True))


def _whole_trace(trace: Trace) -> list[tuple[int, int]]:
    is_work = trace.is_on_host | trace.is_device_work
    if not is_work.any():
        return []
    return [(int(trace.start_ns[is_work].min()), int(trace.end_ns[is_work].max()))]


def _numbers(trace: Trace, marks: IntArray, windows: TimeSegments) -> tuple[int, ...]:
    """Return the markers' numbers of the kept windows, or their places where there are none."""
    by_end = dict(zip(to_list(trace.end_ns[marks]), to_list(trace.name[marks]), strict=True))
    numbers: list[int] = []
    for place, end in zip(to_list(windows.owner), to_list(windows.end_ns), strict=True):
        name = trace.names[by_end[end]] if end in by_end else ""
        match = _MARKER.fullmatch(name) or _RANGE.fullmatch(name)
        numbers.append(int(match[1][-18:]) if match and match[1] else place)
    return tuple(numbers)
