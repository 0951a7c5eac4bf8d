"""Arranges the slices of a profile in lanes of nested calls.

By a profiler's clock, a call may end slightly after its caller: the excess is cut off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger.profile import Bucket, StepSlice
from perfledger.time_units import SECONDS_PER_DAY
from perfledger_profiles.parsing.units import NS_PER_S

# No step takes longer than a day; a longer one would flatten everything else.
MAX_STEP_SECONDS = float(SECONDS_PER_DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneCall:
    """A slice in whole nanoseconds since the start of the step; `depth` is its nesting level."""

    name: str  # untrusted
    bucket: Bucket
    start_ns: int
    end_ns: int
    depth: int


@dataclass(frozen=True, slots=True)
class StepLane:
    """The calls of one lane by start time, outer ones before inner ones."""

    name: str  # untrusted
    calls: tuple[LaneCall, ...]


def lanes_of(slices: Sequence[StepSlice], *, most: int) -> tuple[StepLane, ...]:
    """Return the lanes in order of appearance, with the `most` longest slices overall."""
    usable = [one for one in slices if _is_usable(one)]
    longest = sorted(range(len(usable)), key=lambda place: -usable[place].seconds)[:most]
    by_lane: dict[str, list[StepSlice]] = {}
    for place in sorted(longest):
        by_lane.setdefault(usable[place].lane, []).append(usable[place])
    return tuple(
        StepLane(name, tuple(_nested_calls(lane_slices))) for name, lane_slices in by_lane.items()
    )


def _is_usable(step_slice: StepSlice) -> bool:
    is_time = isfinite(step_slice.start_seconds) and 0 < step_slice.seconds < MAX_STEP_SECONDS
    return is_time and 0 <= step_slice.start_seconds < MAX_STEP_SECONDS


def _nested_calls(slices: Sequence[StepSlice]) -> Iterator[LaneCall]:
    ordered = sorted(slices, key=lambda one: (one.start_seconds, -one.seconds, one.depth))
    around: list[int] = []  # ends of the enclosing calls, the innermost last
    for one in ordered:
        start = round(one.start_seconds * NS_PER_S)
        end = round((one.start_seconds + one.seconds) * NS_PER_S)
        while around and around[-1] <= start:
            around.pop()
        end = min(end, around[-1]) if around else end
        yield LaneCall(
            name=one.name, bucket=one.bucket, start_ns=start, end_ns=end, depth=len(around)
        )
        around.append(end)
