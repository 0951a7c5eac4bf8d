"""Classifies the idle time of a GPU's streams by reason."""

from collections.abc import Mapping, Sequence

import numpy as np

from perfledger.profile import StreamIdle
from perfledger_profiles.timeline.idle_reasons import StreamCalls, idle_per_step
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.xla.device_plane import STREAM, DeviceCall, DeviceWork
from perfledger_profiles.xla.host_events import CORRELATION


def idle_streams(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments], launches: Mapping[int, int]
) -> tuple[StreamIdle, ...]:
    """Return the idle time per step of all streams, the busiest first.

    `launches` are the times of the host's launches by correlation id.
    """
    streams: list[StreamIdle] = []
    for work, device_windows in zip(works, windows, strict=True):
        prefix = f"{work.name} " if len(works) > 1 else ""
        by_stream: dict[str, list[DeviceCall]] = {}
        for call in work.calls:
            if call.lane.startswith(STREAM):
                by_stream.setdefault(call.lane.removeprefix(STREAM), []).append(call)
        if device_windows.owner.size:
            streams += [
                idle_per_step(_calls(f"{prefix}{stream}", calls, launches), device_windows)
                for stream, calls in by_stream.items()
            ]
    return tuple(sorted(streams, key=lambda idle: (-idle.busy_seconds, idle.stream)))


def _calls(stream: str, calls: Sequence[DeviceCall], launches: Mapping[int, int]) -> StreamCalls:
    ordered = sorted(calls, key=lambda call: (call.start_ns, call.end_ns))
    launched = [launches.get(_correlation(call), NO_CALL) for call in ordered]
    return StreamCalls(
        stream=stream,
        start_ns=np.array([call.start_ns for call in ordered], dtype=np.int64),
        end_ns=np.array([call.end_ns for call in ordered], dtype=np.int64),
        launch_ns=np.array(launched, dtype=np.int64),
    )


def _correlation(call: DeviceCall) -> int:
    number = call.stats.get(CORRELATION)
    return number if isinstance(number, int) else NO_CALL
