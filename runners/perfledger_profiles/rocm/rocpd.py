"""Reads rocpd, the SQLite database of rocprofv3: dispatches, copies and calls of HIP."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.profile import Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.sqlite_file import open_database
from perfledger_profiles.rocm.dispatches import (
    UNKNOWN_CALL,
    check_count,
    copy_call,
    kernel_call,
    rocm_trace,
)
from perfledger_profiles.rocm.timeline_calls import TimelineCall
from perfledger_profiles.timeline.profile_builder import build_profile
from perfledger_profiles.timeline.trace import MAX_COUNT, UNKNOWN, CallKind, Trace

# A damaged or hostile file must not keep SQLite busy; a full scan up to the limit takes fewer
# steps.
MAX_SQL_STEPS = 2_000_000_000
_DISPATCHES = "rocpd_kernel_dispatch"
_COPIES = "rocpd_memory_copy"
_SYMBOLS = "rocpd_info_kernel_symbol"
_AGENTS = "rocpd_info_agent"
_REGIONS = "rocpd_region"
_EVENTS = "rocpd_event"
_STRINGS = "rocpd_string"
_GPU = "GPU"  # the type of an agent
_HIP = "HIP_"  # the categories of its calls: HIP_RUNTIME_API, HIP_COMPILER_API_EXT
_TIMES = ("start", "end")
_ENDS = ("src_agent_id", "dst_agent_id")
_GRID = ("grid_size_x", "grid_size_y", "grid_size_z")
_GROUP = ("workgroup_size_x", "workgroup_size_y", "workgroup_size_z")

# Keyed by the suffix of their tables, which names the process, and by their id.
_Agents = Mapping[tuple[str, object], tuple[int, str]]


@dataclass(frozen=True, slots=True)
class _Event:
    """What a call and its work have in common: a number that links them, and a category."""

    link: int = UNKNOWN
    category: str = ""


_NO_EVENT = _Event()
# By the suffix of their tables and by their id.
_Events = Mapping[tuple[str, object], _Event]


def read_rocpd(
    path: Path, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the profile in a rocpd database.

    Raises ProfileError if it is not one, or has nothing of the choice.
    """
    return build_profile(read_rocpd_trace(path), workload=workload, side=side, choice=choice)


def read_rocpd_trace(path: Path) -> Trace:
    """Return the kernels, copies and HIP calls of a rocpd database.

    Raises ProfileError if it is not one.
    """
    try:
        with closing(open_database(path, most_steps=MAX_SQL_STEPS)) as connection:
            agents = dict(_agents(connection))
            events = dict(_events(connection))
            calls = [
                *_dispatches(connection, agents, events, path.name),
                *_copies(connection, agents, events),
                *_hip_calls(connection, events),
            ]
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        msg = f"{path.name} cannot be read as a rocpd database: {error}"
        raise ProfileError(msg) from error
    models = dict(agents.values())
    return rocm_trace(calls, devices=[ProfiledDevice(name=models[one]) for one in sorted(models)])


def _tables(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """Return the tables of a kind; each process has its own, with its number as the suffix."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return sorted(name for (name,) in rows if isinstance(name, str) and name.startswith(prefix))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _dispatches(
    connection: sqlite3.Connection, agents: _Agents, events: _Events, file_name: str
) -> Iterator[TimelineCall]:
    tables = _tables(connection, _DISPATCHES)
    if not tables:
        msg = f"{file_name} has no kernel dispatches: record with rocprofv3 --kernel-trace"
        raise ProfileError(msg)
    read = 0
    for table in tables:
        process = table.removeprefix(_DISPATCHES)
        names = dict(_names(connection, process))
        columns = ("kernel_id", "agent_id", "queue_id", "event_id", *_TIMES, *_GRID, *_GROUP)
        for kernel, agent, queue, event, *numbers in _rows(connection, table, columns):
            read += 1
            check_count(read)
            start, end, *sides = map(_number, numbers)
            call = kernel_call(
                names.get(kernel, "(unknown kernel)"),
                (start, end),
                device=_device(process, agent, agents),
                queue=max(_number(queue), 0),
                grid=(sides[0], sides[1], sides[2]),
                workgroup=(sides[3], sides[4], sides[5]),
                correlation=events.get((process, event), _NO_EVENT).link,
            )
            yield replace(call, owner=clean_name(process))


def _copies(
    connection: sqlite3.Connection, agents: _Agents, events: _Events
) -> Iterator[TimelineCall]:
    """Yield the copies from or to a GPU; they are on the source unless that is the host."""
    read = 0
    for table in _tables(connection, _COPIES):
        process = table.removeprefix(_COPIES)
        columns = (*_ENDS, "event_id", *_TIMES, "size")
        for source, target, event, *numbers in _rows(connection, table, columns):
            read += 1
            check_count(read)
            start, end, size = map(_number, numbers)
            is_from, is_to = (process, source) in agents, (process, target) in agents
            if not (is_from or is_to):
                continue
            direction = f"{'D' if is_from else 'H'}to{'D' if is_to else 'H'}"
            if is_from and is_to and source != target:
                direction = "PtoP"
            call = copy_call(
                f"Memcpy {direction}",
                (start, end),
                device=_device(process, source if is_from else target, agents),
                correlation=events.get((process, event), _NO_EVENT).link,
                moved_bytes=size,
            )
            yield replace(call, owner=clean_name(process))


def _hip_calls(connection: sqlite3.Connection, events: _Events) -> Iterator[TimelineCall]:
    """Yield the calls of HIP; those of HSA that it makes are left out."""
    read = 0
    for table in _tables(connection, _REGIONS):
        process = table.removeprefix(_REGIONS)
        names = dict(_strings(connection, process))
        for name, event, *numbers in _rows(
            connection, table, ("name_id", "event_id", "tid", *_TIMES)
        ):
            read += 1
            check_count(read)
            known_event = events.get((process, event), _NO_EVENT)
            if not known_event.category.startswith(_HIP):
                continue
            thread, start, end = map(_number, numbers)
            yield TimelineCall(
                name=names.get(name, UNKNOWN_CALL),
                kind=CallKind.RUNTIME,
                start_ns=start,
                end_ns=end,
                process=clean_name(process),
                thread=thread,
                correlation=known_event.link,
            )


def _events(connection: sqlite3.Connection) -> Iterator[tuple[tuple[str, object], _Event]]:
    """Yield the events by process and id; a call and the work that it starts have one stack.

    Each process counts its stacks from 1, so they are numbered over all processes.
    """
    links: dict[tuple[str, object], int] = {}
    for table in _tables(connection, _EVENTS):
        process = table.removeprefix(_EVENTS)
        texts = dict(_strings(connection, process))
        for number, stack, category in _rows(connection, table, ("id", "stack_id", "category_id")):
            is_known = isinstance(stack, int) and stack > 0
            link = links.setdefault((process, stack), len(links) + 1) if is_known else UNKNOWN
            yield (process, number), _Event(link, texts.get(category, ""))


def _strings(connection: sqlite3.Connection, suffix: str) -> Iterator[tuple[object, str]]:
    for table in _tables(connection, _STRINGS):
        if table.removeprefix(_STRINGS) == suffix:
            for number, text in _rows(connection, table, ("id", "string")):
                if isinstance(text, str):
                    yield number, text


def _rows(
    connection: sqlite3.Connection, table: str, columns: Sequence[str]
) -> Iterator[tuple[object, ...]]:
    """Yield a table's rows; a missing column gives None."""
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({_quote(table)})")}
    listed = ", ".join(f'"{name}"' if name in present else "NULL" for name in columns)
    yield from connection.execute(f"SELECT {listed} FROM {_quote(table)}")  # noqa: S608 - the names are quoted or our own


def _number(value: object) -> int:
    """Return a number in a row, or UNKNOWN for another value: as a time it is impossible."""
    return value if isinstance(value, int) and 0 <= value <= MAX_COUNT else UNKNOWN


def _device(process: str, agent: object, agents: _Agents) -> int | str:
    """Return a GPU's number; a GPU that the file does not list keeps its agent's number."""
    key = (process, agent)
    return agents[key][0] if key in agents else clean_name(f"agent {agent}")


def _names(connection: sqlite3.Connection, suffix: str) -> Iterator[tuple[object, str]]:
    for table in _tables(connection, _SYMBOLS):
        if table.removeprefix(_SYMBOLS) != suffix:
            continue
        for number, display, name in _rows(
            connection, table, ("id", "display_name", "kernel_name")
        ):
            text = name if display is None else display
            if isinstance(text, str):
                yield number, text


def _agents(
    connection: sqlite3.Connection,
) -> Iterator[tuple[tuple[str, object], tuple[int, str]]]:
    """Yield the GPUs by process and agent id: the number of each, and its model.

    All processes number their machine's agents in the same way, so an id always has the same
    number.
    """
    places: dict[object, int] = {}
    for table in _tables(connection, _AGENTS):
        process = table.removeprefix(_AGENTS)
        for number, kind, name in _rows(connection, table, ("id", "type", "product_name")):
            if kind == _GPU:
                place = places.setdefault(number, len(places))
                yield (process, number), (place, clean_name(name) if isinstance(name, str) else "")
