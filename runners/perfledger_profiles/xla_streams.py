"""Turn the kernels on a GPU's streams, and their launches, into why each stream stood still."""

from collections.abc import Mapping, Sequence

import numpy as np

from perfledger.profile import StreamIdle
from perfledger_profiles.idle import StreamCalls, idle_per_step
from perfledger_profiles.spans import NOBODY, Segments
from perfledger_profiles.xla_device import STREAM, DeviceCall, DeviceWork
from perfledger_profiles.xla_host import CORRELATION


def idle_streams(
    works: Sequence[DeviceWork], windows: Sequence[Segments], launches: Mapping[int, int]
) -> tuple[StreamIdle, ...]:
    """Return the idle times per step of all streams, the busiest first.

    `launches` are the host's calls that launched, by correlation id, and when they began.
    """
    found: list[StreamIdle] = []
    for work, kept in zip(works, windows, strict=True):
        prefix = f"{work.name} " if len(works) > 1 else ""
        by_stream: dict[str, list[DeviceCall]] = {}
        for call in work.calls:
            if call.lane.startswith(STREAM):
                by_stream.setdefault(call.lane.removeprefix(STREAM), []).append(call)
        if kept.owner.size:
            found += [
                idle_per_step(_calls(f"{prefix}{stream}", calls, launches), kept)
                for stream, calls in by_stream.items()
            ]
    return tuple(sorted(found, key=lambda idle: (-idle.busy_seconds, idle.stream)))


def _calls(stream: str, calls: Sequence[DeviceCall], launches: Mapping[int, int]) -> StreamCalls:
    ordered = sorted(calls, key=lambda call: (call.start_ns, call.end_ns))
    launched = [launches.get(_correlation(call), NOBODY) for call in ordered]
    return StreamCalls(
        stream=stream,
        start_ns=np.array([call.start_ns for call in ordered], dtype=np.int64),
        end_ns=np.array([call.end_ns for call in ordered], dtype=np.int64),
        launch_ns=np.array(launched, dtype=np.int64),
    )


def _correlation(call: DeviceCall) -> int:
    number = call.stats.get(CORRELATION)
    return number if isinstance(number, int) else NOBODY
