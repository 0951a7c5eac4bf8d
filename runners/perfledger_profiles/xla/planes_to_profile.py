"""Builds a Profile from the planes of an XLA profile (CPU, GPU or TPU).

Every instant of a step belongs to one operation: work on the device (compute, communication, copy,
memset, input), else a call of the thread that runs the steps (compiling, dispatching), else XLA's
own threads, else a wait, else "(outside operations)". With several devices, the profile is their
mean.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from perfledger.profile import JAX_PROFILER, Bucket, DeviceStep, MemoryPoint, Profile, StreamIdle
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import (
    BETWEEN_KERNELS,
    CallLabel,
    CallTimeline,
    breakdown,
    nest_calls,
    windows_of,
)
from perfledger_profiles.timeline.device_steps import device_step, note_on_devices
from perfledger_profiles.timeline.device_windows import with_known_steps
from perfledger_profiles.timeline.idle_reasons import (
    StreamCalls,
    idle_per_step,
    kernel_waits,
    note_on_idle_waits,
)
from perfledger_profiles.timeline.intervals import NO_CALL, TimeSegments
from perfledger_profiles.timeline.memory import memory_points, memory_readings
from perfledger_profiles.xla.device_plane import (
    STREAM,
    DeviceCall,
    DeviceWork,
    device_work,
    is_device,
    profiled_device,
)
from perfledger_profiles.xla.host_events import (
    CORRELATION,
    HOST_LANE,
    STEP,
    XLA_RUNTIME,
    LabelledSpan,
    XlaCall,
    bucket_layers,
    executor_calls,
    host_operations,
    thread_calls,
    thread_rank,
)
from perfledger_profiles.xla.kernels import kernels_of
from perfledger_profiles.xla.memory import recorded_memory
from perfledger_profiles.xla.metrics import readings_of
from perfledger_profiles.xla.planes import XLine, XPlane
from perfledger_profiles.xla.step_picture import median_window, slices_of
from perfledger_profiles.xla.step_windows import XlaSteps, device_steps_of

HOST = "/host:CPU"
# Driver calls of CUDA and ROCm, if they are not among the host's threads.
DRIVERS = ("/host:CUPTI", "/host:ROCTRACER")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Host:
    """The host's calls: operations (XLA on the CPU), its main thread, XLA's own threads."""

    operations: Sequence[XlaCall]
    thread: Sequence[XlaCall]
    waiting: Sequence[XlaCall]
    steps: tuple[tuple[int, int], ...]
    launches: Mapping[int, int]  # a kernel's correlation id → the time of its launch
    own_launches: Mapping[int, int]  # by the thread that runs the steps, or by no thread


def profile_of_planes(
    planes: Sequence[XPlane],
    *,
    workload: str,
    side: Side,
    dropped_events: int = 0,
    choice: DeviceChoice = ANY_DEVICE,
) -> Profile:
    """Return the mean step over the host's step annotations, else over each device's steps.

    Raises ProfileError if nothing takes time, or if the chosen device was not recorded.
    """
    devices = _chosen_planes([plane for plane in planes if is_device(plane)], choice)
    works = [device_work(plane) for plane in devices]
    host = _host(planes, has_devices=bool(works))
    steps = [_steps(work, host) for work in works] or [_steps(None, host)]
    places, left_out_notes = with_known_steps([each.has_markers for each in steps])
    steps = [steps[place] for place in places]
    if works:
        devices, works = [devices[place] for place in places], [works[place] for place in places]
    timelines = [
        _timeline(works[number] if works else None, host, steps=each)
        for number, each in enumerate(steps)
    ]
    profile = breakdown(
        timelines,
        workload=workload,
        side=side,
        tool=JAX_PROFILER,
        dropped_events=dropped_events,
        notes=(*dict.fromkeys(note for each in steps for note in each.notes), *left_out_notes),
    )
    windows = [timeline.windows for timeline in timelines]
    idle_waits = note_on_idle_waits(profile.operations) if works else ()
    profile = replace(
        profile,
        has_steps=all(each.has_markers for each in steps),
        is_host_known=not idle_waits and all(each.is_host_known for each in steps),
        device=profiled_device(devices),
        kernels=kernels_of(works, steps) if works else (),
        streams=idle_streams(works, windows, host.launches) if works else (),
        slices=slices_of(list(_lanes(works, host, windows))),
        memory=_memory(planes, works, [each.host_windows for each in steps]),
    )
    readings = readings_of(profile, works, steps)
    alone = [
        breakdown([timeline], workload=workload, side=side, tool=JAX_PROFILER)
        for timeline in timelines
        if len(works) > 1 and timeline.windows.owner.size
    ]
    by_device = _device_steps(devices, works, steps, alone)
    return replace(
        profile,
        readings=(*readings, *memory_readings(profile.memory)),
        devices=by_device,
        notes=(*profile.notes, *note_on_devices(by_device), *idle_waits),
    )


def _chosen_planes(devices: Sequence[XPlane], choice: DeviceChoice) -> list[XPlane]:
    """Return the planes of the chosen device; a recording has one process, and so one rank."""
    chosen = [
        plane
        for plane in devices
        if choice.device is None or plane.name.rpartition(":")[2] == str(choice.device)
    ]
    if not choice.is_any and (not chosen or choice.rank not in (None, 0)):
        names = ", ".join(plane.name.removeprefix("/device:") for plane in devices) or "none"
        msg = f"no such device or rank was recorded: choose from {names}, all of rank 0"
        raise ProfileError(msg)
    return chosen


def _device_steps(
    devices: Sequence[XPlane],
    works: Sequence[DeviceWork],
    steps: Sequence[XlaSteps],
    profiles: Sequence[Profile],
) -> tuple[DeviceStep, ...]:
    """Return the step of each device that has steps, from its own profile, if there are several."""
    if not profiles:
        return ()
    stepped = [
        (plane, work, each)
        for plane, work, each in zip(devices, works, steps, strict=True)
        if each.windows.owner.size
    ]
    return tuple(
        device_step(
            replace(profile, readings=readings_of(profile, [work], [each])),
            name=work.name,
            model=device.name if (device := profiled_device([plane])) else "",
            rank=None,
        )
        for (plane, work, each), profile in zip(stepped, profiles, strict=False)
    )


def idle_streams(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments], launches: Mapping[int, int]
) -> tuple[StreamIdle, ...]:
    """Return the idle time per step of all streams, the busiest first.

    `launches` maps correlation ids to the times of the host's launches.
    """
    streams: list[StreamIdle] = []
    for work, device_windows in zip(works, windows, strict=True):
        prefix = f"{work.name} " if len(works) > 1 else ""
        by_stream: dict[str, list[DeviceCall]] = {}
        for call in work.calls:
            if call.lane.startswith(STREAM):
                by_stream.setdefault(call.lane.removeprefix(STREAM), []).append(call)
        if device_windows.owner.size:
            streams += [
                idle_per_step(_calls(f"{prefix}{stream}", calls, launches), device_windows)
                for stream, calls in by_stream.items()
            ]
    return tuple(sorted(streams, key=lambda idle: (-idle.busy_seconds, idle.stream)))


def _calls(stream: str, calls: Sequence[DeviceCall], launches: Mapping[int, int]) -> StreamCalls:
    ordered = sorted(calls, key=lambda call: (call.start_ns, call.end_ns))
    launched = [launches.get(_correlation(call), NO_CALL) for call in ordered]
    return StreamCalls(
        stream=stream,
        start_ns=np.array([call.start_ns for call in ordered], dtype=np.int64),
        end_ns=np.array([call.end_ns for call in ordered], dtype=np.int64),
        launch_ns=np.array(launched, dtype=np.int64),
    )


def _correlation(call: DeviceCall) -> int:
    number = call.stats.get(CORRELATION)
    return number if isinstance(number, int) else NO_CALL


def _memory(
    planes: Sequence[XPlane], works: Sequence[DeviceWork], windows: Sequence[TimeSegments]
) -> tuple[MemoryPoint, ...]:
    """Return the memory in use from the first kept step of any device to the end of the last.

    The host allocates ahead of the device, so its clock cannot separate a device's steps.
    """
    lines = [line for plane in planes if plane.name == HOST for line in plane.lines]
    recorded = recorded_memory(lines, [work.name for work in works])
    starts = [int(each.start_ns[0]) for each in windows if each.start_ns.size]
    ends = [int(each.end_ns[-1]) for each in windows if each.end_ns.size]
    return memory_points(recorded, windows_of([(min(starts), max(ends))])) if starts else ()


def _host(planes: Sequence[XPlane], *, has_devices: bool) -> _Host:
    lines = [line for plane in planes if plane.name == HOST for line in plane.lines]
    drivers = [line for plane in planes if plane.name in DRIVERS for line in plane.lines]
    main = max(lines, key=_rank, default=None)
    marked = main.events if main is not None else ()
    return _Host(
        operations=() if has_devices else host_operations(lines),
        thread=thread_calls(main, is_of_device=has_devices) if main is not None else (),
        waiting=executor_calls(line for line in lines if line is not main),
        steps=tuple((e.start_ns, e.end_ns) for e in marked if STEP in e.stats),
        launches=_launches([*lines, *drivers]) if has_devices else {},
        own_launches=_launches([main, *drivers]) if has_devices and main is not None else {},
    )


def _rank(line: XLine) -> tuple[int, int]:
    return thread_rank((event.name, event.stats) for event in line.events)


def _launches(lines: Sequence[XLine]) -> dict[int, int]:
    launches: dict[int, int] = {}
    for line in lines:
        for event in line.events:
            number = event.stats.get(CORRELATION)
            if isinstance(number, int):
                launches[number] = min(event.start_ns, launches.get(number, event.start_ns))
    return launches


def _steps(work: DeviceWork | None, host: _Host) -> XlaSteps:
    """Return the steps of a device, or of the host's operations without one."""
    if work is None:
        unknown = [NO_CALL] * len(host.operations)
        recorded = (*host.operations, *host.thread)
        return device_steps_of(
            host.operations, launch_ns=unknown, host=host.steps, device=(), recorded=recorded
        )
    launches = [host.own_launches.get(_correlation(call), NO_CALL) for call in work.calls]
    return device_steps_of(
        work.calls,
        launch_ns=launches,
        host=host.steps,
        device=work.steps,
        recorded=work.calls,
    )


def _timeline(work: DeviceWork | None, host: _Host, *, steps: XlaSteps) -> CallTimeline:
    """Return a device's timeline, or the host's without a device."""
    work_calls: Sequence[XlaCall | DeviceCall] = work.calls if work else host.operations
    calls = [*work_calls, *host.thread, *host.waiting]
    on_thread = range(len(work_calls), len(work_calls) + len(host.thread))
    thread = nest_calls(calls, on_thread).segments
    is_wait = np.array([_is_wait(call.label) for call in calls], dtype=np.bool_)
    device = work.layers if work else bucket_layers(host.operations)
    start_ns = np.array([call.start_ns for call in calls], dtype=np.int64)
    is_counted = np.array([call.is_counted for call in calls], dtype=np.bool_)
    own_layers = (
        thread.where(~is_wait),
        nest_calls(calls, range(on_thread.stop, len(calls))).segments,
        thread.where(is_wait),
    )
    timeline = CallTimeline(
        labels=[call.label for call in calls],
        start_ns=start_ns,
        is_counted=is_counted,
        layers=(*device, *own_layers),
        windows=steps.windows,
    )
    if steps.work is None:
        return timeline
    # One additional call stands for all waits.
    waits = kernel_waits(steps.work, owner=len(calls))
    return replace(
        timeline,
        labels=[*timeline.labels, BETWEEN_KERNELS],
        start_ns=np.append(start_ns, 0),
        is_counted=np.append(is_counted, False),
        call_window=np.append(steps.call_windows(start_ns), NO_CALL),
        layers=(*device, waits, *own_layers),
    )


def _is_wait(label: CallLabel) -> bool:
    """Return whether the thread that runs the steps waits, on the CPU for XLA's own threads."""
    return label.bucket is Bucket.SYNC or label.name == XLA_RUNTIME


def _lanes(
    works: Sequence[DeviceWork], host: _Host, windows: Sequence[TimeSegments]
) -> Iterator[tuple[tuple[int, int], Mapping[str, Sequence[LabelledSpan]]]]:
    """Yield the windows and lanes of the median step: the host's, then each device's."""
    on_thread = [call for call in host.thread if call.is_counted]
    threads: dict[str, list[LabelledSpan]] = {HOST_LANE: [*on_thread]}
    for operation in host.operations:
        threads.setdefault(operation.lane, []).append(operation)
    first = median_window(windows[0])
    if first is not None:
        yield first, threads
    for work, device_windows in zip(works, windows, strict=False):
        window = median_window(device_windows)
        lanes: dict[str, list[LabelledSpan]] = {}
        for call in (*work.calls, *work.asynchronous):
            lanes.setdefault(_lane(work, call.lane, count=len(works)), []).append(call)
        if window is not None:
            yield window, lanes


def _lane(work: DeviceWork, lane: str, *, count: int) -> str:
    title = f"stream {lane.removeprefix(STREAM)}" if lane.startswith(STREAM) else lane
    return f"{work.name} {title}" if count > 1 else title
