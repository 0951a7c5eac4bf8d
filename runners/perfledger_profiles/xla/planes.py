"""Holds the raw planes, lines and events of an XLA profile."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Stat = str | int | float
Stats = Mapping[str, Stat]


@dataclass(frozen=True, slots=True, kw_only=True)
class XEvent:
    """One event on a line, with the stats that are needed."""

    name: str
    start_ns: int
    end_ns: int
    stats: Stats = field(default_factory=dict[str, Stat])


@dataclass(frozen=True, slots=True, kw_only=True)
class XLine:
    """A thread of the host, a stream of a device, or one of the profiler's own summaries."""

    name: str
    events: tuple[XEvent, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class XPlane:
    """The host or one device.

    `stats` describe the device; `facts` are the stats shared by all events of one name.
    """

    name: str  # "/host:CPU", "/device:TPU:0"
    lines: tuple[XLine, ...]
    stats: Stats = field(default_factory=dict[str, Stat])
    facts: Mapping[str, Stats] = field(default_factory=dict[str, Stats])
