"""Turn a trace's collectives into the size of their messages and the bandwidth reached."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from perfledger.profile import Reading
from perfledger_profiles.bus_bandwidth import Collective, bus_bandwidth
from perfledger_profiles.communication_part import MESSAGE_BYTES
from perfledger_profiles.spans import BoolArray, listed
from perfledger_profiles.trace import UNKNOWN, Launch, Trace

# With less of the collectives' time known, its median says nothing of all of it.
MIN_KNOWN_SHARE = 0.5
# One rank alone sends nothing.
_MIN_RANKS = 2

# What torch's process groups call them ("_allgather_base", "all_to_allv") without underscores; the
# first that is part of the name decides.
_NAMES = (
    ("allreduce", Collective.ALL_REDUCE),
    ("allgather", Collective.ALL_GATHER),
    ("reducescatter", Collective.REDUCE_SCATTER),
    ("alltoall", Collective.ALL_TO_ALL),
    ("broadcast", Collective.BROADCAST),
    ("reduce", Collective.REDUCE),
    ("gather", Collective.GATHER),
    ("scatter", Collective.SCATTER),
    ("send", Collective.SEND_RECEIVE),
    ("recv", Collective.SEND_RECEIVE),
)
# c10::ScalarType, by the names that the profiler writes.
_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool"), 1),
    **dict.fromkeys(("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"), 1),
    **dict.fromkeys(("Short", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "Float"), 4),
    **dict.fromkeys(("Long", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}
_NS = 1e9


@dataclass(frozen=True, slots=True)
class _Message:
    """A collective, its ranks and its message as nccl-tests counts it; see `bus_bandwidth`."""

    collective: Collective
    ranks: int
    size_bytes: int


def message_readings(trace: Trace, chosen: BoolArray) -> Iterator[Reading]:
    """Yield what the chosen calls, which are the collectives, say of their messages.

    Nothing where the profiler did not record them, or too few of them.
    A kernel also waits for the other ranks, so a bandwidth is the least that the links carried.
    """
    calls = np.flatnonzero(chosen & (trace.launch != UNKNOWN))
    messages = [_message(launch) for launch in trace.launches]
    lengths = trace.end_ns - trace.start_ns
    known: list[tuple[_Message, int]] = []
    for launch, length in zip(listed(trace.launch[calls]), listed(lengths[calls]), strict=True):
        message = messages[launch]
        if message is not None:
            known.append((message, length))
    total_ns = int(lengths[chosen].sum())
    if not known or sum(length for _, length in known) < MIN_KNOWN_SHARE * total_ns:
        return
    yield Reading(
        name=MESSAGE_BYTES,
        value=_median_by_time(known),
        unit="B",
        source="message size, at the median of the collectives' time",
    )
    yield from _bandwidths(known)


def _message(launch: Launch) -> _Message | None:
    name = launch.collective.replace("_", "").lower()
    collective = next((found for part, found in _NAMES if part in name), None)
    each = _BYTES.get(launch.element_type)
    if collective is None or each is None or launch.elements is None or launch.ranks is None:
        return None
    if launch.ranks < _MIN_RANKS:
        return None
    # What an all-gather takes in is one rank's part of the message.
    parts = launch.ranks if collective is Collective.ALL_GATHER else 1
    return _Message(collective, launch.ranks, launch.elements * each * parts)


def _median_by_time(known: Sequence[tuple[_Message, int]]) -> float:
    half = sum(length for _, length in known) / 2
    ranked = sorted(known, key=lambda pair: pair[0].size_bytes)
    spent = accumulate(length for _, length in ranked)
    reached = (pair for pair, so_far in zip(ranked, spent, strict=True) if so_far >= half)
    return float(next(reached)[0].size_bytes)


def _bandwidths(known: Sequence[tuple[_Message, int]]) -> Iterator[Reading]:
    groups: defaultdict[tuple[Collective, int], list[tuple[int, int]]] = defaultdict(list)
    for message, length in known:
        groups[message.collective, message.ranks].append((message.size_bytes, length))
    for (collective, ranks), pairs in groups.items():
        size, length = (sum(pair[place] for pair in pairs) for place in (0, 1))
        if length > 0:
            yield Reading(
                name="bus_bw",
                value=bus_bandwidth(collective, size, length / _NS, ranks),
                unit="B/s",
                subject=f"{collective} of {ranks} ranks",
                source="nccl-tests formula on messages and kernel times, waits included",
                is_estimate=True,
            )
