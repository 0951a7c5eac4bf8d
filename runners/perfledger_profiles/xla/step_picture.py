"""Selects the calls shown in the picture of the median step."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from perfledger.profile import StepSlice
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.breakdown import nest_calls
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.xla.host_events import LabelledSpan

# More than a picture can show; the longest are kept.
MAX_SLICES = 2_000


def median_window(windows: TimeSegments) -> tuple[int, int] | None:
    """Return the begin and the end of the step nearest to the median, or None without a step."""
    if windows.owner.size == 0:
        return None
    length = windows.end_ns - windows.start_ns
    place = int(np.argmin(np.abs(length - np.median(length))))
    return int(windows.start_ns[place]), int(windows.end_ns[place])


def slices_of(
    lanes: Sequence[tuple[tuple[int, int], Mapping[str, Sequence[LabelledSpan]]]],
) -> tuple[StepSlice, ...]:
    """Return the longest calls of the windows, lane by lane, by start.

    Each entry is a window from `median_window` and its lanes. Calls are clipped to the window.
    """
    slices = [
        each
        for window, named in lanes
        for lane, calls in named.items()
        for each in _nested_slices(lane, calls, window)
    ]
    longest = sorted(range(len(slices)), key=lambda number: -slices[number].seconds)
    return tuple(slices[number] for number in sorted(longest[:MAX_SLICES]))


def _nested_slices(
    lane: str, calls: Sequence[LabelledSpan], window: tuple[int, int]
) -> Iterator[StepSlice]:
    begin, end = window
    visible = [call for call in calls if call.start_ns < end and call.end_ns > begin]
    nesting = nest_calls(visible, range(len(visible)))
    depths: dict[int, int] = {NO_CALL: -1}
    for number, parent in zip(nesting.order, nesting.parent_numbers, strict=True):
        call = visible[number]
        depths[number] = depths[parent] + 1
        start_ns = max(call.start_ns, begin)
        yield StepSlice(
            lane=lane,
            name=call.label.name,
            bucket=call.label.bucket,
            start_seconds=(start_ns - begin) / NS_PER_S,
            seconds=(min(call.end_ns, end) - start_ns) / NS_PER_S,
            depth=depths[number],
        )
