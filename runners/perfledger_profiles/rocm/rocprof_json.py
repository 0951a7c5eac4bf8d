"""Reads the JSON of rocprofv3: dispatches, copies and calls of HIP."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from perfledger.profile import ProfiledDevice
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.rocm.dispatches import (
    UNKNOWN_CALL,
    Size,
    check_count,
    copy_call,
    kernel_call,
    rocm_trace,
)
from perfledger_profiles.rocm.timeline_calls import TimelineCall
from perfledger_profiles.timeline.trace import (
    LAST_ON_DEVICE,
    MAX_COUNT,
    UNKNOWN,
    CallKind,
    Trace,
)

NO_RECORDS = (
    "this file has no dispatches, copies or calls of HIP, which rocprofv3 --att leaves out: record "
    "with rocprofv3 --kernel-trace"
)

_GPU = 2  # an agent's type in rocprofiler


class _Handle(msgspec.Struct, gc=False):
    handle: int = 0


class _Dim(msgspec.Struct, gc=False):
    x: int = 0
    y: int = 0
    z: int = 0


class _Correlation(msgspec.Struct, gc=False):
    internal: int = 0


class _Launch(msgspec.Struct, gc=False):
    agent_id: _Handle
    kernel_id: int
    workgroup_size: _Dim
    grid_size: _Dim
    queue_id: _Handle = msgspec.field(default_factory=_Handle)


class _Record(msgspec.Struct, gc=False):
    start_timestamp: int
    end_timestamp: int
    correlation_id: _Correlation = msgspec.field(default_factory=_Correlation)

    @property
    def times_ns(self) -> tuple[int, int]:
        """Return the start and the end."""
        return self.start_timestamp, self.end_timestamp

    @property
    def correlation(self) -> int:
        """Return the number that links a call with its work, or UNKNOWN if it cannot be one."""
        number = self.correlation_id.internal
        return number if 0 < number < MAX_COUNT else UNKNOWN


class _Dispatch(_Record, gc=False, kw_only=True):
    dispatch_info: _Launch


class _Copy(_Record, gc=False, kw_only=True):
    src_agent_id: _Handle
    dst_agent_id: _Handle
    bytes: int = UNKNOWN


class _HipCall(_Record, gc=False, kw_only=True):
    kind: int = 0
    operation: int = 0
    thread_id: int = 0


class _Records(msgspec.Struct):
    kernel_dispatch: list[_Dispatch] = []
    memory_copy: list[_Copy] = []
    hip_api: list[_HipCall] = []


class _Symbol(msgspec.Struct, gc=False):
    kernel_id: int
    kernel_name: str = ""
    formatted_kernel_name: str = ""


class _Agent(msgspec.Struct):
    id: _Handle
    type: int = 0
    product_name: str = ""
    cu_count: int = 0


class _Operations(msgspec.Struct):
    operations: list[str] = []


class _Strings(msgspec.Struct):
    buffer_records: list[_Operations] = []


class _Metadata(msgspec.Struct):
    pid: int = 0


class _Process(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    agents: list[_Agent] = []
    kernel_symbols: list[_Symbol] = []
    strings: _Strings = msgspec.field(default_factory=_Strings)
    buffer_records: _Records = msgspec.field(default_factory=_Records)


class _Document(msgspec.Struct):
    processes: list[_Process] = msgspec.field(name="rocprofiler-sdk-tool")


def read_rocprof_json(data: bytes) -> Trace:
    """Return the trace in rocprofv3's JSON. Raises ProfileError if the data is something else."""
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        msg = f"this is not the JSON of rocprofv3 --output-format json: {error}"
        raise ProfileError(msg) from error
    count = sum(_count(process.buffer_records) for process in document.processes)
    if count == 0:
        raise ProfileError(NO_RECORDS)
    check_count(count)
    places = _devices(document)
    if len(document.processes) == 1:
        calls = list(_calls(document.processes[0], places))
    else:
        calls = list(_calls_of_several(document, places))
    return rocm_trace(calls, devices=tuple(_facts(document, places)))


def _count(records: _Records) -> int:
    return len(records.kernel_dispatch) + len(records.memory_copy) + len(records.hip_api)


def _devices(document: _Document) -> Mapping[int, int]:
    """Return the number of each GPU by its handle: its place among the GPUs."""
    handles = dict.fromkeys(
        agent.id.handle
        for process in document.processes
        for agent in process.agents
        if agent.type == _GPU
    )
    return {handle: index for index, handle in enumerate(handles)}


def _facts(document: _Document, places: Mapping[int, int]) -> Iterator[ProfiledDevice]:
    """Yield the file's facts about each GPU, in the order of their numbers."""
    agents = {agent.id.handle: agent for one in document.processes for agent in one.agents}
    for handle in places:
        agent = agents[handle]
        yield ProfiledDevice(
            name=clean_name(agent.product_name),
            multiprocessors=agent.cu_count if agent.cu_count > 0 else None,
        )


def _calls_of_several(document: _Document, places: Mapping[int, int]) -> Iterator[TimelineCall]:
    """Yield the calls of several processes, which may drive devices of the same number.

    Each process counts its calls from 1, so the numbers cannot link calls with their work. In
    containers, all processes may have the same number.
    """
    for index, process in enumerate(document.processes):
        for call in _calls(process, places):
            is_device = call.kind <= LAST_ON_DEVICE
            yield replace(
                call,
                correlation=UNKNOWN,
                owner=index,
                process=call.process if is_device else index,
            )


def _calls(process: _Process, places: Mapping[int, int]) -> Iterator[TimelineCall]:
    """Yield the dispatches, copies and HIP calls of a process."""
    names = {
        one.kernel_id: one.formatted_kernel_name or one.kernel_name
        for one in process.kernel_symbols
    }
    for record in process.buffer_records.kernel_dispatch:
        launch = record.dispatch_info
        yield kernel_call(
            names.get(launch.kernel_id) or f"(kernel {launch.kernel_id})",
            record.times_ns,
            device=_number(launch.agent_id, places),
            queue=launch.queue_id.handle,
            grid=_size(launch.grid_size),
            workgroup=_size(launch.workgroup_size),
            correlation=record.correlation,
        )
    for copy in process.buffer_records.memory_copy:
        if {copy.src_agent_id.handle, copy.dst_agent_id.handle} & places.keys():
            yield _copy(copy, places)
    for call in process.buffer_records.hip_api:
        yield TimelineCall(
            name=_operation(process.strings, call),
            kind=CallKind.RUNTIME,
            start_ns=call.start_timestamp,
            end_ns=call.end_timestamp,
            process=process.metadata.pid,
            thread=call.thread_id,
            correlation=call.correlation,
        )


def _copy(copy: _Copy, places: Mapping[int, int]) -> TimelineCall:
    """Return a copy on the GPU that it belongs to: the source, unless that is the host."""
    source, target = copy.src_agent_id, copy.dst_agent_id
    is_from, is_to = source.handle in places, target.handle in places
    direction = f"{'D' if is_from else 'H'}to{'D' if is_to else 'H'}"
    if is_from and is_to and source.handle != target.handle:
        direction = "PtoP"
    return copy_call(
        f"Memcpy {direction}",
        copy.times_ns,
        device=_number(source if is_from else target, places),
        correlation=copy.correlation,
        moved_bytes=copy.bytes if 0 <= copy.bytes < MAX_COUNT else UNKNOWN,
    )


def _operation(strings: _Strings, call: _HipCall) -> str:
    kinds = strings.buffer_records
    operations = kinds[call.kind].operations if 0 <= call.kind < len(kinds) else []
    return operations[call.operation] if 0 <= call.operation < len(operations) else UNKNOWN_CALL


def _number(agent: _Handle, places: Mapping[int, int]) -> int | str:
    """Return a GPU's number; a GPU that the file does not list keeps its handle."""
    return places.get(agent.handle, f"agent {agent.handle}")


def _size(size: _Dim) -> Size:
    return size.x, size.y, size.z
