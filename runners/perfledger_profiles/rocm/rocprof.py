"""Reads rocprof's tables (versions 1 to 3) and the JSON of rocprofv3."""

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from perfledger.profile import Kernel, Profile, ProfiledDevice
from perfledger.records import Side
from perfledger_profiles.parsing.csv_lines import rows_of
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.gzip_input import unpack_gzip
from perfledger_profiles.parsing.operation_family import family_of, is_tensor_kernel
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.parsing.text_file import MAX_TEXT_BYTES, read_text
from perfledger_profiles.parsing.units import NS_PER_S
from perfledger_profiles.rocm.dispatches import (
    MAX_NANOSECONDS,
    TOOL,
    KernelDispatch,
    Size,
    dispatch_profile,
    kernel_name,
)
from perfledger_profiles.timeline.summarised_profile import summary_profile

_MAX_DIGITS = 19
# The columns of each version, in lower case without underscores and hyphens.
_NAMES = ("kernelname", "name")
_STARTS = ("starttimestamp", "beginns")
_ENDS = ("endtimestamp", "stoptimestamp", "endns")
_DEVICES = ("agentid", "gpuid", "sourceagentid")
_TOTAL = "totaldurationns"
_DIRECTIONS = {
    "HOST_TO_DEVICE": "Memcpy HtoD",
    "DEVICE_TO_HOST": "Memcpy DtoH",
    "DEVICE_TO_DEVICE": "Memcpy DtoD",
    "HOST_TO_HOST": "Memcpy HtoH",
}
# Statistics of calls and of domains have the columns of those of kernels.
_API = re.compile(r"(hip[A-Z]|hsa_|roctx|rccl|nccl(?!.*Kernel)).*|[A-Z]+(_[A-Z]+)+")
_GPU = 2  # rocprofiler's type of an agent

_Row = Mapping[str, str]


class _Handle(msgspec.Struct, gc=False):
    handle: int = 0


class _Dim(msgspec.Struct, gc=False):
    x: int = 0
    y: int = 0
    z: int = 0


class _Launch(msgspec.Struct, gc=False):
    agent_id: _Handle
    kernel_id: int
    workgroup_size: _Dim
    grid_size: _Dim


class _Record(msgspec.Struct, gc=False):
    start_timestamp: int
    end_timestamp: int
    dispatch_info: _Launch


class _Records(msgspec.Struct):
    kernel_dispatch: list[_Record] = []


class _Symbol(msgspec.Struct, gc=False):
    kernel_id: int
    kernel_name: str = ""
    formatted_kernel_name: str = ""


class _Agent(msgspec.Struct):
    id: _Handle
    type: int = 0
    product_name: str = ""
    cu_count: int = 0


class _Process(msgspec.Struct):
    agents: list[_Agent] = []
    kernel_symbols: list[_Symbol] = []
    buffer_records: _Records = msgspec.field(default_factory=_Records)


class _Document(msgspec.Struct):
    processes: list[_Process] = msgspec.field(name="rocprofiler-sdk-tool")


def read_rocprof(data: bytes, *, workload: str, side: Side) -> Profile:
    """Return the kernels of a rocprof file: a trace, statistics, or rocprofv3's JSON.

    Raises ProfileError when the file is too large or has no kernels.
    """
    unpacked = unpack_gzip(data, max_bytes=MAX_TEXT_BYTES).data
    if unpacked.lstrip()[:1] == b"{":
        return _of_json(unpacked, workload=workload, side=side)
    text = read_text(unpacked)
    rows, dropped = _rows(text.lines)
    if rows and _TOTAL in rows[0]:
        return summary_profile(
            workload=workload,
            side=side,
            tool=TOOL,
            kernels=[kernel for row in rows if (kernel := _of_statistics(row)) is not None],
            dropped=dropped,
            notes=text.notes,
        )
    dispatches = [dispatch for row in rows if (dispatch := _dispatch(row)) is not None]
    return dispatch_profile(
        dispatches,
        workload=workload,
        side=side,
        dropped=dropped + len(rows) - len(dispatches),
        notes=text.notes,
    )


def _rows(lines: Sequence[str]) -> tuple[list[_Row], int]:
    """Return the rows of the first table by column, and how many lines were unreadable."""
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
    return has_name and (_TOTAL in columns or any(start in columns for start in _STARTS))


def _dispatch(row: _Row) -> KernelDispatch | None:
    name = _DIRECTIONS.get(row.get("direction", "").removeprefix("MEMORY_COPY_"), "")
    name = name or next((row[column] for column in _NAMES if row.get(column)), "")
    start, end = _first(row, _STARTS), _first(row, _ENDS)
    if not name or start is None or end is None:
        return None
    return KernelDispatch(
        name=name,
        start_ns=start,
        end_ns=end,
        device=next((row[column] for column in _DEVICES if row.get(column)), ""),
        grid=_size(row, "gridsize", "grd"),
        workgroup=_size(row, "workgroupsize", "wgr"),
    )


def _of_statistics(row: _Row) -> Kernel | None:
    name = kernel_name(row.get("name", ""))
    seconds, calls = _number(row[_TOTAL]), _number(row.get("calls", ""))
    if _API.fullmatch(row.get("name", "")) or seconds is None or calls is None:
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
    return int(digits) if is_number and int(digits) <= MAX_NANOSECONDS else None


def _size(row: _Row, *names: str) -> Size | None:
    """Return three sides, or the total as the first where only that is stated."""
    for name in names:
        x, y, z = (_number(row.get(f"{name}{axis}", "")) for axis in "xyz")
        if x is not None and y is not None and z is not None:
            return (x, y, z)
        total = _number(row.get(name, ""))
        if total is not None:
            return (total, 1, 1)
    return None


def _of_json(data: bytes, *, workload: str, side: Side) -> Profile:
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"this is not the JSON of rocprofv3 --output-format json: {error}"
        raise ProfileError(msg) from error
    dispatches = [one for process in document.processes for one in _of_process(process)]
    return dispatch_profile(
        dispatches, workload=workload, side=side, device=_device(document, dispatches)
    )


def _of_process(process: _Process) -> Iterator[KernelDispatch]:
    names = {
        one.kernel_id: one.formatted_kernel_name or one.kernel_name
        for one in process.kernel_symbols
    }
    for record in process.buffer_records.kernel_dispatch:
        launch = record.dispatch_info
        yield KernelDispatch(
            name=names.get(launch.kernel_id) or f"(kernel {launch.kernel_id})",
            start_ns=record.start_timestamp,
            end_ns=record.end_timestamp,
            device=str(launch.agent_id.handle),
            grid=_dims(launch.grid_size),
            workgroup=_dims(launch.workgroup_size),
        )


def _dims(size: _Dim) -> Size:
    return size.x, size.y, size.z


def _device(document: _Document, dispatches: Sequence[KernelDispatch]) -> ProfiledDevice | None:
    """Return the device that ran the kernels, the first of several models."""
    used = {one.device for one in dispatches}
    agents = [
        agent
        for process in document.processes
        for agent in process.agents
        if agent.type == _GPU and str(agent.id.handle) in used and agent.product_name
    ]
    if not agents:
        return None
    return ProfiledDevice(
        name=clean_name(agents[0].product_name),
        multiprocessors=agents[0].cu_count if agents[0].cu_count > 0 else None,
        count=len(used),
    )
