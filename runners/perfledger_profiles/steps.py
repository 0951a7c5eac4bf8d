"""Turn a trace's step markers into the windows that are kept."""

import re
from dataclasses import dataclass, replace

import numpy as np

from perfledger_profiles.breakdown import kept_steps, note_on_steps, windows_of
from perfledger_profiles.kineto_columns import TOOL
from perfledger_profiles.launches import launches_of
from perfledger_profiles.spans import NOBODY, BoolArray, IntArray, Segments, listed, summed
from perfledger_profiles.trace import Kind, Trace

OTHER_PROCESSES = "processes with steps of their own, whose work is left out: {}"
NO_STEPS = "no ProfilerStep markers: the whole trace is taken as one step"

# torch.profiler's own marker, and what people call their ranges: "step 3", "Iteration_12", "batch".
_MARKER = re.compile(r"ProfilerStep#(\d+)")
_RANGE = re.compile(r"(?i)(?:train(?:ing)?|eval)?[ _:]?(?:step|iteration|iter|batch)[ _:#]*(\d*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The steps of a trace; without markers its whole length is one.

    `numbers` are those of the kept windows, as the markers have them. `main` is the lane of the
    thread that takes the steps, `is_marker` says which calls are no work but markers. `found` are
    all steps, with those that do not count.
    """

    found: Segments
    windows: Segments
    numbers: tuple[int, ...]
    main: int
    is_marker: BoolArray
    has_markers: bool
    notes: tuple[str, ...]


def steps_of(trace: Trace) -> Steps:
    """Return the kept steps of a trace, see `kept_steps`."""
    is_marker = _markers(trace)
    main = _main_lane(trace, is_marker)
    marks = np.flatnonzero(is_marker & (trace.lane == main))
    found = windows_of(_spans(trace, marks) if marks.size else _whole(trace))
    kept = kept_steps(found)
    notes = () if marks.size else (NO_STEPS,)
    return Steps(
        found=found,
        windows=kept,
        numbers=_numbers(trace, marks, kept),
        main=main,
        is_marker=is_marker,
        has_markers=marks.size > 0,
        notes=(*notes, *note_on_steps(found, kept)),
    )


def of_one_process(trace: Trace) -> Trace:
    """Leave out what processes with steps of their own started on a device, and say so.

    One recording may be of all ranks of a job. What the others' devices do is no time of the steps
    that are looked at. torch.profiler records one process: where files of several were joined, the
    numbers of their launches are not unique, and do not tell whose work is whose.
    """
    if trace.tool == TOOL:
        return trace
    is_marker = _markers(trace)
    marked = {trace.lanes[lane].process for lane in listed(np.unique(trace.lane[is_marker]))}
    if len(marked) <= 1:
        return trace
    others = marked - {trace.lanes[_main_lane(trace, is_marker)].process}
    is_others = np.array([not lane.is_device and lane.process in others for lane in trace.lanes])
    launched_by = launches_of(trace)
    is_foreign = (launched_by != NOBODY) & is_others[trace.lane[launched_by]]
    note = OTHER_PROCESSES.format(len(others))
    return replace(trace.where(~is_foreign), notes=(*trace.notes, note))


def _markers(trace: Trace) -> BoolArray:
    """Tell which calls are step markers."""
    is_marker = trace.is_on_host & trace.named([_number(n) is not None for n in trace.names])
    if is_marker.any() or trace.tool == TOOL:
        return is_marker
    is_range = trace.named([_RANGE.fullmatch(name) is not None for name in trace.names])
    found: BoolArray = is_range & (trace.kind == Kind.ANNOTATION)
    return found


def _number(name: str) -> int | None:
    found = _MARKER.fullmatch(name)
    return int(found[1][-18:]) if found else None


def _main_lane(trace: Trace, is_marker: BoolArray) -> int:
    """Return the host's thread with the most steps or, without steps, the most time in calls."""
    chosen = is_marker if is_marker.any() else trace.is_on_host
    if not chosen.any():
        return NOBODY
    weight = trace.end_ns - trace.start_ns
    if is_marker.any():
        weight = np.ones_like(weight)
    return int(np.argmax(summed(trace.lane[chosen], weight[chosen], size=len(trace.lanes))))


def _spans(trace: Trace, marks: IntArray) -> list[tuple[int, int]]:
    return list(zip(trace.start_ns[marks].tolist(), trace.end_ns[marks].tolist(), strict=True))


def _whole(trace: Trace) -> list[tuple[int, int]]:
    is_work = trace.is_on_host | trace.is_device_work
    if not is_work.any():
        return []
    return [(int(trace.start_ns[is_work].min()), int(trace.end_ns[is_work].max()))]


def _numbers(trace: Trace, marks: IntArray, kept: Segments) -> tuple[int, ...]:
    """Return what the markers call the kept windows; their places where they have no numbers."""
    by_end = dict(zip(listed(trace.end_ns[marks]), listed(trace.name[marks]), strict=True))
    numbers: list[int] = []
    for place, end in zip(listed(kept.owner), listed(kept.end_ns), strict=True):
        name = trace.names[by_end[end]] if end in by_end else ""
        found = _MARKER.fullmatch(name) or _RANGE.fullmatch(name)
        numbers.append(int(found[1][-18:]) if found and found[1] else place)
    return tuple(numbers)
