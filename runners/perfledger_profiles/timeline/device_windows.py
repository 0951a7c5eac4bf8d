"""Times steps on a device that finishes their work after the host has ended their markers.

The host launches work and goes on. Unless it waits in each step, it runs ahead of the device, by
some kernels or by several steps, and its markers do not show how long a step takes. A step then
lasts until both are done with it, and begins when the previous one ended (torch_tb_profiler also
extends a step to the end of its kernels).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger_profiles.timeline.idle_reasons import KERNEL_WAIT_NS
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    sum_by_index,
    to_list,
    union,
)
from perfledger_profiles.timeline.launch_links import LaunchedWork, launched_work
from perfledger_profiles.timeline.trace import CallKind, Trace

AHEAD = (
    "the host is up to {} step{} ahead of the device: steps are timed on the device, each from the "
    "end of the previous one's work to the end of its own"
)
LATE = (
    "the device ends a step's work after the step's marker: steps are timed on the device, each "
    "from the end of the previous one's work to the end of its own"
)
ANNOTATED = (
    "the recording links too little of the device's work with its launches: steps begin where the "
    "device's own step annotations do, and the last one is left out"
)
LOST = "{} of {} steps left out: the recording lacks some of their work on the device"
UNKNOWN_STEPS = (
    "step time unknown: the device works on after the host's step markers, and the recording does "
    "not show which step this work belongs to; the time from the device's first work to its last "
    "counts as one step"
)
UNKNOWN_DEVICES = "{} of {} devices left out: their steps are unknown"

# A kernel that ends later than its marker by this share of a step moves the step less than noise.
MIN_LATE_SHARE = 0.01
# Unlaunched work between two steps may belong to either; more of it would move their ends.
MAX_AMBIGUOUS_SHARE = 0.02
# If the markers contain less work than this, they were over before it began.
MIN_HELD_SHARE = 0.01
# A call may fail to launch, or belong to the recording of a graph; a cut-off recording lacks more.
MAX_LOST_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTiming:
    """The steps as a device ends them; none if they are unknown, and then `notes` say why.

    The owner of a window is its marker's place. `step` has shape (n,): for each call on the device
    the place of its marker, NO_CALL if it has none or if it is unknown.
    """

    windows: TimeSegments
    step: IntArray
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """The deciding work in order; `step` is a marker's place, NO_CALL for none."""

    start_ns: IntArray
    end_ns: IntArray  # the latest end so far
    step: IntArray
    ambiguous_share: float  # share of the work's time from the first step on


def time_on_device(
    trace: Trace, launched_by: IntArray, markers: TimeSegments, marker_names: IntArray
) -> DeviceTiming | None:
    """Return the steps by the work that their markers launched; None if the markers contain it.

    `launched_by` has shape (n,): the host call that started each call, NO_CALL if unknown.
    `marker_names` are the markers' places in the trace's names. The busiest stream decides, because
    its work ends in launch order. On another stream, a batch may be copied long before its step, or
    a checkpoint written long after.
    """
    work = launched_work(trace, launched_by)
    if work.start_ns.size == 0 or markers.owner.size == 0:
        return None
    windows = windows_by_launches(work, markers)
    if windows is None:
        return _time_by_annotations(trace, work, markers, marker_names)
    if not is_late(windows, markers):
        return None
    step = np.full(trace.name.shape, NO_CALL, dtype=np.int64)
    step[trace.is_device_work] = markers.at(work.launch_ns)
    is_whole = _is_whole(trace, markers)
    whole_windows = windows.where(is_whole)
    if whole_windows.owner.size == 0:
        return _unknown(trace)
    notes = tuple(_notes(whole_windows, markers, lost=int((~is_whole).sum())))
    return DeviceTiming(windows=whole_windows, step=step, notes=notes)


def with_known_steps(has_steps: Sequence[bool]) -> tuple[list[int], tuple[str, ...]]:
    """Return the places of devices with steps (all if none has any), and a note on the others.

    If steps are unknown, a whole recording stands for them; it must not be averaged with steps.
    """
    places = [index for index, is_known in enumerate(has_steps) if is_known]
    if not places or len(places) == len(has_steps):
        return list(range(len(has_steps))), ()
    return places, (UNKNOWN_DEVICES.format(len(has_steps) - len(places), len(has_steps)),)


def windows_by_launches(work: LaunchedWork, markers: TimeSegments) -> TimeSegments | None:
    """Return the markers' windows by the work that they launched, or None if it is unknown."""
    queue = _deciding_work(work, markers.at(work.launch_ns))
    if not (queue.step != NO_CALL).any() or queue.ambiguous_share > MAX_AMBIGUOUS_SHARE:
        return None
    return _windows(queue, markers)


def _deciding_work(launched: LaunchedWork, step: IntArray) -> _Queue:
    """Return the busiest stream's work, or all streams' if a step has no work on it.

    Work without a launch belongs to the step of the work before it.
    """
    is_deciding = _is_on_busiest(launched)
    if not np.isin(step, np.append(step[is_deciding], NO_CALL)).all():
        is_deciding = np.ones_like(is_deciding)
    chosen = np.flatnonzero(is_deciding)
    chosen = chosen[np.argsort(launched.start_ns[chosen], kind="stable")]
    work = launched.where(chosen)
    length_ns = work.end_ns - work.start_ns
    places = np.arange(chosen.size, dtype=np.int64)
    is_linked = work.launch_ns != NO_CALL
    before = np.maximum.accumulate(np.where(is_linked, places, NO_CALL))
    after = np.minimum.accumulate(np.where(is_linked, places, chosen.size)[::-1])[::-1]
    steps = np.append(step[chosen], NO_CALL)  # the last entry: after the last linked work
    of_step = np.where(before == NO_CALL, NO_CALL, steps[before])
    has_begun = before != NO_CALL
    ambiguous_ns = int(length_ns[has_begun & (of_step != steps[after])].sum())
    total_ns = int(length_ns[has_begun].sum())
    return _Queue(
        start_ns=work.start_ns,
        end_ns=np.maximum.accumulate(work.end_ns),
        step=of_step,
        ambiguous_share=ambiguous_ns / total_ns if total_ns else 1.0,
    )


def _is_on_busiest(work: LaunchedWork) -> BoolArray:
    """Return which work is on the stream with the most work."""
    spent = sum_by_index(work.lane, work.end_ns - work.start_ns, size=int(work.lane.max()) + 1)
    is_busiest: BoolArray = work.lane == np.argmax(spent)
    return is_busiest


def _windows(queue: _Queue, markers: TimeSegments) -> TimeSegments:
    """Return each marker's window: from the previous step's end to the end of its own work.

    Neither end is before the marker's, and empty windows are dropped. The previous end is the end
    of all work before the step's first, whether launched by a marker or not. If the device is
    behind, a step that launched nothing has no window.
    """
    count = markers.owner.size
    first, last = _first_and_last(queue, count)
    has_work = first < queue.start_ns.size
    previous = np.where(first > 0, queue.end_ns[np.maximum(first, 1) - 1], markers.start_ns)
    previous[0] = previous[0] if _is_busy_at(queue, int(markers.start_ns[0])) else 0
    begin = np.where(has_work, np.maximum(markers.start_ns, previous), markers.start_ns)
    end = np.where(has_work, np.maximum(markers.end_ns, queue.end_ns[last]), markers.end_ns)
    end = np.maximum.accumulate(end)
    begin[1:] = np.maximum(begin[1:], end[:-1])
    is_kept = end > begin
    return TimeSegments(
        start_ns=begin[is_kept], end_ns=end[is_kept], owner=np.arange(count)[is_kept]
    )


def _is_busy_at(queue: _Queue, time_ns: int) -> bool:
    """Return whether the device works at a time; the queue may hold work launched before it."""
    work = int(np.searchsorted(queue.end_ns, time_ns, side="right"))
    return work < queue.start_ns.size and int(queue.start_ns[work]) <= time_ns + KERNEL_WAIT_NS


def _first_and_last(queue: _Queue, count: int) -> tuple[IntArray, IntArray]:
    """Return the places of each step's first and last work; without work, `first` is the size."""
    mine = np.flatnonzero(queue.step != NO_CALL)
    first = np.full(count, queue.start_ns.size, dtype=np.int64)
    last = np.zeros(count, dtype=np.int64)
    np.minimum.at(first, queue.step[mine], mine)
    np.maximum.at(last, queue.step[mine], mine)
    return first, last


def is_late(windows: TimeSegments, markers: TimeSegments) -> bool:
    """Return whether a step is notably later than its marker."""
    delay_ns = np.maximum(
        windows.start_ns - markers.start_ns[windows.owner],
        windows.end_ns - markers.end_ns[windows.owner],
    )
    return bool(delay_ns.size) and int(delay_ns.max()) > MIN_LATE_SHARE * _typical_ns(markers)


def _is_whole(trace: Trace, markers: TimeSegments) -> BoolArray:
    """Return the markers whose launched work was recorded, on any device.

    A recording may begin or end while work is queued. Calls are considered if a call of their name
    launched any work.
    """
    is_lane = np.array([lane.is_device for lane in trace.lanes], dtype=np.bool_)
    is_work = is_lane[trace.lane] & ((trace.kind == CallKind.LEFT_OUT) | trace.is_device_work)
    is_linkable = trace.is_on_host & (trace.correlation > 0)
    launched = is_linkable & np.isin(trace.correlation, trace.correlation[is_work])
    names = np.zeros(len(trace.names), dtype=np.bool_)
    names[trace.name[launched]] = True
    marker = np.where(is_linkable & names[trace.name], markers.at(trace.start_ns), NO_CALL)
    calls, lost = (
        np.bincount(marker[chosen & (marker != NO_CALL)], minlength=markers.owner.size)
        for chosen in (is_linkable, ~launched)
    )
    is_whole: BoolArray = lost - lost.min() <= MAX_LOST_SHARE * calls
    return is_whole


def lead_note(windows: TimeSegments, markers: TimeSegments) -> str:
    """Return a note on how many markers the host is ahead when the device begins a step."""
    latest = np.searchsorted(markers.start_ns, windows.start_ns, side="right") - 1
    lead = int((latest - windows.owner).max())
    return AHEAD.format(lead, "" if lead == 1 else "s") if lead > 0 else LATE


def _notes(windows: TimeSegments, markers: TimeSegments, *, lost: int) -> Iterator[str]:
    yield lead_note(windows, markers)
    if lost:
        yield LOST.format(lost, markers.owner.size)


def _time_by_annotations(
    trace: Trace, work: LaunchedWork, markers: TimeSegments, marker_names: IntArray
) -> DeviceTiming | None:
    """Return the steps from one device annotation to the next, or None if none is late.

    torch.profiler repeats a marker over the kernels that it launched, but often not over all of
    them, so the end of the last step is unknown.
    """
    on_busiest = work.where(_is_on_busiest(work))
    if on_busiest.lane.size == 0:  # no work took any time
        return None
    begins = _annotation_begins(trace, int(on_busiest.lane[0]), marker_names)
    places = np.flatnonzero(begins != NO_CALL)
    begin = begins[places]
    if not (begin > markers.end_ns[places]).any() and not works_on(on_busiest, markers):
        return None
    is_next = (np.diff(places) == 1) & (np.diff(begin) > 0)
    if not is_next.size or not is_next.all():
        return _unknown(trace)
    windows = TimeSegments(start_ns=begin[:-1], end_ns=begin[1:], owner=places[:-1])
    return replace(_unknown(trace), windows=windows, notes=(ANNOTATED,))


def _annotation_begins(trace: Trace, lane: int, marker_names: IntArray) -> IntArray:
    """Return when each marker begins on a stream, NO_CALL if no annotation has its name."""
    begins = np.full(marker_names.shape, NO_CALL, dtype=np.int64)
    places = {name: index for index, name in enumerate(to_list(marker_names))}
    if len(places) < marker_names.size:
        return begins  # several markers have one name, so it is ambiguous
    is_annotation = trace.kind == CallKind.DEVICE_ANNOTATION
    calls = np.flatnonzero(is_annotation & (trace.lane == lane))
    calls = calls[np.argsort(-trace.start_ns[calls], kind="stable")]  # the first one counts
    for name, start in zip(to_list(trace.name[calls]), to_list(trace.start_ns[calls]), strict=True):
        if name in places:
            begins[places[name]] = start
    return begins


def works_on(
    launched: LaunchedWork, markers: TimeSegments, *, least: float = MIN_LATE_SHARE
) -> bool:
    """Return whether a device works on after the last marker, for at least this share of a marker.

    Work after a pause belongs to something else, unless the markers contain no work.
    """
    work = launched.where(launched.end_ns > launched.start_ns).by_start()
    over_ns = int(markers.end_ns[-1])
    busy = union(work.start_ns, work.end_ns)
    begin, end = busy.start_ns[busy.end_ns > over_ns], busy.end_ns[busy.end_ns > over_ns]
    if begin.size == 0:
        return False
    pauses = begin - np.append(over_ns, end[:-1]) > KERNEL_WAIT_NS
    if intersection_ns(busy, markers) < MIN_HELD_SHARE * markers.length_ns():
        pauses[:] = False
    last = int(np.argmax(pauses)) if pauses.any() else pauses.size
    return last > 0 and int(end[last - 1]) - over_ns > least * _typical_ns(markers)


def _typical_ns(markers: TimeSegments) -> float:
    return float(np.median(markers.end_ns - markers.start_ns))


def _unknown(trace: Trace) -> DeviceTiming:
    none = np.empty(0, dtype=np.int64)
    return DeviceTiming(
        windows=TimeSegments(start_ns=none, end_ns=none, owner=none),
        step=np.full(trace.name.shape, NO_CALL, dtype=np.int64),
        notes=(UNKNOWN_STEPS,),
    )
