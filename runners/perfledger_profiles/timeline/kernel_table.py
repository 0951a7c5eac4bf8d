"""Tabulates a trace's device work, one row per kernel and launch shape."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from perfledger.profile import TORCH_PROFILER, Kernel, OperationFamily, ProfileReading
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.intervals import NO_CALL, BoolArray, IntArray, sum_by_index
from perfledger_profiles.timeline.summarised_profile import kernel_rank
from perfledger_profiles.timeline.trace import (
    GRAPH_LAUNCH,
    UNKNOWN,
    CallKind,
    LaunchConfiguration,
    Trace,
)

# The longest 500 take over 99.9 % of the device's time in every trace seen so far, the longest 200
# as little as 95 %.
MAX_KERNELS = 500

# If a smaller share is known, the tensor-core share says more about names than about kernels.
MIN_KNOWN_SHARE = 0.8
# Below this share, most kernels' operators were not recorded, so what they could use is unknown.
MIN_LINKED_SHARE = 0.5

_NO_LAUNCH = LaunchConfiguration()
_NO_COMPUTE = (OperationFamily.COMMUNICATION, OperationFamily.COPY, OperationFamily.MEMSET)
# Operators that autocast runs in half precision, and the names of their backward functions up to
# 1.10.
_AUTOCAST = re.compile(
    r"aten::(?:_?convolution|convolution_backward|miopen_convolution|conv[123]d|conv_tbc"
    r"|conv_transpose[123]d|prelu|addmm_?|addmv|addr"
    r"|cudnn_convolution(?:_transpose)?(?:_backward(?:_weight|_input)?)?|matmul|mm|mv|linear"
    r"|addbmm|baddbmm|bmm|chain_matmul|linalg_multi_dot|_thnn_fused_(?:lstm|gru)_cell"
    r"|(?:lstm|gru|rnn_tanh|rnn_relu)_cell)"
    r"|CudnnConvolution(?:Transpose)?Backward|BmmBackward0|(?:Mm|Mv|Addmm|Addmv|Addbmm)Backward"
)


def kernel_rows(trace: Trace, chosen: BoolArray, *, steps: int) -> tuple[Kernel, ...]:
    """Return the chosen calls' kernels, copies and memsets per step, the longest first.

    Rows differ in name, grid or block. Registers and shared memory are those of the row's longest
    part. Of more than MAX_KERNELS rows, the shorter ones of a name become one row without a launch,
    so that the rows of a listed name always sum to all of its calls.
    """
    work = np.flatnonzero(chosen & trace.is_device_work)
    key = trace.name[work] * (len(trace.launches) + 1) + trace.launch[work] + 1
    parts, first, place = np.unique(key, return_index=True, return_inverse=True)
    length = sum_by_index(place, trace.end_ns[work] - trace.start_ns[work], size=parts.size)
    count = np.bincount(place, minlength=parts.size)
    moved_bytes = sum_by_index(place, np.maximum(trace.bytes[work], 0), size=parts.size)
    has_bytes = np.bincount(place, weights=trace.bytes[work] < 0, minlength=parts.size) == 0
    rows: dict[tuple[str, str, str], Kernel] = {}
    for part in np.argsort(-length, kind="stable").tolist():
        row = _kernel(
            trace,
            int(work[first[part]]),
            seconds=int(length[part]) / steps / NS_PER_S,
            count=int(count[part]) / steps,
            moved_bytes=int(moved_bytes[part]) / steps if has_bytes[part] else None,
        )
        shape = (row.name, row.grid, row.block)
        rows[shape] = _join(rows[shape], row) if shape in rows else row
    return fold_rows(rows.values())


def fold_rows(rows: Iterable[Kernel]) -> tuple[Kernel, ...]:
    """Return the longest rows, and one row per name for the others of these names."""
    ranked = sorted(rows, key=kernel_rank)
    longest = ranked[:MAX_KERNELS]
    rest: dict[str, Kernel] = {}
    names = {row.name for row in longest}
    for row in ranked[MAX_KERNELS:]:
        if row.name in names:
            rest[row.name] = (
                _join(rest[row.name], row) if row.name in rest else _without_launch(row)
            )
    return tuple(sorted([*longest, *rest.values()], key=kernel_rank))


def _without_launch(row: Kernel) -> Kernel:
    """Return the row of a kernel whose launches differ."""
    return replace(row, grid="", block="", registers=None, shared_memory_bytes=None, occupancy=None)


def tensor_share(kernels: Sequence[Kernel]) -> float | None:
    """Return the tensor cores' share of the kernels' time, or None if most names do not show it.

    The denominator is the time of all compute kernels (the TensorBoard plugin's "Kernel Time using
    Tensor Cores").
    """
    computing = [k for k in kernels if k.family not in _NO_COMPUTE]
    total = sum(kernel.seconds for kernel in computing)
    classified_seconds = sum(kernel.seconds for kernel in computing if kernel.is_tensor is not None)
    if total <= 0 or classified_seconds < MIN_KNOWN_SHARE * total:
        return None
    return sum(kernel.seconds for kernel in computing if kernel.is_tensor) / total


def eligible_readings(
    trace: Trace, parents: IntArray, launched_by: IntArray, operator: IntArray
) -> Iterator[ProfileReading]:
    """Yield the share of the launched kernels' time that could use tensor cores.

    An operator is eligible if autocast runs it in half precision, or if it launched a kernel that
    uses tensor cores; of nested eligible operators the innermost counts. Only torch.profiler
    records such operators; if those of most kernels are missing, as in CUDA graphs, the share is
    unknown. `parents` is the host's call around each call, `launched_by` its launch and `operator`
    the innermost operator around that; all have shape (n,), with NO_CALL for none.
    """
    if trace.tool != TORCH_PROFILER:
        return
    kernels = np.flatnonzero((trace.kind == CallKind.KERNEL) & (launched_by != NO_CALL))
    length = (trace.end_ns - trace.start_ns)[kernels]
    if length.sum() == 0:
        return
    is_graph = trace.find_by_name([GRAPH_LAUNCH in name for name in trace.names])
    launcher = np.where(is_graph[launched_by[kernels]], NO_CALL, operator[kernels])
    if length[launcher != NO_CALL].sum() < MIN_LINKED_SHARE * length.sum():
        return  # operators were not recorded
    is_able = _is_able(trace, kernels, launcher)
    is_innermost = (launcher != NO_CALL) & (is_able & ~_is_ancestor_of_able(is_able, parents))[
        launcher
    ]
    yield ProfileReading(
        name="tc_eligible",
        value=float(length[is_innermost].sum() / length.sum()),
        source="time of kernels whose operators could use tensor cores / of all launched",
        is_estimate=True,
    )


def _is_able(trace: Trace, kernels: IntArray, launcher: IntArray) -> BoolArray:
    """Return which operators could use tensor cores."""
    uses = trace.find_by_name([is_tensor_kernel(name) is True for name in trace.names])[kernels]
    is_autocast = trace.find_by_name(
        [_AUTOCAST.fullmatch(name) is not None for name in trace.names]
    )
    is_able: BoolArray = (trace.kind == CallKind.OPERATOR) & is_autocast
    is_able[launcher[uses & (launcher != NO_CALL)]] = True
    return is_able


def _is_ancestor_of_able(is_able: BoolArray, parents: IntArray) -> BoolArray:
    """Return which calls contain an eligible one."""
    is_ancestor = np.zeros(is_able.shape, dtype=np.bool_)
    above = np.unique(parents[is_able])
    while (above := above[above != NO_CALL]).size:
        is_ancestor[above] = True
        above = np.unique(parents[above])
        above = above[~is_ancestor[above]]
    return is_ancestor


def _kernel(
    trace: Trace, call: int, *, seconds: float, count: float, moved_bytes: float | None
) -> Kernel:
    name = trace.names[int(trace.name[call])]
    number = int(trace.launch[call])
    launch = trace.launches[number] if number != UNKNOWN else _NO_LAUNCH
    is_kernel = trace.kind[call] == CallKind.KERNEL
    family = family_of(name)
    if not is_kernel:
        family = (
            OperationFamily.COPY if trace.kind[call] == CallKind.COPY else OperationFamily.MEMSET
        )
    return Kernel(
        name=clean_name(name),
        family=family,
        seconds=seconds,
        count=count,
        grid=_text(launch.grid),
        block=_text(launch.block),
        registers=launch.registers,
        shared_memory_bytes=launch.shared_memory_bytes,
        occupancy=launch.occupancy,
        bytes=None if is_kernel else moved_bytes,
        is_tensor=is_tensor_kernel(name) if is_kernel else False,
    )


def _text(shape: tuple[int, int, int] | None) -> str:
    return ",".join(map(str, shape)) if shape else ""


def _join(row: Kernel, second: Kernel) -> Kernel:
    flops, moved_bytes = (
        None if one is None or other is None else one + other
        for one, other in ((row.flops, second.flops), (row.bytes, second.bytes))
    )
    return replace(
        row,
        seconds=row.seconds + second.seconds,
        count=row.count + second.count,
        flops=flops,
        bytes=moved_bytes,
    )
