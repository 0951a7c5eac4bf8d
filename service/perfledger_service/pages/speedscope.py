"""Turns a profile's slices into a file that speedscope opens: an evented profile for each lane.

The format is that of https://www.speedscope.app/file-format-schema.json: events are in order of
time, and each opened frame is closed before the one around it.
"""

import json
from collections.abc import Mapping, Sequence

from perfledger.profile import Profile
from perfledger_service.pages.escape import clean
from perfledger_service.pages.lanes import Call, Lane, lanes_of

SCHEMA = "https://www.speedscope.app/file-format-schema.json"
# Some hundred megabytes of JSON; a profile of ours holds far fewer.
MAX_EVENTS = 1_000_000

_MAX_NAME = 200

Json = Mapping[str, object]


def speedscope(profile: Profile, *, name: str) -> str:
    """Return the step's slices as speedscope's JSON; without slices it has no profiles."""
    lanes = lanes_of(profile.slices, most=MAX_EVENTS)
    frames: dict[str, int] = {}
    for lane in lanes:
        for call in lane.calls:
            frames.setdefault(_name(call), len(frames))
    end_ns = max((call.end_ns for lane in lanes for call in lane.calls), default=0)
    document = {
        "$schema": SCHEMA,
        "exporter": "perfledger",
        "name": clean(name, limit=_MAX_NAME),
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [_profile(lane, frames, end_ns=end_ns) for lane in lanes],
    }
    return json.dumps(document, allow_nan=False) + "\n"


def _profile(lane: Lane, frames: Mapping[str, int], *, end_ns: int) -> Json:
    return {
        "type": "evented",
        "name": clean(lane.name, limit=_MAX_NAME),
        "unit": "nanoseconds",
        "startValue": 0,
        "endValue": end_ns,
        "events": _events(lane.calls, frames),
    }


def _events(calls: Sequence[Call], frames: Mapping[str, int]) -> list[Json]:
    events: list[Json] = []
    pending: list[Call] = []  # the open ones, the innermost last
    for call in calls:
        while pending and pending[-1].end_ns <= call.start_ns:
            events.append(_event("C", pending.pop(), frames))
        events.append(_event("O", call, frames))
        pending.append(call)
    events.extend(_event("C", call, frames) for call in reversed(pending))
    return events


def _event(kind: str, call: Call, frames: Mapping[str, int]) -> Json:
    at = call.start_ns if kind == "O" else call.end_ns
    return {"type": kind, "at": at, "frame": frames[_name(call)]}


def _name(call: Call) -> str:
    return clean(call.name, limit=_MAX_NAME)
