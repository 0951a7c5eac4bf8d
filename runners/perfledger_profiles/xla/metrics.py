"""Computes the metrics of a step on XLA's devices."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from perfledger.profile import Bucket, Profile, ProfileReading
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.timeline.breakdown import union_of
from perfledger_profiles.timeline.intervals import TimeSegments, intersection
from perfledger_profiles.xla.device_plane import COPY_DETAILS, DeviceCall, DeviceWork
from perfledger_profiles.xla.hlo import CopyDirection, direction_of
from perfledger_profiles.xla.kernels import (
    BYTES,
    FLOPS,
    MODEL_FLOPS,
    began_in,
    calls_in_steps,
    first_count,
)
from perfledger_profiles.xla.step_windows import XlaSteps

_OFF_DUTY = ("infeed", "outfeed", "send", "recv")
# "%all-gather-done.3 = ... all-gather-done((...) %all-gather-start.3), channel_id=1"
_START = re.compile(r"-start(\.\d+)?$")
_DONE = "-done("
_STARTED_BY = re.compile(r"[^%]*%([\w.-]+-start[\w.-]*)")
_SIZE = re.compile(r"(?:^| )size:(\d{1,15})(?: |$)")


def readings_of(
    profile: Profile, works: Sequence[DeviceWork], steps: Sequence[XlaSteps]
) -> tuple[ProfileReading, ...]:
    """Return the readings per step; `steps` are those of each device.

    Shares are over all devices. Unknown metrics are left out.
    """
    if not works:
        return ()
    windows = [each.windows for each in steps]
    kept_ns = sum(device_windows.length_ns() for device_windows in windows)
    busy_ns = sum(
        intersection(union_of(work.calls), device_windows).length_ns()
        for work, device_windows in zip(works, windows, strict=True)
    )
    return (
        *_share("gpu_busy", busy_ns, kept_ns, "union of device events / step"),
        *_duty(works, windows, has_steps=profile.has_steps),
        *_communication(works, windows),
        *_host_copies(works, windows),
        *_input(profile),
        *_model_flops(works, steps),
        *_module_runs(works, windows, has_steps=profile.has_steps),
    )


def _share(name: str, part_ns: int, whole_ns: int, source: str) -> Iterator[ProfileReading]:
    if whole_ns > 0:
        yield ProfileReading(name=name, value=part_ns / whole_ns, source=source)


def _duty(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments], *, has_steps: bool
) -> Iterator[ProfileReading]:
    """Yield the duty cycle as xprof computes it: without infeed, outfeed, send and receive.

    Without steps, the denominator is the time from the first program's begin to the last one's end.
    """
    active_ns = whole_ns = 0
    for work, device_windows in zip(works, windows, strict=True):
        if not work.modules:
            return
        on_duty = [call for call in work.calls if not call.label.name.startswith(_OFF_DUTY)]
        active_ns += intersection(union_of(on_duty), device_windows).length_ns()
        begin = min(module.start_ns for module in work.modules)
        end = max(module.end_ns for module in work.modules)
        whole_ns += (
            device_windows.length_ns()
            if has_steps
            else max(end - begin, device_windows.length_ns())
        )
    yield from _share("duty_cycle", active_ns, whole_ns, "operations / programs (xprof)")


def _communication(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments]
) -> Iterator[ProfileReading]:
    """Yield the time of collectives, and the share that compute overlaps."""
    total_ns = beside_ns = 0
    for work, device_windows in zip(works, windows, strict=True):
        everything = (*work.calls, *work.asynchronous, *_pairs(work.calls))
        talking = intersection(union_of(_of(Bucket.COMMUNICATION, everything)), device_windows)
        computing = union_of(_of(Bucket.COMPUTE, (c for c in work.calls if c.is_leaf)))
        total_ns += talking.length_ns()
        beside_ns += intersection(talking, computing).length_ns()
    if total_ns:
        steps = sum(device_windows.owner.size for device_windows in windows)
        source = "union of collectives, from start to done"
        yield ProfileReading(
            name="comm_time", value=total_ns / steps / NS_PER_S, unit="s", source=source
        )
        source = "time of collectives beside compute / time of collectives"
        yield from _share("comm_overlap", beside_ns, total_ns, source)


def _host_copies(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments]
) -> Iterator[ProfileReading]:
    """Yield the time of copies from and to the host, and their bandwidth."""
    for direction in CopyDirection:
        steps, busy_ns = 0, 0
        moved_bytes: list[float | None] = []
        for work, device_windows in zip(works, windows, strict=True):
            copies = [
                call
                for call in (work.calls if work.has_streams else work.asynchronous)
                if _direction(call) is direction
            ]
            # A TPU records asynchronous copies only for some of its cores.
            steps += device_windows.owner.size if copies else 0
            busy_ns += intersection(union_of(copies), device_windows).length_ns()
            moved_bytes += [_copied_bytes(call) for call in began_in(copies, device_windows)]
        if busy_ns:
            seconds = busy_ns / NS_PER_S
            source = "union of copies, from start to done"
            name = f"{direction}_time"
            yield ProfileReading(name=name, value=seconds / steps, unit="s", source=source)
            if (total := _sum_of(moved_bytes)) is not None:
                name = f"{direction}_bw"
                yield ProfileReading(name=name, value=total / seconds, unit="B/s", source=source)


def _input(profile: Profile) -> Iterator[ProfileReading]:
    waited = profile.bucket_seconds()[Bucket.INPUT]
    if waited > 0 and profile.step_seconds > 0:
        share = waited / profile.step_seconds
        yield ProfileReading(
            name="input_wait_frac", value=share, source="waits for input, exclusive / step"
        )


def _model_flops(
    works: Sequence[DeviceWork], steps: Sequence[XlaSteps]
) -> Iterator[ProfileReading]:
    """Yield the FLOPs of a step over all devices, if XLA counted every operation."""
    number = max((each.windows.owner.size for each in steps), default=0)
    leaves = [call.facts for call in calls_in_steps(works, steps) if call.is_leaf]
    facts = {id(each): each for each in leaves}
    flops = {key: first_count(each, MODEL_FLOPS, FLOPS) for key, each in facts.items()}
    counts = [flops[id(each)] or 0.0 for each in leaves]
    total = 0.0 if None in flops.values() else sum(counts)
    if total and number:
        source = "XLA's count of each operation, all devices"
        yield ProfileReading(
            name="model_flops_per_step", value=total / number, unit="FLOP", source=source
        )


def _module_runs(
    works: Sequence[DeviceWork], windows: Sequence[TimeSegments], *, has_steps: bool
) -> Iterator[ProfileReading]:
    """Yield the number of programs per core and step; a busy host starts many small ones."""
    for work, device_windows in zip(works, windows, strict=True):
        runs, steps = len(work.modules), 1
        if has_steps:
            runs = len(list(began_in(work.modules, device_windows)))
            steps = device_windows.owner.size
        if runs and steps:
            value = runs / steps
            yield ProfileReading(
                name="module_runs", value=value, subject=work.name, source="XLA Modules"
            )


def _of(bucket: Bucket, calls: Iterable[DeviceCall]) -> list[DeviceCall]:
    return [call for call in calls if call.label.bucket is bucket]


def _pairs(calls: Sequence[DeviceCall]) -> Iterator[DeviceCall]:
    """Yield asynchronous collectives from start to done, paired by their text."""
    open_calls: dict[str, DeviceCall] = {}
    for call in sorted(calls, key=lambda each: each.start_ns):
        if call.label.bucket is not Bucket.COMMUNICATION:
            continue
        if _START.search(call.label.name):
            open_calls[call.label.name] = call
            continue
        started_by = _STARTED_BY.match(call.text.partition(_DONE)[2])
        start = open_calls.pop(started_by[1], None) if started_by else None
        if start is not None:
            yield replace(start, end_ns=call.end_ns)


def _direction(call: DeviceCall) -> CopyDirection | None:
    name = call.label.name.lower()
    by_name = next((each for each in CopyDirection if name.startswith(f"memcpy{each}")), None)
    return direction_of(call.text) if by_name is None else by_name


def _copied_bytes(call: DeviceCall) -> float | None:
    size = _SIZE.search(str(call.stats.get(COPY_DETAILS, "")))
    return float(size[1]) if size else first_count(call.facts, BYTES)


def _sum_of(values: Sequence[float | None]) -> float | None:
    """Return the sum, or None if a value is unknown or there are no values."""
    known_values = [value for value in values if value is not None]
    return sum(known_values) if known_values and len(known_values) == len(values) else None
