"""Turn the planes of an XLA profile (CPU, GPU or TPU) into a Profile.

Every instant of a step goes to one operation: what runs on the device (compute, communication,
copy, memset, input), else what the thread that takes the steps is up to (compiling, dispatching),
else XLA's own threads, else a wait, else "(outside operations)". With several devices it is their
mean.
"""

import re
from collections.abc import Sequence

import numpy as np

from perfledger.profile import Bucket, Profile
from perfledger.records import Side
from perfledger_profiles.breakdown import (
    Label,
    Timeline,
    breakdown,
    kept_steps,
    nest_calls,
    note_on_steps,
    windows_of,
)
from perfledger_profiles.hlo import bucket_of, instruction_label
from perfledger_profiles.planes import XEvent, XLine, XPlane
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import NOBODY, Segments
from perfledger_profiles.xla_host import XlaCall, executor_calls, host_operations, thread_calls

TOOL = "jax.profiler"
NO_STEPS = "no step annotations: the whole trace is taken as one step"

_HOST = "/host:CPU"
# Not a SparseCore's plane, whose time is part of its TensorCore's.
_DEVICE = re.compile(r"/device:(TPU|GPU):\d+")
_STREAM = "Stream #"
_OPERATIONS = "XLA Ops"
_MODULES = "XLA Modules"
_STEPS = "Steps"
_RUN_ID = re.compile(r"\(\d+\)$")
_DEVICE_ORDER = (
    Bucket.COMPUTE,
    Bucket.COMMUNICATION,
    Bucket.COPY,
    Bucket.MEMSET,
    Bucket.INPUT,
)


def profile_of_planes(
    planes: Sequence[XPlane], *, workload: str, side: Side, dropped_events: int = 0
) -> Profile:
    """Return the mean step over the host's step annotations, else over each device's own steps.

    Raises ProfileError when nothing took any time.
    """
    lines = [line for plane in planes if plane.name == _HOST for line in plane.lines]
    main = max(lines, key=_main_rank, default=None)
    others = [line for line in lines if line is not main]
    host = thread_calls(main) if main is not None else []
    waiting = executor_calls(others)
    devices = [plane for plane in planes if _DEVICE.fullmatch(plane.name)]
    work = [device_operations(plane) for plane in devices] or [host_operations(lines)]
    marks = _marks(main, devices)
    notes = () if any(marks) else (NO_STEPS,)
    timelines: list[Timeline] = []
    for calls, steps in zip(work, marks, strict=True):
        found = windows_of(steps or _whole([*calls, *host]))
        kept = kept_steps(found)
        timelines.append(_timeline(calls, host, waiting, windows=kept))
        notes = (*notes, *note_on_steps(found, kept))
    return breakdown(
        timelines,
        workload=workload,
        side=side,
        tool=TOOL,
        dropped_events=dropped_events,
        notes=tuple(dict.fromkeys(notes)),
    )


def device_operations(plane: XPlane) -> list[XlaCall]:
    """Return what ran on a device: its streams' kernels (GPU), or its operations (TPU)."""
    streams = [line for line in plane.lines if line.name.startswith(_STREAM)]
    if streams:
        events = [event for line in streams for event in line.events]
        return [_call(event, _kernel_label(event)) for event in events]
    modules = [event for line in plane.lines if line.name == _MODULES for event in line.events]
    events = [event for line in plane.lines if line.name == _OPERATIONS for event in line.events]
    around = nest_calls(modules, range(len(modules))).segments
    starts = np.array([event.start_ns for event in events], dtype=np.int64)
    return [
        _call(event, instruction_label(event.name, module=_module(modules, number)))
        for event, number in zip(events, around.at(starts).tolist(), strict=True)
    ]


def _call(event: XEvent, label: Label) -> XlaCall:
    return XlaCall(label=label, start_ns=event.start_ns, end_ns=event.end_ns)


def _kernel_label(event: XEvent) -> Label:
    """Return the label of a kernel or copy; the HLO operation that launched it is its path."""
    around = [str(event.stats[key]) for key in ("hlo_module", "hlo_op") if key in event.stats]
    bucket = bucket_of(event.name)
    if bucket is Bucket.COMPUTE and around:
        bucket = bucket_of(around[-1])
    return Label(
        clean_name(event.name), bucket, path=clean_name("/".join(around)) if around else ""
    )


def _module(modules: Sequence[XEvent], number: int) -> str:
    if number == NOBODY:
        return ""
    return clean_name(_RUN_ID.sub("", modules[number].name))


def _main_rank(line: XLine) -> tuple[int, int]:
    """Rank the thread that takes the steps first: by its steps, then by its calls of functions."""
    steps = sum("step_num" in event.stats for event in line.events)
    return steps, sum("Function(" in event.name for event in line.events)


def _marks(main: XLine | None, devices: Sequence[XPlane]) -> list[list[tuple[int, int]]]:
    """Return the steps of each device: the host's, which see what the device waits for."""
    count = max(len(devices), 1)
    if main is not None:
        steps = [(e.start_ns, e.end_ns) for e in main.events if "step_num" in e.stats]
        if steps:
            return [steps] * count
    if not devices:
        return [[]]
    return [
        [(e.start_ns, e.end_ns) for line in plane.lines if line.name == _STEPS for e in line.events]
        for plane in devices
    ]


def _whole(calls: Sequence[XlaCall]) -> list[tuple[int, int]]:
    if not calls:
        return []
    return [(min(call.start_ns for call in calls), max(call.end_ns for call in calls))]


def _timeline(
    work: Sequence[XlaCall],
    host: Sequence[XlaCall],
    waiting: Sequence[XlaCall],
    *,
    windows: Segments,
) -> Timeline:
    calls = [*work, *host, *waiting]
    on_host = range(len(work), len(work) + len(host))
    thread = nest_calls(calls, on_host).segments
    is_sync = np.array([call.label.bucket is Bucket.SYNC for call in calls], dtype=np.bool_)
    return Timeline(
        labels=[call.label for call in calls],
        start_ns=np.array([call.start_ns for call in calls], dtype=np.int64),
        is_counted=np.array([call.is_counted for call in calls], dtype=np.bool_),
        layers=(
            *_device_layers(work),
            thread.where(~is_sync),
            nest_calls(calls, range(on_host.stop, len(calls))).segments,
            thread.where(is_sync),
        ),
        windows=windows,
    )


def _device_layers(work: Sequence[XlaCall]) -> list[Segments]:
    return [
        nest_calls(work, [n for n, call in enumerate(work) if call.label.bucket is b]).segments
        for b in _DEVICE_ORDER
    ]
