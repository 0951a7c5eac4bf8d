"""Writes the slices of profiled steps as a Chrome trace, which Perfetto opens.

The format is Chromium's "Trace Event Format": complete events ("X"), in microseconds.
"""

from collections.abc import Iterator, Mapping

from perfledger.profile import Profile
from perfledger_service.rendering.layout import vocabulary
from perfledger_service.rendering.layout.escape import MAX_LONG_NAME, clean
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.rendering.trace.timeline.lanes import StepLane, lanes_of

# Per step; of more, the shortest are left out. A page has two steps per workload.
MAX_EVENTS = 2000

_US_NS = 1000  # nanoseconds per microsecond

Json = Mapping[str, object]


def chrome_trace(profiles: Mapping[str, Profile]) -> Json:
    """Return one trace of several steps as a JSON document, each a process with its title.

    Each begins at zero, so that steps of different runs can be compared.
    """
    events: list[Json] = []
    for process, (title, profile) in enumerate(profiles.items(), start=1):
        name = f"{title}: the step nearest to the median"
        left_out = len(profile.slices) - MAX_EVENTS
        if left_out > 0:
            name += f", without its {quantity(left_out, 'shortest call')}"
        events.append(_naming("process_name", process, 0, name))
        for thread, lane in enumerate(lanes_of(profile.slices, most=MAX_EVENTS), start=1):
            events.append(_naming("thread_name", process, thread, _name(lane.name)))
            events.extend(_events(lane, process, thread))
    return {"displayTimeUnit": "ms", "traceEvents": events}


def _events(lane: StepLane, process: int, thread: int) -> Iterator[Json]:
    for call in lane.calls:
        yield {
            "ph": "X",
            "name": _name(call.name),
            "cat": vocabulary.bucket(call.bucket),
            "pid": process,
            "tid": thread,
            "ts": call.start_ns / _US_NS,
            "dur": (call.end_ns - call.start_ns) / _US_NS,
        }


def _naming(kind: str, process: int, thread: int, name: str) -> Json:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}


def _name(untrusted: str) -> str:
    return clean(untrusted, limit=MAX_LONG_NAME)
