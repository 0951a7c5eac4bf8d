"""Turn a trace's calls into labels: what each is, what it was given, and what is around it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import Bucket, Family
from perfledger_profiles.breakdown import Label
from perfledger_profiles.errors import ProfileError
from perfledger_profiles.family import family_of
from perfledger_profiles.redact import clean_name
from perfledger_profiles.shapes import shapes_of
from perfledger_profiles.spans import (
    NOBODY,
    BoolArray,
    IntArray,
    Nesting,
    depths,
    is_inside,
    listed,
    nest,
)
from perfledger_profiles.trace import Kind, Trace

# A path tells operations apart; beyond this depth it only grows.
MAX_PATH_DEPTH = 12
MAX_PATH_CHARACTERS = 500
# The largest job has some hundred threads and streams in one process; each costs a nesting.
MAX_LANES = 10_000
# A runtime's call may be made by another's (cudaLaunchKernel's by cuLaunchKernel), no deeper.
_RUNTIME_LEVELS = 4

_BUCKETS = tuple(Bucket)
_PLACE = {bucket: place for place, bucket in enumerate(_BUCKETS)}
_BY_KIND = {
    Kind.COPY: Bucket.COPY,
    Kind.MEMSET: Bucket.MEMSET,
    Kind.DEVICE_WAIT: Bucket.OTHER,
    Kind.DEVICE_ANNOTATION: Bucket.OTHER,
}
_INPUT_CALL = re.compile(r"enumerate\((?:DataLoader|DataPipe)\)#")
_OPTIMIZER = re.compile(r"Optimizer\.")  # an annotation that old versions file under Operator
# Collectives that run on the host: their annotation is the work itself, on a thread of its own.
_HOST_COLLECTIVE = re.compile(r"(?:gloo|mpi):")
_SYNC = re.compile(r"(?i)synchronize")
_DMA = re.compile(r"dma")  # MTIA's copies are filed with its kernels


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """How the host's calls contain each other, thread by thread.

    `around` has shape (n,): the call around each call, NOBODY for those outside of all.
    """

    by_lane: dict[int, Nesting]
    around: IntArray
    depth: IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The label of each call, as its place in a table; shapes (n,).

    `is_annotation` says which calls tell what their thread is up to and do no work of their own.
    """

    table: tuple[Label, ...]
    label: IntArray
    bucket: IntArray  # its place in Bucket
    is_annotation: BoolArray


def check_lanes(trace: Trace) -> None:
    """Raise ProfileError when there are more threads and streams than any job has."""
    if len(trace.lanes) > MAX_LANES:
        msg = f"the trace has more than {MAX_LANES} threads and streams: not a profiler's file"
        raise ProfileError(msg)


def nest_threads(trace: Trace, is_work: BoolArray) -> Threads:
    """Nest the host's calls that are work on each of its threads.

    Raises ProfileError when there are more threads than any job has.
    """
    check_lanes(trace)
    calls = trace.name.size
    numbers = np.flatnonzero(is_work & trace.is_on_host)
    numbers = numbers[np.argsort(trace.lane[numbers], kind="stable")]
    lanes, first = np.unique(trace.lane[numbers], return_index=True)
    around = np.full(calls, NOBODY, dtype=np.int64)
    by_lane: dict[int, Nesting] = {}
    for lane, mine in zip(lanes.tolist(), np.split(numbers, first[1:]), strict=False):
        by_lane[lane] = nest(trace.start_ns[mine], trace.end_ns[mine], mine)
        around[by_lane[lane].ranked] = by_lane[lane].around
    return Threads(by_lane=by_lane, around=around, depth=depths(around))


def label_calls(trace: Trace, threads: Threads, launched_by: IntArray) -> Labels:
    """Label host calls by what encloses them, then device work by what launched it.

    `launched_by` has shape (n,): the host's call that started each call, NOBODY where unknown.
    """
    own, is_annotation = own_buckets(trace)
    loads = trace.is_on_host & (own == _PLACE[Bucket.INPUT])
    is_input = trace.is_on_host & is_inside(loads, threads.around)
    bucket = np.where(is_input, _PLACE[Bucket.INPUT], own)
    names = tuple(clean_name(name) for name in trace.names)
    paths, path = _paths(names, trace.name, threads)
    given = trace.input.copy()
    launch, operator = _launch_and_operator(trace, threads, launched_by)
    linked = operator != NOBODY
    path[linked] = path[launch[linked]]
    given[linked] = trace.input[operator[linked]]
    first, label = _distinct(
        trace.name * len(_BUCKETS) + bucket,
        given * len(paths) + path,
    )
    shapes = {place: shapes_of(*trace.inputs[place]) for place in set(listed(given[first]))}
    table = tuple(
        Label(names[name], _BUCKETS[own_bucket], shapes[inputs], paths[around])
        for name, own_bucket, inputs, around in zip(
            listed(trace.name[first]),
            listed(bucket[first]),
            listed(given[first]),
            listed(path[first]),
            strict=True,
        )
    )
    return Labels(table=table, label=label, bucket=bucket, is_annotation=is_annotation & ~is_input)


def _distinct(one: IntArray, two: IntArray) -> tuple[IntArray, IntArray]:
    """Return the first call of each distinct pair, and each call's place among the pairs."""
    _, one = np.unique(one, return_inverse=True)
    _, two = np.unique(two, return_inverse=True)
    _, first, place = np.unique(one * (two.size + 1) + two, return_index=True, return_inverse=True)
    return first, place


def own_buckets(trace: Trace) -> tuple[IntArray, BoolArray]:
    """Return each call's bucket (its place) by its name alone, and which calls annotate; (n,)."""
    has_device = bool(trace.is_device_work.any())
    keys, place = np.unique(trace.name * len(Kind) + trace.kind, return_inverse=True)
    pairs = [(trace.names[key // len(Kind)], Kind(key % len(Kind))) for key in listed(keys)]
    annotates = [_is_annotation(name, kind) for name, kind in pairs]
    buckets = [
        _PLACE[_bucket(name, kind, is_annotation=is_one, has_device=has_device)]
        for (name, kind), is_one in zip(pairs, annotates, strict=True)
    ]
    return np.array(buckets, dtype=np.int64)[place], np.array(annotates, dtype=np.bool_)[place]


def _is_annotation(name: str, kind: Kind) -> bool:
    if kind is Kind.ANNOTATION:
        return _HOST_COLLECTIVE.match(name) is None
    return kind is Kind.OPERATOR and _OPTIMIZER.match(name) is not None


def _bucket(name: str, kind: Kind, *, is_annotation: bool, has_device: bool) -> Bucket:
    if kind is Kind.KERNEL:
        return _kernel_bucket(name)
    if kind is Kind.RUNTIME:
        return Bucket.SYNC if _SYNC.search(name) else Bucket.RUNTIME
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    return _host_bucket(name, computes=not (is_annotation or has_device))


def _kernel_bucket(name: str) -> Bucket:
    if family_of(name) is Family.COMMUNICATION:
        return Bucket.COMMUNICATION
    return Bucket.COPY if _DMA.match(name) else Bucket.COMPUTE


def _host_bucket(name: str, *, computes: bool) -> Bucket:
    """Return what an operator is spent on; without a device it is the operators that compute."""
    if _INPUT_CALL.match(name):
        return Bucket.INPUT
    if _HOST_COLLECTIVE.match(name):
        return Bucket.COMMUNICATION
    if not computes:
        return Bucket.CPU
    is_collective = family_of(name) is Family.COMMUNICATION
    return Bucket.COMMUNICATION if is_collective else Bucket.COMPUTE


def _paths(
    names: Sequence[str], name: IntArray, threads: Threads
) -> tuple[tuple[str, ...], IntArray]:
    """Return the distinct paths, and each host call's place among them; the first is "".

    Level by level: a call's path is the path and the name of the call around it.
    """
    table = [""]
    known: dict[tuple[int, int], int] = {}
    path = np.zeros(name.shape, dtype=np.int64)
    for level in range(1, MAX_PATH_DEPTH + 1):
        calls = np.flatnonzero(threads.depth == level)
        if calls.size == 0:
            break
        outer = threads.around[calls]
        keys, place = np.unique(path[outer] * len(names) + name[outer], return_inverse=True)
        found: list[int] = []
        for key in listed(keys):
            above, last = divmod(key, len(names))
            if len(table[above]) >= MAX_PATH_CHARACTERS:
                found.append(above)
                continue
            number = known.setdefault((above, last), len(table))
            if number == len(table):
                table.append(f"{table[above]}/{names[last]}" if above else names[last])
            found.append(number)
        path[calls] = np.array(found, dtype=np.int64)[place]
    up = np.where(threads.depth > MAX_PATH_DEPTH, threads.around, np.arange(name.size))
    while (threads.depth[up] > MAX_PATH_DEPTH).any():
        up = up[up]
    return tuple(table), path[up]


def _launch_and_operator(
    trace: Trace, threads: Threads, launched_by: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the outermost runtime call that launched each call, and the operator around that."""
    launch = launched_by
    operator = np.where(launch == NOBODY, NOBODY, threads.around[launch])
    for _ in range(_RUNTIME_LEVELS):
        nested = (operator != NOBODY) & (trace.kind[operator] == Kind.RUNTIME)
        launch = np.where(nested, operator, launch)
        operator = np.where(nested, threads.around[launch], operator)
    return launch, operator
