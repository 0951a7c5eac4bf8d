"""Turn a trace's collectives into how long each call took, step by step."""

from collections import defaultdict

import numpy as np

from perfledger.profile import Bucket, Collective
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import NOBODY, IntArray
from perfledger_profiles.steps import Steps
from perfledger_profiles.trace import Launch, Trace

# A sharded model gathers and scatters each of its layers: some thousand calls in five steps.
MAX_CALLS = 10_000

_NS = 1e9
_COMMUNICATION = tuple(Bucket).index(Bucket.COMMUNICATION)
# They end when two ranks are done, not all: who waits for whom cannot be told from their length.
_BETWEEN_TWO = frozenset({"send", "recv"})


def collectives_of(trace: Trace, bucket: IntArray, steps: Steps) -> tuple[Collective, ...]:
    """Return the device's collectives in the kept steps, by the order in which they began.

    `bucket` is each call's place in Bucket. Of more than MAX_CALLS the first are kept.
    """
    window = steps.windows.at(trace.start_ns)
    is_meant = trace.is_device_work & (bucket == _COMMUNICATION) & (window != NOBODY)
    calls = np.flatnonzero(is_meant)
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")][:MAX_CALLS]
    numbers = dict(zip(steps.windows.owner.tolist(), steps.numbers, strict=True))
    found: defaultdict[tuple[str, int, int | None], list[float]] = defaultdict(list)
    for call in calls.tolist():
        launch = _launch(trace, call)
        if launch.collective not in _BETWEEN_TWO:
            key = trace.names[trace.name[call]], numbers[int(window[call])], launch.ranks
            found[key].append(int(trace.end_ns[call] - trace.start_ns[call]) / _NS)
    return tuple(
        Collective(name=clean_name(name), step=step, seconds=tuple(seconds), ranks=ranks)
        for (name, step, ranks), seconds in found.items()
    )


def _launch(trace: Trace, call: int) -> Launch:
    number = int(trace.launch[call])
    return trace.launches[number] if number >= 0 else Launch()
