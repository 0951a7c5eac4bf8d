"""Labels a trace's calls with name, bucket, input shapes and path."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import Bucket, OperationFamily
from perfledger_profiles.parsing.copy_names import (
    copy_bucket,
    is_blocking_copy_call,
    is_copy_call,
    is_pageable_copy,
)
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.input_shapes import shapes_of
from perfledger_profiles.parsing.operation_family import family_of
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.breakdown import CallLabel
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    SpanNesting,
    depths,
    is_inside,
    nest,
    to_list,
)
from perfledger_profiles.timeline.trace import CallKind, Trace

# Paths distinguish operations; deeper paths add nothing.
MAX_PATH_DEPTH = 12
MAX_PATH_CHARACTERS = 500
# The largest job has about a hundred threads and streams per process; each costs a nesting.
MAX_LANES = 10_000
# A runtime call may come from another one (cudaLaunchKernel from cuLaunchKernel), but no deeper.
MAX_RUNTIME_LEVELS = 4

# A launch takes 5 to 500 us. A longer one loads the kernel's code or is interrupted, and is listed
# separately: a few of them would make the mean launch look slow.
LONG_LAUNCH_NS = 1_000_000
LONG_LAUNCH = " (over 1 ms)"
KERNEL_LAUNCH = re.compile(r"(?i)(cuda|hip|cu)(Module)?Launch")

_BUCKETS = tuple(Bucket)
_PLACE = {bucket: index for index, bucket in enumerate(_BUCKETS)}
_BY_KIND = {
    CallKind.MEMSET: Bucket.MEMSET,
    CallKind.DEVICE_WAIT: Bucket.OTHER,
    CallKind.DEVICE_ANNOTATION: Bucket.OTHER,
}
_INPUT_CALL = re.compile(r"enumerate\((?:DataLoader|DataPipe)\)#")
_OPTIMIZER = re.compile(r"Optimizer\.")  # an annotation, recorded as an operator by old versions
# Collectives on the host: the annotation is the work itself, on its own thread.
_HOST_COLLECTIVE = re.compile(r"(?:gloo|mpi):")
# The suffix of torch.compile's own timers.
_COMPILER_TIMER = "(dynamo_timed)"
_SYNC = re.compile(r"(?i)synchronize")
_DMA = re.compile(r"dma")  # MTIA records copies as kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadNesting:
    """The nesting of the host's calls, thread by thread.

    `parents` has shape (n,): the call around each call, NO_CALL at the top.
    """

    by_lane: dict[int, SpanNesting]
    parents: IntArray
    depth: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLabels:
    """The label of each call, as its place in a table; all columns have shape (n,).

    `is_annotation` marks calls that only name what their thread does.
    """

    table: tuple[CallLabel, ...]
    label: IntArray
    bucket: IntArray  # its place in Bucket
    is_annotation: BoolArray


def check_lanes(trace: Trace) -> None:
    """Raise ProfileError above MAX_LANES threads and streams."""
    if len(trace.lanes) > MAX_LANES:
        msg = f"the trace has more than {MAX_LANES} threads and streams: no profiler writes that"
        raise ProfileError(msg)


def nest_threads(trace: Trace, is_work: BoolArray) -> ThreadNesting:
    """Nest the host's work calls on each of its threads.

    Raises ProfileError above MAX_LANES threads.
    """
    check_lanes(trace)
    calls = trace.name.size
    numbers = np.flatnonzero(is_work & trace.is_on_host)
    numbers = numbers[np.argsort(trace.lane[numbers], kind="stable")]
    lanes, first = np.unique(trace.lane[numbers], return_index=True)
    parents = np.full(calls, NO_CALL, dtype=np.int64)
    by_lane: dict[int, SpanNesting] = {}
    for lane, mine in zip(lanes.tolist(), np.split(numbers, first[1:]), strict=False):
        by_lane[lane] = nest(trace.start_ns[mine], trace.end_ns[mine], mine)
        parents[by_lane[lane].ranked] = by_lane[lane].parents
    return ThreadNesting(by_lane=by_lane, parents=parents, depth=depths(parents))


def label_calls(trace: Trace, threads: ThreadNesting, launched_by: IntArray) -> CallLabels:
    """Label host calls by their enclosing calls, then device work by its launch.

    `launched_by` has shape (n,): the host call that started each call, NO_CALL if unknown.
    """
    own_bucket, is_annotation = own_buckets(trace)
    own_bucket[_waits_for_staging(trace, launched_by)] = _PLACE[Bucket.SYNC]
    loads = trace.is_on_host & (own_bucket == _PLACE[Bucket.INPUT])
    is_input = trace.is_on_host & is_inside(loads, threads.parents)
    bucket = np.where(is_input, _PLACE[Bucket.INPUT], own_bucket)
    bucket[_compiles(trace, threads) & (bucket == _PLACE[Bucket.COMPUTE])] = _PLACE[Bucket.CPU]
    names = tuple(clean_name(name) for name in trace.names)
    paths, path = _paths(names, trace.name, threads)
    inputs = trace.input.copy()
    launch, operator = _launch_and_operator(trace, threads, launched_by)
    linked = operator != NO_CALL
    path[linked] = path[launch[linked]]
    inputs[linked] = trace.input[operator[linked]]
    is_long = _long_launches(trace)
    own_key = (trace.name * len(_BUCKETS) + bucket) * 2 + is_long
    first, label = _distinct(own_key, inputs * len(paths) + path)
    shapes = {place: shapes_of(*trace.inputs[place]) for place in set(to_list(inputs[first]))}
    table = tuple(
        CallLabel(name, _BUCKETS[call_bucket], shapes[input_place], paths[around])
        for name, call_bucket, input_place, around in zip(
            _label_names(names, trace.name[first], is_long[first]),
            to_list(bucket[first]),
            to_list(inputs[first]),
            to_list(path[first]),
            strict=True,
        )
    )
    return CallLabels(
        table=table, label=label, bucket=bucket, is_annotation=is_annotation & ~is_input
    )


def _long_launches(trace: Trace) -> BoolArray:
    is_launch = trace.find_by_name([KERNEL_LAUNCH.match(name) is not None for name in trace.names])
    is_long = trace.end_ns - trace.start_ns > LONG_LAUNCH_NS
    is_long_launch: BoolArray = is_launch & is_long & (trace.kind == CallKind.RUNTIME)
    return is_long_launch


def _label_names(names: Sequence[str], name: IntArray, is_long: BoolArray) -> Iterator[str]:
    for place, long in zip(to_list(name), is_long.tolist(), strict=True):
        yield f"{names[place]}{LONG_LAUNCH}" if long else names[place]


def _distinct(first_key: IntArray, second_key: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first call of each distinct key pair, and each call's place among the pairs."""
    _, first_key = np.unique(first_key, return_inverse=True)
    _, second_key = np.unique(second_key, return_inverse=True)
    _, first, place = np.unique(
        first_key * (second_key.size + 1) + second_key, return_index=True, return_inverse=True
    )
    return first, place


def own_buckets(trace: Trace) -> tuple[IntArray, BoolArray]:
    """Return each call's bucket by name, as a place, and which calls are annotations; both (n,)."""
    has_device = bool(trace.is_device_work.any()) or trace.lacks_device_work
    keys, place = np.unique(trace.name * len(CallKind) + trace.kind, return_inverse=True)
    pairs = [
        (trace.names[key // len(CallKind)], CallKind(key % len(CallKind))) for key in to_list(keys)
    ]
    annotates = [_is_annotation(name, kind) for name, kind in pairs]
    buckets = [
        _PLACE[_bucket(name, kind, is_annotation=is_one, has_device=has_device)]
        for (name, kind), is_one in zip(pairs, annotates, strict=True)
    ]
    return np.array(buckets, dtype=np.int64)[place], np.array(annotates, dtype=np.bool_)[place]


def _waits_for_staging(trace: Trace, launched_by: IntArray) -> IntArray:
    """Return the calls that start a copy from or to pageable memory and therefore wait for it."""
    is_pageable = trace.find_by_name([is_pageable_copy(name) for name in trace.names])
    is_call = trace.find_by_name([is_copy_call(name) for name in trace.names])
    calls = launched_by[is_pageable & (trace.kind == CallKind.COPY) & (launched_by != NO_CALL)]
    waiting: IntArray = calls[is_call[calls]]
    return waiting


def _compiles(trace: Trace, threads: ThreadNesting) -> BoolArray:
    """Return the calls of torch.compile's compiler, whose fake tensors compute nothing."""
    timers = trace.find_by_name([name.endswith(_COMPILER_TIMER) for name in trace.names])
    if not timers.any():
        return timers
    return trace.is_on_host & is_inside(timers & trace.is_on_host, threads.parents)


def _is_annotation(name: str, kind: CallKind) -> bool:
    if kind is CallKind.ANNOTATION:
        return _HOST_COLLECTIVE.match(name) is None
    return kind is CallKind.OPERATOR and _OPTIMIZER.match(name) is not None


def _bucket(name: str, kind: CallKind, *, is_annotation: bool, has_device: bool) -> Bucket:
    if kind is CallKind.KERNEL:
        return _kernel_bucket(name)
    if kind is CallKind.RUNTIME:
        is_wait = _SYNC.search(name) is not None or is_blocking_copy_call(name)
        return Bucket.SYNC if is_wait else Bucket.RUNTIME
    if kind is CallKind.COPY:
        return copy_bucket(name)
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    return _host_bucket(name, computes=not (is_annotation or has_device))


def _kernel_bucket(name: str) -> Bucket:
    if family_of(name) is OperationFamily.COMMUNICATION:
        return Bucket.COMMUNICATION
    return Bucket.COPY if _DMA.match(name) else Bucket.COMPUTE


def _host_bucket(name: str, *, computes: bool) -> Bucket:
    """Return an operator's bucket; without a device, the operators themselves compute."""
    if _INPUT_CALL.match(name):
        return Bucket.INPUT
    if _HOST_COLLECTIVE.match(name):
        return Bucket.COMMUNICATION
    if not computes:
        return Bucket.CPU
    is_collective = family_of(name) is OperationFamily.COMMUNICATION
    return Bucket.COMMUNICATION if is_collective else Bucket.COMPUTE


def _paths(
    names: Sequence[str], name: IntArray, threads: ThreadNesting
) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct paths, and each host call's place among them; the first path is "".

    A call's path is the enclosing call's path and name, so paths are built level by level.
    """
    table = [""]
    numbers: dict[tuple[int, int], int] = {}
    path = np.zeros(name.shape, dtype=np.int64)
    for level in range(1, MAX_PATH_DEPTH + 1):
        calls = np.flatnonzero(threads.depth == level)
        if calls.size == 0:
            break
        outer = threads.parents[calls]
        keys, place = np.unique(path[outer] * len(names) + name[outer], return_inverse=True)
        places: list[int] = []
        for key in to_list(keys):
            above, last = divmod(key, len(names))
            if len(table[above]) >= MAX_PATH_CHARACTERS:
                places.append(above)
                continue
            number = numbers.setdefault((above, last), len(table))
            if number == len(table):
                table.append(f"{table[above]}/{names[last]}" if above else names[last])
            places.append(number)
        path[calls] = np.array(places, dtype=np.int64)[place]
    up = np.where(threads.depth > MAX_PATH_DEPTH, threads.parents, np.arange(name.size))
    while (threads.depth[up] > MAX_PATH_DEPTH).any():
        up = up[up]
    return tuple(table), path[up]


def _launch_and_operator(
    trace: Trace, threads: ThreadNesting, launched_by: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the outermost runtime call that launched each call, and the operator around it."""
    launch = launched_by
    operator = np.where(launch == NO_CALL, NO_CALL, threads.parents[launch])
    for _ in range(MAX_RUNTIME_LEVELS):
        nested = (operator != NO_CALL) & (trace.kind[operator] == CallKind.RUNTIME)
        launch = np.where(nested, operator, launch)
        operator = np.where(nested, threads.parents[launch], operator)
    return launch, operator
