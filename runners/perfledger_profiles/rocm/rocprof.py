"""Reads rocprof's tables (versions 1 to 3), and finds the reader of its JSON."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger.profile import Kernel, Profile
from perfledger.records import Side
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.device_choice import ANY_DEVICE, DeviceChoice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import MAX_TEXT_BYTES, read_text
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.rocm.dispatches import (
    TOOL,
    Size,
    check_count,
    copy_call,
    kernel_call,
    kernel_name,
    rocm_trace,
)
from perfledger_profiles.rocm.rocprof_events import read_rocprof_events
from perfledger_profiles.rocm.rocprof_json import read_rocprof_json
from perfledger_profiles.rocm.timeline_calls import TimelineCall
from perfledger_profiles.timeline.profile_builder import build_profile
from perfledger_profiles.timeline.summarised_profile import summary_profile
from perfledger_profiles.timeline.trace import MAX_COUNT, Trace

_MAX_DIGITS = 19
# The columns of each version, in lower case without underscores and hyphens.
_NAMES = ("kernelname", "name")
_STARTS = ("starttimestamp", "beginns")
_ENDS = ("endtimestamp", "stoptimestamp", "endns")
_DEVICES = ("agentid", "gpuid")
_QUEUES = ("queueid", "streamid")
_AGENTS = ("sourceagentid", "destinationagentid")
# A table joined from several processes' databases (rocpd convert), and one of rocprof 2.
_PROCESSES = ("guid", "pid")
# The sum of a kernel's calls, by rocprof --stats and by rocpd summary.
_TOTALS = ("totaldurationns", "duration (nsec)")
_COPY = "MEMORY_COPY_"
_DIRECTIONS = {
    "HOST_TO_DEVICE": "HtoD",
    "DEVICE_TO_HOST": "DtoH",
    "DEVICE_TO_DEVICE": "DtoD",
}
# Statistics of calls and of domains have the same columns as those of kernels.
_API = re.compile(r"((?:__)?hip[A-Z]|hsa_|roctx|rccl|nccl(?!.*Kernel)).*|[A-Z]+(_[A-Z]+)+")
_AGENT = "Agent "
_EVENTS = re.compile(rb'\s*\{\s*"traceEvents"')
_NO_CHOICE = (
    "statistics have no timeline of devices to choose from: leave out --device-number and --rank"
)
_NO_KERNELS = (
    "these statistics are of calls or domains, without kernels or copies: give those of kernels "
    "(*_kernel_stats.csv), or a trace"
)
_UNUSABLE = f"nothing in this file is usable: give the complete output of {TOOL}"
_NO_TIMELINE = "statistics have no timeline to export: record a trace instead of a summary"

_Row = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Statistics:
    """The sums of `rocprof --stats`, which have no timeline."""

    kernels: tuple[Kernel, ...]
    dropped: int
    notes: tuple[str, ...]


def read_rocprof(
    data: bytes, *, workload: str, side: Side, choice: DeviceChoice = ANY_DEVICE
) -> Profile:
    """Return the profile in a rocprof file: a trace, statistics, or JSON.

    Raises ProfileError if the file is too large, or has no kernels or none of the choice.
    """
    content = _content(data)
    if isinstance(content, Trace):
        return build_profile(content, workload=workload, side=side, choice=choice)
    if not choice.is_any:
        raise ProfileError(_NO_CHOICE)
    return summary_profile(
        workload=workload,
        side=side,
        tool=TOOL,
        kernels=content.kernels,
        dropped=content.dropped,
        notes=content.notes,
    )


def read_rocprof_trace(data: bytes) -> Trace:
    """Return the trace in a rocprof file. Raises ProfileError for statistics as well."""
    content = _content(data)
    if isinstance(content, Trace):
        return content
    raise ProfileError(_NO_TIMELINE)


def _content(data: bytes) -> Trace | _Statistics:
    unpacked = unpack_gzip(data, max_bytes=MAX_TEXT_BYTES).data
    if _EVENTS.match(unpacked):
        return read_rocprof_events(unpacked)
    if unpacked.lstrip()[:1] == b"{":
        return read_rocprof_json(unpacked)
    text = read_text(unpacked)
    rows, dropped = _rows(text.lines)
    if rows and not rows[0].keys().isdisjoint(_TOTALS):
        named_rows = [(name, row) for row in rows if not _API.fullmatch(name := _summed_name(row))]
        if not named_rows:
            raise ProfileError(_NO_KERNELS)
        sums = [_of_statistics(name, row) for name, row in named_rows]
        kernels = tuple(kernel for kernel in sums if kernel is not None)
        if not kernels:
            raise ProfileError(_UNUSABLE)
        dropped += len(sums) - len(kernels)
        return _Statistics(kernels=kernels, dropped=dropped, notes=text.notes)
    check_count(len(rows))
    calls = [call for row in rows if (call := _call(row)) is not None]
    if not calls:
        raise ProfileError(_UNUSABLE)
    return rocm_trace(calls, dropped=dropped + len(rows) - len(calls), notes=text.notes)


def _rows(lines: Sequence[str]) -> tuple[list[_Row], int]:
    """Return the rows of the first table by column, and the number of unreadable lines."""
    header: list[str] = []
    rows: list[_Row] = []
    dropped = 0
    for cells in rows_of(lines):
        if cells is None:
            dropped += 1
        elif not header:
            columns = [_column(cell) for cell in cells]
            header = columns if _is_header(columns) else []
        elif len(cells) == len(header):
            rows.append(dict(zip(header, cells, strict=True)))
        elif any(cell.strip() for cell in cells):
            dropped += 1
    return rows, dropped


def _column(cell: str) -> str:
    return cell.strip().strip('"').lower().replace("_", "").replace("-", "")


def _is_header(columns: Sequence[str]) -> bool:
    has_name = any(name in columns for name in (*_NAMES, "direction"))
    return has_name and any(one in columns for one in (*_TOTALS, *_STARTS))


def _call(row: _Row) -> TimelineCall | None:
    start, end = _first(row, _STARTS), _first(row, _ENDS)
    if start is None or end is None:
        return None
    direction = _DIRECTIONS.get(row.get("direction", "").removeprefix(_COPY))
    owner = clean_name(_text(row, _PROCESSES)) or None
    if direction is not None:
        return replace(_copy(row, direction, (start, end)), owner=owner)
    name = _text(row, _NAMES)
    if not name:
        return None
    call = kernel_call(
        name,
        (start, end),
        device=_agent(_text(row, _DEVICES)),
        queue=_agent(_text(row, _QUEUES)),
        grid=_size(row, "gridsize", "grd"),
        workgroup=_size(row, "workgroupsize", "wgr"),
    )
    return replace(call, owner=owner)


def _copy(row: _Row, direction: str, times_ns: tuple[int, int]) -> TimelineCall:
    """Return a copy on the device that it belongs to: the source, unless that is the host."""
    source, target = (row.get(column, "") for column in _AGENTS)
    if direction == "DtoD" and source != target:
        direction = "PtoP"
    device = _agent(target if direction.startswith("H") else source)
    return copy_call(f"Memcpy {direction}", times_ns, device=device)


def _text(row: _Row, columns: Sequence[str]) -> str:
    return next((row[column] for column in columns if row.get(column)), "")


def _agent(text: str) -> int | str:
    """Return the number of an agent or a queue; its text if it is not a number, 0 if missing."""
    cell = text.strip().removeprefix(_AGENT)
    number = _number(cell)
    return number if number is not None else clean_name(cell) or 0


def _summed_name(row: _Row) -> str:
    text = row.get("name", "")
    direction = _DIRECTIONS.get(text.removeprefix(_COPY))
    return clean_name(kernel_name(text if direction is None else f"Memcpy {direction}"))


def _of_statistics(name: str, row: _Row) -> Kernel | None:
    """Return a kernel's sums; None if they are unreadable."""
    seconds, calls = _number(_text(row, _TOTALS)), _number(row.get("calls", ""))
    if seconds is None or calls is None:
        return None
    return Kernel(
        name=name,
        family=family_of(name),
        seconds=seconds / NS_PER_S,
        count=float(calls),
        is_tensor=is_tensor_kernel(name),
    )


def _first(row: _Row, columns: Sequence[str]) -> int | None:
    return next((_number(row[column]) for column in columns if column in row), None)


def _number(text: str) -> int | None:
    digits = text.strip()
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS
    return int(digits) if is_number and int(digits) <= MAX_COUNT else None


def _size(row: _Row, *names: str) -> Size | None:
    """Return three sides; the total as the first one if only that is given."""
    for name in names:
        x, y, z = (_number(row.get(f"{name}{axis}", "")) for axis in "xyz")
        if x is not None and y is not None and z is not None:
            return (x, y, z)
        total = _number(row.get(name, ""))
        if total is not None:
            return (total, 1, 1)
    return None
