"""Turns the memory in use over a profile's steps into its picture: a panel for each device.

What is in use stays so until the next allocation or release: the line has steps, no slopes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from perfledger.profile import MemoryPoint, Profile
from perfledger_service.pages import figures
from perfledger_service.pages.scale import Dot, Scale, Tick, nice_ticks

# Of more devices those that use most are drawn.
MAX_DEVICES = 4

# As the template draws it; as wide as the timeline above it.
_LEFT, _RIGHT = 130.0, 944.0
_TOP = 72.0
_PANEL = 84.0
_GAP = 26.0  # between two panels: the next one's name and peak
_BELOW = 30.0

# What is above it is no memory of a device, and no time of a step.
_MAX_BYTES = 2.0**60
_LONGEST_SECONDS = 86_400.0
# Of one moment only there is no axis of time: it is drawn on one of a second.
_SHORTEST_SECONDS = 1e-9

_PROFILERS = {
    "torch.profiler": "profile(profile_memory=True) of torch.profiler records it",
    "jax.profiler": (
        "the allocators of GPUs and TPUs record it in jax.profiler's traces, those of the CPU do "
        "not"
    ),
}
_OTHER = "traces of torch.profiler, with profile_memory=True, and of jax.profiler have it"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPanel:
    """One device's memory; lines are points of a polyline, `held` is "" where it is not known."""

    device: str  # foreign
    top: float
    bottom: float
    used: str
    held: str
    peak: Dot
    ticks: tuple[Tick, ...]  # of bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPlot:
    """The panels above each other; `note` says what the lines are."""

    height: float
    panels: tuple[MemoryPanel, ...]
    ticks: tuple[Tick, ...]  # of time
    axis: str  # what they count
    note: str
    summary: str  # foreign


def memory_plot(profile: Profile, *, among: Sequence[Profile] = ()) -> MemoryPlot | None:
    """Return the picture of the memory in the kept steps, None where none was recorded.

    With those that it is to be compared with it has its axes in common.
    """
    points = _by_device(profile)
    if not points:
        return None
    every = [_by_device(one) for one in (profile, *among)]
    span_s = max(p.seconds for found in every for many in found.values() for p in many)
    span_s = span_s if span_s >= _SHORTEST_SECONDS else 1.0
    factor, unit = figures.axis(span_s, "s")
    start = "the first kept step" if profile.has_steps else "the trace"
    x = Scale(0.0, span_s, _LEFT, _RIGHT)
    panels = tuple(
        _panel(many, x, top=_TOP + place * (_PANEL + _GAP), most=_most(device, every))
        for place, (device, many) in enumerate(_drawn(points))
    )
    return MemoryPlot(
        height=panels[-1].bottom + _BELOW,
        panels=panels,
        ticks=tuple(
            Tick(x.at(at / factor), f"{at:.5g}") for at in nice_ticks(0.0, span_s * factor)
        ),
        axis=f"{unit} since {start} began",
        note=" ".join(_notes(points)),
        summary="; ".join(f"{panel.device}: {panel.peak.title}" for panel in panels),
    )


def not_recorded(profile: Profile) -> str:
    """Say that a step's memory was not recorded and how it is; "" where there is no step."""
    if not profile.slices or _by_device(profile):
        return ""
    return f"not recorded; {_PROFILERS.get(profile.tool, _OTHER)}."


def _by_device(profile: Profile) -> dict[str, list[MemoryPoint]]:
    """Return the devices' usable points by time, the device that uses most first."""
    found: dict[str, list[MemoryPoint]] = {}
    for point in sorted(filter(_is_usable, profile.memory), key=lambda point: point.seconds):
        found.setdefault(point.device, []).append(point)
    peaks = {device: _peak(many).allocated_bytes for device, many in found.items()}
    return {device: found[device] for device in sorted(found, key=lambda one: -peaks[one])}


def _drawn(points: Mapping[str, list[MemoryPoint]]) -> list[tuple[str, list[MemoryPoint]]]:
    """Return the devices that use most, by their names, the host's memory last."""
    most = [*points.items()][:MAX_DEVICES]
    return sorted(most, key=lambda item: (item[0].startswith("cpu"), item[0]))


def _is_usable(point: MemoryPoint) -> bool:
    held = point.reserved_bytes
    is_time = isfinite(point.seconds) and 0 <= point.seconds < _LONGEST_SECONDS
    return is_time and all(0 <= each < _MAX_BYTES for each in (point.allocated_bytes, held or 0.0))


def _peak(points: Sequence[MemoryPoint]) -> MemoryPoint:
    return max(points, key=lambda point: point.allocated_bytes)


def _most(device: str, every: Sequence[Mapping[str, list[MemoryPoint]]]) -> float:
    """Return the most that the device, by its name, used or held in any of the profiles."""
    points = [point for found in every for point in found.get(device, ())]
    return max(max(point.allocated_bytes, point.reserved_bytes or 0.0, 1.0) for point in points)


def _panel(points: Sequence[MemoryPoint], x: Scale, *, top: float, most: float) -> MemoryPanel:
    bottom = top + _PANEL
    y = Scale(0.0, most, bottom, top)
    factor, unit = figures.axis(most, "B")
    peak = _peak(points)
    used = [(point.seconds, point.allocated_bytes) for point in points]
    held = [(p.seconds, p.reserved_bytes) for p in points if p.reserved_bytes is not None]
    least = " at least" if peak.is_lower_bound else ""
    figure, when = figures.byte_count(peak.allocated_bytes), figures.seconds(peak.seconds)
    return MemoryPanel(
        device=peak.device,
        top=top,
        bottom=bottom,
        used=f"{x.at(points[0].seconds):g},{bottom:g} {_steps(used, x, y)} "
        f"{x.at(points[-1].seconds):g},{bottom:g}",
        held=_steps(held, x, y),
        peak=Dot(
            x.at(peak.seconds), y.at(peak.allocated_bytes), f"peak {figure}{least}, at {when}"
        ),
        ticks=tuple(
            Tick(y.at(at / factor), f"{at:g}{figures.NBSP}{unit}")
            for at in nice_ticks(0.0, most * factor)
        ),
    )


def _steps(values: Sequence[tuple[float, float]], x: Scale, y: Scale) -> str:
    """Return a line that stays at a value until the next one's time."""
    corners: list[str] = []
    before: float | None = None
    for seconds, value in values:
        if before is not None:
            corners.append(f"{x.at(seconds):g},{y.at(before):g}")
        corners.append(f"{x.at(seconds):g},{y.at(value):g}")
        before = value
    return " ".join(corners)


def _notes(points: Mapping[str, list[MemoryPoint]]) -> Iterator[str]:
    every = [point for many in points.values() for point in many]
    if any(point.reserved_bytes is not None for point in every):
        yield "Dashed: what the allocator holds."
    if any(point.is_lower_bound for point in every):
        yield "Only changes were recorded: counted from the least in use."
    if len(points) > MAX_DEVICES:
        yield f"Not drawn: {len(points) - MAX_DEVICES} more devices."
