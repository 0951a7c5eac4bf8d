"""Extracts the operations and the device facts of a device's plane."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import Bucket, ProfiledDevice
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import GIGA, PS_PER_NS, TERA
from perfledger_profiles.timeline.breakdown import CallLabel, nest_calls
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.xla.hlo import bucket_of, instruction_label
from perfledger_profiles.xla.host_events import BUCKET_ORDER, bucket_layers
from perfledger_profiles.xla.planes import Stat, Stats, XEvent, XLine, XPlane

# Excludes SparseCore planes, whose time is contained in their TensorCore's.
DEVICE = re.compile(r"/device:(?P<name>(TPU|GPU):\d+)")
STREAM = "Stream #"
OPERATIONS = "XLA Ops"
ASYNCHRONOUS = "Async XLA Ops"
MODULES = "XLA Modules"
STEPS = "Steps"
DEVICE_DURATION = "device_duration_ps"
KERNEL_DETAILS = "kernel_details"
COPY_DETAILS = "memcpy_details"

_RUN_ID = re.compile(r"\(\d+\)$")
_AMD = "AMD"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCall:
    """One operation or kernel that ran on a device."""

    label: CallLabel
    start_ns: int
    end_ns: int
    lane: str  # the stream, or the core's line of operations
    text: str  # raw event name (TPU: full instruction); not shown
    picoseconds: int  # without the operations inside it
    stats: Stats
    facts: Stats
    is_leaf: bool = True  # whether no operation ran inside it
    is_counted: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceWork:
    """The calls of one device; `layers` are its buckets in order of priority."""

    name: str  # "TPU:0"
    calls: tuple[DeviceCall, ...]
    modules: tuple[XEvent, ...]  # runs of whole programs (TPU)
    asynchronous: tuple[DeviceCall, ...]  # from start to done, overlapping `calls` (TPU)
    steps: tuple[tuple[int, int], ...]  # as marked by the device
    layers: tuple[TimeSegments, ...]

    @property
    def has_streams(self) -> bool:
        """Return whether it is a GPU, whose streams run concurrently."""
        return any(call.lane.startswith(STREAM) for call in self.calls)


def is_device(plane: XPlane) -> bool:
    """Return whether a plane is that of a TPU core or a GPU."""
    return DEVICE.fullmatch(plane.name) is not None


def device_work(plane: XPlane) -> DeviceWork:
    """Return a device's calls: its streams' kernels (GPU) or its operations (TPU)."""
    streams = [line for line in plane.lines if line.name.startswith(STREAM)]
    modules = _events(plane, MODULES)
    if streams:
        calls = tuple(_kernel(event, line, plane) for line in streams for event in line.events)
        layers = bucket_layers(calls)
    else:
        calls, layers = _operations(plane, modules)
    return DeviceWork(
        name=plane.name.removeprefix("/device:"),
        calls=calls,
        modules=modules,
        asynchronous=_label_calls(plane, _events(plane, ASYNCHRONOUS), ASYNCHRONOUS, modules),
        steps=tuple((event.start_ns, event.end_ns) for event in _events(plane, STEPS)),
        layers=layers,
    )


def profiled_device(planes: Sequence[XPlane]) -> ProfiledDevice | None:
    """Return the device that the planes' stats describe, or None if they describe none.

    A plane is one device as JAX counts them: a chip, or one core of a two-core chip.
    """
    stats: Stats = planes[0].stats if planes else {}
    names = (stats.get(key) for key in ("gpu_device_name", "device_type_string"))
    name = next((str(candidate) for candidate in names if candidate), "")
    flops = _positive(stats.get("peak_teraflops_per_second"))
    rate = _positive(stats.get("peak_hbm_bw_gigabytes_per_second"))
    own_rate = _positive(stats.get("memory_bandwidth"))  # bytes per second, of a GPU
    memory = _positive(stats.get("memory_size"))
    if not (name or flops or rate or own_rate or memory):
        return None
    is_amd = stats.get("device_vendor") == _AMD
    multiprocessors = _positive(stats.get("core_count")) if _is_gpu(planes[0]) else None
    return ProfiledDevice(
        name=clean_name(name) if name else (_AMD if is_amd else ""),
        memory_bytes=None if memory is None else int(memory),
        compute_capability="" if is_amd else _capability(stats),  # gfx942 would be 9.4
        multiprocessors=None if multiprocessors is None else int(multiprocessors),
        peak_flops=None if flops is None else flops * TERA,
        # XLA states half of AMD's: 2.66 of an MI300X's 5.3 TB/s.
        peak_bytes_per_second=(None if is_amd else own_rate) if rate is None else rate * GIGA,
        count=len(planes),
    )


def duration_ps(event: XEvent) -> int:
    """Return an event's duration by the device's clock, else by the profile's."""
    device_duration = event.stats.get(DEVICE_DURATION)
    return (
        device_duration
        if isinstance(device_duration, int)
        else (event.end_ns - event.start_ns) * PS_PER_NS
    )


def _is_gpu(plane: XPlane) -> bool:
    return plane.name.startswith("/device:GPU")


def _capability(stats: Stats) -> str:
    major, minor = stats.get("compute_cap_major"), stats.get("compute_cap_minor")
    return f"{major}.{minor}" if isinstance(major, int) and isinstance(minor, int) else ""


def _positive(value: Stat | None) -> float | None:
    is_number = isinstance(value, int | float) and 0 < value < float("inf")
    return float(value) if is_number else None  # type: ignore[arg-type]


def _events(plane: XPlane, line_name: str) -> tuple[XEvent, ...]:
    return tuple(event for line in plane.lines if line.name == line_name for event in line.events)


def _kernel(event: XEvent, line: XLine, plane: XPlane) -> DeviceCall:
    """Return a kernel or copy, with the HLO operation that launched it as its path."""
    around = [str(event.stats[key]) for key in ("hlo_module", "hlo_op") if key in event.stats]
    bucket = bucket_of(event.name)
    if bucket is Bucket.COMPUTE and around:
        bucket = bucket_of(around[-1])
    path = clean_name("/".join(around)) if around else ""
    return DeviceCall(
        label=CallLabel(clean_name(event.name), bucket, path=path),
        start_ns=event.start_ns,
        end_ns=event.end_ns,
        lane=line.name.partition("(")[0],  # "Stream #7(Compute,Memset)"
        text=event.name,
        picoseconds=duration_ps(event),
        stats=event.stats,
        facts=plane.facts.get(event.name, {}),
    )


def _operations(
    plane: XPlane, modules: Sequence[XEvent]
) -> tuple[tuple[DeviceCall, ...], tuple[TimeSegments, ...]]:
    """Return a core's operations, and the owner of each instant by bucket.

    Loops and calls enclose the operations that they run; each instant belongs to the innermost one.
    """
    events = _events(plane, OPERATIONS)
    nesting = nest_calls(events, range(len(events)))
    inside = [0] * len(events)
    parents = set(nesting.parent_numbers)
    for number, parent in zip(nesting.order, nesting.parent_numbers, strict=True):
        if parent != NO_CALL:
            inside[parent] += duration_ps(events[number])
    calls = _label_calls(plane, events, OPERATIONS, modules, inside=inside, parents=parents)
    buckets = [call.label.bucket for call in calls]
    layers = tuple(
        nesting.segments.where(np.array([b is bucket for b in buckets], dtype=np.bool_))
        for bucket in BUCKET_ORDER
    )
    return calls, layers


def _label_calls(
    plane: XPlane,
    events: Sequence[XEvent],
    lane: str,
    modules: Sequence[XEvent],
    *,
    inside: Sequence[int] = (),
    parents: Iterable[int] = (),
) -> tuple[DeviceCall, ...]:
    """Return the operations with their labels; `inside` is the time of the parts of each."""
    around = nest_calls(modules, range(len(modules))).segments
    starts = np.array([event.start_ns for event in events], dtype=np.int64)
    names = [clean_name(_RUN_ID.sub("", module.name)) for module in modules]
    labels: dict[tuple[str, str], CallLabel] = {}
    calls: list[DeviceCall] = []
    has_parts = frozenset(parents)
    places: list[int] = around.at(starts).tolist()
    for number, (event, index) in enumerate(zip(events, places, strict=True)):
        module = "" if index == NO_CALL else names[index]
        label = labels.get((event.name, module))
        if label is None:
            label = instruction_label(event.name, module=module)
            labels[event.name, module] = label
        calls.append(
            DeviceCall(
                label=label,
                start_ns=event.start_ns,
                end_ns=event.end_ns,
                lane=lane,
                text=event.name,
                picoseconds=max(0, duration_ps(event) - (inside[number] if inside else 0)),
                stats=event.stats,
                facts=plane.facts.get(event.name, {}),
                is_leaf=number not in has_parts,
            )
        )
    return tuple(calls)
