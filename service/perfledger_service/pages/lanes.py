"""Turns a profile's slices into lanes of calls that nest, as viewers of traces want them.

Profilers' clocks let a call end a little after the one that made it: what sticks out is cut off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger.profile import Bucket, Slice

# Longer than a day is no step: it would only press all else into one line.
_LONGEST_SECONDS = 86_400.0
_NS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A slice in whole nanoseconds, since the step began; `depth` is how many are around it."""

    name: str  # foreign
    bucket: Bucket
    start_ns: int
    end_ns: int
    depth: int


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane's calls by their start, an outer one before those inside of it."""

    name: str  # foreign
    calls: tuple[Call, ...]


def lanes_of(slices: Sequence[Slice], *, most: int) -> tuple[Lane, ...]:
    """Return the lanes in the order in which they first come, with the `most` longest slices."""
    usable = [one for one in slices if _is_usable(one)]
    longest = sorted(range(len(usable)), key=lambda place: -usable[place].seconds)[:most]
    by_lane: dict[str, list[Slice]] = {}
    for place in sorted(longest):
        by_lane.setdefault(usable[place].lane, []).append(usable[place])
    return tuple(Lane(name, tuple(_nested(found))) for name, found in by_lane.items())


def _is_usable(one: Slice) -> bool:
    is_time = isfinite(one.start_seconds) and 0 < one.seconds < _LONGEST_SECONDS
    return is_time and 0 <= one.start_seconds < _LONGEST_SECONDS


def _nested(slices: Sequence[Slice]) -> Iterator[Call]:
    ordered = sorted(slices, key=lambda one: (one.start_seconds, -one.seconds, one.depth))
    around: list[int] = []  # when those end that the next one may lie within, the innermost last
    for one in ordered:
        start = round(one.start_seconds * _NS)
        end = round((one.start_seconds + one.seconds) * _NS)
        while around and around[-1] <= start:
            around.pop()
        end = min(end, around[-1]) if around else end
        yield Call(name=one.name, bucket=one.bucket, start_ns=start, end_ns=end, depth=len(around))
        around.append(end)
