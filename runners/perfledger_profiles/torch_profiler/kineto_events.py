"""Collects the events of a Chrome trace into the columns of a Trace."""

import struct
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import attrgetter
from typing import Annotated, TypeVar, cast

import msgspec
import numpy as np
import numpy.typing as npt

from perfledger.profile import TORCH_PROFILER, ProfiledDevice
from perfledger_profiles.parsing.chrome_trace_events import (
    INSTANTS,
    MEMORY,
    UNREADABLE,
    CallArgs,
    InstantArgs,
    Scalar,
    TraceCall,
    TraceEvent,
    TraceInstant,
)
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.intervals import BoolArray, IntArray
from perfledger_profiles.timeline.memory import ONLY_CHANGES, totals_from_changes
from perfledger_profiles.timeline.trace import (
    LAST_ON_DEVICE,
    MAX_COUNT,
    UNKNOWN,
    CallKind,
    LaunchConfiguration,
    MemoryInstants,
    Trace,
    TraceLane,
)

# The fields that identify a launch. JSON never contains the separator unescaped.
_LAUNCH = attrgetter(
    *("grid", "block", "registers", "shared_memory", "occupancy"),
    *("collective", "elements", "element_type", "ranks"),
)
_SEAM = b"\0"
# c10::DeviceType; other types are shown by number.
_DEVICE_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps"}

# Microseconds: the year 2096, and eleven days. Events beyond them are broken.
_MAX_TS_US = 4e15
_MAX_DURATION_US = 1e12
_NS_PER_US = 1000
_PERCENT = 100
_NO_ARGS = CallArgs()
_NO_INSTANT_ARGS = InstantArgs()
_Side = Annotated[int, msgspec.Meta(gt=0, lt=MAX_COUNT)]
_COUNT = msgspec.json.Decoder(Annotated[int, msgspec.Meta(ge=0, lt=MAX_COUNT)])
# 0 means unknown, because it also stands for a failed estimate.
_PERCENTAGE = msgspec.json.Decoder(Annotated[float, msgspec.Meta(gt=0, le=_PERCENT)])
_TEXT = msgspec.json.Decoder(str)
_SHAPE = msgspec.json.Decoder(tuple[_Side, _Side, _Side])

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
FloatArray = npt.NDArray[np.float64]

# Categories of torch 1.13 to 2.13 on CUDA, ROCm, XPU, MTIA and HPU, then those of 1.8 to 1.12.
# Other categories take no time of their own: flow arrows, Python frames, the profiler's overhead.
KINDS = {
    "kernel": CallKind.KERNEL,
    "gpu_memcpy": CallKind.COPY,
    "gpu_memset": CallKind.MEMSET,
    "cuda_sync": CallKind.DEVICE_WAIT,
    "xpu_sync": CallKind.DEVICE_WAIT,
    "gpu_user_annotation": CallKind.DEVICE_ANNOTATION,
    "cpu_op": CallKind.OPERATOR,
    "user_annotation": CallKind.ANNOTATION,
    "cuda_runtime": CallKind.RUNTIME,
    "cuda_driver": CallKind.RUNTIME,
    "hip_runtime": CallKind.RUNTIME,
    "xpu_runtime": CallKind.RUNTIME,
    "xpu_driver": CallKind.RUNTIME,
    "mtia_runtime": CallKind.RUNTIME,
    "mtia_ccp_events": CallKind.KERNEL,
    "glow_runtime": CallKind.RUNTIME,
    "privateuse1_runtime": CallKind.RUNTIME,
    "privateuse1_driver": CallKind.RUNTIME,
    "hpu_op": CallKind.KERNEL,
    "Kernel": CallKind.KERNEL,
    "Memcpy": CallKind.COPY,
    "Memset": CallKind.MEMSET,
    "Operator": CallKind.OPERATOR,
    "Runtime": CallKind.RUNTIME,
}
# MTIA's control processors record their waits along with their work.
DEVICE_WAITS = frozenset({"event_wait"})
UNUSED = len(CallKind)
INSTANT = UNUSED + 1

# A CallKind as a number, or INSTANT; all other categories are UNUSED.
CODES = {**{name: int(kind) for name, kind in KINDS.items()}, **dict.fromkeys(INSTANTS, INSTANT)}


class _Places(dict[Key, int]):
    """A dictionary that numbers its keys in order of first access."""

    def __missing__(self, key: Key) -> int:
        place = self[key] = len(self)
        return place


class KinetoColumns:
    """The growing columns of a trace, filled batch by batch."""

    def __init__(self) -> None:
        self._names: _Places[str] = _Places()
        self._lanes: _Places[tuple[int | str, int | str, bool]] = _Places()
        self._launches: _Places[bytes] = _Places()
        self._inputs: _Places[bytes] = _Places({_SEAM: 0})
        self._devices: _Places[str] = _Places()
        self._integers: dict[str, list[IntArray]] = defaultdict(list)
        self._floats: dict[str, list[FloatArray]] = defaultdict(list)
        self._broken = 0

    def add(self, events: Sequence[TraceEvent]) -> None:
        """Add the events with a duration and the memory events; ignore the rest."""
        categories = [event.cat for event in events]
        code = _integers(tuple(map(CODES.get, categories, repeat(UNUSED))))
        calls = compress(events, (code < UNUSED).tolist())
        self._add_calls(cast("list[TraceCall]", list(calls)), code[code < UNUSED])
        instants = compress(events, (code == INSTANT).tolist())
        # By its category, an instant may be a call of another name, which has other arguments.
        memory = [one for one in instants if one.name == MEMORY and not isinstance(one, TraceCall)]
        if memory:
            self._add_memory(memory)

    def trace(
        self,
        *,
        devices: Sequence[ProfiledDevice],
        rank: int | None,
        backend: str,
        dropped_events: int,
        notes: Sequence[str],
    ) -> Trace:
        """Return the trace; unusable events are added to the dropped ones."""
        ts = self._float_column("ts")
        begin_us = float(ts.min()) if ts.size else 0.0
        whole_us = int(begin_us)
        start_ns = _nanoseconds_since(begin_us, ts)
        memory = self._memory(begin_us)
        name = self._integer_column("name")
        return Trace(
            tool=TORCH_PROFILER,
            names=tuple(self._names),
            lanes=tuple(
                TraceLane(process=process, thread=thread, is_device=is_device)
                for process, thread, is_device in self._lanes
            ),
            launches=tuple(_launch(key) for key in self._launches),
            inputs=tuple(_input(key) for key in self._inputs),
            name=name,
            kind=self._kinds(name),
            lane=self._integer_column("lane"),
            start_ns=start_ns,
            end_ns=start_ns + _nanoseconds(self._float_column("dur")),
            correlation=self._integer_column("correlation"),
            stream=self._integer_column("stream"),
            launch=self._integer_column("launch"),
            input=self._integer_column("input"),
            bytes=self._integer_column("bytes"),
            epoch_ns=whole_us * _NS_PER_US + round((begin_us - whole_us) * _NS_PER_US),
            memory=memory,
            devices=tuple(devices),
            rank=rank,
            backend=clean_name(backend) if backend else "",
            dropped_events=dropped_events + self._broken,
            notes=(*notes, *([ONLY_CHANGES] if memory.is_lower_bound else [])),
        )

    def _kinds(self, name: IntArray) -> IntArray:
        """Return the calls' kinds; device waits are recorded as kernels."""
        kind = self._integer_column("kind")
        waits = [place for text, place in self._names.items() if text in DEVICE_WAITS]
        is_wait = (kind == CallKind.KERNEL) & np.isin(name, waits)
        return np.where(is_wait, int(CallKind.DEVICE_WAIT), kind)

    def _memory(self, begin_us: float) -> MemoryInstants:
        recorded = MemoryInstants(
            time_ns=_nanoseconds_since(begin_us, self._float_column("memory")),
            allocated_bytes=self._integer_column("allocated"),
            reserved_bytes=self._integer_column("reserved"),
            device=self._integer_column("device"),
            devices=tuple(self._devices),
        )
        changed = self._integer_column("changed")
        has_totals = (recorded.allocated_bytes != UNKNOWN).any()
        return (
            recorded if has_totals or not changed.any() else totals_from_changes(recorded, changed)
        )

    def _add_calls(self, events: Sequence[TraceCall], kind: IntArray) -> None:
        ts = _floats([event.ts for event in events])
        duration = _floats([event.dur for event in events])
        is_sound = (ts >= 0) & (ts <= _MAX_TS_US) & (duration >= 0) & (duration <= _MAX_DURATION_US)
        if not is_sound.all():
            self._broken += int(np.count_nonzero(~is_sound))
            events = list(compress(events, is_sound.tolist()))
            ts, duration, kind = ts[is_sound], duration[is_sound], kind[is_sound]
        args = [event.args or _NO_ARGS for event in events]
        is_operator, is_kernel = kind == CallKind.OPERATOR, kind == CallKind.KERNEL
        is_moving = (kind == CallKind.COPY) | (kind == CallKind.MEMSET)
        # Operators, half of a trace, are not linked with anything by a number.
        operators, linked, kernels, moving = (
            list(compress(args, chosen.tolist()))
            for chosen in (is_operator, ~is_operator, is_kernel, is_moving)
        )
        self._floats["ts"].append(ts)
        self._floats["dur"].append(duration)
        for column, values in (
            ("kind", kind),
            ("name", _place_numbers([event.name for event in events], self._names)),
            ("lane", self._lane_places(events, kind <= LAST_ON_DEVICE)),
            ("correlation", _at(~is_operator, _numbers([each.correlation for each in linked]))),
            ("stream", _at(~is_operator, _numbers([each.stream for each in linked]))),
            ("launch", _at(is_kernel, self._launch_places(kernels))),
            ("input", _at(is_operator, self._input_places(operators), missing=0)),
            ("bytes", _at(is_moving, _sizes([each.bytes for each in moving]))),
        ):
            self._integers[column].append(values)

    def _lane_places(self, events: Sequence[TraceCall], on_device: BoolArray) -> IntArray:
        """Return each call's lane; neighbours in the file usually share one."""
        processes, threads = [event.pid for event in events], [event.tid for event in events]
        try:
            process, thread = _integers(processes), _integers(threads)
        except struct.error:  # names instead of numbers
            lanes = zip(processes, threads, on_device.tolist(), strict=True)
            return _place_numbers(lanes, self._lanes)
        is_first: BoolArray = np.ones(process.shape, dtype=np.bool_)
        is_first[1:] = (np.diff(process) != 0) | (np.diff(thread) != 0) | np.diff(on_device)
        begins = np.flatnonzero(is_first)
        first = [column[begins].tolist() for column in (process, thread, on_device)]
        places = _place_numbers(zip(*first, strict=True), self._lanes)
        return np.repeat(places, np.diff(begins, append=process.size))

    def _launch_places(self, kernels: Sequence[CallArgs]) -> IntArray:
        return _place_numbers(map(_SEAM.join, map(_LAUNCH, kernels)), self._launches)

    def _input_places(self, operators: Sequence[CallArgs]) -> IntArray:
        parts = zip(
            [each.dims for each in operators], [each.types for each in operators], strict=True
        )
        return _place_numbers(map(_SEAM.join, parts), self._inputs)

    def _add_memory(self, instants: Sequence[TraceInstant]) -> None:
        used = [event for event in instants if 0 <= event.ts <= _MAX_TS_US]
        self._broken += len(instants) - len(used)
        args = [event.args or _NO_INSTANT_ARGS for event in used]
        device = [_device_name(each) for each in args]
        self._floats["memory"].append(_floats([event.ts for event in used]))
        for column, values in (
            ("allocated", _numbers([each.allocated for each in args])),
            ("reserved", _numbers([each.reserved for each in args])),
            ("changed", _numbers([each.changed or 0 for each in args])),
            ("device", _place_numbers(device, self._devices)),
        ):
            self._integers[column].append(values)

    def _float_column(self, column: str) -> FloatArray:
        parts = self._floats.pop(column, [])
        return np.concatenate([np.empty(0, dtype=np.float64), *parts])

    def _integer_column(self, column: str) -> IntArray:
        parts = self._integers.pop(column, [])
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _place_numbers(keys: Iterable[Key], places: _Places[Key]) -> IntArray:
    return _integers(tuple(map(places.__getitem__, keys)))


def _integers(values: Sequence[Scalar]) -> IntArray:
    """Return integers as a column; raise struct.error for anything else.

    It takes half the time of numpy's conversion, which checks the type of each value.
    """
    return np.frombuffer(struct.pack(f"{len(values)}q", *values), dtype=np.int64)


def _floats(values: Sequence[float]) -> FloatArray:
    return np.frombuffer(struct.pack(f"{len(values)}d", *values), dtype=np.float64)


def _numbers(values: Sequence[Scalar]) -> IntArray:
    """Return the values as integers, UNKNOWN for those that are not integers."""
    try:
        return _integers(values)
    except struct.error:
        return _integers([_integer(value) for value in values])


def _sizes(values: Sequence[Scalar]) -> IntArray:
    return np.maximum(_numbers(values), UNKNOWN)


def _integer(value: Scalar) -> int:
    try:
        number = UNKNOWN if value is None else int(value)
    except (ValueError, OverflowError):
        return UNKNOWN
    return number if abs(number) < MAX_COUNT else UNKNOWN


def _at(chosen: BoolArray, values: IntArray, *, missing: int = UNKNOWN) -> IntArray:
    """Return a column with the values at the chosen places, and `missing` elsewhere."""
    column = np.full(chosen.shape, missing, dtype=np.int64)
    column[chosen] = values
    return column


def _nanoseconds(micros: FloatArray) -> IntArray:
    return np.rint(micros * _NS_PER_US).astype(np.int64)


def _nanoseconds_since(begin_us: float, micros: FloatArray) -> IntArray:
    """Return the time since the begin, without the error of subtracting large floats.

    That error is up to a nanosecond, which would move an end off its whole microsecond.
    """
    whole_us, whole_begin_us = np.floor(micros), np.floor(begin_us)
    begin_ns = np.rint((begin_us - whole_begin_us) * _NS_PER_US)
    elapsed_ns = (whole_us - whole_begin_us) * _NS_PER_US - begin_ns
    start_ns: IntArray = elapsed_ns.astype(np.int64) + _nanoseconds(micros - whole_us)
    return start_ns


def _device_name(args: InstantArgs) -> str:
    kind, number = _integer(args.device_type), _integer(args.device_id)
    name = _DEVICE_TYPES.get(kind, f"device type {kind}")
    return name if number < 0 else f"{name}:{number}"


def _input(key: bytes) -> tuple[bytes, bytes]:
    dims, _, types = key.partition(_SEAM)
    return dims, types


def _launch(key: bytes) -> LaunchConfiguration:
    """Return the recorded launch; values of a wrong type are unknown."""
    parts = key.split(_SEAM)
    grid, block, registers, shared, occupancy, *message = parts
    collective, elements, element_type, ranks = message
    percent, text = _read(occupancy, _PERCENTAGE), _read(collective, _TEXT)
    type_ = _read(element_type, _TEXT)
    return LaunchConfiguration(
        grid=_read(grid, _SHAPE),
        block=_read(block, _SHAPE),
        registers=_read(registers, _COUNT),
        shared_memory_bytes=_read(shared, _COUNT),
        occupancy=percent / _PERCENT if percent is not None else None,
        collective=clean_name(text) if text else "",
        elements=_read(elements, _COUNT),
        element_type=clean_name(type_) if type_ else "",
        ranks=_read(ranks, _COUNT),
    )


def _read(data: bytes, decoder: msgspec.json.Decoder[Value]) -> Value | None:
    if not data:
        return None
    try:
        return decoder.decode(data)
    except UNREADABLE:
        return None
