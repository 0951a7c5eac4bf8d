"""Computes how work that runs concurrently on a device's streams shares and hides time."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from perfledger.profile import Bucket, ProfileReading
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.breakdown import DEVICE_ORDER
from perfledger_profiles.timeline.intervals import (
    BoolArray,
    IntArray,
    TimeSegments,
    nest,
    run_at_once,
    share_evenly,
    sum_by_index,
    to_list,
    union,
)
from perfledger_profiles.timeline.trace import Trace

# The time in which nothing else runs on the device: the most that removing an operation can save.
ALONE_TIME = "alone_time"
# Share of the step: less time beside other work is not worth a reading.
MIN_CONCURRENT_SHARE = 0.01

_PLACES = {bucket: index for index, bucket in enumerate(Bucket)}


def device_layers(
    trace: Trace, bucket: IntArray
) -> tuple[list[TimeSegments], list[TimeSegments | None]]:
    """Return the layers of a device's work, and the spans of layers whose calls run at once.

    `bucket` has shape (n,): the place of each call's bucket. If calls run at once, each segment of
    the layer belongs to the call that begins it.
    """
    layers: list[TimeSegments] = []
    shared: list[TimeSegments | None] = []
    for kind in DEVICE_ORDER:
        spans = _spans(trace, trace.is_device_work & (bucket == _PLACES[kind]))
        if run_at_once(spans.start_ns, spans.end_ns):
            busy = union(spans.start_ns, spans.end_ns)
            first = spans.owner[np.searchsorted(spans.start_ns, busy.start_ns)]
            layers.append(replace(busy, owner=first))
            shared.append(spans)
        else:
            layers.append(spans)
            shared.append(None)
    return layers, shared


def alone_readings(
    trace: Trace, work: BoolArray, windows: TimeSegments
) -> Iterator[ProfileReading]:
    """Yield the time in which each operation runs alone, if that is notably shorter.

    `work` has shape (n,): the device's work in the windows.
    """
    spans = _spans(trace, work)
    if not run_at_once(spans.start_ns, spans.end_ns):
        return
    time = share_evenly(spans, windows)
    names = len(trace.names)
    name = trace.name[spans.owner]
    alone_ns = sum_by_index(name, time.alone_between(spans.start_ns, spans.end_ns), size=names)
    own_ns = sum_by_index(name, spans.end_ns - spans.start_ns, size=names)
    least_ns = MIN_CONCURRENT_SHARE * windows.length_ns()
    for place in to_list(np.flatnonzero(own_ns - alone_ns >= max(least_ns, 1))):
        yield ProfileReading(
            name=ALONE_TIME,
            subject=clean_name(trace.names[place]),
            value=int(alone_ns[place]) / windows.owner.size / NS_PER_S,
            unit="s",
            source="time per step in which no other work runs on the device",
        )


def _spans(trace: Trace, chosen: BoolArray) -> TimeSegments:
    """Return the spans of the chosen calls by start; calls of several streams may run at once.

    Within a stream, the call that began last owns the time, as for nested calls.
    """
    calls = np.flatnonzero(chosen)
    calls = calls[np.argsort(trace.lane[calls], kind="stable")]
    _, first = np.unique(trace.lane[calls], return_index=True)
    streams = [
        nest(trace.start_ns[mine], trace.end_ns[mine], mine).segments
        for mine in np.split(calls, first[1:])
    ]
    start_ns = np.concatenate([one.start_ns for one in streams])
    order = np.argsort(start_ns, kind="stable")
    return TimeSegments(
        start_ns=start_ns[order],
        end_ns=np.concatenate([one.end_ns for one in streams])[order],
        owner=np.concatenate([one.owner for one in streams])[order],
    )
