"""Extracts the duration of each collective call, step by step."""

from collections import defaultdict

import numpy as np

from perfledger.profile import Bucket, CollectiveTimes
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.intervals import NO_CALL, IntArray
from perfledger_profiles.timeline.step_windows import TraceSteps
from perfledger_profiles.timeline.trace import LaunchConfiguration, Trace

# A sharded model gathers and scatters each of its layers: some thousand calls in five steps.
MAX_CALLS = 10_000

_NS = 1e9
_COMMUNICATION = tuple(Bucket).index(Bucket.COMMUNICATION)
# These end when two ranks are done, not all: their length does not show which rank waits.
_BETWEEN_TWO = frozenset({"send", "recv"})


def collectives_of(
    trace: Trace, bucket: IntArray, steps: TraceSteps
) -> tuple[CollectiveTimes, ...]:
    """Return the device's collectives in the kept steps, in order of their start.

    `bucket` is each call's place in Bucket. Above MAX_CALLS the first ones are kept.
    """
    window = steps.windows.at(trace.start_ns)
    is_collective = trace.is_device_work & (bucket == _COMMUNICATION) & (window != NO_CALL)
    calls = np.flatnonzero(is_collective)
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")][:MAX_CALLS]
    numbers = dict(zip(steps.windows.owner.tolist(), steps.numbers, strict=True))
    seconds_by_key: defaultdict[tuple[str, int, int | None], list[float]] = defaultdict(list)
    for call in calls.tolist():
        launch = _launch(trace, call)
        if launch.collective not in _BETWEEN_TWO:
            key = trace.names[trace.name[call]], numbers[int(window[call])], launch.ranks
            seconds_by_key[key].append(int(trace.end_ns[call] - trace.start_ns[call]) / _NS)
    return tuple(
        CollectiveTimes(name=clean_name(name), step=step, seconds=tuple(seconds), ranks=ranks)
        for (name, step, ranks), seconds in seconds_by_key.items()
    )


def _launch(trace: Trace, call: int) -> LaunchConfiguration:
    number = int(trace.launch[call])
    return trace.launches[number] if number >= 0 else LaunchConfiguration()
