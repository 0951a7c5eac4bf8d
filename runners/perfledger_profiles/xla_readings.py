"""Turn what ran on XLA's devices into the figures that are told of a step."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from perfledger.profile import Bucket, Profile, Reading
from perfledger_profiles.breakdown import Spanned, union_of
from perfledger_profiles.hlo import Direction, direction_of
from perfledger_profiles.spans import NOBODY, Segments, common
from perfledger_profiles.xla_device import COPY_DETAILS, DeviceCall, DeviceWork
from perfledger_profiles.xla_kernels import BYTES, FLOPS, MODEL_FLOPS, counted, kept_calls

_Begun = TypeVar("_Begun", bound=Spanned)

_NS = 1e9
_OFF_DUTY = ("infeed", "outfeed", "send", "recv")
# "%all-gather-done.3 = ... all-gather-done((...) %all-gather-start.3), channel_id=1"
_START = re.compile(r"-start(\.\d+)?$")
_DONE = "-done("
_STARTED_BY = re.compile(r"[^%]*%([\w.-]+-start[\w.-]*)")
_SIZE = re.compile(r"(?:^| )size:(\d{1,15})(?: |$)")


def readings_of(
    profile: Profile, works: Sequence[DeviceWork], windows: Sequence[Segments]
) -> tuple[Reading, ...]:
    """Return the readings per step; `windows` are the kept steps of each device.

    Shares are of all devices together. What the profile does not tell is left out.
    """
    if not works:
        return ()
    kept_ns = sum(kept.length_ns() for kept in windows)
    busy_ns = sum(
        common(union_of(work.calls), kept).length_ns()
        for work, kept in zip(works, windows, strict=True)
    )
    return (
        *_share("gpu_busy", busy_ns, kept_ns, "union of what ran on the device / step"),
        *_duty(works, windows, has_steps=profile.has_steps),
        *_communication(works, windows),
        *_host_copies(works, windows),
        *_input(profile),
        *_model_flops(works, windows),
        *_module_runs(works, windows, has_steps=profile.has_steps),
    )


def _share(name: str, part_ns: int, whole_ns: int, source: str) -> Iterator[Reading]:
    if whole_ns > 0:
        yield Reading(name=name, value=part_ns / whole_ns, source=source)


def _duty(
    works: Sequence[DeviceWork], windows: Sequence[Segments], *, has_steps: bool
) -> Iterator[Reading]:
    """Yield the duty cycle as xprof reckons it: without infeed, outfeed, send and receive.

    Without steps it is of the time from the first program's beginning to the last one's end.
    """
    active_ns = whole_ns = 0
    for work, kept in zip(works, windows, strict=True):
        if not work.modules:
            return
        on_duty = [call for call in work.calls if not call.label.name.startswith(_OFF_DUTY)]
        active_ns += common(union_of(on_duty), kept).length_ns()
        begin = min(module.start_ns for module in work.modules)
        end = max(module.end_ns for module in work.modules)
        whole_ns += kept.length_ns() if has_steps else max(end - begin, kept.length_ns())
    yield from _share("duty_cycle", active_ns, whole_ns, "operations / programs (xprof)")


def _communication(works: Sequence[DeviceWork], windows: Sequence[Segments]) -> Iterator[Reading]:
    """Yield how long collectives ran, and how much of that something was computed beside them."""
    total_ns = beside_ns = 0
    for work, kept in zip(works, windows, strict=True):
        everything = (*work.calls, *work.asynchronous, *_pairs(work.calls))
        talking = common(union_of(_of(Bucket.COMMUNICATION, everything)), kept)
        computing = union_of(_of(Bucket.COMPUTE, (c for c in work.calls if c.is_leaf)))
        total_ns += talking.length_ns()
        beside_ns += common(talking, computing).length_ns()
    if total_ns:
        steps = sum(kept.owner.size for kept in windows)
        source = "union of collectives, from start to done"
        yield Reading(name="comm_time", value=total_ns / steps / _NS, unit="s", source=source)
        source = "collectives while something is computed / collectives"
        yield from _share("comm_overlap", beside_ns, total_ns, source)


def _host_copies(works: Sequence[DeviceWork], windows: Sequence[Segments]) -> Iterator[Reading]:
    """Yield the time of copies from and to the host, and their rate while they ran."""
    for direction in Direction:
        steps, busy_ns = 0, 0
        moved: list[float | None] = []
        for work, kept in zip(works, windows, strict=True):
            copies = [
                call
                for call in (work.calls if work.has_streams else work.asynchronous)
                if _direction(call) is direction
            ]
            # The asynchronous copies of a TPU are recorded for some of its cores only.
            steps += kept.owner.size if copies else 0
            busy_ns += common(union_of(copies), kept).length_ns()
            moved += [_moved(call) for call in _began_in(copies, kept)]
        if busy_ns:
            seconds = busy_ns / _NS
            source = "union of copies, from start to done"
            name = f"{direction}_time"
            yield Reading(name=name, value=seconds / steps, unit="s", source=source)
            if (total := _sum_of(moved)) is not None:
                name = f"{direction}_bw"
                yield Reading(name=name, value=total / seconds, unit="B/s", source=source)


def _input(profile: Profile) -> Iterator[Reading]:
    waited = profile.bucket_seconds()[Bucket.INPUT]
    if waited > 0 and profile.step_seconds > 0:
        share = waited / profile.step_seconds
        yield Reading(
            name="input_wait_frac", value=share, source="waits for input, exclusive / step"
        )


def _model_flops(works: Sequence[DeviceWork], windows: Sequence[Segments]) -> Iterator[Reading]:
    """Yield what all devices compute in a step, if XLA counted every operation of it."""
    steps = max((kept.owner.size for kept in windows), default=0)
    leaves = [call.facts for call in kept_calls(works, windows) if call.is_leaf]
    facts = {id(each): each for each in leaves}
    flops = {key: counted(each, MODEL_FLOPS, FLOPS) for key, each in facts.items()}
    known = [flops[id(each)] or 0.0 for each in leaves]
    total = 0.0 if None in flops.values() else sum(known)
    if total and steps:
        source = "XLA's count of each operation, all devices"
        yield Reading(name="model_flops_per_step", value=total / steps, unit="FLOP", source=source)


def _module_runs(
    works: Sequence[DeviceWork], windows: Sequence[Segments], *, has_steps: bool
) -> Iterator[Reading]:
    """Yield how many programs each core ran per step; a busy host starts many small ones."""
    for work, kept in zip(works, windows, strict=True):
        runs, steps = len(work.modules), 1
        if has_steps:
            runs, steps = len(list(_began_in(work.modules, kept))), kept.owner.size
        if runs and steps:
            value = runs / steps
            yield Reading(name="module_runs", value=value, subject=work.name, source="XLA Modules")


def _of(bucket: Bucket, calls: Iterable[DeviceCall]) -> list[DeviceCall]:
    return [call for call in calls if call.label.bucket is bucket]


def _pairs(calls: Sequence[DeviceCall]) -> Iterator[DeviceCall]:
    """Yield asynchronous collectives from their start to their done, as the text pairs them."""
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


def _direction(call: DeviceCall) -> Direction | None:
    name = call.label.name.lower()
    found = next((way for way in Direction if name.startswith(f"memcpy{way}")), None)
    return direction_of(call.text) if found is None else found


def _began_in(calls: Sequence[_Begun], kept: Segments) -> Iterator[_Begun]:
    starts = np.array([call.start_ns for call in calls], dtype=np.int64)
    for call, place in zip(calls, kept.at(starts).tolist(), strict=True):
        if place != NOBODY:
            yield call


def _moved(call: DeviceCall) -> float | None:
    size = _SIZE.search(str(call.stats.get(COPY_DETAILS, "")))
    return float(size[1]) if size else counted(call.facts, BYTES)


def _sum_of(values: Sequence[float | None]) -> float | None:
    """Return the sum of what is known, None where one is not or there is none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
