"""Builds a Profile from a Trace: the mean step and every metric of the timeline.

Every instant of a step belongs to one operation. In order of priority: work on the device (compute,
communication, copy, memset), the deepest call on the thread that runs the steps, the deepest call
on another thread of its process (autograd's, while the first one waits), a collective that runs on
the host, a wait for the device, an annotation in the user's code, and "(outside operations)".
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from perfledger.profile import (
    Bucket,
    DeviceStep,
    Profile,
    ProfiledDevice,
    ProfiledStep,
    ProfileReading,
    StreamIdle,
)
from perfledger.records import Side
from perfledger_profiles.hardware.device_lookup import hardware_of
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.breakdown import (
    BETWEEN_KERNELS,
    CallTimeline,
    breakdown,
)
from perfledger_profiles.timeline.call_labels import (
    CallLabels,
    ThreadNesting,
    label_calls,
    nest_threads,
)
from perfledger_profiles.timeline.collective_sizes import collectives_of
from perfledger_profiles.timeline.concurrent_work import alone_readings, device_layers
from perfledger_profiles.timeline.device_scopes import (
    DeviceScope,
    chosen_scopes,
    scopes_of,
    with_owners,
    without_little_work,
)
from perfledger_profiles.timeline.device_steps import device_step, mean_readings, note_on_devices
from perfledger_profiles.timeline.device_windows import with_known_steps
from perfledger_profiles.timeline.idle_reasons import (
    idle_per_step,
    kernel_waits,
    note_on_held_work,
    note_on_idle_waits,
    stream_calls,
)
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    nest,
    union,
)
from perfledger_profiles.timeline.kernel_table import eligible_readings, kernel_rows, tensor_share
from perfledger_profiles.timeline.launch_links import launched_work, launches_of, operators_of
from perfledger_profiles.timeline.matmuls import matmul_readings
from perfledger_profiles.timeline.memory import memory_points, memory_readings
from perfledger_profiles.timeline.step_picture import step_slices
from perfledger_profiles.timeline.step_windows import (
    TraceSteps,
    is_host_known,
    notes_on_missing_work,
    step_markers,
    steps_of,
)
from perfledger_profiles.timeline.trace import CallKind, Trace
from perfledger_profiles.timeline.trace_metrics import trace_readings

_BUCKETS = tuple(Bucket)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DevicePart:
    """One device's steps, and the trace without other devices' and processes' calls."""

    scope: DeviceScope
    trace: Trace
    launched_by: IntArray
    steps: TraceSteps

    @property
    def begun(self) -> BoolArray:
        """Return which device work belongs to the kept steps."""
        begun: BoolArray = self.steps.call_windows != NO_CALL
        return self.trace.is_device_work & begun


def build_profile(
    trace: Trace, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the profile of the kept steps: of the chosen device, or the mean if several worked.

    Raises ProfileError if no step has a length, or if nothing was recorded of the choice.
    """
    launched_by = launches_of(trace)
    trace = with_owners(trace, launched_by)
    parts, notes = _parts(trace, launched_by, choice)
    threads = nest_threads(trace, ~step_markers(trace))
    labels = label_calls(trace, threads, launched_by)
    all_notes = (*trace.notes, *notes, *notes_on_missing_work(trace))
    profile_of = partial(breakdown, workload=workload, side=side, tool=trace.tool, notes=all_notes)
    timelines = [_timeline(part, threads, labels) for part in parts]
    profile = profile_of(timelines, dropped_events=trace.dropped_events)
    readings = [
        (
            *trace_readings(
                part.trace, part.begun, labels.bucket, part.launched_by, part.steps.windows
            ),
            *alone_readings(part.trace, part.begun, part.steps.windows),
        )
        for part in parts
    ]
    alone = [
        replace(profile_of([timeline]), readings=each)
        for timeline, each in zip(timelines, readings, strict=True)
        if len(parts) > 1
    ]
    devices = _device_steps(trace, parts, alone, labels)
    has_device = bool(trace.is_device_work.any())
    idle_waits = note_on_idle_waits(profile.operations) if has_device else ()
    profile = replace(
        profile,
        notes=(*profile.notes, *note_on_devices(devices), *_note_on_held_work(parts), *idle_waits),
        device=_device(trace, parts),
        devices=devices,
        has_steps=all(part.steps.has_markers for part in parts),
        is_host_known=not idle_waits
        and all(is_host_known(part.trace, part.launched_by, part.steps) for part in parts),
    )
    return _with_details(
        profile, trace, parts, labels=labels, threads=threads, readings=mean_readings(readings)
    )


def _parts(
    trace: Trace, launched_by: IntArray, choice: DeviceChoice
) -> tuple[tuple[_DevicePart, ...], tuple[str, ...]]:
    """Return the parts of the chosen devices, and notes on the steps and on left-out devices."""
    scopes = chosen_scopes(scopes_of(trace, launched_by), choice)
    scopes, notes = without_little_work(scopes)
    marked = steps_of(trace, launched_by)
    lent = marked if marked.has_markers else None
    parts: list[_DevicePart] = []
    for scope in scopes:
        limited = scope.limit(trace)
        launches = np.where(scope.calls, launched_by, NO_CALL)
        steps = steps_of(limited, launches, lent=lent)
        parts.append(_DevicePart(scope=scope, trace=limited, launched_by=launches, steps=steps))
    places, left_out_notes = with_known_steps([part.steps.has_markers for part in parts])
    parts = [parts[place] for place in places]
    all_notes = (*notes, *(note for part in parts for note in part.steps.notes), *left_out_notes)
    return tuple(parts), tuple(dict.fromkeys(all_notes))


def _note_on_held_work(parts: Sequence[_DevicePart]) -> tuple[str, ...]:
    return note_on_held_work(
        [(launched_work(part.trace, part.launched_by), part.steps.windows) for part in parts]
    )


def _with_details(
    profile: Profile,
    trace: Trace,
    parts: Sequence[_DevicePart],
    *,
    labels: CallLabels,
    threads: ThreadNesting,
    readings: Sequence[ProfileReading],
) -> Profile:
    """Return the profile with all details except operations."""
    # The part with the steps that the profile keeps, and with the host that is drawn.
    main = max(parts, key=lambda part: part.steps.windows.owner.size)
    visible = replace(trace, kind=_visible_kinds(trace, parts))
    begun = np.logical_or.reduce([part.begun for part in parts])
    launched_by = np.maximum.reduce([part.launched_by for part in parts])
    operators = operators_of(trace, threads.parents, launched_by)
    windows = main.steps.windows
    iterations = main.steps.iterations if len(parts) == 1 else None
    kernels = kernel_rows(
        visible, begun, steps=sum(part.steps.windows.owner.size for part in parts)
    )
    memory = memory_points(trace.memory, main.steps.host_windows)
    return replace(
        profile,
        kernels=kernels,
        each_step=_renumber(profile.each_step, main.steps.numbers),
        streams=_streams(parts),
        readings=(
            *readings,
            *_shares(profile, tensor_share(kernels)),
            *memory_readings(memory),
            *matmul_readings(visible, begun, operators, hardware_of(profile).hardware),
            *_host_collectives(visible, labels, main.steps, profile),
            *_marker_readings(main.steps),
            *eligible_readings(visible, threads.parents, launched_by, operators),
        ),
        slices=step_slices(visible, labels, threads, windows, main=main.steps.main),
        memory=memory,
        rank=trace.rank,
        collectives=(
            collectives_of(main.trace, labels.bucket, main.steps) if len(parts) == 1 else ()
        ),
        iterations=iterations.repeats if iterations else 0.0,
        iteration_kernels=iterations.kernels if iterations else 0,
    )


def _visible_kinds(trace: Trace, parts: Sequence[_DevicePart]) -> IntArray:
    """Return the calls' kinds; calls of no part are left out."""
    calls = np.logical_or.reduce([part.scope.calls for part in parts])
    return np.where(calls, trace.kind, CallKind.LEFT_OUT)


def _device_steps(
    trace: Trace, parts: Sequence[_DevicePart], profiles: Sequence[Profile], labels: CallLabels
) -> tuple[DeviceStep, ...]:
    """Return each device's step from its own profile, if there are several devices."""
    names = Counter(part.scope.name for part in parts)
    scopes = [part.scope for part in parts]
    return tuple(
        device_step(
            profile,
            name=f"{scope.name} of rank {scope.rank}" if names[scope.name] > 1 else scope.name,
            model=device.name if (device := trace.device_of(scope.device)) else "",
            rank=scope.rank,
            collectives=collectives_of(part.trace, labels.bucket, part.steps),
        )
        for part, scope, profile in zip(parts, scopes, profiles, strict=False)
    )


def _timeline(part: _DevicePart, threads: ThreadNesting, labels: CallLabels) -> CallTimeline:
    trace, steps = part.trace, part.steps
    is_ours = _is_of_process(trace, steps.main) & ~steps.is_marker
    device, shared = device_layers(trace, labels.bucket)
    host = _host_layers(trace, steps.main, threads, labels)
    timeline = CallTimeline(
        labels=labels.table,
        label=labels.label,
        call_window=steps.call_windows,
        start_ns=trace.start_ns,
        is_counted=trace.is_device_work | (trace.is_on_host & is_ours),
        layers=(*device, *host),
        windows=steps.windows,
        shared=shared,
    )
    if not steps.is_device_timed:
        return timeline
    # One additional call stands for all waits.
    waits = kernel_waits(launched_work(trace, part.launched_by), owner=trace.name.size)
    return replace(
        timeline,
        labels=(*labels.table, BETWEEN_KERNELS),
        label=np.append(labels.label, len(labels.table)),
        call_window=np.append(steps.call_windows, NO_CALL),
        start_ns=np.append(trace.start_ns, 0),
        is_counted=np.append(timeline.is_counted, False),
        layers=(*device, waits, *host),
    )


def _is_of_process(trace: Trace, main: int) -> BoolArray:
    """Return which calls belong to the process that runs the steps."""
    if main == NO_CALL:
        return np.zeros(trace.name.shape, dtype=np.bool_)
    process = trace.lanes[main].process
    return np.array([lane.process == process for lane in trace.lanes], dtype=np.bool_)[trace.lane]


def _host_layers(
    trace: Trace, main: int, threads: ThreadNesting, labels: CallLabels
) -> tuple[TimeSegments, ...]:
    """Return the host's layers: work, other threads' work, collectives, waits, annotations."""
    is_sync = labels.bucket == _BUCKETS.index(Bucket.SYNC)
    talks = (labels.bucket == _BUCKETS.index(Bucket.COMMUNICATION)) & ~labels.is_annotation
    talks &= trace.kind == CallKind.ANNOTATION
    is_work = ~is_sync & ~labels.is_annotation & ~talks
    if main == NO_CALL:
        return ()
    first = threads.by_lane[main].segments if main in threads.by_lane else _merge([])
    process = trace.lanes[main].process
    other_threads = [
        nesting.segments
        for lane, nesting in threads.by_lane.items()
        if lane != main and trace.lanes[lane].process == process
    ]
    return (
        first.where(is_work),
        _merge([segments.where(is_work) for segments in other_threads]),
        _merge([segments.where(talks) for segments in (first, *other_threads)]),
        first.where(is_sync),
        _merge([segments.where(is_sync) for segments in other_threads]),
        first.where(labels.is_annotation),
    )


def _merge(many: Sequence[TimeSegments]) -> TimeSegments:
    """Merge the segments of several threads into one layer; the latest start wins."""
    empty = np.empty(0, dtype=np.int64)
    start_ns = np.concatenate([empty, *(segments.start_ns for segments in many)])
    end_ns = np.concatenate([empty, *(segments.end_ns for segments in many)])
    owner = np.concatenate([empty, *(segments.owner for segments in many)])
    merged = nest(start_ns, end_ns, np.arange(owner.size, dtype=np.int64)).segments
    return TimeSegments(start_ns=merged.start_ns, end_ns=merged.end_ns, owner=owner[merged.owner])


def _renumber(steps: Sequence[ProfiledStep], numbers: Sequence[int]) -> tuple[ProfiledStep, ...]:
    return tuple(replace(step, number=number) for step, number in zip(steps, numbers, strict=True))


def _device(trace: Trace, parts: Sequence[_DevicePart]) -> ProfiledDevice | None:
    """Return the device that works most, and how many devices of its model worked."""
    ranked = sorted(parts, key=lambda part: -part.scope.work_ns)
    recorded = {part.scope.device: trace.device_of(part.scope.device) for part in ranked}
    devices = [device for device in recorded.values() if device is not None]
    if not devices:
        return None
    return replace(devices[0], count=sum(one.name == devices[0].name for one in devices))


def _streams(parts: Sequence[_DevicePart]) -> tuple[StreamIdle, ...]:
    """Return the streams with work in the kept steps, the busiest first."""
    idle: list[StreamIdle] = []
    for part in parts:
        trace, windows = part.trace, part.steps.windows
        chosen = trace.is_device_work & np.isin(trace.lane, np.unique(trace.lane[part.begun]))
        calls = stream_calls(trace, part.launched_by, chosen)
        idle += [idle_per_step(each, windows) for each in calls]
    return tuple(sorted(idle, key=lambda stream: (-stream.busy_seconds, stream.stream)))


def _shares(profile: Profile, tensor: float | None) -> Iterator[ProfileReading]:
    loading = [o for o in profile.operations if o.bucket is Bucket.INPUT]
    if loading:
        yield ProfileReading(
            name="input_wait_frac",
            value=profile.bucket_seconds()[Bucket.INPUT] / profile.step_seconds,
            source="exclusive time of enumerate(DataLoader) or (DataPipe) / step",
        )
    if tensor is not None:
        yield ProfileReading(
            name="tc_ratio",
            value=tensor,
            source="time of tensor-core kernels / time of kernels, by their names",
            is_estimate=True,
        )


def _host_collectives(
    trace: Trace, labels: CallLabels, steps: TraceSteps, profile: Profile
) -> Iterator[ProfileReading]:
    """Yield the time of a device-less job's collectives, and the share that other work overlaps.

    Calls nest on the host, so an operator around a collective does not hide it. Other processes of
    a joined file do not count.
    """
    talks = trace.is_on_host & (labels.bucket == _BUCKETS.index(Bucket.COMMUNICATION))
    talks &= _is_of_process(trace, steps.main)
    if trace.is_device_work.any() or not talks.any():
        return
    talking_ns = intersection_ns(union(trace.start_ns[talks], trace.end_ns[talks]), steps.windows)
    if talking_ns:
        seconds = talking_ns / profile.steps / NS_PER_S
        exposed = profile.bucket_seconds()[Bucket.COMMUNICATION]
        reading = partial(ProfileReading, source="collectives on the host, per step")
        yield reading(name="comm_time", value=seconds, unit="s")
        yield reading(name="comm_overlap", value=max(1.0 - exposed / seconds, 0.0))


def _marker_readings(steps: TraceSteps) -> Iterator[ProfileReading]:
    """Yield the median of all step markers if the profile keeps fewer steps.

    It is the host's time: if the host runs ahead, a step takes longer than its marker.
    """
    if steps.has_markers and steps.segments.owner.size > steps.windows.owner.size:
        spans = steps.markers.spans  # another process's if this one has none
        yield ProfileReading(
            name="marked_step_p50",
            value=float(np.median(spans.end_ns - spans.start_ns)) / NS_PER_S,
            unit="s",
            source="median of all step markers, with those left out",
        )
