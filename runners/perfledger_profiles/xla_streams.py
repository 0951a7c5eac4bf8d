"""Turn the kernels on a GPU's streams, and their launches, into why each stream stood still."""

from collections.abc import Mapping, Sequence

import numpy as np

from perfledger.profile import StreamIdle
from perfledger_profiles.spans import NOBODY, Segments
from perfledger_profiles.xla_device import STREAM, DeviceCall, DeviceWork
from perfledger_profiles.xla_host import CORRELATION

# Between two kernels that are queued the device itself takes no longer (HolisticTraceAnalysis 0.6,
# consecutive_kernel_delay).
KERNEL_WAIT_NS = 30_000

_NS = 1e9


def idle_streams(
    works: Sequence[DeviceWork], windows: Sequence[Segments], launches: Mapping[int, int]
) -> tuple[StreamIdle, ...]:
    """Return the idle times per step of all streams, by HolisticTraceAnalysis's rule.

    A gap counts in the step in which the kernel after it began, from that step's beginning on.
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
                _idle(f"{prefix}{stream}", calls, kept, launches)
                for stream, calls in by_stream.items()
            ]
    return tuple(sorted(found, key=lambda idle: (-idle.busy_seconds, idle.stream)))


def _idle(
    stream: str, calls: Sequence[DeviceCall], kept: Segments, launches: Mapping[int, int]
) -> StreamIdle:
    ordered = sorted(calls, key=lambda call: (call.start_ns, call.end_ns))
    starts = np.array([call.start_ns for call in ordered], dtype=np.int64)
    inside = (kept.at(starts) != NOBODY).tolist()
    begins = kept.start_ns[np.searchsorted(kept.start_ns, starts, side="right") - 1].tolist()
    busy = host = kernel = other = 0
    ended = ordered[0].start_ns
    for call, is_kept, begin in zip(ordered, inside, begins, strict=True):
        if is_kept:
            since = max(ended, begin)
            gap = max(0, call.start_ns - since)
            busy += max(0, call.end_ns - max(call.start_ns, ended))
            launched = launches.get(_correlation(call))
            if launched is not None and launched > since:
                host += gap
            elif gap < KERNEL_WAIT_NS:
                kernel += gap
            else:
                other += gap
        ended = max(ended, call.end_ns)
    steps = kept.owner.size * _NS
    return StreamIdle(
        stream=stream,
        busy_seconds=busy / steps,
        host_wait_seconds=host / steps,
        kernel_wait_seconds=kernel / steps,
        other_seconds=other / steps,
    )


def _correlation(call: DeviceCall) -> int:
    number = call.stats.get(CORRELATION)
    return number if isinstance(number, int) else NOBODY
