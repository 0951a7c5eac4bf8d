"""Reads nsys SQLite exports (`nsys export --type sqlite`).

The file is opened read-only in place, so it must be unpacked; the caller writes packed data to a
file first. Tables and columns that are missing in a version of nsys are unknown, not errors.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from perfledger.profile import Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.nsight_systems.export_columns import Cell, NsysColumns
from perfledger_profiles.parsing.copy_names import UNIFIED_MEMORY, is_page_migration
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.sqlite_file import open_database
from perfledger_profiles.timeline.profile_builder import build_profile
from perfledger_profiles.timeline.trace import CallKind, Trace

# For one table: reading a row takes half a kilobyte.
MAX_ROWS = 2_000_000
# Steps of SQLite's virtual machine; these queries take about ten per row.
MAX_SQL_STEPS = 500_000_000
HIDDEN_KERNELS = (
    "CUDA graphs were recorded without their kernels: "
    "profile with nsys profile --cuda-graph-trace=node"
)

_MAGIC = b"SQLite format 3\0"
_KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
_MEMSETS = "CUPTI_ACTIVITY_KIND_MEMSET"
_RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
_RANGES = "NVTX_EVENTS"
_DEVICES = "TARGET_INFO_GPU"
_STRINGS = "StringIds"

# NVTX event types: push/pop ranges and start/end ranges.
_RANGE_TYPES = (59, 60)
# The tables ENUM_CUDA_MEMCPY_OPER (A: an array in the device's memory; from 11 on unified memory)
# and ENUM_CUDA_MEM_KIND, by torch.profiler's names: "Memcpy HtoD (Pageable -> Device)".
_COPY_KINDS = ("", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
_UNIFIED_COPY_KINDS = tuple(
    f"{direction} {UNIFIED_MEMORY}" for direction in ("HtoD", "DtoH", "DtoD")
)
_MEMORY_KINDS = ("Pageable", "Pinned", "Device", "Array", "Managed", "Device", "Managed")

_WORK = ("start", "end", "deviceId", "streamId", "correlationId", "globalPid")
_SHAPE = ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread")
_SHARED = ("staticSharedMemory", "dynamicSharedMemory")

_Tables = dict[str, frozenset[str]]


def read_nsys_sqlite(
    path: Path, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the mean step of an nsys export; its steps are NVTX ranges named like steps.

    Raises ProfileError if the file is not such an export, is too large or has no CUDA work.
    """
    return build_profile(read_nsys_trace(path), workload=workload, side=side, choice=choice)


def read_nsys_trace(path: Path) -> Trace:
    """Return the kernels, copies, runtime calls and NVTX ranges of an nsys export.

    Raises ProfileError if the file is not such an export or is too large.
    """
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            msg = f"{path.name} is not a SQLite file: export it with nsys export --type sqlite"
            raise ProfileError(msg)
    try:
        with closing(open_database(path, most_steps=MAX_SQL_STEPS)) as connection:
            return _trace(connection, path.name)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        msg = f"{path.name} cannot be read as an nsys export: {error}"
        raise ProfileError(msg) from error


def _trace(connection: sqlite3.Connection, file_name: str) -> Trace:
    tables = _tables(connection)
    if not {_KERNELS, _COPIES, _MEMSETS, _RUNTIME, _GRAPHS, _RANGES} & tables.keys():
        if _STRINGS not in tables:
            msg = f"{file_name} is neither an export of nsys (--type sqlite) nor one of rocprofv3"
            raise ProfileError(msg)
        msg = f"{file_name} has no CUDA activity: record with nsys profile --trace=cuda,nvtx"
        raise ProfileError(msg)
    strings = {
        number: text
        for number, text in _rows(connection, tables, _STRINGS, ("id", "value"))
        if isinstance(number, int) and isinstance(text, str)
    }
    columns = NsysColumns(strings)
    _add_work(connection, tables, columns)
    for start, end, thread, correlation, name in _rows(
        connection, tables, _RUNTIME, ("start", "end", "globalTid", "correlationId", "nameId")
    ):
        columns.add_call(CallKind.RUNTIME, start, end, thread, name, correlation=correlation)
    for start, end, thread, text, number, kind in _rows(
        connection, tables, _RANGES, ("start", "end", "globalTid", "text", "textId", "eventType")
    ):
        if kind in _RANGE_TYPES:
            columns.add_call(
                CallKind.ANNOTATION, start, end, thread, number if text is None else text
            )
    return columns.trace(
        devices=tuple(_devices(connection, tables)),
        notes=(HIDDEN_KERNELS,) if columns.has_graphs else (),
    )


def _tables(connection: sqlite3.Connection) -> _Tables:
    """Return the plain tables and their columns; views and virtual tables are not trusted."""
    rows = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    table_names = (_KERNELS, _GRAPHS, _COPIES, _MEMSETS, _RUNTIME, _RANGES, _DEVICES, _STRINGS)
    names = {name for (name,) in rows} & set(table_names)
    return {
        name: frozenset(row[1] for row in connection.execute(f"PRAGMA table_info({name})"))
        for name in names
    }


def _rows(
    connection: sqlite3.Connection, tables: _Tables, table: str, columns: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    """Yield a table's rows; a missing column gives None, a missing table no rows."""
    if table not in tables:
        return
    listed = ", ".join(f'"{name}"' if name in tables[table] else "NULL" for name in columns)
    # The names are constants of this module.
    for number, row in enumerate(connection.execute(f"SELECT {listed} FROM {table}")):  # noqa: S608
        if number >= MAX_ROWS:
            msg = f"{table} has more than {MAX_ROWS} rows: profile fewer steps"
            raise ProfileError(msg)
        yield row


def _add_work(connection: sqlite3.Connection, tables: _Tables, columns: NsysColumns) -> None:
    names = ("demangledName", "shortName")
    for row in _rows(connection, tables, _KERNELS, (*_WORK, *names, *_SHAPE, *_SHARED)):
        where, (long, short), shape = row[:6], row[6:8], row[8:]
        columns.add_work(CallKind.KERNEL, where, short if long is None else long, launch=shape)
    for row in _rows(connection, tables, _GRAPHS, (*_WORK, "graphId")):
        columns.add_graph(row[:6])
    copied = ("bytes", "copyKind", "srcKind", "dstKind")
    for row in _rows(connection, tables, _COPIES, (*_WORK, *copied)):
        columns.add_work(CallKind.COPY, row[:6], _copy_name(*row[7:]), moved_bytes=row[6])
    for row in _rows(connection, tables, _MEMSETS, (*_WORK, "bytes")):
        columns.add_work(CallKind.MEMSET, row[:6], "Memset (Device)", moved_bytes=row[6])


def _copy_name(copy_kind: Cell, source: Cell, target: Cell) -> str:
    """Return the name that torch.profiler gives such a copy."""
    copy = _name_at(copy_kind, (*_COPY_KINDS, *_UNIFIED_COPY_KINDS))
    memories = _name_at(source, _MEMORY_KINDS), _name_at(target, _MEMORY_KINDS)
    name = f"Memcpy {copy}".strip()
    is_known = all(memories) and not is_page_migration(copy)
    return f"{name} ({memories[0]} -> {memories[1]})" if is_known else name


def _name_at(number: Cell, names: Sequence[str]) -> str:
    """Return the name at an index, or "" for another value."""
    return names[number] if isinstance(number, int) and 0 <= number < len(names) else ""


def _devices(connection: sqlite3.Connection, tables: _Tables) -> Iterator[ProfiledDevice]:
    device_columns = ("name", "totalMemory", "smCount", "memoryBandwidth")
    columns = tables.get(_DEVICES, frozenset())
    capability = (
        ("computeMajor", "computeMinor") if "computeMajor" in columns else ("smMajor", "smMinor")
    )
    for name, memory, count, bandwidth, major, minor in _rows(
        connection, tables, _DEVICES, (*device_columns, *capability)
    ):
        yield ProfiledDevice(
            name=clean_name(str(name)),
            memory_bytes=_possible(memory),
            compute_capability=_capability(major, minor),
            multiprocessors=_possible(count),
            peak_bytes_per_second=None if (rate := _possible(bandwidth)) is None else float(rate),
        )


def _possible(count: Cell) -> int | None:
    """Return a device's count; nsys writes 0 for unknown."""
    return count if isinstance(count, int) and count > 0 else None


def _capability(major: Cell, minor: Cell) -> str:
    if isinstance(major, int) and isinstance(minor, int):
        return f"{major}.{minor}"
    return ""
