"""Reads rocpd, the SQLite database of rocprofv3."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from perfledger.profile import Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.sqlite_file import open_database
from perfledger_profiles.rocm.dispatches import (
    MAX_DISPATCHES,
    MAX_NANOSECONDS,
    KernelDispatch,
    dispatch_profile,
)

# A damaged or hostile file must not keep SQLite busy: a full scan of the limit takes less.
MAX_SQL_STEPS = 2_000_000_000
_DISPATCHES = "rocpd_kernel_dispatch"
_SYMBOLS = "rocpd_info_kernel_symbol"
_AGENTS = "rocpd_info_agent"


def read_rocpd(path: Path, *, workload: str, side: Side) -> Profile:
    """Return the kernels of a rocpd database. Raises ProfileError when it is not one."""
    try:
        with closing(open_database(path, most_steps=MAX_SQL_STEPS)) as connection:
            dispatches = list(_dispatches(connection, path.name))
            device = _device(connection, dispatches)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:
        msg = f"{path.name} cannot be read as a rocpd database: {error}"
        raise ProfileError(msg) from error
    return dispatch_profile(dispatches, workload=workload, side=side, device=device)


def _tables(connection: sqlite3.Connection, prefix: str) -> list[str]:
    """Return the tables of a kind; each process has its own, with its number as the suffix."""
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return sorted(name for (name,) in rows if isinstance(name, str) and name.startswith(prefix))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _dispatches(connection: sqlite3.Connection, file_name: str) -> Iterator[KernelDispatch]:
    tables = _tables(connection, _DISPATCHES)
    if not tables:
        msg = f"{file_name} has no kernel dispatches: record with rocprofv3 --kernel-trace"
        raise ProfileError(msg)
    read = 0
    for table in tables:
        names = dict(_names(connection, table.removeprefix(_DISPATCHES)))
        rows = connection.execute(
            'SELECT kernel_id, agent_id, start, "end", grid_size_x, grid_size_y, grid_size_z, '  # noqa: S608 - the name is quoted
            f"workgroup_size_x, workgroup_size_y, workgroup_size_z FROM {_quote(table)}"
        )
        for row in rows:
            read += 1
            if read > MAX_DISPATCHES:
                msg = f"{file_name} has more than {MAX_DISPATCHES} dispatches: record less"
                raise ProfileError(msg)
            yield _dispatch(row, names)


def _dispatch(row: tuple[object, ...], names: dict[object, str]) -> KernelDispatch:
    """Return a row as a dispatch; one with other values than numbers has an impossible start."""
    kernel, agent, *rest = row
    numbers = [one if isinstance(one, int) and abs(one) < MAX_NANOSECONDS else -1 for one in rest]
    start, end, grid_x, grid_y, grid_z, group_x, group_y, group_z = numbers
    return KernelDispatch(
        name=names.get(kernel, "(unknown kernel)"),
        start_ns=start,
        end_ns=end,
        device=str(agent),
        grid=(grid_x, grid_y, grid_z),
        workgroup=(group_x, group_y, group_z),
    )


def _names(connection: sqlite3.Connection, suffix: str) -> Iterator[tuple[object, str]]:
    for table in _tables(connection, _SYMBOLS):
        if table.removeprefix(_SYMBOLS) != suffix:
            continue
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({_quote(table)})")}
        column = "display_name" if "display_name" in columns else "kernel_name"
        for number, name in connection.execute(f"SELECT id, {column} FROM {_quote(table)}"):  # noqa: S608 - the names are quoted or our own
            if isinstance(name, str):
                yield number, name


def _device(
    connection: sqlite3.Connection, dispatches: list[KernelDispatch]
) -> ProfiledDevice | None:
    used = {one.device for one in dispatches}
    for table in _tables(connection, _AGENTS):
        columns = {row[1] for row in connection.execute(f"PRAGMA table_info({_quote(table)})")}
        if not {"id", "product_name"} <= columns:
            continue
        for number, name in connection.execute(f"SELECT id, product_name FROM {_quote(table)}"):  # noqa: S608 - the name is quoted
            if str(number) in used and isinstance(name, str) and name:
                return ProfiledDevice(name=clean_name(name), count=len(used))
    return None
