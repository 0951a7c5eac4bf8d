"""Collects the rows of an nsys export into the columns of a Trace."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from perfledger.profile import ProfiledDevice
from perfledger_profiles.timeline.intervals import IntArray
from perfledger_profiles.timeline.trace import (
    LAST_DEVICE_WORK,
    MAX_COUNT,
    UNKNOWN,
    CallKind,
    LaunchConfiguration,
    Trace,
    TraceLane,
)

TOOL = "nsys"
# A global id has the process in bits 24 to 47, the thread in those below and the machine in those
# above (NVIDIA's manual).
_THREAD_BITS = 24
_MASK = 2**_THREAD_BITS - 1
_GRAPH = "(CUDA graph)"
# What torch's emit_nvtx appends to an operator's name; it differs in each call.
_CALL_NUMBERS = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = .*", re.DOTALL)
_COLUMNS = (
    "kind", "start", "end", "name", "lane", "process", "correlation", "stream", "launch", "bytes",
)  # fmt: skip

Cell = int | float | str | bytes | None


class NsysColumns:
    """The growing columns of a trace, filled row by row; rows with invalid times are counted."""

    def __init__(self, strings: Mapping[int, str]) -> None:
        self._strings = strings
        self._names: dict[str, int] = {}
        self._lanes: dict[tuple[int, int, bool, int | None], int] = {}
        self._launches: dict[LaunchConfiguration, int] = {}
        self._rows: list[tuple[int, ...]] = []
        self._dropped = 0
        self.has_graphs = False

    def add_work(
        self,
        kind: CallKind,
        where: Sequence[Cell],
        name: Cell,
        *,
        launch: Sequence[Cell] = (),
        moved_bytes: Cell = None,
    ) -> None:
        """Add device work; `where` is start, end, device, stream, correlation, process.

        `launch` is the grid's and the block's three sides, registers, static and dynamic shared
        memory.
        """
        start, end, device, stream, correlation, process = where
        owner = _process(process)
        lane = (_number(device), _number(stream), True, owner)
        self._add(
            kind,
            start,
            end,
            name,
            self._lanes.setdefault(lane, len(self._lanes)),
            owner,
            _number(correlation),
            _number(stream),
            UNKNOWN if not launch else self._place(_launch(launch)),
            _number(moved_bytes),
        )

    def add_graph(self, where: Sequence[Cell]) -> None:
        """Add a CUDA graph that was recorded as a single item."""
        self.has_graphs = True
        self.add_work(CallKind.KERNEL, where, _GRAPH)

    def add_call(
        self,
        kind: CallKind,
        start: Cell,
        end: Cell,
        thread: Cell,
        name: Cell,
        *,
        correlation: Cell = None,
    ) -> None:
        """Add a call of a host thread, identified by its global id."""
        process = _process(thread)
        lane = (process, _number(thread) & _MASK, False, None)
        place = self._lanes.setdefault(lane, len(self._lanes))
        link = _number(correlation)
        self._add(kind, start, end, name, place, process, link, UNKNOWN, UNKNOWN, UNKNOWN)

    def trace(self, *, devices: Sequence[ProfiledDevice], notes: Sequence[str]) -> Trace:
        """Return the trace."""
        table = np.array(self._rows, dtype=np.int64).reshape(len(self._rows), len(_COLUMNS))
        column = dict(zip(_COLUMNS, table.T, strict=True))
        begin_ns = int(column["start"].min(initial=MAX_COUNT)) if self._rows else 0
        return Trace(
            tool=TOOL,
            names=tuple(self._names),
            lanes=tuple(
                TraceLane(process=process, thread=thread, is_device=is_device, owner=owner)
                for process, thread, is_device, owner in self._lanes
            ),
            launches=tuple(self._launches),
            inputs=((b"", b""),),
            name=column["name"],
            kind=column["kind"],
            lane=column["lane"],
            start_ns=column["start"] - begin_ns,
            end_ns=column["end"] - begin_ns,
            correlation=_links(column["kind"], column["process"], column["correlation"]),
            stream=column["stream"],
            launch=column["launch"],
            input=np.zeros(len(self._rows), dtype=np.int64),
            bytes=column["bytes"],
            epoch_ns=begin_ns,
            devices=tuple(devices),
            dropped_events=self._dropped,
            notes=tuple(notes),
        )

    def _add(self, kind: CallKind, start: Cell, end: Cell, name: Cell, *rest: int) -> None:
        if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end < MAX_COUNT):
            self._dropped += 1
            return
        text = self._strings.get(name, "") if isinstance(name, int) else str(name or "")
        if kind is CallKind.ANNOTATION:
            text = range_name(text)
        place = self._names.setdefault(text, len(self._names))
        self._rows.append((int(kind), start, end, place, *rest))

    def _place(self, launch: LaunchConfiguration) -> int:
        return self._launches.setdefault(launch, len(self._launches))


def range_name(text: str) -> str:
    """Return a range's name without the numbers of a single call that torch's emit_nvtx appends."""
    return _CALL_NUMBERS.sub("", text)


def _number(value: Cell) -> int:
    return value if isinstance(value, int) and 0 <= value < MAX_COUNT else UNKNOWN


def _process(value: Cell) -> int:
    """Return the process in the global id of a process or a thread."""
    number = _number(value)
    return UNKNOWN if number == UNKNOWN else (number >> _THREAD_BITS) & _MASK


def _launch(cells: Sequence[Cell]) -> LaunchConfiguration:
    grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, static, dynamic = map(
        _number, cells
    )
    grid, block = (grid_x, grid_y, grid_z), (block_x, block_y, block_z)
    return LaunchConfiguration(
        grid=grid if min(grid) > 0 else None,
        block=block if min(block) > 0 else None,
        registers=registers if registers != UNKNOWN else None,
        shared_memory_bytes=static + dynamic if min(static, dynamic) >= 0 else None,
    )


def _links(kind: IntArray, process: IntArray, correlation: IntArray) -> IntArray:
    """Return unique correlation numbers, because each process counts its own.

    If the device has a single process, and it is not among the host's, process numbers are ignored.
    """
    is_work = kind <= LAST_DEVICE_WORK
    on_device, on_host = np.unique(process[is_work]), np.unique(process[~is_work])
    if on_device.size <= 1 and not np.isin(on_device, on_host).any():
        return correlation
    _, link = np.unique(np.stack([process, correlation], axis=1), axis=0, return_inverse=True)
    return np.where(correlation > 0, link.ravel() + 1, UNKNOWN)
