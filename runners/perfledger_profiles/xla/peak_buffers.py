"""Finds what an XLA program holds at the peak of its memory, by XLA's own assignment of buffers.

A program's arguments and results have separate memory while it runs. Its temporaries share one
allocation, in the order of XLA's heap simulation, which shows what is alive at the peak. Field
numbers are from xla/service/hlo.proto.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

from perfledger.profile import CallingLine, HeldTensors, Profile
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.timeline.breakdown import MAX_OPERATIONS
from perfledger_profiles.timeline.trace import MAX_COUNT
from perfledger_profiles.xla.hlo_programs import Instruction, Program
from perfledger_profiles.xla.protocol_buffer import (
    fields,
    last_number,
    parts,
    read_varints,
)
from perfledger_profiles.xla.source_lines import ProgramLines

ARGUMENT = "(argument of the largest program)"
CONSTANT = "(constant of the largest program)"
UNNAMED = "(temporaries that XLA does not name)"

_BUFFERS, _ALLOCATIONS, _TRACES = 1, 3, 4
_ID, _SIZE, _DEFINED_AT = 1, 2, 3  # of a buffer; the same number as an allocation's size
_SHAPE_INDEX, _INSTRUCTION = 3, 4  # of the place of definition
_THREAD_LOCAL, _PARAMETER, _LIVE_OUT, _MEMORY, _ASSIGNED, _CONSTANT = 3, 5, 7, 8, 9, 12
_ASSIGNED_BUFFER = 1
_EVENTS = 1
_EVENT_KIND, _EVENT_BUFFER, _SHARED_BUFFER = 1, 2, 5
_TYPE, _SIZES, _PARTS = 2, 3, 4  # of a shape

# xla_data.proto's PrimitiveType.
_TYPES = {
    1: "pred",
    2: "s8",
    3: "s16",
    4: "s32",
    5: "s64",
    6: "u8",
    7: "u16",
    8: "u32",
    9: "u64",
    10: "f16",
    11: "f32",
    12: "f64",
    15: "c64",
    16: "bf16",
    18: "c128",
    21: "s4",
    22: "u4",
    19: "f8e5m2",
    20: "f8e4m3fn",
    23: "f8e4m3b11fnuz",
    24: "f8e5m2fnuz",
    25: "f8e4m3fnuz",
}


class _EventKind(IntEnum):
    ALLOCATE = 0
    FREE = 1
    SHARE = 2


@dataclass(frozen=True, slots=True)
class _Buffer:
    """The memory of one instruction's result, or of a part of it."""

    size_bytes: int
    instruction: int
    shape_index: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allocation:
    """Memory that a program holds while it runs, and all buffers that are ever in it."""

    size_bytes: int
    is_parameter: bool
    is_constant: bool
    is_result: bool
    buffers: tuple[int, ...]

    @property
    def is_temporary(self) -> bool:
        return not (self.is_parameter or self.is_constant or self.is_result)


@dataclass(frozen=True, slots=True)
class _HeapEvent:
    kind: int
    buffer: int
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Assignment:
    """All allocations of a program in the device's memory."""

    program: Program
    buffers: Mapping[int, _Buffer]
    allocations: tuple[_Allocation, ...]
    at_peak: Mapping[int, tuple[int, ...]]  # keyed by the first buffer of a simulation

    @property
    def size_bytes(self) -> int:
        return sum(one.size_bytes for one in self.allocations)


def with_peak_buffers(profile: Profile, programs: Sequence[Program]) -> Profile:
    """Return the profile with what its largest program holds at its peak.

    Unchanged if XLA recorded no buffers for one of the programs, because that may be the largest.
    """
    if not programs or not all(program.buffers for program in programs):
        return profile
    try:
        largest = max(map(_assignment, programs), key=lambda one: one.size_bytes)
        return replace(profile, peak_tensors=_held_tensors(largest))
    except (ValueError, IndexError):  # bytes that are not an assignment or a shape
        return profile


def _held_tensors(assignment: _Assignment) -> tuple[HeldTensors, ...]:
    """Return the held tensors, most bytes first."""
    instructions = {one.number: one for one in assignment.program.instructions}
    sizes: Counter[HeldTensors] = Counter()
    counts: Counter[HeldTensors] = Counter()
    for size_bytes, kind in _held_buffers(assignment, instructions):
        if size_bytes:
            sizes[kind] += size_bytes
            counts[kind] += 1
    return tuple(
        replace(kind, bytes=float(size_bytes), count=counts[kind])
        for kind, size_bytes in sizes.most_common(MAX_OPERATIONS)
    )


def _held_buffers(
    assignment: _Assignment, instructions: Mapping[int, Instruction]
) -> Iterator[tuple[int, HeldTensors]]:
    """Yield each buffer's bytes and kind; the bytes sum to those of the allocations."""
    program_lines = ProgramLines(assignment.program)
    for allocation in assignment.allocations:
        numbers = [one for one in allocation.buffers if one in assignment.buffers]
        alive: Sequence[int] = ()
        if not allocation.is_temporary:
            alive = sorted(numbers, key=lambda one: -assignment.buffers[one].size_bytes)[:1]
        else:
            alive = _alive_at_peak(assignment, numbers)
        left = allocation.size_bytes
        for number in alive:
            buffer = assignment.buffers[number]
            yield (
                min(buffer.size_bytes, left),
                _kind(buffer, allocation, program_lines, instructions),
            )
            left -= min(buffer.size_bytes, left)
        yield left, HeldTensors(operator=UNNAMED, tensor="", bytes=0.0, count=0)


def _kind(
    buffer: _Buffer,
    allocation: _Allocation,
    program_lines: ProgramLines,
    instructions: Mapping[int, Instruction],
) -> HeldTensors:
    instruction = instructions.get(buffer.instruction)
    operator, tensor = UNNAMED, ""
    lines: tuple[CallingLine, ...] = ()
    if instruction is not None:
        operation = instruction.operation.rpartition("/")[2]
        operator = clean_name(operation or instruction.opcode)
        tensor = _tensor(instruction.shape, buffer.shape_index)
        lines = program_lines.of(instruction)
    if allocation.is_parameter or allocation.is_constant:
        operator = ARGUMENT if allocation.is_parameter else CONSTANT
    return HeldTensors(operator=operator, tensor=tensor, bytes=0.0, count=0, lines=lines)


def _alive_at_peak(assignment: _Assignment, numbers: Sequence[int]) -> Sequence[int]:
    """Return the buffers that hold an allocation's memory at the time of its largest use.

    If buffers share memory, the latest is named. Without a simulation, only a single buffer is
    known to be among them.
    """
    if len(numbers) == 1:
        return numbers
    return next((assignment.at_peak[one] for one in numbers if one in assignment.at_peak), ())


def _at_peak(trace: Sequence[_HeapEvent], buffers: Mapping[int, _Buffer]) -> tuple[int, ...]:
    """Return the buffers in use at the time of a simulation's largest use."""
    sizes, _ = _replay(trace, buffers)
    if not sizes:
        return ()
    _, users = _replay(trace[: sizes.index(max(sizes)) + 1], buffers)
    return tuple(users.values())


def _replay(
    trace: Sequence[_HeapEvent], buffers: Mapping[int, _Buffer]
) -> tuple[list[int], dict[int, int]]:
    """Return the bytes in use after each event, and the latest user of each memory at the end.

    Buffers that share memory use it until the last of them is freed. The key of a memory is the
    buffer that it was allocated for.
    """
    memory_of: dict[int, int] = {}
    count: Counter[int] = Counter()  # number of users of a memory
    users: dict[int, int] = {}
    size_bytes = 0
    sizes: list[int] = []
    for event in trace:
        buffer = event.buffer
        if event.kind == _EventKind.FREE:
            memory = memory_of.get(buffer, buffer)
            count[memory] -= 1
            if count[memory] <= 0 and users.pop(memory, None) is not None:
                size_bytes -= buffers[memory].size_bytes
        elif buffer in buffers:
            is_shared = event.kind == _EventKind.SHARE
            memory = memory_of.get(event.shared, buffer) if is_shared else buffer
            memory_of[buffer] = memory
            count[memory] += 1
            size_bytes += 0 if memory in users else buffers[memory].size_bytes
            users[memory] = buffer
        sizes.append(size_bytes)
    return sizes, users


def _assignment(program: Program) -> _Assignment:
    buffers: dict[int, _Buffer] = {}
    for part in parts(program.buffers, _BUFFERS):
        definitions = list(parts(part, _DEFINED_AT))
        definition = definitions[-1] if definitions else memoryview(b"")
        buffers[last_number(part, _ID)] = _Buffer(
            size_bytes=_size(part),
            instruction=last_number(definition, _INSTRUCTION),
            shape_index=_numbers(definition, _SHAPE_INDEX),
        )
    return _Assignment(
        program=program,
        buffers=buffers,
        allocations=tuple(
            map(_allocation, filter(_is_counted, parts(program.buffers, _ALLOCATIONS)))
        ),
        at_peak={
            trace[0].buffer: _at_peak(trace, buffers)
            for part in parts(program.buffers, _TRACES)
            if (trace := tuple(map(_event, parts(part, _EVENTS))))
        },
    )


def _is_counted(allocation: memoryview) -> bool:
    """Return whether memory is the device's, not that of a thread, of the host or of a core."""
    return not (last_number(allocation, _THREAD_LOCAL) or last_number(allocation, _MEMORY))


def _allocation(data: memoryview) -> _Allocation:
    return _Allocation(
        size_bytes=_size(data),
        is_parameter=last_number(data, _PARAMETER) != 0,
        is_constant=last_number(data, _CONSTANT) != 0,
        is_result=last_number(data, _LIVE_OUT) != 0,
        buffers=tuple(last_number(one, _ASSIGNED_BUFFER) for one in parts(data, _ASSIGNED)),
    )


def _event(data: memoryview) -> _HeapEvent:
    return _HeapEvent(
        last_number(data, _EVENT_KIND),
        last_number(data, _EVENT_BUFFER),
        last_number(data, _SHARED_BUFFER),
    )


def _size(data: memoryview) -> int:
    size_bytes = last_number(data, _SIZE)
    return size_bytes if size_bytes < MAX_COUNT else 0


def _tensor(shape: memoryview, index: Sequence[int]) -> str:
    """Return the type and sizes of a part of a result: "f32[64,128]", or "" if it has none."""
    for place in index:
        inner = list(parts(shape, _PARTS))
        if place >= len(inner):
            return ""
        shape = inner[place]
    type_ = _TYPES.get(last_number(shape, _TYPE), "")
    return f"{type_}[{','.join(map(str, _numbers(shape, _SIZES)))}]" if type_ else ""


def _numbers(data: memoryview, number: int) -> tuple[int, ...]:
    """Return the numbers of a repeated field, packed or not."""
    return tuple(
        each for field, value in fields(data) if field == number for each in read_varints(value)
    )
