"""Turn a trace's device work into rows: one per kernel and launch shape."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perfledger.profile import Family, Kernel
from perfledger_profiles.family import family_of, is_tensor_kernel
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import BoolArray, summed
from perfledger_profiles.trace import UNKNOWN, Kind, Launch, Trace

# The longest 200 kernels are over 99 % of the device's time in every trace that was looked at.
MAX_KERNELS = 200

# Below it a share of tensor cores says more about the names than about the kernels.
MIN_KNOWN_SHARE = 0.8

_NS = 1e9
_NO_LAUNCH = Launch()
_NO_COMPUTE = (Family.COMMUNICATION, Family.COPY, Family.MEMSET)


def kernel_rows(trace: Trace, chosen: BoolArray, *, steps: int) -> tuple[Kernel, ...]:
    """Return the chosen calls' kernels, copies and memsets per step, the longest first.

    Rows differ in name, grid or block. Registers and shared memory are those of the row's longest
    part; at most MAX_KERNELS rows are kept.
    """
    work = np.flatnonzero(chosen & trace.is_device_work)
    key = trace.name[work] * (len(trace.launches) + 1) + trace.launch[work] + 1
    parts, first, place = np.unique(key, return_index=True, return_inverse=True)
    length = summed(place, trace.end_ns[work] - trace.start_ns[work], size=parts.size)
    count = np.bincount(place, minlength=parts.size)
    moved = summed(place, np.maximum(trace.bytes[work], 0), size=parts.size)
    is_told = np.bincount(place, weights=trace.bytes[work] < 0, minlength=parts.size) == 0
    rows: dict[tuple[str, str, str], Kernel] = {}
    for part in np.argsort(-length, kind="stable").tolist():
        row = _kernel(
            trace,
            int(work[first[part]]),
            seconds=int(length[part]) / steps / _NS,
            count=int(count[part]) / steps,
            moved=int(moved[part]) / steps if is_told[part] else None,
        )
        shape = (row.name, row.grid, row.block)
        rows[shape] = _joined(rows[shape], row) if shape in rows else row
    ranked = sorted(rows.values(), key=lambda row: (-row.seconds, row.name, row.grid, row.block))
    return tuple(ranked[:MAX_KERNELS])


def tensor_share(kernels: Sequence[Kernel]) -> float | None:
    """Return which share of the kernels' time tensor cores had; None if most names do not tell.

    The denominator is the time of all kernels that compute (the TensorBoard plugin's "Kernel Time
    using Tensor Cores").
    """
    computing = [k for k in kernels if k.family not in _NO_COMPUTE]
    total = sum(kernel.seconds for kernel in computing)
    known = sum(kernel.seconds for kernel in computing if kernel.is_tensor is not None)
    if total <= 0 or known < MIN_KNOWN_SHARE * total:
        return None
    return sum(kernel.seconds for kernel in computing if kernel.is_tensor) / total


def _kernel(
    trace: Trace, call: int, *, seconds: float, count: float, moved: float | None
) -> Kernel:
    name = trace.names[int(trace.name[call])]
    number = int(trace.launch[call])
    launch = trace.launches[number] if number != UNKNOWN else _NO_LAUNCH
    is_kernel = trace.kind[call] == Kind.KERNEL
    family = family_of(name)
    if not is_kernel:
        family = Family.COPY if trace.kind[call] == Kind.COPY else Family.MEMSET
    return Kernel(
        name=clean_name(name),
        family=family,
        seconds=seconds,
        count=count,
        grid=_text(launch.grid),
        block=_text(launch.block),
        registers=launch.registers,
        shared_memory_bytes=launch.shared_memory_bytes,
        bytes=None if is_kernel else moved,
        is_tensor=is_tensor_kernel(name) if is_kernel else False,
    )


def _text(shape: tuple[int, int, int] | None) -> str:
    return ",".join(map(str, shape)) if shape else ""


def _joined(row: Kernel, more: Kernel) -> Kernel:
    is_told = row.bytes is not None and more.bytes is not None
    return replace(
        row,
        seconds=row.seconds + more.seconds,
        count=row.count + more.count,
        bytes=(row.bytes or 0.0) + (more.bytes or 0.0) if is_told else None,
    )
