"""Computes HolisticTraceAnalysis's temporal and kernel breakdown from our columns of a trace.

`trace_figures.py` compares it with that tool's own output. The rules are the tool's: whole
microseconds (starts rounded up, ends down), all that has a stream, and by default no work that was
launched after the last profiler step began.
"""

import re
from dataclasses import dataclass, replace
from enum import Flag, auto

import numpy as np

from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.idle_reasons import KERNEL_WAIT_NS, StreamCalls, stream_calls
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    intersection_ns,
    sum_by_index,
    to_list,
    union,
)
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.trace import UNKNOWN, Trace

_US = 1000
_STEP = re.compile(r"ProfilerStep#\d+")
_MIN_STEPS = 2  # to leave out the last one
_SYNCS = ("Event Sync", "Context Sync")
_MTIA_LAUNCH = "runFunction - job_prep_and_submit_for_execution"
_OTHER_LAUNCHES = {"cudaLaunchKernel", "hipLaunchKernel"}


class Work(Flag):
    """What kinds of kernels run at one instant."""

    COMPUTE = auto()
    COMMUNICATION = auto()
    MEMORY = auto()


# hta/common/types.py of version 0.6.1; a kernel that fits none is of no kind.
_COMMUNICATION = re.compile(r"(^nccl.*)|(^hip)|(^hccl)|(.*ncclKernel.*)")
_MEMORY = re.compile(r"(^(hip)?Memcpy)|(^(hip)?Memset)|(^dma)")
_NO_COMPUTE = re.compile(
    r"(^nccl)|(.*Memcpy)|(.*Memset)|(.*dma)|(^.*Sync)|(^Stream Wait Event)|(cuda.*LaunchKernel)"
    r"|(^runFunction)|(^hip)|(^job_exe)|(^packet)|(^pe_exe)|(^cpum_exe_subgraph)|(^hccl)"
    r"|(^collective_subgraph_execution)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelTime:
    """One kernel's time and calls; overlapping calls count twice."""

    name: str
    us: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalBreakdown:
    """How the device spent the time from its first kernel to the end of its last.

    `overlap` is the share of the communication that ran beside compute, None without any.
    `by_work` says for how long which kinds ran at once; `top` has the longest kernels first.
    """

    idle_us: int
    compute_us: int
    non_compute_us: int
    kernel_us: int
    kernels: int
    overlap: float | None
    by_work: tuple[tuple[Work, int], ...]
    top: tuple[KernelTime, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleGaps:
    """The time of one stream's gaps between calls, by reason."""

    stream: str
    host_wait_ns: int
    kernel_wait_ns: int
    other_ns: int


def temporal_breakdown(
    trace: Trace, *, include_last_step: bool = False, top: int = 10
) -> TemporalBreakdown | None:
    """Return the breakdown of all device work, None where there is none."""
    start, end = _rounded(trace)
    kept_calls = np.flatnonzero(
        _calls_to_keep(trace, start, end, include_last_step=include_last_step)
    )
    if kept_calls.size == 0:
        return None
    busy = union(start[kept_calls], end[kept_calls])
    running = {
        work: union(start[mine], end[mine]) for work, mine in _by_kind(trace, kept_calls).items()
    }
    kernel_us = int(busy.end_ns[-1] - busy.start_ns[0])
    compute_us = running[Work.COMPUTE].length_ns()
    idle_us = kernel_us - busy.length_ns()
    shared = intersection_ns(running[Work.COMPUTE], running[Work.COMMUNICATION])
    communication_us = running[Work.COMMUNICATION].length_ns()
    return TemporalBreakdown(
        idle_us=idle_us,
        compute_us=compute_us,
        non_compute_us=kernel_us - compute_us - idle_us,
        kernel_us=kernel_us,
        kernels=kept_calls.size,
        overlap=shared / communication_us if communication_us > 0 else None,
        by_work=_by_work(running),
        top=_top(trace, kept_calls, end - start, most=top),
    )


def temporal_idle(trace: Trace, *, include_last_step: bool = False) -> tuple[IdleGaps, ...]:
    """Return why each stream stood still, by that tool's rule and in its whole microseconds."""
    start, end = _rounded(trace)
    kept_calls = _calls_to_keep(trace, start, end, include_last_step=include_last_step)
    rounded = replace(
        trace, start_ns=start * _US - trace.epoch_ns, end_ns=end * _US - trace.epoch_ns
    )
    streams = stream_calls(rounded, launches_of(trace), kept_calls & trace.is_device_work)
    return tuple(map(_idle_gaps, streams))


def _idle_gaps(calls: StreamCalls) -> IdleGaps:
    """Return a stream's gaps by reason; overlapping calls give negative gaps."""
    ended = calls.end_ns[:-1]
    gap = calls.start_ns[1:] - ended
    launch = calls.launch_ns[1:]
    is_late = (launch != NO_CALL) & (launch > ended)
    is_short = ~is_late & (gap < KERNEL_WAIT_NS)
    return IdleGaps(
        stream=calls.stream,
        host_wait_ns=int(gap[is_late].sum()),
        kernel_wait_ns=int(gap[is_short].sum()),
        other_ns=int(gap[~is_late & ~is_short].sum()),
    )


def _calls_to_keep(
    trace: Trace, start: IntArray, end: IntArray, *, include_last_step: bool
) -> BoolArray:
    """Tell which calls that tool takes for kernels, and keeps.

    Those that a kept call of the host launched. It keeps all before the last step began or, with
    the last step, all before that one's end; in a trace with fewer than two steps simply all.
    """
    has_stream: BoolArray = trace.stream != UNKNOWN
    is_step = trace.find_by_name([_STEP.match(name) is not None for name in trace.names])
    if len(set(to_list(trace.name[is_step]))) < _MIN_STEPS:
        return has_stream
    if _is_mtia(trace):
        return _mtia_kernels(trace, is_step, start, end)
    on_device = (trace.stream >= 0) & (trace.correlation >= 0)
    on_device |= trace.find_by_name([name in _SYNCS for name in trace.names])
    hosts = ~on_device
    marks = hosts & is_step if (hosts & is_step).any() else hosts
    if not hosts.any():
        return has_stream
    if include_last_step:
        kept_hosts = hosts & (start <= end[marks].max())
    else:
        kept_hosts = hosts & (start < (start[marks].max() if marks is not hosts else start.min()))
    kept_calls: BoolArray = (kept_hosts | (on_device & _is_linked(trace, kept_hosts))) & has_stream
    return kept_calls


def _is_linked(trace: Trace, hosts: BoolArray) -> BoolArray:
    """Tell which calls have the correlation number of one of these."""
    host_correlations = np.sort(trace.correlation[hosts])
    if host_correlations.size == 0:
        return hosts
    place = np.searchsorted(host_correlations, trace.correlation)
    is_linked: BoolArray = (
        host_correlations[np.minimum(place, host_correlations.size - 1)] == trace.correlation
    )
    return is_linked


def _is_mtia(trace: Trace) -> bool:
    if "mtia:hccl" in trace.backend:
        return True
    names = set(trace.names)
    return _MTIA_LAUNCH in names and not names & _OTHER_LAUNCHES


def _mtia_kernels(trace: Trace, is_step: BoolArray, start: IntArray, end: IntArray) -> BoolArray:
    """Return what was launched between the first step's start and the last one's end."""
    has_stream: BoolArray = trace.stream != UNKNOWN
    steps = np.flatnonzero(is_step & trace.is_on_host)
    if steps.size == 0:
        return has_stream
    hosts = trace.is_on_host & (start >= start[steps].min()) & (end <= end[steps].max())
    work = trace.is_device_work & (trace.correlation >= 0) & _is_linked(trace, hosts)
    inside = union(start[steps], end[steps] + 1).at(start) >= 0
    copies = trace.find_by_name([_MEMORY.match(name) is not None for name in trace.names]) & inside
    is_kernel: BoolArray = ((work | hosts) & has_stream) | copies
    return is_kernel


def _rounded(trace: Trace) -> tuple[IntArray, IntArray]:
    """Return starts and ends in whole microseconds, by the sums of floats that the tool makes."""
    microseconds, rest = np.divmod(trace.epoch_ns + trace.start_ns, _US)
    begin = microseconds + rest / _US
    end = np.floor(begin + (trace.end_ns - trace.start_ns) / _US)
    return np.ceil(begin).astype(np.int64), end.astype(np.int64)


def _by_kind(trace: Trace, kept_calls: IntArray) -> dict[Work, IntArray]:
    code = np.zeros(len(trace.names), dtype=np.int64)
    for name in set(to_list(trace.name[kept_calls])):
        work = _work_of(trace.names[name])
        code[name] = work.value if work else 0
    kind = code[trace.name[kept_calls]]
    return {work: kept_calls[kind == work.value] for work in Work}


def _work_of(name: str) -> Work | None:
    if _COMMUNICATION.match(name):
        return Work.COMMUNICATION
    if _MEMORY.match(name):
        return Work.MEMORY
    return None if _NO_COMPUTE.match(name) else Work.COMPUTE


def _by_work(running: dict[Work, TimeSegments]) -> tuple[tuple[Work, int], ...]:
    edges = np.sort(
        np.concatenate([edge for each in running.values() for edge in (each.start_ns, each.end_ns)])
    )
    code = np.zeros(max(edges.size - 1, 0), dtype=np.int64)
    for work, when in running.items():
        code += work.value * (when.at(edges[:-1]) >= 0)
    total = sum_by_index(code, np.diff(edges), size=sum(work.value for work in Work) + 1)
    totals = [(Work(value), int(total[value])) for value in range(1, total.size) if total[value]]
    return tuple(sorted(totals, key=lambda pair: -pair[1]))


def _top(
    trace: Trace, kept_calls: IntArray, length: IntArray, *, most: int
) -> tuple[KernelTime, ...]:
    total = sum_by_index(trace.name[kept_calls], length[kept_calls], size=len(trace.names))
    count = np.bincount(trace.name[kept_calls], minlength=len(trace.names))
    longest = np.argsort(-total, kind="stable")[:most]
    return tuple(
        KernelTime(name=clean_name(trace.names[name]), us=int(total[name]), count=int(count[name]))
        for name in to_list(longest)
        if count[name]
    )
