"""Finds an XLA device's steps: the host's markers, or its own if it ends their work later.

A jitted function returns before its work is done. If a program does not wait in each step, its
markers end long before the device ends their work.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol, TypeVar

import numpy as np

from perfledger_profiles.timeline.breakdown import (
    TimeSpan,
    note_on_steps,
    representative_steps,
    windows_of,
)
from perfledger_profiles.timeline.device_windows import (
    UNKNOWN_STEPS,
    is_late,
    lead_note,
    windows_by_launches,
    works_on,
)
from perfledger_profiles.timeline.idle_reasons import waits_for_others
from perfledger_profiles.timeline.intervals import NO_CALL, IntArray, TimeSegments
from perfledger_profiles.timeline.launch_links import LaunchedWork

NO_STEPS = "no step annotations: the whole trace counts as one step"
OWN_STEPS = (
    "the device works on after the host's step annotations: its steps are those that it marks "
    "itself"
)
# Without links between launches and work, two clocks are compared, which may differ by part of a
# step. If the host runs ahead, the work left after the last marker takes longer than a marker.
MIN_UNLINKED_STEPS = 1.0

Spans = Sequence[tuple[int, int]]
_Call = TypeVar("_Call", bound=TimeSpan)


class StreamSpan(TimeSpan, Protocol):
    """A span of work on a stream."""

    @property
    def lane(self) -> str:
        """Return the stream."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class XlaSteps:
    """The steps of a device, or of the host if there is none; `windows` are the kept ones.

    `markers` are the host's, with the same owners. `work` is the device's work in the order of its
    calls, if its launches time the steps.
    """

    windows: TimeSegments
    markers: TimeSegments
    has_markers: bool
    notes: tuple[str, ...]
    work: LaunchedWork | None = None

    @property
    def host_windows(self) -> TimeSegments:
        """Return the kept steps by the host's clock."""
        if self.work is None:
            return self.windows
        return self.markers.where(np.isin(self.markers.owner, self.windows.owner))

    @property
    def is_host_known(self) -> bool:
        """Return whether the host's calls show what the device waits for."""
        return self.work is None or not waits_for_others(self.work, self.windows)

    def call_windows(self, start_ns: IntArray) -> IntArray:
        """Return the kept step of each call: for the device's calls, which come first, by launch.

        Work without a launch belongs to the step in which it starts, a host call to its marker's
        step. If the steps are not timed by launches, a call belongs to the step in which it starts.
        """
        if self.work is None:
            return self.windows.at(start_ns)
        marker = self.markers.at(start_ns)
        mine = slice(0, self.work.start_ns.size)
        launched = self.markers.at(self.work.launch_ns)
        marker[mine] = np.where(launched != NO_CALL, launched, self.windows.at(start_ns[mine]))
        return np.where(np.isin(marker, self.windows.owner), marker, NO_CALL)

    def calls_in_steps(self, calls: Sequence[_Call]) -> Iterator[_Call]:
        """Yield the device's calls in the kept steps; `calls` must be all of its calls."""
        start_ns = np.array([call.start_ns for call in calls], dtype=np.int64)
        return compress(calls, (self.call_windows(start_ns) != NO_CALL).tolist())


def device_steps_of(
    calls: Sequence[StreamSpan],
    *,
    launch_ns: Sequence[int],
    host: Spans,
    device: Spans,
    recorded: Sequence[TimeSpan],
) -> XlaSteps:
    """Return the steps of a device's calls by the host's spans, else by the device's own marks.

    `launch_ns` has an entry per call: when the thread that runs the steps launched it, NO_CALL if
    unknown. (Another thread may launch work long after its step.) Without spans, the whole
    recording is one step.
    """
    markers = windows_of(host or device)
    if not markers.owner.size:
        return _steps(_whole_steps(recorded), markers, (NO_STEPS,), has_markers=False)
    if not host or not calls:
        return _steps(markers, markers)
    work = _launched_work(calls, launch_ns)
    windows = windows_by_launches(work, markers)
    if windows is None:
        return _unlinked_steps(work, markers, device=device, recorded=recorded)
    if not is_late(windows, markers):
        return _steps(markers, markers)
    return _steps(windows, markers, (lead_note(windows, markers),), work=work)


def _unlinked_steps(
    work: LaunchedWork, markers: TimeSegments, *, device: Spans, recorded: Sequence[TimeSpan]
) -> XlaSteps:
    if not works_on(work, markers, least=MIN_UNLINKED_STEPS):
        return _steps(markers, markers)
    if device:
        return _steps(windows_of(device), markers, (OWN_STEPS,))
    return _steps(_whole_steps(recorded), markers, (UNKNOWN_STEPS,), has_markers=False)


def _steps(
    segments: TimeSegments,
    markers: TimeSegments,
    notes: tuple[str, ...] = (),
    *,
    has_markers: bool = True,
    work: LaunchedWork | None = None,
) -> XlaSteps:
    windows = representative_steps(segments)
    return XlaSteps(
        windows=windows,
        markers=markers,
        has_markers=has_markers,
        notes=(*notes, *note_on_steps(segments, windows)),
        work=work,
    )


def _whole_steps(calls: Sequence[TimeSpan]) -> TimeSegments:
    if not calls:
        return windows_of([])
    return windows_of([(min(one.start_ns for one in calls), max(one.end_ns for one in calls))])


def _launched_work(calls: Sequence[StreamSpan], launch_ns: Sequence[int]) -> LaunchedWork:
    lanes = {lane: number for number, lane in enumerate(sorted({call.lane for call in calls}))}
    start_ns = np.array([call.start_ns for call in calls], dtype=np.int64)
    launched = np.array(launch_ns, dtype=np.int64)
    return LaunchedWork(
        lane=np.array([lanes[call.lane] for call in calls], dtype=np.int64),
        start_ns=start_ns,
        end_ns=np.array([call.end_ns for call in calls], dtype=np.int64),
        launch_ns=launched,
        launched_ns=np.where(launched == NO_CALL, NO_CALL, start_ns),  # the ends are not read
    )
