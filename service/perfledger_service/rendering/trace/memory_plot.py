"""Draws the memory in use over a profile's steps, one chart per device.

Memory stays in use until the next allocation or release, so the line has steps.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite

from perfledger import rounding
from perfledger.profile import JAX_PROFILER, TORCH_PROFILER, MemoryPoint, Profile
from perfledger_service.rendering.chart.axis import Axis, linear_axis
from perfledger_service.rendering.chart.marks import BandMark, DotMark, LineMark, Mark, Tone
from perfledger_service.rendering.chart.picture import Chart, KeyShape, LegendKey
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.trace.timeline.lanes import MAX_STEP_SECONDS

# With more devices, those that use the most memory are drawn.
MAX_DEVICES = 4

_LEFT = 100.0  # as in the timeline above
_HEIGHT = 84.0
_RESERVED_KEY = (
    LegendKey(label="reserved by the allocator", tone=Tone.MUTED, shape=KeyShape.DASHES),
)
_ONLY_CHANGES = ". Only changes were recorded: relative to the minimum"

# No device has more memory.
_MAX_BYTES = 2.0**60
# A shorter recording is a single moment; its axis is a second long.
_MIN_SECONDS = 1e-9

_PROFILERS = {
    TORCH_PROFILER: "profile(profile_memory=True) of torch.profiler records it",
    JAX_PROFILER: (
        "the allocators of GPUs and TPUs record it in jax.profiler's traces; the CPU's does not"
    ),
}
_OTHER = "torch.profiler (with profile_memory=True) and jax.profiler record it"


def memory_charts(profile: Profile, *, among: Sequence[Profile] = ()) -> tuple[Chart, ...]:
    """Return a chart per device of the memory in the kept steps; empty if none was recorded.

    Compared profiles share the axes.
    """
    points = _by_device(profile)
    if not points:
        return ()
    every = [_by_device(one) for one in (profile, *among)]
    span_s = max(p.seconds for by_device in every for many in by_device.values() for p in many)
    span_s = span_s if span_s >= _MIN_SECONDS else 1.0
    factor, unit = number_format.axis(span_s, "s")
    start = "the first kept step" if profile.has_steps else "the trace"
    x = linear_axis(0.0, span_s, factor=factor, title=f"{unit} since {start} began")
    charts = [_chart(many, x, most=_most(device, every)) for device, many in _lines(points)]
    if (hidden := len(points) - MAX_DEVICES) > 0:
        charts[-1] = replace(
            charts[-1], caption=f"{charts[-1].caption}. Not drawn: {hidden} more devices."
        )
    return tuple(charts)


def missing_memory_note(profile: Profile) -> str:
    """Return that memory was not recorded and how to record it; "" without a step."""
    if not profile.slices or _by_device(profile):
        return ""
    return f"not recorded; {_PROFILERS.get(profile.tool, _OTHER)}."


def _by_device(profile: Profile) -> dict[str, list[MemoryPoint]]:
    """Return each device's usable points by time, the device with the highest use first."""
    by_device: dict[str, list[MemoryPoint]] = {}
    for point in sorted(filter(_is_usable, profile.memory), key=lambda point: point.seconds):
        by_device.setdefault(point.device, []).append(point)
    peaks = {device: _peak(many).allocated_bytes for device, many in by_device.items()}
    return {device: by_device[device] for device in sorted(by_device, key=lambda one: -peaks[one])}


def _lines(points: Mapping[str, list[MemoryPoint]]) -> list[tuple[str, list[MemoryPoint]]]:
    """Return the devices with the highest use, the host last."""
    most = [*points.items()][:MAX_DEVICES]
    return sorted(most, key=lambda item: (item[0].startswith("cpu"), item[0]))


def _is_usable(point: MemoryPoint) -> bool:
    reserved = point.reserved_bytes
    is_time = isfinite(point.seconds) and 0 <= point.seconds < MAX_STEP_SECONDS
    return is_time and all(
        0 <= each < _MAX_BYTES for each in (point.allocated_bytes, reserved or 0.0)
    )


def _peak(points: Sequence[MemoryPoint]) -> MemoryPoint:
    return max(points, key=lambda point: point.allocated_bytes)


def _most(device: str, every: Sequence[Mapping[str, list[MemoryPoint]]]) -> float:
    """Return the most memory that a device used or reserved in any of the profiles."""
    points = [point for by_device in every for point in by_device.get(device, ())]
    return max(max(point.allocated_bytes, point.reserved_bytes or 0.0, 1.0) for point in points)


def _chart(points: Sequence[MemoryPoint], x: Axis, *, most: float) -> Chart:
    factor, unit = number_format.axis(most, "B")
    used = [(point.seconds, point.allocated_bytes) for point in points]
    reserved = [(p.seconds, p.reserved_bytes) for p in points if p.reserved_bytes is not None]
    peak = _peak(points)
    least = " at least" if peak.is_lower_bound else ""
    figure = number_format.byte_count(peak.allocated_bytes)
    title = f"peak {figure}{least}, at {number_format.seconds(peak.seconds)}"
    marks: list[Mark] = [
        BandMark(points=tuple((at, 0.0, value) for at, value in _steps(used))),
        LineMark(points=_steps(used), width=1.0),
        DotMark(x=peak.seconds, y=peak.allocated_bytes, tone=Tone.RED, radius=4.0, title=title),
    ]
    if reserved:
        marks.append(LineMark(points=_steps(reserved), tone=Tone.MUTED, width=1.0, is_dashed=True))
    is_partial = any(point.is_lower_bound for point in points)
    return Chart(
        x=x,
        y=linear_axis(
            0.0, most, label=lambda value: f"{rounding.typed(value)} {unit}", factor=factor
        ),
        marks=tuple(marks),
        caption=f"{peak.device}: {title}{_ONLY_CHANGES if is_partial else ''}",
        legend=_RESERVED_KEY if reserved else (),
        height=_HEIGHT,
        left=_LEFT,
    )


def _steps(values: Sequence[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return a step line, which stays at each value until the next one."""
    corners: list[tuple[float, float]] = []
    for seconds, value in values:
        if corners:
            corners.append((seconds, corners[-1][1]))
        corners.append((seconds, value))
    return tuple(corners)
