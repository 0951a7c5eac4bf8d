"""Decodes the XLA programs that jax.profiler records beside the events.

Each program that ran is in a plane of its own, with its debug information and its buffers, which
ProfileData leaves out. Field numbers are from xla/service/hlo.proto and xla/xla_data.proto.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perfledger.profile import CallingLine
from perfledger_profiles.xla.protocol_buffer import (
    fields,
    integer,
    last_number,
    last_text,
    message,
    parts,
    read_varints,
    text,
)
from perfledger_profiles.xla.xplane_wire import (
    ENTRY_VALUE,
    PLANE_EVENT_NAMES,
    PLANE_NAME,
    SPACE_PLANES,
)

PROGRAMS = "/host:metadata"
# For all programs of a file: Python reads about ten thousand a second.
MAX_INSTRUCTIONS = 200_000
MAX_FRAMES = 100  # of a stack

_EVENT_STATS = 5
_STAT_PROGRAM = 6
_PROGRAM_MODULE, _PROGRAM_BUFFERS = 1, 3
_MODULE_NAME, _MODULE_COMPUTATIONS, _MODULE_FRAMES = 1, 3, 17
_COMPUTATION_INSTRUCTIONS, _COMPUTATION_ID = 2, 5
_INSTRUCTION_NAME, _OPCODE, _SHAPE, _METADATA, _INSTRUCTION_ID, _CALLED = 1, 2, 3, 7, 35, 38
_OPERATION_NAME, _SOURCE_FILE, _SOURCE_LINE, _FRAME = 2, 3, 4, 15
_FILE_NAMES, _LOCATIONS, _FRAMES = 1, 3, 4  # of a module's frames
_LOCATION_FILE, _LOCATION_LINE = 1, 3
_FRAME_LOCATION, _FRAME_PARENT = 1, 2

# jax.grad names the derivative of a forward operation "transpose(jvp(...))".
_BACKWARD = "transpose("

_SourceLine = tuple[str, int]  # a path below the root, and a line
_Frames = Mapping[int, tuple[str, int, int]]  # a frame's file, line and parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An instruction of a program, and the line of the user's code that it comes from, if any."""

    number: int  # in its program
    name: str  # "multiply_add_fusion.3"
    opcode: str
    operation: str  # of JAX: "jit(f)/dot_general", "" if unknown
    shape: memoryview  # of its result: a ShapeProto
    lines: tuple[CallingLine, ...]
    called: tuple[int, ...]  # computations


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A program: its instructions by computation, and a BufferAssignmentProto or nothing."""

    name: str
    computations: Mapping[int, Sequence[Instruction]]
    buffers: memoryview

    @property
    def instructions(self) -> Iterator[Instruction]:
        """Yield the instructions of all computations."""
        return (one for computation in self.computations.values() for one in computation)


_UNKNOWN = Program(name="", computations={}, buffers=memoryview(b""))


def read_programs(path: Path, *, root: Path) -> tuple[Program, ...]:
    """Return the programs in an xplane file, with the lines below `root`.

    Decoding stops at bytes that are not a program, and at MAX_INSTRUCTIONS; the rest counts as an
    unknown program. The reader of the events decides whether that is an error.
    """
    programs: list[Program] = []
    left = MAX_INSTRUCTIONS
    try:
        for data in _recorded_programs(memoryview(path.read_bytes())):
            buffers = next(parts(data, _PROGRAM_BUFFERS), memoryview(b""))
            for module in parts(data, _PROGRAM_MODULE):
                program = _program(module, buffers, f"{root.resolve()}/")
                left -= sum(map(len, program.computations.values()))
                if left < 0:
                    return (*programs, _UNKNOWN)
                programs.append(program)
    except (ValueError, IndexError):  # what came before is intact
        return (*programs, _UNKNOWN)
    return tuple(programs)


def _recorded_programs(data: memoryview) -> Iterator[memoryview]:
    """Yield the HloProtos of an xplane."""
    for number, value in fields(data):
        plane = message(value) if number == SPACE_PLANES else memoryview(b"")
        if last_text(plane, PLANE_NAME) != PROGRAMS:
            continue
        for entry in parts(plane, PLANE_EVENT_NAMES):
            for event in parts(entry, ENTRY_VALUE):
                for stat in parts(event, _EVENT_STATS):
                    yield from parts(stat, _STAT_PROGRAM)


def _program(module: memoryview, buffers: memoryview, root: str) -> Program:
    frames = _frames(module)
    return Program(
        name=last_text(module, _MODULE_NAME),
        computations={
            last_number(computation, _COMPUTATION_ID): [
                _instruction(part, frames, root)
                for part in parts(computation, _COMPUTATION_INSTRUCTIONS)
            ]
            for computation in parts(module, _MODULE_COMPUTATIONS)
        },
        buffers=buffers,
    )


def _instruction(data: memoryview, frames: _Frames, root: str) -> Instruction:
    name = opcode = operation = ""
    number = 0
    shape = memoryview(b"")
    lines: tuple[CallingLine, ...] = ()
    called: list[int] = []
    for field, value in fields(data):
        if field == _INSTRUCTION_NAME:
            name = text(value)
        elif field == _OPCODE:
            opcode = text(value)
        elif field == _SHAPE:
            shape = message(value)
        elif field == _METADATA:
            operation = last_text(message(value), _OPERATION_NAME)
            lines = _own_lines(message(value), operation, frames, root)
        elif field == _INSTRUCTION_ID:
            number = integer(value)
        elif field == _CALLED:
            called += read_varints(value)
    return Instruction(
        number=number,
        name=name,
        opcode=opcode,
        operation=operation,
        shape=shape,
        lines=lines,
        called=tuple(called),
    )


def _own_lines(
    metadata: memoryview, operation: str, frames: _Frames, root: str
) -> tuple[CallingLine, ...]:
    """Return the innermost line below the root, and whether it belongs to a backward pass."""
    source_line = _line_of_frame(last_number(metadata, _FRAME), frames, root) or _source_line(
        last_text(metadata, _SOURCE_FILE), last_number(metadata, _SOURCE_LINE), root
    )
    if source_line is None:
        return ()
    path, line = source_line
    return (CallingLine(path=path, line=line, calls=1.0, is_backward=_BACKWARD in operation),)


def _line_of_frame(number: int, frames: _Frames, root: str) -> _SourceLine | None:
    for _ in range(MAX_FRAMES):
        if number not in frames:
            return None
        file, line, number = frames[number]
        source_line = _source_line(file, line, root)
        if source_line is not None:
            return source_line
    return None


def _source_line(file: str, line: int, root: str) -> _SourceLine | None:
    return (file.removeprefix(root), line) if line > 0 and file.startswith(root) else None


def _frames(module: memoryview) -> _Frames:
    """Return a module's stack frames by number; all numbers in a module count from 1."""
    frames: dict[int, tuple[str, int, int]] = {}
    for index in parts(module, _MODULE_FRAMES):
        files = {
            number: str(name, "utf-8", "replace")
            for number, name in enumerate(parts(index, _FILE_NAMES), start=1)
        }
        locations = {
            number: (
                files.get(last_number(each, _LOCATION_FILE), ""),
                last_number(each, _LOCATION_LINE),
            )
            for number, each in enumerate(parts(index, _LOCATIONS), start=1)
        }
        for number, frame in enumerate(parts(index, _FRAMES), start=1):
            file, line = locations.get(last_number(frame, _FRAME_LOCATION), ("", 0))
            frames[number] = (file, line, last_number(frame, _FRAME_PARENT))
    return frames
