"""Summarizes nsys's `cuda_gpu_trace` report, which has one row per kernel, copy or memset.

The report has a device timeline, but neither steps nor the host.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from perfledger.profile import Kernel, ProfiledDevice, ProfileReading
from perfledger_profiles.nsight_systems.report_tables import ReportRecord
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import launch_shape
from perfledger_profiles.timeline.summarised_profile import MAX_VALUE

# "NVIDIA A100-SXM4-40GB (0)": the model and the device's number.
_DEVICE = re.compile(r"(.*)\((\d+)\)")
# Cache size for the names and launch shapes of one trace.
MAX_CACHED_LAUNCHES = 20_000
_SOURCE = "nsys cuda_gpu_trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuTraceRow:
    """One kernel, copy or memset; times in seconds."""

    name: str
    grid: str
    block: str
    registers: int | None
    start_seconds: float
    seconds: float
    bytes: float | None
    device: str


def work_of(record: ReportRecord) -> GpuTraceRow | None:
    """Return a row of the trace, None where it has no time or no name."""
    start, seconds = record.value("start", "s"), record.value("duration", "s")
    name = record.text("name")
    if start is None or seconds is None or max(start, seconds) > MAX_VALUE or not name:
        return None
    registers = record.value("reg/trd")
    return GpuTraceRow(
        name=_name(name),
        grid=_shape(record.text("grdx"), record.text("grdy"), record.text("grdz")),
        block=_shape(record.text("blkx"), record.text("blky"), record.text("blkz")),
        registers=int(registers) if registers is not None and registers < 2**31 else None,
        start_seconds=start,
        seconds=seconds,
        bytes=record.value("bytes", "B"),
        device=sys.intern(record.text("device")),
    )


def traced_kernels(work: Sequence[GpuTraceRow]) -> tuple[Kernel, ...]:
    """Return the kernels by name and launch shape."""
    groups: dict[tuple[str, str, str, int | None], list[GpuTraceRow]] = defaultdict(list)
    for one in work:
        groups[one.name, one.grid, one.block, one.registers].append(one)
    is_tensor = {name: is_tensor_kernel(name) for name in {one.name for one in work}}
    return tuple(
        Kernel(
            name=name,
            family=family_of(name),
            seconds=sum(one.seconds for one in group),
            count=len(group),
            grid=grid,
            block=block,
            registers=registers,
            is_tensor=is_tensor[name],
        )
        for (name, grid, block, registers), group in groups.items()
    )


def traced_device(work: Sequence[GpuTraceRow]) -> ProfiledDevice | None:
    """Return the device that the rows name, the first of several models."""
    names = [name for name in dict.fromkeys(one.device for one in work) if name]
    if not names:
        return None
    match = _DEVICE.fullmatch(names[0])
    return ProfiledDevice(name=clean_name(match[1] if match else names[0]), count=len(names))


def busy_readings(work: Sequence[GpuTraceRow]) -> Iterator[ProfileReading]:
    """Yield the share of time, from first to last event, in which each device is active."""
    by_device: dict[str, list[GpuTraceRow]] = defaultdict(list)
    for one in work:
        by_device[one.device].append(one)
    for device, mine in by_device.items():
        start = np.array([one.start_seconds for one in mine], dtype=np.float64)
        end = start + np.array([one.seconds for one in mine], dtype=np.float64)
        span = float(end.max() - start.min())
        if span > 0:
            order = np.argsort(start, kind="stable")
            latest = np.maximum.accumulate(end[order])
            gaps = np.maximum(start[order][1:] - latest[:-1], 0.0)
            match = _DEVICE.fullmatch(device)
            yield ProfileReading(
                name="gpu_busy",
                value=1.0 - float(gaps.sum()) / span,
                subject=f"gpu {match[2]}" if match and len(by_device) > 1 else "",
                source=_SOURCE,
            )


@lru_cache(maxsize=MAX_CACHED_LAUNCHES)
def _name(text: str) -> str:
    return clean_name(text)


@lru_cache(maxsize=MAX_CACHED_LAUNCHES)
def _shape(*sides: str) -> str:
    """Return "x,y,z", "" for a copy, which has none."""
    return launch_shape(sides)
