"""Turn calls that may overlap into the time that they cover together, and what two of those share.

Stretches are Segments whose owners mean nothing but that somebody is there.
"""

from collections.abc import Sequence

import numpy as np

from perfledger_profiles.breakdown import Spanned
from perfledger_profiles.spans import NOBODY, IntArray, Segments


def union_of(calls: Sequence[Spanned]) -> Segments:
    """Return the disjoint stretches in which at least one of the calls runs."""
    starts = np.array([call.start_ns for call in calls], dtype=np.int64)
    ends = np.array([call.end_ns for call in calls], dtype=np.int64)
    if starts.size == 0:
        return _segments(starts, ends)
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    is_apart = starts[1:] > ends[:-1]
    return _segments(
        starts[np.concatenate([[True], is_apart])], ends[np.concatenate([is_apart, [True]])]
    )


def common(one: Segments, other: Segments) -> Segments:
    """Return the stretches that lie in both."""
    edges = np.unique(np.concatenate([one.start_ns, one.end_ns, other.start_ns, other.end_ns]))
    left, right = edges[:-1], edges[1:]
    is_both = (one.at(left) != NOBODY) & (other.at(left) != NOBODY)
    return _segments(left[is_both], right[is_both])


def length_ns(segments: Segments) -> int:
    """Return how long the stretches are together."""
    return int((segments.end_ns - segments.start_ns).sum())


def _segments(starts: IntArray, ends: IntArray) -> Segments:
    return Segments(start_ns=starts, end_ns=ends, owner=np.zeros(starts.shape, dtype=np.int64))
