"""Summarizes the kernels and copies that rocprof recorded, whatever the format of its file."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.profile import Kernel, Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.intervals import union
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "rocprof"
ADDED_UP = "the times of {} devices are added up, whether their work ran at the same time or not"
# Dispatches of a recording; each takes some hundred bytes while it is read.
MAX_DISPATCHES = 2_000_000
# Timestamps are nanoseconds since the boot.
MAX_NANOSECONDS = 2**62
# More than any launch has.
_MAX_SIDE = 2**31 - 1
_SUFFIXES = (" [clone .kd]", ".kd")

Size = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDispatch:
    """One kernel or copy; `grid` counts work-items, as rocprof does, and `device` is an agent."""

    name: str
    start_ns: int
    end_ns: int
    device: str = ""
    grid: Size | None = None
    workgroup: Size | None = None


def dispatch_profile(
    dispatches: Sequence[KernelDispatch],
    *,
    workload: str,
    side: Side,
    device: ProfiledDevice | None = None,
    dropped: int = 0,
    notes: Sequence[str] = (),
) -> Profile:
    """Return the profile of dispatches, whose one step is all of them. Raises ProfileError."""
    if len(dispatches) > MAX_DISPATCHES:
        msg = f"the recording has more than {MAX_DISPATCHES} dispatches: record less"
        raise ProfileError(msg)
    sound = [one for one in dispatches if 0 <= one.start_ns <= one.end_ns <= MAX_NANOSECONDS]
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        kernels=_kernels(sound),
        readings=_busy(sound),
        device=device,
        dropped=dropped + len(dispatches) - len(sound),
        notes=(*notes, *_devices_note(sound)),
    )


def _devices_note(dispatches: Sequence[KernelDispatch]) -> tuple[str, ...]:
    count = len({one.device for one in dispatches})
    return (ADDED_UP.format(count),) if count > 1 else ()


def kernel_name(text: str) -> str:
    """Return a kernel's name without the suffixes of its descriptor."""
    for suffix in _SUFFIXES:
        text = text.removesuffix(suffix)
    return clean_name(text)


def _kernels(dispatches: Sequence[KernelDispatch]) -> Iterator[Kernel]:
    groups: dict[tuple[str, Size | None, Size | None], list[KernelDispatch]] = defaultdict(list)
    for one in dispatches:
        groups[one.name, one.grid, one.workgroup].append(one)
    names: Mapping[str, str] = {name: kernel_name(name) for name, _, _ in groups}
    for (name, grid, workgroup), group in groups.items():
        yield Kernel(
            name=names[name],
            family=family_of(names[name]),
            seconds=sum(one.end_ns - one.start_ns for one in group) / NS_PER_S,
            count=float(len(group)),
            grid=_blocks(grid, workgroup),
            block=_text(workgroup),
            is_tensor=is_tensor_kernel(names[name]),
        )


def _blocks(grid: Size | None, workgroup: Size | None) -> str:
    """Return the grid in workgroups, as other tools state it; "" if unknown."""
    if not (_text(grid) and _text(workgroup)) or grid is None or workgroup is None:
        return ""
    return ",".join(str(-(-all_ // one)) for all_, one in zip(grid, workgroup, strict=True))


def _text(size: Size | None) -> str:
    if size is None or not all(1 <= side <= _MAX_SIDE for side in size):
        return ""
    return ",".join(map(str, size))


def _busy(dispatches: Sequence[KernelDispatch]) -> Iterator[ProfileReading]:
    """Yield the share of time, from its first to its last dispatch, that each device is active."""
    by_device: dict[str, list[KernelDispatch]] = defaultdict(list)
    for one in dispatches:
        by_device[one.device].append(one)
    for device, mine in sorted(by_device.items()):
        start = np.array([one.start_ns for one in mine], dtype=np.int64)
        end = np.array([one.end_ns for one in mine], dtype=np.int64)
        span = int(end.max() - start.min())
        if span > 0:
            yield ProfileReading(
                name="gpu_busy",
                value=union(start, end).length_ns() / span,
                subject=clean_name(device) if len(by_device) > 1 else "",
                source="union of device events / from the first to the last",
            )
