"""Turn a Trace into a Profile: the mean step, and all that the timeline says about it.

Every instant of a step goes to one operation. From first to last: work on the device (compute,
communication, copy, memset), the deepest call on the thread that takes the steps, the deepest call
on another thread of its process (autograd's, while the first one waits), a collective that runs on
the host, a wait for the device, an annotation in the user's code, and "(outside operations)".
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from perfledger.profile import Bucket, Profile, ProfiledDevice, Reading, Step, StreamIdle
from perfledger.records import Side
from perfledger_profiles.allocations import memory_points, memory_readings
from perfledger_profiles.breakdown import Timeline, breakdown
from perfledger_profiles.collectives import collectives_of
from perfledger_profiles.hardware_match import hardware_of
from perfledger_profiles.idle import idle_per_step, stream_calls
from perfledger_profiles.kernels import kernel_rows, tensor_share
from perfledger_profiles.labels import Labels, Threads, label_calls, nest_threads
from perfledger_profiles.launches import launches_of, operators_of
from perfledger_profiles.products import product_readings
from perfledger_profiles.readings import trace_readings
from perfledger_profiles.slices import step_slices
from perfledger_profiles.spans import (
    NOBODY,
    BoolArray,
    IntArray,
    Segments,
    common_ns,
    listed,
    nest,
    union,
)
from perfledger_profiles.steps import Steps, of_one_process, steps_of
from perfledger_profiles.temporal import TemporalBreakdown, temporal_breakdown, temporal_idle
from perfledger_profiles.tensorboard import tensorboard_readings
from perfledger_profiles.trace import Kind, Trace

_NS = 1e9
_US_PER_SECOND = 1e6
_BUCKETS = tuple(Bucket)
_TEMPORAL = "HolisticTraceAnalysis's breakdown of the file without its last step"
_TEMPORAL_WHOLE = "HolisticTraceAnalysis's breakdown with include_last_profiler_step"
_LAST_STEP = "with the last step"
_DEVICE_ORDER = (Bucket.COMPUTE, Bucket.COMMUNICATION, Bucket.COPY, Bucket.MEMSET)


def profile_of(whole: Trace, *, workload: str, side: Side) -> Profile:
    """Return the profile of a trace's kept steps.

    Raises ProfileError when there is no step with a length.
    """
    trace = of_one_process(whole)
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
    work = trace.is_device_work & (steps.windows.at(trace.start_ns) != NOBODY)
    kernels = kernel_rows(trace, work, steps=profile.steps)
    memory = memory_points(trace.memory, steps.windows)
    return replace(
        profile,
        has_steps=steps.has_markers,
        kernels=kernels,
        each_step=_numbered(profile.each_step, steps.numbers),
        streams=_streams(trace, launched_by, steps.windows),
        readings=(
            *trace_readings(trace, labels.bucket, launched_by, steps.windows),
            *_shares(profile, tensor_share(kernels)),
            *memory_readings(memory),
            *product_readings(
                trace,
                work,
                operators_of(trace, threads.around, launched_by),
                hardware_of(profile).hardware,
            ),
            *_host_collectives(trace, labels, steps, profile),
            *_marked(steps),
            *_temporal(whole),
            *tensorboard_readings(trace, threads),
        ),
        slices=step_slices(trace, labels, threads, steps.windows, main=steps.main),
        memory=memory,
        rank=trace.rank,
        collectives=collectives_of(trace, labels.bucket, steps),
    )


def _timeline(trace: Trace, steps: Steps, threads: Threads, labels: Labels) -> Timeline:
    is_ours = _is_of_process(trace, steps.main) & ~steps.is_marker
    return Timeline(
        labels=labels.table,
        label=labels.label,
        start_ns=trace.start_ns,
        is_counted=trace.is_device_work | (trace.is_on_host & is_ours),
        layers=(*_device_layers(trace, labels), *_host_layers(trace, steps.main, threads, labels)),
        windows=steps.windows,
    )


def _is_of_process(trace: Trace, main: int) -> BoolArray:
    """Tell which calls are of the process that takes the steps."""
    if main == NOBODY:
        return np.zeros(trace.name.shape, dtype=np.bool_)
    process = trace.lanes[main].process
    return np.array([lane.process == process for lane in trace.lanes], dtype=np.bool_)[trace.lane]


def _device_layers(trace: Trace, labels: Labels) -> list[Segments]:
    layers: list[Segments] = []
    for bucket in _DEVICE_ORDER:
        mine = np.flatnonzero(trace.is_device_work & (labels.bucket == _BUCKETS.index(bucket)))
        layers.append(nest(trace.start_ns[mine], trace.end_ns[mine], mine).segments)
    return layers


def _host_layers(trace: Trace, main: int, threads: Threads, labels: Labels) -> tuple[Segments, ...]:
    """Return who wins on the host: work, that of other threads, collectives, waits, annotations."""
    is_sync = labels.bucket == _BUCKETS.index(Bucket.SYNC)
    talks = (labels.bucket == _BUCKETS.index(Bucket.COMMUNICATION)) & ~labels.is_annotation
    talks &= trace.kind == Kind.ANNOTATION
    is_work = ~is_sync & ~labels.is_annotation & ~talks
    if main == NOBODY:
        return ()
    first = threads.by_lane[main].segments if main in threads.by_lane else _merged([])
    process = trace.lanes[main].process
    others = [
        nesting.segments
        for lane, nesting in threads.by_lane.items()
        if lane != main and trace.lanes[lane].process == process
    ]
    return (
        first.where(is_work),
        _merged([segments.where(is_work) for segments in others]),
        _merged([segments.where(talks) for segments in (first, *others)]),
        first.where(is_sync),
        _merged([segments.where(is_sync) for segments in others]),
        first.where(labels.is_annotation),
    )


def _merged(many: Sequence[Segments]) -> Segments:
    """Return the segments of several threads as one layer: what began last wins."""
    empty = np.empty(0, dtype=np.int64)
    start_ns = np.concatenate([empty, *(segments.start_ns for segments in many)])
    end_ns = np.concatenate([empty, *(segments.end_ns for segments in many)])
    owner = np.concatenate([empty, *(segments.owner for segments in many)])
    merged = nest(start_ns, end_ns, np.arange(owner.size, dtype=np.int64)).segments
    return Segments(start_ns=merged.start_ns, end_ns=merged.end_ns, owner=owner[merged.owner])


def _numbered(steps: Sequence[Step], numbers: Sequence[int]) -> tuple[Step, ...]:
    return tuple(replace(step, number=number) for step, number in zip(steps, numbers, strict=True))


def _device(trace: Trace) -> ProfiledDevice | None:
    """Return the device that most of the work ran on, with how many like it worked."""
    lanes = Counter(listed(trace.lane[trace.is_device_work]))
    used: Counter[int] = Counter()
    for lane, calls in lanes.items():
        number = trace.lanes[lane].process
        if isinstance(number, int) and 0 <= number < len(trace.devices):
            used[number] += calls
    if not used:
        return None
    device = trace.devices[used.most_common(1)[0][0]]
    return replace(device, count=sum(trace.devices[n].name == device.name for n in used))


def _streams(trace: Trace, launched_by: IntArray, windows: Segments) -> tuple[StreamIdle, ...]:
    """Return the streams that worked in the kept steps, the busiest first."""
    work = trace.is_device_work
    used = np.unique(trace.lane[work & (windows.at(trace.start_ns) != NOBODY)])
    chosen = work & np.isin(trace.lane, used)
    found = [idle_per_step(calls, windows) for calls in stream_calls(trace, launched_by, chosen)]
    return tuple(sorted(found, key=lambda idle: (-idle.busy_seconds, idle.stream)))


def _shares(profile: Profile, tensor: float | None) -> Iterator[Reading]:
    loading = [o for o in profile.operations if o.bucket is Bucket.INPUT]
    if loading:
        yield Reading(
            name="input_wait_frac",
            value=profile.bucket_seconds()[Bucket.INPUT] / profile.step_seconds,
            source="exclusive time of enumerate(DataLoader) or (DataPipe) / step",
        )
    if tensor is not None:
        yield Reading(
            name="tc_ratio",
            value=tensor,
            source="time of tensor-core kernels / time of kernels, by their names",
            is_estimate=True,
        )


def _host_collectives(
    trace: Trace, labels: Labels, steps: Steps, profile: Profile
) -> Iterator[Reading]:
    """Yield how long a job without devices talked, and how much of that was beside other work.

    Calls nest on the host: that an operator is around a collective does not hide it. What other
    processes of a joined file say is no time of these steps.
    """
    talks = trace.is_on_host & (labels.bucket == _BUCKETS.index(Bucket.COMMUNICATION))
    talks &= _is_of_process(trace, steps.main)
    if trace.is_device_work.any() or not talks.any():
        return
    talking_ns = common_ns(union(trace.start_ns[talks], trace.end_ns[talks]), steps.windows)
    if talking_ns > 0:
        seconds = talking_ns / profile.steps / _NS
        exposed = profile.bucket_seconds()[Bucket.COMMUNICATION]
        reading = partial(Reading, source="collectives on the host, per step")
        yield reading(name="comm_time", value=seconds, unit="s")
        yield reading(name="comm_overlap", value=max(1.0 - exposed / seconds, 0.0))


def _marked(steps: Steps) -> Iterator[Reading]:
    """Yield the median of all steps, where the profile is of fewer: the first does not count."""
    if steps.has_markers and steps.found.owner.size > steps.windows.owner.size:
        length = steps.found.end_ns - steps.found.start_ns
        source = "median of all step markers, with those that are left out"
        yield Reading(
            name="marked_step_p50", value=float(np.median(length)) / _NS, unit="s", source=source
        )


def _temporal(trace: Trace) -> Iterator[Reading]:
    """Yield another tool's figures for the whole file, for those who compare."""
    found = temporal_breakdown(trace)
    if found is None:
        return
    whole = temporal_breakdown(trace, include_last_step=True)
    reading = partial(Reading, unit="s", source=_TEMPORAL)
    yield from _temporal_totals(found, subject="", source=_TEMPORAL)
    if whole is not None:
        yield from _temporal_totals(whole, subject=_LAST_STEP, source=_TEMPORAL_WHOLE)
    for work, us in found.by_work:
        subject = " + ".join(str(one.name).lower() for one in work)
        yield reading(name="temporal_kernel_type", value=us / _US_PER_SECOND, subject=subject)
    for kernel in found.top:
        subject, calls = kernel.name, kernel.count
        yield reading(name="temporal_top", value=kernel.us / _US_PER_SECOND, subject=subject)
        yield Reading(name="temporal_top_calls", value=calls, subject=subject, source=_TEMPORAL)
    for idle in temporal_idle(trace):
        for name, ns in (
            ("temporal_host_wait", idle.host_wait_ns),
            ("temporal_kernel_wait", idle.kernel_wait_ns),
            ("temporal_other_wait", idle.other_ns),
        ):
            yield reading(name=name, value=ns / _NS, subject=f"stream {idle.stream}")


def _temporal_totals(found: TemporalBreakdown, *, subject: str, source: str) -> Iterator[Reading]:
    for name, us in (
        ("temporal_idle", found.idle_us),
        ("temporal_compute", found.compute_us),
        ("temporal_non_compute", found.non_compute_us),
        ("temporal_kernel", found.kernel_us),
    ):
        value = us / _US_PER_SECOND
        yield Reading(name=name, value=value, unit="s", subject=subject, source=source)
    reading = partial(Reading, subject=subject, source=source)
    yield reading(name="temporal_kernels", value=found.kernels)
    if found.overlap is not None:
        yield reading(name="temporal_overlap", value=found.overlap)
