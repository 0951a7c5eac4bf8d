"""Turn a torch.profiler Chrome trace into a Profile.

Every instant of a step goes to one operation. From first to last: a kernel on the device (compute,
communication, copy, memset), the deepest call on the thread that takes the steps, the deepest call
on another thread of its process (autograd's, while the first one waits), a wait for the device, an
annotation in the user's code, and "(outside operations)".
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

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
from perfledger_profiles.chrome import Args, Event, read_events
from perfledger_profiles.redact import clean_name
from perfledger_profiles.shapes import ShapeReader
from perfledger_profiles.spans import NOBODY, Nesting, Segments, nest

TOOL = "torch.profiler"
NO_STEPS = "no ProfilerStep markers: the whole trace is taken as one step"
# A path tells operations apart; beyond this depth it only grows.
MAX_PATH_DEPTH = 12
MAX_PATH_CHARACTERS = 500

# Categories of torch 1.13 to 2.13, then those of 1.8 to 1.12.
_DEVICE = {
    "kernel": Bucket.COMPUTE,
    "gpu_memcpy": Bucket.COPY,
    "gpu_memset": Bucket.MEMSET,
    "Kernel": Bucket.COMPUTE,
    "Memcpy": Bucket.COPY,
    "Memset": Bucket.MEMSET,
}
_DEVICE_ORDER = (Bucket.COMPUTE, Bucket.COMMUNICATION, Bucket.COPY, Bucket.MEMSET)
_OPERATORS = ("cpu_op", "Operator")
_ANNOTATION = "user_annotation"
_RUNTIME = ("cuda_runtime", "cuda_driver", "Runtime", "xpu_runtime", "xpu_driver")

_STEP = re.compile(r"ProfilerStep#\d+")
_INPUT = re.compile(r"enumerate\(DataLoader\)#")
_OPTIMIZER = re.compile(r"Optimizer\.")  # an annotation that old versions file under Operator
_COMMUNICATION = re.compile(r"(?i)(?<![a-z])(nccl|rccl|gloo|c10d)")
_SYNC = re.compile(r"(Stream|Device|Event|Ctx|Context)Synchronize")

# Microseconds; outside them an event is broken: the year 2096, and eleven days.
_MAX_TS_US = 4e15
_MAX_DURATION_US = 1e12
_NS_PER_US = 1000

_Thread = tuple[int | str, int | str]


class _Role(Enum):
    DEVICE = auto()
    HOST = auto()
    ANNOTATION = auto()  # says what its thread is up to, does no work of its own


@dataclass(frozen=True, slots=True)
class _Kind:
    """What all events of one category and name have in common."""

    label: Label  # without shapes and path
    role: _Role
    is_step: bool


@dataclass(frozen=True, slots=True)
class _Call:
    kind: _Kind
    start_ns: int
    end_ns: int
    thread: _Thread
    args: Args | None


def read_kineto(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the mean step of a torch.profiler trace, gzip-packed or plain.

    Events that cannot be used are counted in `dropped_events`. Raises ProfileError when the file is
    not such a trace, is too large or holds no step with a length.
    """
    read = read_events(data)
    calls, broken = _calls(read.events)
    steps = [call for call in calls if call.kind.is_step]
    work = [call for call in calls if not call.kind.is_step]
    main = _main_thread(steps or work)
    marks = [(c.start_ns, c.end_ns) for c in steps if c.thread == main]
    found = windows_of(marks or _whole(work))
    kept = kept_steps(found)
    notes = read.notes if marks else (*read.notes, NO_STEPS)
    return breakdown(
        [_timeline(work, main=main, windows=kept)],
        workload=workload,
        side=side,
        tool=TOOL,
        dropped_events=read.dropped + broken,
        notes=(*notes, *note_on_steps(found, kept)),
    )


def _calls(events: Sequence[Event]) -> tuple[list[_Call], int]:
    """Return the events that took time, and how many of those were unusable."""
    used = [event for event in events if event.ph == "X" and _role(event.cat, "") is not None]
    sound = [event for event in used if _is_sound(event)]
    begin_us = min((event.ts for event in sound), default=0.0)
    has_device = any(event.cat in _DEVICE for event in sound)
    kinds: dict[tuple[str, str], _Kind] = {}
    calls: list[_Call] = []
    for event in sound:
        key = event.cat, event.name
        if key not in kinds:
            kinds[key] = _kind(*key, has_device=has_device)
        start_ns = round((event.ts - begin_us) * _NS_PER_US)
        end_ns = start_ns + round(event.dur * _NS_PER_US)
        calls.append(_Call(kinds[key], start_ns, end_ns, (event.pid, event.tid), event.args))
    return calls, len(used) - len(sound)


def _is_sound(event: Event) -> bool:
    return 0 <= event.ts <= _MAX_TS_US and 0 <= event.dur <= _MAX_DURATION_US


def _kind(category: str, name: str, *, has_device: bool) -> _Kind:
    role = _role(category, name) or _Role.HOST
    return _Kind(
        label=Label(clean_name(name), _bucket(category, name, role, has_device=has_device)),
        role=role,
        is_step=role is not _Role.DEVICE and _STEP.fullmatch(name) is not None,
    )


def _role(category: str, name: str) -> _Role | None:
    """Return the role of an event, None for what takes no time of its own."""
    if category in _DEVICE:
        return _Role.DEVICE
    if category == _ANNOTATION:
        return _Role.ANNOTATION
    if category in _OPERATORS:
        return _Role.ANNOTATION if _OPTIMIZER.match(name) else _Role.HOST
    return _Role.HOST if category in _RUNTIME else None


def _bucket(category: str, name: str, role: _Role, *, has_device: bool) -> Bucket:
    """Return what a call is spent on; without a device it is the operators that compute."""
    if role is _Role.DEVICE:
        kind = _DEVICE[category]
        is_collective = kind is Bucket.COMPUTE and _COMMUNICATION.search(name)
        return Bucket.COMMUNICATION if is_collective else kind
    if category in _RUNTIME:
        return Bucket.SYNC if _SYNC.search(name) else Bucket.RUNTIME
    if _INPUT.match(name):
        return Bucket.INPUT
    if has_device or role is _Role.ANNOTATION:
        return Bucket.CPU
    return Bucket.COMMUNICATION if _COMMUNICATION.match(name) else Bucket.COMPUTE


def _main_thread(calls: Sequence[_Call]) -> _Thread | None:
    """Return the host thread with the most steps or, without steps, the most time in calls."""
    weight: dict[_Thread, int] = defaultdict(int)
    for call in calls:
        if call.kind.role is not _Role.DEVICE:
            weight[call.thread] += 1 if call.kind.is_step else call.end_ns - call.start_ns
    return max(weight, key=lambda thread: weight[thread], default=None)


def _whole(calls: Sequence[_Call]) -> list[tuple[int, int]]:
    if not calls:
        return []
    return [(min(c.start_ns for c in calls), max(c.end_ns for c in calls))]


def _timeline(calls: Sequence[_Call], *, main: _Thread | None, windows: Segments) -> Timeline:
    threads = _nested_threads(calls)
    labels = _labels(calls, threads)
    on_device: dict[Bucket, list[int]] = {bucket: [] for bucket in _DEVICE_ORDER}
    for number, call in enumerate(calls):
        if call.kind.role is _Role.DEVICE:
            on_device[call.kind.label.bucket].append(number)
    device = [nest_calls(calls, numbers).segments for numbers in on_device.values()]
    return Timeline(
        labels=labels,
        start_ns=np.array([call.start_ns for call in calls], dtype=np.int64),
        is_counted=np.array([_is_ours(call, main) for call in calls], dtype=np.bool_),
        layers=(*device, *_host_layers(calls, labels, threads, main)),
        windows=windows,
    )


def _is_ours(call: _Call, main: _Thread | None) -> bool:
    """Tell whether a call is of the process that takes the steps."""
    return call.kind.role is _Role.DEVICE or (main is not None and call.thread[0] == main[0])


def _nested_threads(calls: Sequence[_Call]) -> dict[_Thread, Nesting]:
    numbers: dict[_Thread, list[int]] = defaultdict(list)
    for number, call in enumerate(calls):
        if call.kind.role is not _Role.DEVICE:
            numbers[call.thread].append(number)
    return {thread: nest_calls(calls, mine) for thread, mine in numbers.items()}


def _host_layers(
    calls: Sequence[_Call],
    labels: Sequence[Label],
    threads: dict[_Thread, Nesting],
    main: _Thread | None,
) -> tuple[Segments, ...]:
    """Return who wins on the host: work, work of other threads, waits, annotations."""
    is_sync = np.array([label.bucket is Bucket.SYNC for label in labels], dtype=np.bool_)
    is_annotation = np.array(
        [
            call.kind.role is _Role.ANNOTATION and label.bucket is not Bucket.INPUT
            for call, label in zip(calls, labels, strict=True)
        ],
        dtype=np.bool_,
    )
    is_work = ~is_sync & ~is_annotation
    if main is None:
        return ()
    first = threads[main].segments if main in threads else nest_calls(calls, []).segments
    others = [n.segments for t, n in threads.items() if t[0] == main[0] and t != main]
    return (
        first.where(is_work),
        _merged([segments.where(is_work) for segments in others]),
        first.where(is_sync),
        _merged([segments.where(is_sync) for segments in others]),
        first.where(is_annotation),
    )


def _merged(many: Sequence[Segments]) -> Segments:
    """Return the segments of several threads as one layer: what began last wins."""
    empty = np.empty(0, dtype=np.int64)
    start_ns = np.concatenate([empty, *(segments.start_ns for segments in many)])
    end_ns = np.concatenate([empty, *(segments.end_ns for segments in many)])
    owner = np.concatenate([empty, *(segments.owner for segments in many)])
    merged = nest(start_ns, end_ns, np.arange(owner.size, dtype=np.int64)).segments
    return Segments(start_ns=merged.start_ns, end_ns=merged.end_ns, owner=owner[merged.owner])


def _labels(calls: Sequence[_Call], threads: Mapping[_Thread, Nesting]) -> list[Label]:
    """Label host calls by what encloses them, then kernels by what launched them."""
    labels = [call.kind.label for call in calls]
    depths = [0] * len(calls)
    shapes = ShapeReader()
    launches: dict[int, tuple[int, int]] = {}
    for nesting in threads.values():
        for number, parent in zip(nesting.order, nesting.parent, strict=True):
            call = calls[number]
            path, bucket = "", call.kind.label.bucket
            if parent != NOBODY:
                depths[number] = depths[parent] + 1
                path = _path_inside(labels[parent], depth=depths[number])
                # What loading input calls is input too.
                bucket = Bucket.INPUT if labels[parent].bucket is Bucket.INPUT else bucket
            labels[number] = Label(call.kind.label.name, bucket, shapes.of(call.args), path)
            if call.args is not None and call.args.correlation:
                launches[call.args.correlation] = number, parent
    for number, call in enumerate(calls):
        if call.kind.role is _Role.DEVICE and call.args is not None:
            launch, operator = launches.get(call.args.correlation or 0, (NOBODY, NOBODY))
            if operator != NOBODY:
                around = labels[operator].shapes, labels[launch].path
                labels[number] = Label(call.kind.label.name, call.kind.label.bucket, *around)
    return labels


def _path_inside(around: Label, *, depth: int) -> str:
    if depth > MAX_PATH_DEPTH or len(around.path) >= MAX_PATH_CHARACTERS:
        return around.path
    return f"{around.path}/{around.name}" if around.path else around.name
