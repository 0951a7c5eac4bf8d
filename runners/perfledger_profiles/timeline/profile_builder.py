"""Builds a Profile from a Trace: the mean step and every metric of the timeline.

Every instant of a step belongs to one operation. In order of priority: work on the device (compute,
communication, copy, memset), the deepest call on the thread that takes the steps, the deepest call
on another thread of its process (autograd's, while the first one waits), a collective that runs on
the host, a wait for the device, an annotation in the user's code, and "(outside operations)".
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from perfledger.profile import (
    Bucket,
    CollectiveTimes,
    Profile,
    ProfiledDevice,
    ProfiledStep,
    ProfileReading,
    StreamIdle,
)
from perfledger.records import Side
from perfledger_profiles.hardware.device_lookup import hardware_of
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.breakdown import DEVICE_ORDER, CallTimeline, breakdown
from perfledger_profiles.timeline.call_labels import (
    CallLabels,
    ThreadNesting,
    label_calls,
    nest_threads,
)
from perfledger_profiles.timeline.idle_reasons import idle_per_step, stream_calls
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    nest,
    to_list,
    union,
)
from perfledger_profiles.timeline.kernel_table import eligible_readings, kernel_rows, tensor_share
from perfledger_profiles.timeline.launch_links import launches_of, operators_of
from perfledger_profiles.timeline.matmuls import matmul_readings
from perfledger_profiles.timeline.memory_timeline import memory_points, memory_readings
from perfledger_profiles.timeline.step_picture import step_slices
from perfledger_profiles.timeline.step_windows import TraceSteps, keep_one_process, steps_of
from perfledger_profiles.timeline.trace import CallKind, LaunchConfiguration, Trace
from perfledger_profiles.timeline.trace_metrics import trace_readings

_NS = 1e9
_BUCKETS = tuple(Bucket)

# A sharded model gathers and scatters each of its layers: some thousand calls in five steps.
MAX_COLLECTIVE_CALLS = 10_000

_COMMUNICATION = tuple(Bucket).index(Bucket.COMMUNICATION)
# These end when two ranks are done, not all: their length does not show which rank waits.
_BETWEEN_TWO = frozenset({"send", "recv"})


def build_profile(recording: Trace, *, workload: str, side: Side) -> Profile:
    """Return the profile of a trace's kept steps.

    Raises ProfileError when there is no step with a length.
    """
    trace = keep_one_process(recording)
    steps = steps_of(trace)
    launched_by = launches_of(trace)
    threads = nest_threads(trace, ~steps.is_marker)
    labels = label_calls(trace, threads, launched_by)
    profile = replace(
        breakdown(
            [_timeline(trace, steps, threads, labels)],
            workload=workload,
            side=side,
            tool=trace.tool,
            dropped_events=trace.dropped_events,
            notes=(*trace.notes, *steps.notes),
        ),
        device=_device(trace),
    )
    work = trace.is_device_work & (steps.windows.at(trace.start_ns) != NO_CALL)
    kernels = kernel_rows(trace, work, steps=profile.steps)
    memory = memory_points(trace.memory, steps.windows)
    operators = operators_of(trace, threads.parents, launched_by)
    return replace(
        profile,
        has_steps=steps.has_markers,
        kernels=kernels,
        each_step=_renumber(profile.each_step, steps.numbers),
        streams=_streams(trace, launched_by, steps.windows),
        readings=(
            *trace_readings(trace, labels.bucket, launched_by, steps.windows),
            *_shares(profile, tensor_share(kernels)),
            *memory_readings(memory),
            *matmul_readings(trace, work, operators, hardware_of(profile).hardware),
            *_host_collectives(trace, labels, steps, profile),
            *_marker_readings(steps),
            *eligible_readings(trace, threads.parents, launched_by, operators),
        ),
        slices=step_slices(trace, labels, threads, steps.windows, main=steps.main),
        memory=memory,
        rank=trace.rank,
        collectives=collectives_of(trace, labels.bucket, steps),
    )


def collectives_of(
    trace: Trace, bucket: IntArray, steps: TraceSteps
) -> tuple[CollectiveTimes, ...]:
    """Return the device's collectives in the kept steps, in order of their start.

    `bucket` is each call's place in Bucket. Above MAX_COLLECTIVE_CALLS the first ones are kept.
    """
    window = steps.windows.at(trace.start_ns)
    is_collective = trace.is_device_work & (bucket == _COMMUNICATION) & (window != NO_CALL)
    calls = np.flatnonzero(is_collective)
    calls = calls[np.argsort(trace.start_ns[calls], kind="stable")][:MAX_COLLECTIVE_CALLS]
    numbers = dict(zip(steps.windows.owner.tolist(), steps.numbers, strict=True))
    seconds_by_key: defaultdict[tuple[str, int, int | None], list[float]] = defaultdict(list)
    for call in calls.tolist():
        launch = _launch(trace, call)
        if launch.collective not in _BETWEEN_TWO:
            key = trace.names[trace.name[call]], numbers[int(window[call])], launch.ranks
            seconds_by_key[key].append(int(trace.end_ns[call] - trace.start_ns[call]) / _NS)
    return tuple(
        CollectiveTimes(name=clean_name(name), step=step, seconds=tuple(seconds), ranks=ranks)
        for (name, step, ranks), seconds in seconds_by_key.items()
    )


def _launch(trace: Trace, call: int) -> LaunchConfiguration:
    number = int(trace.launch[call])
    return trace.launches[number] if number >= 0 else LaunchConfiguration()


def _timeline(
    trace: Trace, steps: TraceSteps, threads: ThreadNesting, labels: CallLabels
) -> CallTimeline:
    is_ours = _is_of_process(trace, steps.main) & ~steps.is_marker
    return CallTimeline(
        labels=labels.table,
        label=labels.label,
        start_ns=trace.start_ns,
        is_counted=trace.is_device_work | (trace.is_on_host & is_ours),
        layers=(*_device_layers(trace, labels), *_host_layers(trace, steps.main, threads, labels)),
        windows=steps.windows,
    )


def _is_of_process(trace: Trace, main: int) -> BoolArray:
    """Return which calls belong to the process that takes the steps."""
    if main == NO_CALL:
        return np.zeros(trace.name.shape, dtype=np.bool_)
    process = trace.lanes[main].process
    return np.array([lane.process == process for lane in trace.lanes], dtype=np.bool_)[trace.lane]


def _device_layers(trace: Trace, labels: CallLabels) -> list[TimeSegments]:
    layers: list[TimeSegments] = []
    for bucket in DEVICE_ORDER:
        mine = np.flatnonzero(trace.is_device_work & (labels.bucket == _BUCKETS.index(bucket)))
        layers.append(nest(trace.start_ns[mine], trace.end_ns[mine], mine).segments)
    return layers


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
    """Merge the segments of several threads into one layer, in which the latest start wins."""
    empty = np.empty(0, dtype=np.int64)
    start_ns = np.concatenate([empty, *(segments.start_ns for segments in many)])
    end_ns = np.concatenate([empty, *(segments.end_ns for segments in many)])
    owner = np.concatenate([empty, *(segments.owner for segments in many)])
    merged = nest(start_ns, end_ns, np.arange(owner.size, dtype=np.int64)).segments
    return TimeSegments(start_ns=merged.start_ns, end_ns=merged.end_ns, owner=owner[merged.owner])


def _renumber(steps: Sequence[ProfiledStep], numbers: Sequence[int]) -> tuple[ProfiledStep, ...]:
    return tuple(replace(step, number=number) for step, number in zip(steps, numbers, strict=True))


def _device(trace: Trace) -> ProfiledDevice | None:
    """Return the device that most of the work ran on, and how many of its model worked."""
    lanes = Counter(to_list(trace.lane[trace.is_device_work]))
    used: Counter[int] = Counter()
    for lane, calls in lanes.items():
        number = trace.lanes[lane].process
        if isinstance(number, int) and 0 <= number < len(trace.devices):
            used[number] += calls
    if not used:
        return None
    device = trace.devices[used.most_common(1)[0][0]]
    return replace(device, count=sum(trace.devices[n].name == device.name for n in used))


def _streams(trace: Trace, launched_by: IntArray, windows: TimeSegments) -> tuple[StreamIdle, ...]:
    """Return the streams with work in the kept steps, the busiest first."""
    work = trace.is_device_work
    used = np.unique(trace.lane[work & (windows.at(trace.start_ns) != NO_CALL)])
    chosen = work & np.isin(trace.lane, used)
    idle = [idle_per_step(calls, windows) for calls in stream_calls(trace, launched_by, chosen)]
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

    Calls nest on the host, so an operator around a collective does not hide it. Other processes
    of a joined file do not count.
    """
    talks = trace.is_on_host & (labels.bucket == _BUCKETS.index(Bucket.COMMUNICATION))
    talks &= _is_of_process(trace, steps.main)
    if trace.is_device_work.any() or not talks.any():
        return
    talking_ns = intersection_ns(union(trace.start_ns[talks], trace.end_ns[talks]), steps.windows)
    if talking_ns > 0:
        seconds = talking_ns / profile.steps / _NS
        exposed = profile.bucket_seconds()[Bucket.COMMUNICATION]
        reading = partial(ProfileReading, source="collectives on the host, per step")
        yield reading(name="comm_time", value=seconds, unit="s")
        yield reading(name="comm_overlap", value=max(1.0 - exposed / seconds, 0.0))


def _marker_readings(steps: TraceSteps) -> Iterator[ProfileReading]:
    """Yield the median of all steps where the profile keeps fewer of them."""
    if steps.has_markers and steps.segments.owner.size > steps.windows.owner.size:
        length = steps.segments.end_ns - steps.segments.start_ns
        source = "median of all step markers, with those left out"
        yield ProfileReading(
            name="marked_step_p50", value=float(np.median(length)) / _NS, unit="s", source=source
        )
