"""Times steps on a device that ends their work after the host has ended their markers.

The host launches work and goes on. Unless it waits in each step, it runs ahead of the device, by
some kernels or by several steps, and its markers say little of how long a step takes. A step then
lasts until both are done with it, and begins when the previous one ended (as torch_tb_profiler
extends a step to the end of its kernels).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from perfledger_profiles.timeline.idle_reasons import KERNEL_WAIT_NS
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    sum_by_index,
    to_list,
)
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
    "not show which step this work is of; the time from the device's first work to its last counts "
    "as one step"
)

# A kernel that ends this much of a step after its marker moves the step less than its noise.
MIN_LATE_SHARE = 0.01
# Work without a launch, between two steps, may be of either: more of it would move their ends.
MAX_AMBIGUOUS_SHARE = 0.02
# A call may fail to launch, or be of a graph's recording; a cut recording lacks more.
MAX_LOST_SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTiming:
    """The steps as a device ends them; none where they are unknown, and `notes` say why.

    The owner of a window is its marker's place, as is `step`: (n,), of each call that the device
    worked on, NO_CALL where it is of none or unknown.
    """

    windows: TimeSegments
    step: IntArray
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Queue:
    """The work that decides, in order; `step` is a marker's place, NO_CALL for none."""

    lanes: IntArray
    start_ns: IntArray
    end_ns: IntArray  # of it and of all before it
    step: IntArray
    ambiguous_share: float  # of the time of its work from the first step on


def time_on_device(
    trace: Trace, launched_by: IntArray, markers: TimeSegments, marker_names: IntArray
) -> DeviceTiming | None:
    """Return the steps by the work that their markers launched; None if the markers hold it.

    `launched_by` has shape (n,): the host call that started each call, NO_CALL where unknown.
    `marker_names` are the markers' places in the trace's names. The busiest stream decides, because
    its work ends in the order of its launches: on another one, a batch may be copied long before
    its step, or a checkpoint written long after.
    """
    work = np.flatnonzero(trace.is_device_work)
    if work.size == 0 or markers.owner.size == 0:
        return None
    step = _launched_in(trace, launched_by, markers)
    queue = _deciding_work(trace, launched_by, step)
    if not (queue.step != NO_CALL).any() or queue.ambiguous_share > MAX_AMBIGUOUS_SHARE:
        return _time_by_annotations(trace, queue, markers, marker_names)
    windows = _windows(queue, markers)
    if not _is_late(windows, markers):
        return None
    is_whole = _is_whole(trace, markers)
    whole_windows = windows.where(is_whole)
    if whole_windows.owner.size == 0:
        return _unknown(trace)
    notes = tuple(_notes(whole_windows, markers, lost=int((~is_whole).sum())))
    return DeviceTiming(windows=whole_windows, step=step, notes=notes)


def _launched_in(trace: Trace, launched_by: IntArray, markers: TimeSegments) -> IntArray:
    """Return the marker in which each device call was launched; autograd's thread counts too."""
    step = np.full(trace.name.shape, NO_CALL, dtype=np.int64)
    calls = np.flatnonzero(trace.is_device_work & (launched_by != NO_CALL))
    step[calls] = markers.at(trace.start_ns[launched_by[calls]])
    return step


def _deciding_work(trace: Trace, launched_by: IntArray, step: IntArray) -> _Queue:
    """Return the busiest stream's work, all streams' if a step has none there.

    Work without a launch is of the step of the work before it.
    """
    work = np.flatnonzero(trace.is_device_work)
    length = trace.end_ns - trace.start_ns
    spent = sum_by_index(trace.lane[work], length[work], size=len(trace.lanes))
    on_busiest = work[trace.lane[work] == np.argmax(spent)]
    if np.isin(step[work], np.append(step[on_busiest], NO_CALL)).all():
        work = on_busiest
    work = work[np.argsort(trace.start_ns[work], kind="stable")]
    places = np.arange(work.size, dtype=np.int64)
    is_linked = launched_by[work] != NO_CALL
    before = np.maximum.accumulate(np.where(is_linked, places, NO_CALL))
    after = np.minimum.accumulate(np.where(is_linked, places, work.size)[::-1])[::-1]
    steps = np.append(step[work], NO_CALL)  # the last one is after the last linked work
    of_step = np.where(before == NO_CALL, NO_CALL, steps[before])
    has_begun = before != NO_CALL
    ambiguous_ns = int(length[work][has_begun & (of_step != steps[after])].sum())
    total_ns = int(length[work][has_begun].sum())
    return _Queue(
        lanes=np.unique(trace.lane[work]),
        start_ns=trace.start_ns[work],
        end_ns=np.maximum.accumulate(trace.end_ns[work]),
        step=of_step,
        ambiguous_share=ambiguous_ns / total_ns if total_ns else 1.0,
    )


def _windows(queue: _Queue, markers: TimeSegments) -> TimeSegments:
    """Return [the previous step's end, the end of its own work], for each marker with a length.

    Both ends are not before the marker's. The previous end is that of all work before the step's
    first one, launched by a marker or not. A step that launched nothing has no part of its own
    where the device is behind.
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
    """Return whether the device works at a time; then the queue may hold work launched before."""
    work = int(np.searchsorted(queue.end_ns, time_ns, side="right"))
    return work < queue.start_ns.size and int(queue.start_ns[work]) <= time_ns + KERNEL_WAIT_NS


def _first_and_last(queue: _Queue, count: int) -> tuple[IntArray, IntArray]:
    """Return the places of each step's first and last work; `first` is the size where none is."""
    mine = np.flatnonzero(queue.step != NO_CALL)
    first = np.full(count, queue.start_ns.size, dtype=np.int64)
    last = np.zeros(count, dtype=np.int64)
    np.minimum.at(first, queue.step[mine], mine)
    np.maximum.at(last, queue.step[mine], mine)
    return first, last


def _is_late(windows: TimeSegments, markers: TimeSegments) -> bool:
    """Return whether a step is notably moved from its marker."""
    delay_ns = np.maximum(
        windows.start_ns - markers.start_ns[windows.owner],
        windows.end_ns - markers.end_ns[windows.owner],
    )
    return bool(delay_ns.size) and int(delay_ns.max()) > MIN_LATE_SHARE * _typical_ns(markers)


def _is_whole(trace: Trace, markers: TimeSegments) -> BoolArray:
    """Return the markers of whose launches the work was recorded, on whatever device.

    A recording may begin or end while work is queued. Calls count whose name launched any work.
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


def _notes(windows: TimeSegments, markers: TimeSegments, *, lost: int) -> Iterator[str]:
    latest = np.searchsorted(markers.start_ns, windows.start_ns, side="right") - 1
    lead = int((latest - windows.owner).max())
    yield AHEAD.format(lead, "" if lead == 1 else "s") if lead > 0 else LATE
    if lost:
        yield LOST.format(lost, markers.owner.size)


def _time_by_annotations(
    trace: Trace, queue: _Queue, markers: TimeSegments, marker_names: IntArray
) -> DeviceTiming | None:
    """Return the steps from one of the device's annotations to the next; None if none is late.

    torch.profiler repeats a marker over the kernels that it launched, often not over all of them:
    where the last one ends is unknown.
    """
    begins = _annotated(trace, queue, marker_names)
    places = np.flatnonzero(begins != NO_CALL)
    begin = begins[places]
    if not (begin > markers.end_ns[places]).any() and not _works_on(queue, markers):
        return None
    is_next = (np.diff(places) == 1) & (np.diff(begin) > 0)
    if not is_next.size or not is_next.all():
        return _unknown(trace)
    windows = TimeSegments(start_ns=begin[:-1], end_ns=begin[1:], owner=places[:-1])
    return replace(_unknown(trace), windows=windows, notes=(ANNOTATED,))


def _annotated(trace: Trace, queue: _Queue, marker_names: IntArray) -> IntArray:
    """Return when each marker begins on the device, NO_CALL where no annotation has its name."""
    begins = np.full(marker_names.shape, NO_CALL, dtype=np.int64)
    places = {name: place for place, name in enumerate(to_list(marker_names))}
    if len(places) < marker_names.size:
        return begins  # several markers of one name: it does not say which
    is_annotation = trace.kind == CallKind.DEVICE_ANNOTATION
    calls = np.flatnonzero(is_annotation & np.isin(trace.lane, queue.lanes))
    calls = calls[np.argsort(-trace.start_ns[calls], kind="stable")]  # the first one counts
    for name, start in zip(to_list(trace.name[calls]), to_list(trace.start_ns[calls]), strict=True):
        if name in places:
            begins[places[name]] = start
    return begins


def _works_on(queue: _Queue, markers: TimeSegments) -> bool:
    """Return whether the device works on, without a pause, when the last marker has ended."""
    over_ns = int(markers.end_ns[-1])
    following = queue.end_ns > over_ns
    begin, end = queue.start_ns[following], queue.end_ns[following]
    if begin.size == 0:
        return False
    pauses = begin - np.append(over_ns, end[:-1]) > KERNEL_WAIT_NS
    last = int(np.argmax(pauses)) if pauses.any() else pauses.size
    return last > 0 and int(end[last - 1]) - over_ns > MIN_LATE_SHARE * _typical_ns(markers)


def _typical_ns(markers: TimeSegments) -> float:
    return float(np.median(markers.end_ns - markers.start_ns))


def _unknown(trace: Trace) -> DeviceTiming:
    none = np.empty(0, dtype=np.int64)
    return DeviceTiming(
        windows=TimeSegments(start_ns=none, end_ns=none, owner=none),
        step=np.full(trace.name.shape, NO_CALL, dtype=np.int64),
        notes=(UNKNOWN_STEPS,),
    )
