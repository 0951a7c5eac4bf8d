"""Turn the rows of nsys's `cuda_gpu_trace`, one for each thing that ran, into kernels and figures.

The trace has a timeline of the device, but neither steps nor the host.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from perfledger.profile import Kernel, ProfiledDevice, Reading
from perfledger_profiles.family import family_of, is_tensor_kernel
from perfledger_profiles.nsys_tables import Record
from perfledger_profiles.quantity import launch_shape
from perfledger_profiles.redact import clean_name
from perfledger_profiles.summary import MAX_VALUE

# "NVIDIA A100-SXM4-40GB (0)": the model and the device's number.
_DEVICE = re.compile(r"(.*)\((\d+)\)")
# Names and launch shapes of one trace; what is remembered is not made again for each row.
_KNOWN = 20_000
_SOURCE = "nsys cuda_gpu_trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kernel, copy or memset that ran; times in seconds."""

    name: str
    grid: str
    block: str
    registers: int | None
    start_seconds: float
    seconds: float
    bytes: float | None
    device: str


def work_of(record: Record) -> Work | None:
    """Return what a row of the trace says, None where it has no time or no name."""
    start, seconds = record.value("start", "s"), record.value("duration", "s")
    name = record.text("name")
    if start is None or seconds is None or max(start, seconds) > MAX_VALUE or not name:
        return None
    registers = record.value("reg/trd")
    return Work(
        name=_name(name),
        grid=_shape(record.text("grdx"), record.text("grdy"), record.text("grdz")),
        block=_shape(record.text("blkx"), record.text("blky"), record.text("blkz")),
        registers=int(registers) if registers is not None and registers < 2**31 else None,
        start_seconds=start,
        seconds=seconds,
        bytes=record.value("bytes", "B"),
        device=sys.intern(record.text("device")),
    )


def traced_kernels(work: Sequence[Work]) -> tuple[Kernel, ...]:
    """Return what ran, by name and launch shape."""
    groups: dict[tuple[str, str, str, int | None], list[Work]] = defaultdict(list)
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


def traced_device(work: Sequence[Work]) -> ProfiledDevice | None:
    """Return the device that the rows name; of several models the first."""
    names = [name for name in dict.fromkeys(one.device for one in work) if name]
    if not names:
        return None
    match = _DEVICE.fullmatch(names[0])
    return ProfiledDevice(name=clean_name(match[1] if match else names[0]), count=len(names))


def busy_readings(work: Sequence[Work]) -> Iterator[Reading]:
    """Yield the share of its time, first to last event, that each device did anything at all."""
    by_device: dict[str, list[Work]] = defaultdict(list)
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
            yield Reading(
                name="gpu_busy",
                value=1.0 - float(gaps.sum()) / span,
                subject=f"gpu {match[2]}" if match and len(by_device) > 1 else "",
                source=_SOURCE,
            )


@lru_cache(maxsize=_KNOWN)
def _name(text: str) -> str:
    return clean_name(text)


@lru_cache(maxsize=_KNOWN)
def _shape(*sides: str) -> str:
    """Return "x,y,z", "" for a copy, which has none."""
    return launch_shape(sides)
