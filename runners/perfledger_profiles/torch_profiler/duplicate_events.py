"""Drops events that a trace holds twice, as joined or appended files do."""

from dataclasses import replace

import numpy as np

from perfledger_profiles.timeline.intervals import BoolArray, IntArray
from perfledger_profiles.timeline.trace import Trace

DUPLICATES = "{} events are in the file more than once: they count once"


def without_duplicates(trace: Trace) -> Trace:
    """Return the trace with each event once, and a note on the duplicates.

    A stream runs one kernel at a time, so two with the same name and times are the same. The host
    is searched only if there are such kernels, because its short calls may be identical by chance.
    """
    if not _are_copies(trace, np.flatnonzero(trace.is_device_work)).size:
        return trace
    copies = _are_copies(trace, np.arange(trace.name.size))
    is_kept: BoolArray = np.ones(trace.name.shape, dtype=np.bool_)
    is_kept[copies] = False
    note = DUPLICATES.format(f"{copies.size:,}")
    return replace(trace.where(is_kept), notes=(*trace.notes, note))


def _are_copies(trace: Trace, calls: IntArray) -> IntArray:
    """Return the calls that duplicate another one; calls without a length never do."""
    calls = calls[trace.end_ns[calls] > trace.start_ns[calls]]
    links = (trace.correlation, trace.stream, trace.launch, trace.name, trace.kind)
    columns = (*links, trace.end_ns, trace.start_ns, trace.lane)
    ranked = calls[np.lexsort([column[calls] for column in columns])]
    is_copy: BoolArray = np.ones(max(ranked.size - 1, 0), dtype=np.bool_)
    for column in columns:
        is_copy &= np.diff(column[ranked]) == 0
    return ranked[1:][is_copy]
