"""Turn the traces of a job's ranks into which of them the others wait for."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from perfledger.profile import Bucket, Reading
from perfledger_profiles.labels import own_buckets
from perfledger_profiles.spans import NOBODY, BoolArray, IntArray, union
from perfledger_profiles.steps import steps_of
from perfledger_profiles.trace import Trace

_BUCKETS = tuple(Bucket)
_COMPUTE = _BUCKETS.index(Bucket.COMPUTE)
_COMMUNICATION = _BUCKETS.index(Bucket.COMMUNICATION)
MIN_RANKS = 2


def straggler_readings(ranks: Sequence[Trace]) -> tuple[Reading, ...]:
    """Return how uneven the ranks are; nothing where fewer than two of them compute.

    `straggler_ratio` is the largest rank's compute time per step over the median rank's, with the
    rank as its subject. `collective_skew` is how much later the last rank joined a collective than
    the first, as a share of the collective's mean duration, the median of those that all ranks ran.
    A collective ends for all at once, so who joins last has the shortest kernel: durations say it
    without a common clock.
    """
    works = [_work(trace) for trace in ranks]
    compute = np.array([seconds for seconds, _ in works])
    if len(ranks) < MIN_RANKS or (compute <= 0).any():
        return ()
    slowest = int(np.argmax(compute))
    ratio = Reading(
        name="straggler_ratio",
        value=float(compute[slowest] / np.median(compute)),
        subject=f"rank {_rank(ranks, slowest)}",
        source="largest compute time of a rank / median rank's",
    )
    skews = _skews([lengths for _, lengths in works])
    if skews is None:
        return (ratio,)
    last = int(np.bincount(skews[1], minlength=len(ranks)).argmax())
    return (
        ratio,
        Reading(
            name="collective_skew",
            value=float(np.median(skews[0])),
            subject=f"rank {_rank(ranks, last)}",
            source="(longest - shortest duration) / mean duration of a collective over the ranks",
        ),
    )


def _rank(ranks: Sequence[Trace], place: int) -> int:
    known = ranks[place].rank
    return place if known is None else known


def _work(trace: Trace) -> tuple[float, dict[str, IntArray]]:
    """Return a rank's compute nanoseconds per step, and its collectives' durations by name."""
    steps = steps_of(trace)
    bucket, _ = own_buckets(trace)
    begun = trace.is_device_work & (steps.windows.at(trace.start_ns) != NOBODY)
    computes = begun & (bucket == _COMPUTE)
    compute = union(trace.start_ns[computes], trace.end_ns[computes]).length_ns()
    collectives = _collectives(trace, begun & (bucket == _COMMUNICATION))
    return compute / max(steps.windows.owner.size, 1), collectives


def _collectives(trace: Trace, chosen: BoolArray) -> dict[str, IntArray]:
    calls = np.flatnonzero(chosen)
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")]
    length = trace.end_ns[calls] - trace.start_ns[calls]
    return {
        trace.names[name]: length[trace.name[calls] == name]
        for name in np.unique(trace.name[calls]).tolist()
    }


def _skews(
    ranks: Sequence[dict[str, IntArray]],
) -> tuple[npt.NDArray[np.float64], IntArray] | None:
    """Return each common collective's skew, and which rank joined it last.

    The n-th call of a name is one collective on all ranks; names of which ranks have different
    numbers of calls cannot be matched.
    """
    tables = [
        np.stack([rank[name] for rank in ranks])
        for name in ranks[0]
        if all(name in rank and rank[name].size == ranks[0][name].size for rank in ranks)
    ]
    if not tables:
        return None
    lengths = np.concatenate(tables, axis=1)
    lengths = lengths[:, lengths.sum(axis=0) > 0]
    if lengths.shape[1] == 0:
        return None
    skew = (lengths.max(axis=0) - lengths.min(axis=0)) / lengths.mean(axis=0)
    return skew, np.argmin(lengths, axis=0)
