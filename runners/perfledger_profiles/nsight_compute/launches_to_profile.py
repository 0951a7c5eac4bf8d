"""Reads the CSV of Nsight Compute (`ncu --csv`) into a Profile of kernels and their counters."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from perfledger.profile import Kernel, Profile, ProfiledDevice, ProfileReading
from perfledger.records import Side
from perfledger_profiles.nsight_compute.csv_pages import ProfiledLaunch, read_launches
from perfledger_profiles.nsight_compute.metric_names import (
    ACHIEVED_OCCUPANCY,
    ADDITIONS,
    DRAM_BYTES,
    DRAM_RATE,
    DRAM_READ,
    DRAM_WRITTEN,
    DURATION,
    DYNAMIC,
    FUSED,
    METRICS,
    MULTIPROCESSORS,
    OTHER_TYPES,
    PRODUCTS,
    REGISTERS,
    STATIC,
    TENSOR_ACTIVE,
    WHOLE_FILE,
)
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.text_file import read_text
from perfledger_profiles.timeline.summarised_profile import summary_profile

TOOL = "ncu"
REPLAY_NOTE = "ncu locks the clocks and replays each kernel: use its times to explain, not to judge"
NO_TIMES = "no launch has a duration: collect gpu__time_duration.sum too"

_UNITS = {metric.name: metric.unit for metric in METRICS}

_Groups = Mapping[str, Sequence[ProfiledLaunch]]


def read_ncu(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the kernels of a details or raw page, and their metrics as readings.

    A reading's subject is its kernel, with the launch shape if a kernel has several; its value is
    the time-weighted mean over the launches. For shares of a device's peaks, the mean over all
    kernels is added, without a subject. Raises ProfileError if the file has no launch.
    """
    read = read_text(data)
    pages = read_launches(read.lines)
    if not pages.launches:
        msg = "this file has no kernel: give the complete output of `ncu --csv`"
        raise ProfileError(msg)
    groups = _groups(pages.launches)
    is_timed = any(DURATION in launch.metrics for launch in pages.launches)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        kernels=[kernel for mine in groups.values() if (kernel := _kernel(mine))],
        readings=_readings(groups),
        device=_device(pages.launches),
        dropped=pages.dropped,
        notes=(*read.notes, REPLAY_NOTE if is_timed else NO_TIMES),
    )


def _groups(launches: Sequence[ProfiledLaunch]) -> _Groups:
    """Return the launches by kernel and launch shape, longest first."""
    by_shape: dict[tuple[str, str, str], list[ProfiledLaunch]] = defaultdict(list)
    for launch in launches:
        by_shape[launch.name, launch.grid, launch.block].append(launch)
    shapes = Counter(name for name, _, _ in by_shape)
    titled = {
        name if shapes[name] == 1 else f"{name} <{grid}> <{block}>": mine
        for (name, grid, block), mine in by_shape.items()
    }
    return dict(sorted(titled.items(), key=lambda item: -(_seconds(item[1]) or 0.0)))


def _seconds(launches: Sequence[ProfiledLaunch]) -> float | None:
    """Return the time of all launches, or None if none has one."""
    times = [one.metrics[DURATION] * one.count for one in launches if DURATION in one.metrics]
    return sum(times) if times else None


def _kernel(launches: Sequence[ProfiledLaunch]) -> Kernel | None:
    seconds = _seconds(launches)
    if seconds is None:
        return None
    first = launches[0]
    tensor = _mean(launches, TENSOR_ACTIVE)
    is_tensor = is_tensor_kernel(first.name) if tensor is None else tensor > 0
    return Kernel(
        name=first.name,
        family=family_of(first.name),
        seconds=seconds,
        count=sum(one.count for one in launches if DURATION in one.metrics),
        grid=first.grid,
        block=first.block,
        registers=_rounded_count(first.metrics.get(REGISTERS)),
        shared_memory_bytes=_shared_bytes(first),
        occupancy=_mean(launches, ACHIEVED_OCCUPANCY),
        blocks_per_multiprocessor=_blocks_per_multiprocessor(first),
        flops=_flops(launches) if is_tensor is False else None,
        bytes=_dram_bytes(launches),
        is_tensor=is_tensor,
    )


def _shared_bytes(launch: ProfiledLaunch) -> int | None:
    parts = [launch.metrics.get(name) for name in (STATIC, DYNAMIC)]
    sizes = [part for part in parts if part is not None]
    return _rounded_count(sum(sizes)) if len(sizes) == len(parts) else None


def _rounded_count(value: float | None) -> int | None:
    return None if value is None else round(value)


def _blocks_per_multiprocessor(launch: ProfiledLaunch) -> float | None:
    count = launch.metrics.get(MULTIPROCESSORS)
    if not count or not launch.grid:
        return None
    return prod(int(side) for side in launch.grid.split(",")) / count


def _flops(launches: Sequence[ProfiledLaunch]) -> float | None:
    """Return the float32 FLOPs, or None unless each launch reports them and no other types.

    An addition or a multiplication is one FLOP, an FMA two (Nsight Compute's roofline chart).
    Tensor cores have separate counters.
    """
    total = 0.0
    for one in launches:
        counts = [one.metrics.get(name) for name in (ADDITIONS, PRODUCTS, FUSED, FUSED)]
        known_counts = [count for count in counts if count is not None]
        if len(known_counts) < len(counts) or any(
            one.metrics.get(name, 0.0) > 0 for name in OTHER_TYPES
        ):
            return None
        total += sum(known_counts) * one.count
    return total


def _dram_bytes(launches: Sequence[ProfiledLaunch]) -> float | None:
    """Return the bytes to and from the device's memory, or None unless each launch reports them."""
    sizes = [(_launch_bytes(one), one.count) for one in launches]
    launch_bytes = [size * count for size, count in sizes if size is not None]
    return sum(launch_bytes) if len(launch_bytes) == len(launches) else None


def _launch_bytes(launch: ProfiledLaunch) -> float | None:
    metrics = launch.metrics
    if DRAM_BYTES in metrics:
        return metrics[DRAM_BYTES]
    if DRAM_READ in metrics and DRAM_WRITTEN in metrics:
        return metrics[DRAM_READ] + metrics[DRAM_WRITTEN]
    if DRAM_RATE in metrics and DURATION in metrics:
        return metrics[DRAM_RATE] * metrics[DURATION]
    return None


def _readings(groups: _Groups) -> Iterator[ProfileReading]:
    everything = [launch for mine in groups.values() for launch in mine]
    for name in WHOLE_FILE:
        value = _mean(everything, name)
        if value is not None:
            source = "ncu, mean over all kernels by their time"
            yield ProfileReading(name=name, value=value, unit=_UNITS[name], source=source)
    for subject, mine in groups.items():
        for name, unit in _UNITS.items():
            value = _mean(mine, name)
            if value is not None:
                yield ProfileReading(
                    name=name, value=value, unit=unit, subject=subject, source="ncu"
                )


def _mean(launches: Sequence[ProfiledLaunch], name: str) -> float | None:
    """Return a metric's mean, weighted by the launches' time, or by number if a time is missing.

    The mean duration itself is weighted by number.
    """
    measured_launches = [one for one in launches if name in one.metrics]
    is_timed = name != DURATION and all(DURATION in one.metrics for one in measured_launches)
    weights = [
        one.count * one.metrics[DURATION] if is_timed else one.count for one in measured_launches
    ]
    total = sum(weights)
    if total <= 0:
        return None
    values = (
        one.metrics[name] * weight for one, weight in zip(measured_launches, weights, strict=True)
    )
    return sum(values) / total


def _device(launches: Sequence[ProfiledLaunch]) -> ProfiledDevice | None:
    """Return the pages' facts about the device; the details page lacks its name."""
    first = launches[0]
    count = _rounded_count(first.metrics.get(MULTIPROCESSORS))
    if not first.device and not first.capability and count is None:
        return None
    return ProfiledDevice(
        name=first.device, compute_capability=first.capability, multiprocessors=count
    )
