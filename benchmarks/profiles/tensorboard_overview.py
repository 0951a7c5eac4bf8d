"""Computes the overview of TensorBoard's profiler plugin from our columns of a trace.

`trace_figures.py` compares it with that tool's own output. The rules are those of torch_tb_profiler
0.4.3: a step lasts until all that it launched has ended and begins where the one before ended, a
last step that lost a fifth of its device work is left out, the first step counts, and what a device
annotates counts as the host's. Two things are ours: occupancy and blocks per multiprocessor are
recomputed from the launches, and MTIA's kernels count.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from perfledger.profile import TORCH_PROFILER, ProfiledDevice, ProfileReading
from perfledger_profiles.hardware.occupancy import Occupancy, occupancy_of
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.call_labels import ThreadNesting, nest_threads
from perfledger_profiles.timeline.intervals import (
    NO_CALL,
    BoolArray,
    IntArray,
    TimeSegments,
    cut_by_owner,
    sum_by_index,
    to_list,
    union,
)
from perfledger_profiles.timeline.launch_links import launches_of
from perfledger_profiles.timeline.step_windows import step_markers
from perfledger_profiles.timeline.trace import UNKNOWN, CallKind, LaunchConfiguration, Trace

SOURCE = "torch_tb_profiler's overview, mean of its steps"
WHOLE = "torch_tb_profiler's overview, first to last of its steps"

_NS = 1e9
_STEP = re.compile(r"ProfilerStep#\d+")
_DRIVER = re.compile(r"cu(?!da)[A-Z]")  # the plugin reads the runtime's calls only
_LOADING = re.compile(r"enumerate\(DataLoader\)#.*\.__next__|enumerate\(DataPipe\)#.*", re.DOTALL)
_COLLECTIVE = re.compile(r"(?:nccl|gloo):(?:broadcast|reduce|all_reduce|all_gather|reduce_scatter)")
_MAX_DEVICES = 64  # of a node, the plugin's own limit
# A last step with less of the device work of the one before was cut off by the profiler.
_WHOLE_STEP = 0.8
# Kernels that use tensor cores, by parts of their names.
_TENSOR = re.compile(
    r"h884|s884|h1688|s1688|hmma|i8816|16816|c1688|dgrad_1x1_stride_2x2|first_layer_wgrad_kernel"
    r"|conv1x1|conv2d_c1_k1|direct_group|xmma_(?:sparse_)?gemm|xmma_implicit_gemm|xmma_sparse_conv"
    r"|xmma_warp_specialized_implicit_gemm"
)
_ROLES = ("kernel", "memcpy", "memset", "communication", "runtime", "dataloader", "cpu_op")

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Linked:
    """A trace, and by the plugin's rules which call launched what; all of shape (n,)."""

    trace: Trace
    around: IntArray  # the host's call around each, NOBODY for those outside of all
    launched_by: IntArray
    is_runtime: BoolArray
    is_collective: BoolArray  # by the name of its operator or annotation


def tensorboard_overview(trace: Trace) -> Iterator[ProfileReading]:
    """Yield the plugin's figures: seconds of a step by role, then those of devices and kernels.

    Nothing for the files of other tools, which it does not read.
    """
    if trace.tool != TORCH_PROFILER:
        return
    linked = _linked(trace, nest_threads(trace, ~step_markers(trace)))
    steps = _steps(linked)
    if steps.length_ns() == 0:
        return
    yield from _roles(linked, steps)
    kernels = np.flatnonzero(trace.kind == CallKind.KERNEL)
    yield from _devices(trace, kernels, steps)
    yield from _tensor_cores(trace, kernels[linked.launched_by[kernels] != NO_CALL])


def _linked(trace: Trace, threads: ThreadNesting) -> _Linked:
    is_driver = trace.find_by_name([_DRIVER.match(name) is not None for name in trace.names])
    is_collective = trace.find_by_name(
        [_COLLECTIVE.fullmatch(name) is not None for name in trace.names]
    )
    linkable = replace(trace, correlation=np.where(is_driver, UNKNOWN, trace.correlation))
    return _Linked(
        trace=trace,
        around=threads.parents,
        launched_by=launches_of(linkable),
        is_runtime=(trace.kind == CallKind.RUNTIME) & ~is_driver,
        is_collective=is_collective,
    )


def _steps(linked: _Linked) -> TimeSegments:
    """Return the steps in their order; without markers the operators' whole time is one."""
    trace = linked.trace
    is_step = trace.find_by_name([_STEP.fullmatch(name) is not None for name in trace.names])
    marks = np.flatnonzero(is_step & trace.is_on_host)
    start, end = trace.start_ns[marks], trace.end_ns[marks]
    if marks.size == 0:
        operators = np.flatnonzero(trace.kind == CallKind.OPERATOR)
        start, end = np.sort(trace.start_ns[operators])[:1], np.sort(trace.end_ns[operators])[-1:]
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    work = np.flatnonzero(trace.is_device_work)
    step = _step_of(linked, work, start, end) if start.size else work[:0]
    if not (step != NO_CALL).any():
        return TimeSegments(start_ns=start, end_ns=end, owner=np.arange(start.size, dtype=np.int64))
    return _until_done(start, end, step, trace.start_ns[work], trace.end_ns[work])


def _step_of(linked: _Linked, work: IntArray, start: IntArray, end: IntArray) -> IntArray:
    """Return in which step each was launched, NOBODY for those whose launch is in none as a whole.

    Launches of the driver's own calls are not linked, see `_linked`.
    """
    launch = linked.launched_by[work]
    place = np.searchsorted(start, linked.trace.start_ns[launch], side="right") - 1
    inside = (launch != NO_CALL) & linked.is_runtime[launch] & (place >= 0)
    inside &= linked.trace.end_ns[launch] <= end[place]
    return np.where(inside, place, NO_CALL)


def _until_done(
    start: IntArray, end: IntArray, step: IntArray, begun: IntArray, ended: IntArray
) -> TimeSegments:
    """Lengthen the steps until their work has ended; each begins where the one before ended.

    `step`, `begun` and `ended` are of the device's work.
    """
    mine = step != NO_CALL
    last = end.copy()
    np.maximum.at(last, step[mine], ended[mine])
    before = start[0]
    if (step == 0).any():
        earlier = ended[~mine & (ended < begun[step == 0].min())]
        before = max(before, earlier.max(initial=before))
    last = np.maximum.accumulate(np.maximum(last, before))
    first = np.maximum(start, np.concatenate([[before], last[:-1]]))
    count = np.bincount(step[mine], minlength=start.size)
    last_count = int(np.flatnonzero(count)[-1]) + 1
    if last_count > 1 and count[last_count - 1] < _WHOLE_STEP * count[last_count - 2]:
        last_count -= 1
    owner = np.arange(last_count, dtype=np.int64)
    return TimeSegments(start_ns=first[:last_count], end_ns=last[:last_count], owner=owner)


def _roles(linked: _Linked, steps: TimeSegments) -> Iterator[ProfileReading]:
    """Yield how long a step is and what it is spent on: the first role that is active has it."""
    trace = linked.trace
    windows = union(steps.start_ns, steps.end_ns)
    cut = cut_by_owner([_times(trace, role, n) for n, role in enumerate(_members(linked))], windows)
    spent = sum_by_index(cut.owner + 1, cut.length_ns, size=len(_ROLES) + 1)
    total = steps.length_ns()
    by_role = {**dict(zip(_ROLES, to_list(spent[1:]), strict=True)), "other": int(spent[0])}
    for role, length in (*by_role.items(), ("total", total)):
        value = length / steps.owner.size / _NS
        yield ProfileReading(name=role, value=value, unit="s", source=SOURCE)


def _members(linked: _Linked) -> tuple[BoolArray, ...]:
    """Return which calls are of each role.

    From torch 1.12 on collectives are annotations: the plugin takes their kernels for any others.
    """
    trace = linked.trace
    launch = linked.launched_by
    caller = np.where(launch == NO_CALL, NO_CALL, linked.around[launch])
    is_calling = linked.is_collective & (trace.kind == CallKind.OPERATOR)
    talks = (trace.kind == CallKind.KERNEL) & (caller != NO_CALL) & is_calling[caller]
    loads = trace.is_on_host & trace.find_by_name(
        [_LOADING.fullmatch(n) is not None for n in trace.names]
    )
    is_step = trace.find_by_name([_STEP.fullmatch(name) is not None for name in trace.names])
    is_operator = np.isin(
        trace.kind, (CallKind.OPERATOR, CallKind.ANNOTATION, CallKind.DEVICE_ANNOTATION)
    )
    return (
        (trace.kind == CallKind.KERNEL) & ~talks,
        trace.kind == CallKind.COPY,
        trace.kind == CallKind.MEMSET,
        talks | linked.is_collective,
        linked.is_runtime,
        loads,
        is_operator & ~(is_step | loads | linked.is_collective),
    )


def _times(trace: Trace, chosen: BoolArray, role: int) -> TimeSegments:
    """Return when any of the chosen runs, owned by their role."""
    busy_spans = union(trace.start_ns[chosen], trace.end_ns[chosen])
    return replace(busy_spans, owner=np.full(busy_spans.owner.shape, role, dtype=np.int64))


def _devices(trace: Trace, kernels: IntArray, steps: TimeSegments) -> Iterator[ProfileReading]:
    """Yield the figures of each device that ran kernels."""
    number = {process: n for n, process in enumerate({lane.process for lane in trace.lanes})}
    of_lane = np.array([number[lane.process] for lane in trace.lanes], dtype=np.int64)
    device = of_lane[trace.lane[kernels]]
    order = np.argsort(device, kind="stable")
    _, first = np.unique(device[order], return_index=True)
    groups = np.split(kernels[order], first[1:]) if kernels.size else []
    for mine in groups[:_MAX_DEVICES]:
        process = trace.lanes[int(trace.lane[mine[0]])].process
        subject = clean_name(f"gpu {process}") if len(groups) > 1 else ""
        yield from _device(trace, process, mine, steps, subject)


def _device(
    trace: Trace, device: int | str, kernels: IntArray, steps: TimeSegments, subject: str
) -> Iterator[ProfileReading]:
    """Yield how busy a device was from the first step's start to the last end of any.

    Steps that no work was linked to are as they were marked, and may contain each other.
    """
    first, last = int(steps.start_ns[0]), int(steps.end_ns.max())
    start, end = (column[kernels].clip(first, last) for column in (trace.start_ns, trace.end_ns))
    reading = partial(ProfileReading, subject=subject, source=WHOLE)
    busy = union(start, end).length_ns() / (last - first)
    yield reading(name="gpu_util", value=busy)
    facts = trace.devices[device] if _is_place(device, len(trace.devices)) else None
    launches = trace.launch[kernels]
    figures = {
        n: _occupancy(trace.launches[n], facts) for n in to_list(np.unique(launches)) if n >= 0
    }
    known_figures = {n: one for n, one in figures.items() if one is not None}
    mine = np.isin(launches, list(known_figures)) & (end > start)
    if not mine.any():
        return
    of_launch = [known_figures[n] for n in to_list(launches[mine])]
    blocks = np.array([one.blocks_per_multiprocessor for one in of_launch])
    achieved = np.array([one.achieved for one in of_launch])
    length = (end - start)[mine]
    covered_share = _covered_by_blocks(start[mine], end[mine], blocks) / (last - first)
    yield reading(name="sm_efficiency", value=covered_share, is_estimate=True)
    occupancy = float((achieved * length).sum() / length.sum())
    yield reading(name="occupancy", value=occupancy, is_estimate=True)


def _is_place(number: int | str, size: int) -> TypeGuard[int]:
    return isinstance(number, int) and 0 <= number < size


def _occupancy(launch: LaunchConfiguration, device: ProfiledDevice | None) -> Occupancy | None:
    if device is None or device.multiprocessors is None or not (launch.grid and launch.block):
        return None
    if launch.registers is None or launch.shared_memory_bytes is None:
        return None
    return occupancy_of(
        grid=launch.grid,
        block=launch.block,
        registers=launch.registers,
        shared_memory_bytes=launch.shared_memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
    )


def _covered_by_blocks(start: IntArray, end: IntArray, blocks: FloatArray) -> float:
    """Return the integral over time of the blocks per multiprocessor that run, each up to one."""
    times = np.concatenate([start, end])
    order = np.argsort(times, kind="stable")
    running = np.concatenate([blocks, -blocks])[order].cumsum()
    return float((running[:-1].clip(0.0, 1.0) * np.diff(times[order])).sum())


def _tensor_cores(trace: Trace, kernels: IntArray) -> Iterator[ProfileReading]:
    """Yield the share of the launched kernels' time that tensor cores had."""
    length = (trace.end_ns - trace.start_ns)[kernels]
    if length.sum() == 0:
        return
    uses = trace.find_by_name([_TENSOR.search(name) is not None for name in trace.names])[kernels]
    value = float(length[uses].sum() / length.sum())
    yield ProfileReading(name="tc_ratio", value=value, source=WHOLE, is_estimate=True)
