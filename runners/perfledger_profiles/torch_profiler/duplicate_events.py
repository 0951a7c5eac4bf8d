"""Drops the events that a trace holds twice, as joined or appended files do."""

from dataclasses import replace

import numpy as np

from perfledger_profiles.timeline.intervals import BoolArray, IntArray
from perfledger_profiles.timeline.trace import Trace

DUPLICATES = "{} events are in the file more than once: they count once"


def without_duplicates(trace: Trace) -> Trace:
    """Return the trace with each event once, and a note on the others.

    A stream runs one kernel at a time, so two of one name and time are one. Only where there are
    such is the host searched too: its short calls may be alike.
    """
    if not _are_copies(trace, np.flatnonzero(trace.is_device_work)).size:
        return trace
    copies = _are_copies(trace, np.arange(trace.name.size))
    is_kept: BoolArray = np.ones(trace.name.shape, dtype=np.bool_)
    is_kept[copies] = False
    note = DUPLICATES.format(f"{copies.size:,}")
    return replace(trace.where(is_kept), notes=(*trace.notes, note))


def _are_copies(trace: Trace, calls: IntArray) -> IntArray:
    """Return those of the calls that are another one again; none without a length is."""
    calls = calls[trace.end_ns[calls] > trace.start_ns[calls]]
    links = (trace.correlation, trace.stream, trace.launch, trace.name, trace.kind)
    columns = (*links, trace.end_ns, trace.start_ns, trace.lane)
    ranked = calls[np.lexsort([column[calls] for column in columns])]
    is_copy: BoolArray = np.ones(max(ranked.size - 1, 0), dtype=np.bool_)
    for column in columns:
        is_copy &= np.diff(column[ranked]) == 0
    return ranked[1:][is_copy]
