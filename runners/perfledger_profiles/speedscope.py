"""Turn the calls of a recording into a file that speedscope opens: a profile for each lane.

The format is that of https://www.speedscope.app/file-format-schema.json: events are in order of
time, and each opened frame is closed before the one around it.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from perfledger_profiles.calls import Calls, LaneCalls
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import BoolArray

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Two events each: 84 MB of JSON were measured.
MAX_CALLS = 1_000_000
# Of a device's lane: copies and collectives in flight at once, which do not nest.
MAX_TRACKS = 16


def left_out(calls: Calls, *, most: int = MAX_CALLS) -> str:
    """Say what of a recording is not in its file, "" where all of it is."""
    parts: list[str] = []
    if calls.count > most:
        shortest = calls.count - most
        parts.append(f"the {shortest:,} shortest of {calls.count:,} calls are left out")
    if dropped := calls.dropped_events:
        parts.append(f"{dropped:,} event{'s' * (dropped != 1)} could not be read")
    return "; ".join(filter(None, (*parts, calls.unread)))


def speedscope(calls: Calls, *, name: str, most: int = MAX_CALLS) -> Iterator[str]:
    """Yield the parts of speedscope's JSON, with the `most` longest calls of the recording.

    A call of a thread that ends after the one around it is cut off there: clocks let it. On a
    device's lane it is work of its own, and has a track beside, of up to MAX_TRACKS.
    """
    lanes = _longest(calls, most)
    begin = min((int(lane.start_ns.min()) for lane in lanes), default=0)
    end = max((int(lane.end_ns.max()) for lane in lanes), default=0) - begin
    note = left_out(calls, most=most)
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
    """Calls that nest, as events; `pending` are when the open ones end and their frames."""

    events: list[str] = field(default_factory=list[str])
    pending: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def takes(self, start: int, end: int) -> bool:
        """Close what has ended; tell whether the call lies within what has not."""
        while self.pending and self.pending[-1][0] <= start:
            self._close()
        return not self.pending or end <= self.pending[-1][0]

    def open(self, start: int, end: int, frame: int) -> None:
        """Begin a call, at most as long as the one around it."""
        self.events.append(f'{{"type":"O","at":{start},"frame":{frame}}}')
        self.pending.append((min(end, self.pending[-1][0]) if self.pending else end, frame))

    def close_all(self) -> None:
        """End what is open."""
        while self.pending:
            self._close()

    def _close(self) -> None:
        at, frame = self.pending.pop()
        self.events.append(f'{{"type":"C","at":{at},"frame":{frame}}}')


def _longest(calls: Calls, most: int) -> list[LaneCalls]:
    """Return the lanes with the longest calls of all, in their order."""
    if calls.count <= most:
        return list(calls.lanes)
    length = np.concatenate([lane.end_ns - lane.start_ns for lane in calls.lanes])
    kept = np.zeros(length.shape, dtype=np.bool_)
    kept[np.argsort(-length, kind="stable")[:most]] = True
    sizes = np.cumsum([lane.name.size for lane in calls.lanes])[:-1]
    lanes = zip(calls.lanes, np.split(kept, sizes), strict=True)
    return [_where(lane, mine) for lane, mine in lanes if mine.any()]


def _where(lane: LaneCalls, kept: BoolArray) -> LaneCalls:
    return LaneCalls(
        lane=lane.lane,
        is_device=lane.is_device,
        name=lane.name[kept],
        start_ns=lane.start_ns[kept],
        end_ns=lane.end_ns[kept],
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
