"""Computes the times, message sizes and bandwidths of a trace's collectives."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from perfledger.profile import Bucket, CollectiveTimes, ProfileReading
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.bus_bandwidth import CollectiveOperation, bus_bandwidth
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    to_list,
)
from perfledger_profiles.timeline.step_windows import TraceSteps
from perfledger_profiles.timeline.trace import UNKNOWN, LaunchConfiguration, Trace

# A reading of the step: the size at the median of the collectives' time.
MESSAGE_BYTES = "comm_message_bytes"
# If a smaller share of the collectives' time is known, the median does not represent them all.
MIN_KNOWN_SHARE = 0.5
# A sharded model gathers and scatters each of its layers: a few thousand calls in five steps.
MAX_COLLECTIVE_CALLS = 10_000
# These end when two ranks are done, not all, so their length does not show which rank waits.
_BETWEEN_TWO = frozenset({"send", "recv"})
_COMMUNICATION = tuple(Bucket).index(Bucket.COMMUNICATION)
# A single rank sends nothing.
_MIN_RANKS = 2

# Parts of names in torch's process groups ("_allgather_base", "all_to_allv"), without underscores;
# the first that occurs in the name decides.
_NAMES = (
    ("allreduce", CollectiveOperation.ALL_REDUCE),
    ("allgather", CollectiveOperation.ALL_GATHER),
    ("reducescatter", CollectiveOperation.REDUCE_SCATTER),
    ("alltoall", CollectiveOperation.ALL_TO_ALL),
    ("broadcast", CollectiveOperation.BROADCAST),
    ("reduce", CollectiveOperation.REDUCE),
    ("gather", CollectiveOperation.GATHER),
    ("scatter", CollectiveOperation.SCATTER),
    ("send", CollectiveOperation.SEND_RECEIVE),
    ("recv", CollectiveOperation.SEND_RECEIVE),
)
# c10::ScalarType, under the names that the profiler writes.
_BYTES = {
    **dict.fromkeys(("Byte", "Char", "Bool"), 1),
    **dict.fromkeys(("Float8_e4m3fn", "Float8_e5m2", "Float8_e4m3fnuz", "Float8_e5m2fnuz"), 1),
    **dict.fromkeys(("Short", "Half", "BFloat16"), 2),
    **dict.fromkeys(("Int", "Float"), 4),
    **dict.fromkeys(("Long", "Double", "ComplexFloat"), 8),
    "ComplexDouble": 16,
}


@dataclass(frozen=True, slots=True)
class _Message:
    """A collective, its ranks and its message size as in nccl-tests; see `bus_bandwidth`."""

    collective: CollectiveOperation
    ranks: int
    size_bytes: int


def collectives_of(
    trace: Trace, bucket: IntArray, steps: TraceSteps
) -> tuple[CollectiveTimes, ...]:
    """Return the device's collectives in the kept steps, in order of their start.

    `bucket` is each call's place in Bucket. If there are more than MAX_COLLECTIVE_CALLS, the first
    ones are kept.
    """
    window = steps.call_windows
    is_collective = trace.is_device_work & (bucket == _COMMUNICATION) & (window != NO_CALL)
    calls = np.flatnonzero(is_collective)
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")][:MAX_COLLECTIVE_CALLS]
    numbers = dict(zip(steps.windows.owner.tolist(), steps.numbers, strict=True))
    seconds_by_key: defaultdict[tuple[str, int, int | None], list[float]] = defaultdict(list)
    for call in calls.tolist():
        launch = _launch(trace, call)
        if launch.collective not in _BETWEEN_TWO:
            key = trace.names[trace.name[call]], numbers[int(window[call])], launch.ranks
            seconds_by_key[key].append(int(trace.end_ns[call] - trace.start_ns[call]) / NS_PER_S)
    return tuple(
        CollectiveTimes(name=clean_name(name), step=step, seconds=tuple(seconds), ranks=ranks)
        for (name, step, ranks), seconds in seconds_by_key.items()
    )


def message_readings(trace: Trace, chosen: BoolArray) -> Iterator[ProfileReading]:
    """Yield the message size and bandwidths of the chosen calls, which are the collectives.

    Nothing if the profiler recorded no sizes, or too few. A kernel also waits for the other ranks,
    so a bandwidth is a lower bound of what the links carried.
    """
    calls = np.flatnonzero(chosen & (trace.launch != UNKNOWN))
    messages = [_message(launch) for launch in trace.launches]
    lengths = trace.end_ns - trace.start_ns
    messages_with_ns: list[tuple[_Message, int]] = []
    for launch, length in zip(to_list(trace.launch[calls]), to_list(lengths[calls]), strict=True):
        message = messages[launch]
        if message is not None:
            messages_with_ns.append((message, length))
    total_ns = int(lengths[chosen].sum())
    if (
        not messages_with_ns
        or sum(length for _, length in messages_with_ns) < MIN_KNOWN_SHARE * total_ns
    ):
        return
    yield ProfileReading(
        name=MESSAGE_BYTES,
        value=_median_by_time(messages_with_ns),
        unit="B",
        source="message size, at the median of the collectives' time",
    )
    yield from _bandwidths(messages_with_ns)


def _message(launch: LaunchConfiguration) -> _Message | None:
    name = launch.collective.replace("_", "").lower()
    collective = next((operation for part, operation in _NAMES if part in name), None)
    element_bytes = _BYTES.get(launch.element_type)
    if (
        collective is None
        or element_bytes is None
        or launch.elements is None
        or launch.ranks is None
    ):
        return None
    if launch.ranks < _MIN_RANKS:
        return None
    # The input of an all-gather is one rank's part of the message.
    parts = launch.ranks if collective is CollectiveOperation.ALL_GATHER else 1
    return _Message(collective, launch.ranks, launch.elements * element_bytes * parts)


def _median_by_time(messages: Sequence[tuple[_Message, int]]) -> float:
    half = sum(length for _, length in messages) / 2
    ranked = sorted(messages, key=lambda pair: pair[0].size_bytes)
    spent = accumulate(length for _, length in ranked)
    reached = (pair for pair, so_far in zip(ranked, spent, strict=True) if so_far >= half)
    return float(next(reached)[0].size_bytes)


def _bandwidths(messages: Sequence[tuple[_Message, int]]) -> Iterator[ProfileReading]:
    groups: defaultdict[tuple[CollectiveOperation, int], list[tuple[int, int]]] = defaultdict(list)
    for message, length in messages:
        groups[message.collective, message.ranks].append((message.size_bytes, length))
    for (collective, ranks), pairs in groups.items():
        size, length = (sum(pair[place] for pair in pairs) for place in (0, 1))
        if length > 0:
            yield ProfileReading(
                name="bus_bw",
                value=bus_bandwidth(collective, size, length / NS_PER_S, ranks),
                unit="B/s",
                subject=f"{collective} of {ranks} ranks",
                source="nccl-tests formula on messages and kernel times, waits included",
                is_estimate=True,
            )


def _launch(trace: Trace, call: int) -> LaunchConfiguration:
    number = int(trace.launch[call])
    return trace.launches[number] if number >= 0 else LaunchConfiguration()
