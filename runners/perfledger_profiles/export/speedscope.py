"""Writes a recording's calls as a speedscope file with a profile per lane.

The format is https://www.speedscope.app/file-format-schema.json: events are in order of time, and
each frame is closed before the one around it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfledger_profiles.export.all_calls import LaneCalls, RecordedCalls
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.intervals import BoolArray

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Measured: 84 MB of JSON, with two events per call.
MAX_CALLS = 1_000_000
# Per device lane, for concurrent copies and collectives, which do not nest.
MAX_TRACKS = 16


def omission_note(calls: RecordedCalls) -> str:
    """Return a note on what the file leaves out of a recording, or "" if nothing."""
    parts: list[str] = []
    if calls.count > MAX_CALLS:
        shortest = calls.count - MAX_CALLS
        parts.append(f"the {shortest:,} shortest of {calls.count:,} calls are left out")
    if dropped := calls.dropped_events:
        parts.append(f"{dropped:,} event{'s' * (dropped != 1)} could not be read")
    return "; ".join(filter(None, (*parts, calls.unread)))


def speedscope(calls: RecordedCalls, *, name: str) -> Iterator[str]:
    """Yield the parts of speedscope's JSON, with the MAX_CALLS longest calls of the recording.

    A thread's call that ends after the enclosing call, due to clock rounding, is cut off there. On
    a device's lane such a call is concurrent work and gets another track, up to MAX_TRACKS.
    """
    lanes = _longest(calls)
    begin = min((int(lane.start_ns.min()) for lane in lanes), default=0)
    end = max((int(lane.end_ns.max()) for lane in lanes), default=0) - begin
    note = omission_note(calls)
    head = {
        "$schema": SCHEMA,
        "exporter": "perfledger",
        "name": f"{clean_name(name)}: {note}" if note else clean_name(name),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": clean_name(one)} for one in calls.names]},
    }
    yield json.dumps(head)[:-1] + ', "profiles": ['
    separator = ""
    for lane in lanes:
        for number, track in enumerate(_tracks(lane, begin), start=1):
            title = clean_name(lane.lane if number == 1 else f"{lane.lane} ({number})")
            fields = {
                "type": "evented",
                "name": title,
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": end,
            }
            events = ",".join(track.events)
            yield f'{separator}{json.dumps(fields)[:-1]}, "events": [{events}]}}'
            separator = ",\n"
    yield "]}\n"


@dataclass(slots=True)
class _Track:
    """Nested calls as events; `pending` holds the ends and frames of the open ones."""

    events: list[str] = field(default_factory=list[str])
    pending: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def takes(self, start: int, end: int) -> bool:
        """Close the calls that have ended; return whether this call fits into the open ones."""
        while self.pending and self.pending[-1][0] <= start:
            self._close()
        return not self.pending or end <= self.pending[-1][0]

    def open(self, start: int, end: int, frame: int) -> None:
        """Open a call, at most as long as the one around it."""
        self.events.append(f'{{"type":"O","at":{start},"frame":{frame}}}')
        self.pending.append((min(end, self.pending[-1][0]) if self.pending else end, frame))

    def close_all(self) -> None:
        """Close all open calls."""
        while self.pending:
            self._close()

    def _close(self) -> None:
        at, frame = self.pending.pop()
        self.events.append(f'{{"type":"C","at":{at},"frame":{frame}}}')


def _longest(calls: RecordedCalls) -> list[LaneCalls]:
    """Return the lanes reduced to the longest calls of the recording, in order."""
    if calls.count <= MAX_CALLS:
        return list(calls.lanes)
    length = np.concatenate([lane.end_ns - lane.start_ns for lane in calls.lanes])
    is_kept = np.zeros(length.shape, dtype=np.bool_)
    is_kept[np.argsort(-length, kind="stable")[:MAX_CALLS]] = True
    sizes = np.cumsum([lane.name.size for lane in calls.lanes])[:-1]
    lanes = zip(calls.lanes, np.split(is_kept, sizes), strict=True)
    return [_where(lane, mine) for lane, mine in lanes if mine.any()]


def _where(lane: LaneCalls, is_kept: BoolArray) -> LaneCalls:
    return LaneCalls(
        lane=lane.lane,
        is_device=lane.is_device,
        name=lane.name[is_kept],
        start_ns=lane.start_ns[is_kept],
        end_ns=lane.end_ns[is_kept],
    )


def _tracks(lane: LaneCalls, begin: int) -> Sequence[_Track]:
    order = np.lexsort((-lane.end_ns, lane.start_ns))
    columns = (lane.name, lane.start_ns - begin, lane.end_ns - begin)
    tracks = [_Track()]
    most = MAX_TRACKS if lane.is_device else 1
    for frame, start, end in zip(*(column[order].tolist() for column in columns), strict=True):
        track = next((one for one in tracks if one.takes(start, end)), None)
        if track is None and len(tracks) < most:
            tracks.append(track := _Track())
        (track or tracks[0]).open(start, end, frame)
    for track in tracks:
        track.close_all()
    return tracks
