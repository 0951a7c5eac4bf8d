"""Turn the calls of a step nearest to the median into its picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import Slice
from perfledger_profiles.breakdown import Label, nest_calls
from perfledger_profiles.spans import NOBODY, Segments
from perfledger_profiles.xla_host import Labelled

# More than a picture shows; the longest are kept.
MAX_SLICES = 2_000

_NS = 1e9


def median_window(windows: Segments) -> tuple[int, int] | None:
    """Return the beginning and the end of the step nearest to the median; None without a step."""
    if windows.owner.size == 0:
        return None
    length = windows.end_ns - windows.start_ns
    place = int(np.argmin(np.abs(length - np.median(length))))
    return int(windows.start_ns[place]), int(windows.end_ns[place])


def slices_of(
    lanes: Sequence[tuple[tuple[int, int], Mapping[str, Sequence[Labelled]]]],
) -> tuple[Slice, ...]:
    """Return the longest calls of some windows, lane by lane, by their start.

    Each entry is a window, as `median_window` gives it, and the lanes that are drawn in it. What
    sticks out of the window is cut off.
    """
    drawn = [
        each
        for window, named in lanes
        for lane, calls in named.items()
        for each in _nested(lane, calls, window)
    ]
    if len(drawn) > MAX_SLICES:
        longest = sorted(range(len(drawn)), key=lambda number: -drawn[number].length_ns)
        drawn = [drawn[number] for number in sorted(longest[:MAX_SLICES])]
    return tuple(each.slice() for each in drawn)


@dataclass(slots=True)
class _Drawn:
    """A call as it is drawn in its window."""

    lane: str
    label: Label
    start_ns: int  # since the window began
    length_ns: int
    depth: int

    def slice(self) -> Slice:
        """Return it as a profile has it."""
        return Slice(
            lane=self.lane,
            name=self.label.name,
            bucket=self.label.bucket,
            start_seconds=self.start_ns / _NS,
            seconds=self.length_ns / _NS,
            depth=self.depth,
        )


def _nested(lane: str, calls: Sequence[Labelled], window: tuple[int, int]) -> Iterator[_Drawn]:
    begin, end = window
    seen = [call for call in calls if call.start_ns < end and call.end_ns > begin]
    nesting = nest_calls(seen, range(len(seen)))
    depths: dict[int, int] = {NOBODY: -1}
    for number, parent in zip(nesting.order, nesting.parent, strict=True):
        call = seen[number]
        depths[number] = depths[parent] + 1
        start_ns = max(call.start_ns, begin)
        length_ns = min(call.end_ns, end) - start_ns
        yield _Drawn(lane, call.label, start_ns - begin, length_ns, depths[number])
