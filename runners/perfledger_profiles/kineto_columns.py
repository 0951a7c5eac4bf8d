"""Turn batches of a Chrome trace's events into the columns of a Trace."""

import struct
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import attrgetter
from typing import TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from perfledger.profile import ProfiledDevice
from perfledger_profiles.allocations import ONLY_CHANGES, counted_from_least
from perfledger_profiles.categories import CODES, INSTANT, UNUSED
from perfledger_profiles.chrome import UNREADABLE, Args, Event, Scalar
from perfledger_profiles.redact import clean_name
from perfledger_profiles.spans import BoolArray, IntArray
from perfledger_profiles.trace import (
    LAST_ON_DEVICE,
    MAX_COUNT,
    UNKNOWN,
    Kind,
    Lane,
    Launch,
    MemoryInstants,
    Trace,
)

TOOL = "torch.profiler"

_MEMORY = "[memory]"

# What a kernel's launch is known by. JSON has no such character as it stands.
_LAUNCH = attrgetter(
    *("grid", "block", "registers", "shared_memory"),
    *("collective", "elements", "element_type", "ranks"),
)
_SEAM = b"\0"
# c10::DeviceType; others are shown by their number.
_DEVICE_TYPES = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps"}

# Microseconds; outside them an event is broken: the year 2096, and eleven days.
_MAX_TS_US = 4e15
_MAX_DURATION_US = 1e12
_NS_PER_US = 1000
_NO_ARGS = Args()

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")
FloatArray = npt.NDArray[np.float64]


class _Places(dict[Key, int]):
    """Numbers its keys in the order in which they are first asked for."""

    def __missing__(self, key: Key) -> int:
        place = self[key] = len(self)
        return place


class KinetoColumns:
    """Collects the columns of a trace, batch by batch."""

    def __init__(self) -> None:
        self._names: _Places[str] = _Places()
        self._lanes: _Places[tuple[int | str, int | str, bool]] = _Places()
        self._launches: _Places[bytes] = _Places()
        self._inputs: _Places[bytes] = _Places({_SEAM: 0})
        self._devices: _Places[str] = _Places()
        self._integers: dict[str, list[IntArray]] = defaultdict(list)
        self._floats: dict[str, list[FloatArray]] = defaultdict(list)
        self._broken = 0

    def add(self, events: Sequence[Event]) -> None:
        """Add the events that took time and those that tell of memory; the rest is left out."""
        categories = [event.cat for event in events]
        code = _integers(tuple(map(CODES.get, categories, repeat(UNUSED))))
        is_call = code < UNUSED
        if is_call.all():
            self._add_calls(events, code)
            return
        self._add_calls(list(compress(events, is_call.tolist())), code[is_call])
        told = compress(events, (code == INSTANT).tolist())
        instants = [event for event in told if event.name == _MEMORY]
        if instants:
            self._add_memory(instants)

    def trace(
        self,
        *,
        devices: Sequence[ProfiledDevice],
        rank: int | None,
        backend: str,
        dropped_events: int,
        notes: Sequence[str],
    ) -> Trace:
        """Return all that was added; unusable events are added to those that were dropped."""
        ts = self._float("ts")
        begin_us = float(ts.min()) if ts.size else 0.0
        whole_us = int(begin_us)
        start_ns = _nanoseconds(ts - begin_us)
        memory = self._memory(begin_us)
        return Trace(
            tool=TOOL,
            names=tuple(self._names),
            lanes=tuple(
                Lane(process=process, thread=thread, is_device=is_device)
                for process, thread, is_device in self._lanes
            ),
            launches=tuple(_launch(key) for key in self._launches),
            inputs=tuple(_input(key) for key in self._inputs),
            name=self._whole("name"),
            kind=self._whole("kind"),
            lane=self._whole("lane"),
            start_ns=start_ns,
            end_ns=start_ns + _nanoseconds(self._float("dur")),
            correlation=self._whole("correlation"),
            stream=self._whole("stream"),
            launch=self._whole("launch"),
            input=self._whole("input"),
            bytes=self._whole("bytes"),
            epoch_ns=whole_us * _NS_PER_US + round((begin_us - whole_us) * _NS_PER_US),
            memory=memory,
            devices=tuple(devices),
            rank=rank,
            backend=clean_name(backend) if backend else "",
            dropped_events=dropped_events + self._broken,
            notes=(*notes, *([ONLY_CHANGES] if memory.is_lower_bound else [])),
        )

    def _memory(self, begin_us: float) -> MemoryInstants:
        recorded = MemoryInstants(
            time_ns=_nanoseconds(self._float("memory") - begin_us),
            allocated_bytes=self._whole("allocated"),
            reserved_bytes=self._whole("reserved"),
            device=self._whole("device"),
            devices=tuple(self._devices),
        )
        changed = self._whole("changed")
        has_totals = (recorded.allocated_bytes != UNKNOWN).any()
        return (
            recorded if has_totals or not changed.any() else counted_from_least(recorded, changed)
        )

    def _add_calls(self, events: Sequence[Event], kind: IntArray) -> None:
        ts = _floats([event.ts for event in events])
        duration = _floats([event.dur for event in events])
        is_sound = (ts >= 0) & (ts <= _MAX_TS_US) & (duration >= 0) & (duration <= _MAX_DURATION_US)
        if not is_sound.all():
            self._broken += int(np.count_nonzero(~is_sound))
            events = list(compress(events, is_sound.tolist()))
            ts, duration, kind = ts[is_sound], duration[is_sound], kind[is_sound]
        args = [event.args or _NO_ARGS for event in events]
        self._floats["ts"].append(ts)
        self._floats["dur"].append(duration)
        for column, values in (
            ("kind", kind),
            ("name", _numbered([event.name for event in events], self._names)),
            ("lane", self._lane_places(events, kind <= LAST_ON_DEVICE)),
            ("correlation", _whole([each.correlation for each in args])),
            ("stream", _whole([each.stream for each in args])),
            ("launch", self._launch_places(args, kind)),
            ("input", self._input_places(args, kind)),
            ("bytes", _moved(args, kind)),
        ):
            self._integers[column].append(values)

    def _lane_places(self, events: Sequence[Event], on_device: BoolArray) -> IntArray:
        """Return each call's lane; neighbours in the file are mostly of one."""
        processes, threads = [event.pid for event in events], [event.tid for event in events]
        try:
            process, thread = _integers(processes), _integers(threads)
        except struct.error:  # names, then
            lanes = zip(processes, threads, on_device.tolist(), strict=True)
            return _numbered(lanes, self._lanes)
        is_first: BoolArray = np.ones(process.shape, dtype=np.bool_)
        is_first[1:] = (np.diff(process) != 0) | (np.diff(thread) != 0) | np.diff(on_device)
        begins = np.flatnonzero(is_first)
        first = [column[begins].tolist() for column in (process, thread, on_device)]
        places = _numbered(zip(*first, strict=True), self._lanes)
        return np.repeat(places, np.diff(begins, append=process.size))

    def _launch_places(self, args: Sequence[Args], kind: IntArray) -> IntArray:
        is_kernel = kind == Kind.KERNEL
        mine = list(compress(args, is_kernel.tolist()))
        places = np.full(kind.shape, UNKNOWN, dtype=np.int64)
        places[is_kernel] = _numbered(map(_SEAM.join, map(_LAUNCH, mine)), self._launches)
        return places

    def _input_places(self, args: Sequence[Args], kind: IntArray) -> IntArray:
        is_operator = kind == Kind.OPERATOR
        mine = list(compress(args, is_operator.tolist()))
        parts = zip([each.dims for each in mine], [each.types for each in mine], strict=True)
        places = np.zeros(kind.shape, dtype=np.int64)
        places[is_operator] = _numbered(map(_SEAM.join, parts), self._inputs)
        return places

    def _add_memory(self, instants: Sequence[Event]) -> None:
        used = [event for event in instants if 0 <= event.ts <= _MAX_TS_US]
        self._broken += len(instants) - len(used)
        args = [event.args or _NO_ARGS for event in used]
        device = [_device_name(each) for each in args]
        self._floats["memory"].append(_floats([event.ts for event in used]))
        for column, values in (
            ("allocated", _whole([each.allocated for each in args])),
            ("reserved", _whole([each.reserved for each in args])),
            ("changed", _whole([each.changed or 0 for each in args])),
            ("device", _numbered(device, self._devices)),
        ):
            self._integers[column].append(values)

    def _float(self, column: str) -> FloatArray:
        parts = self._floats.pop(column, [])
        return np.concatenate([np.empty(0, dtype=np.float64), *parts])

    def _whole(self, column: str) -> IntArray:
        parts = self._integers.pop(column, [])
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])


def _numbered(keys: Iterable[Key], places: _Places[Key]) -> IntArray:
    return _integers(tuple(map(places.__getitem__, keys)))


def _integers(values: Sequence[Scalar]) -> IntArray:
    """Return whole numbers as a column; raise struct.error for what is none.

    In half the time of numpy's own conversion, which looks at the type of each value.
    """
    return np.frombuffer(struct.pack(f"{len(values)}q", *values), dtype=np.int64)


def _floats(values: Sequence[float]) -> FloatArray:
    return np.frombuffer(struct.pack(f"{len(values)}d", *values), dtype=np.float64)


def _whole(values: Sequence[Scalar]) -> IntArray:
    """Return the values as numbers, UNKNOWN for those that are none."""
    try:
        return _integers(values)
    except struct.error:
        return _integers([_integer(value) for value in values])


def _integer(value: Scalar) -> int:
    try:
        number = UNKNOWN if value is None else int(value)
    except (ValueError, OverflowError):
        return UNKNOWN
    return number if abs(number) < MAX_COUNT else UNKNOWN


def _moved(args: Sequence[Args], kind: IntArray) -> IntArray:
    copies = np.flatnonzero((kind == Kind.COPY) | (kind == Kind.MEMSET))
    moved = np.full(kind.shape, UNKNOWN, dtype=np.int64)
    moved[copies] = np.maximum(_whole([args[n].bytes for n in copies.tolist()]), UNKNOWN)
    return moved


def _nanoseconds(micros: FloatArray) -> IntArray:
    return np.rint(micros * _NS_PER_US).astype(np.int64)


def _device_name(args: Args) -> str:
    kind, number = _integer(args.device_type), _integer(args.device_id)
    name = _DEVICE_TYPES.get(kind, f"device type {kind}")
    return name if number < 0 else f"{name}:{number}"


def _input(key: bytes) -> tuple[bytes, bytes]:
    dims, _, types = key.partition(_SEAM)
    return dims, types


def _launch(key: bytes) -> Launch:
    """Return what was recorded as values; what is not of its type is unknown."""
    parts = key.split(_SEAM)
    grid, block, registers, shared, collective, elements, element_type, ranks = parts
    return Launch(
        grid=_shape(grid),
        block=_shape(block),
        registers=_count(registers),
        shared_memory_bytes=_count(shared),
        collective=_text(collective),
        elements=_count(elements),
        element_type=_text(element_type),
        ranks=_count(ranks),
    )


def _read(data: bytes, kind: type[Value]) -> Value | None:
    if not data:
        return None
    try:
        return msgspec.json.decode(data, type=kind)
    except UNREADABLE:
        return None


def _count(data: bytes) -> int | None:
    value = _read(data, int)
    return value if value is not None and 0 <= value < MAX_COUNT else None


def _text(data: bytes) -> str:
    value = _read(data, str)
    return clean_name(value) if value else ""


def _shape(data: bytes) -> tuple[int, int, int] | None:
    shape = _read(data, tuple[int, int, int])
    return shape if shape is not None and all(0 < side < MAX_COUNT for side in shape) else None
