"""Finds the lines of the user's code that the instructions of XLA programs are from.

jax.profiler writes each program that ran, with its debug information, into a plane of its own,
which ProfileData leaves out. Field numbers are from xla/service/hlo.proto and xla/xla_data.proto.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from perfledger.profile import CallingLine, Operation, Profile
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.xla.protocol_buffer import (
    Field,
    fields,
    integer,
    message,
    read_varints,
    text,
)

PROGRAMS = "/host:metadata"
MAX_LINES = 5  # of an instruction
# Of all programs of a file: Python reads some ten thousand a second.
MAX_INSTRUCTIONS = 200_000
MAX_FRAMES = 100  # of a stack

_SPACE_PLANES = 1
_PLANE_NAME, _PLANE_EVENT_NAMES = 2, 4
_ENTRY_VALUE = 2
_EVENT_STATS = 5
_STAT_PROGRAM = 6
_PROGRAM_MODULE = 1
_MODULE_NAME, _MODULE_COMPUTATIONS, _MODULE_FRAMES = 1, 3, 17
_COMPUTATION_INSTRUCTIONS, _COMPUTATION_ID = 2, 5
_INSTRUCTION_NAME, _OPCODE, _METADATA, _CALLED = 1, 2, 7, 38
_OPERATION_NAME, _SOURCE_FILE, _SOURCE_LINE, _FRAME = 2, 3, 4, 15
_FILE_NAMES, _LOCATIONS, _FRAMES = 1, 3, 4  # of a module's frames
_LOCATION_FILE, _LOCATION_LINE = 1, 3
_FRAME_LOCATION, _FRAME_PARENT = 1, 2

_FUSION = "fusion"
# What computes nothing has the line of what it hands on.
_NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})
# jax.grad names what it makes of a forward operation "transpose(jvp(...))".
_BACKWARD = "transpose("

InstructionKey = tuple[str, str]  # a module's name and an instruction's
InstructionLines = Mapping[InstructionKey, tuple[CallingLine, ...]]
_Place = tuple[str, int]  # a path below the root, and a line
_Frames = Mapping[int, tuple[str, int, int]]  # a frame's file, line and parent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Instruction:
    name: str
    opcode: str
    lines: tuple[CallingLine, ...]  # of its own: one, or none
    called: tuple[int, ...]  # computations


def read_instruction_lines(path: Path, *, root: Path) -> InstructionLines:
    """Return the lines below `root` of each instruction of the programs in an xplane file.

    A fused instruction has the lines of all that was fused, those of most parts first. If several
    programs of one name have the instruction, it has lines only where they agree. Decoding stops at
    bytes that are no program; the reader of the events decides whether that is an error.
    """
    lines_by_key: dict[InstructionKey, tuple[CallingLine, ...]] = {}
    left = MAX_INSTRUCTIONS
    try:
        for program in _programs(memoryview(path.read_bytes())):
            module, instructions = _module_lines(program, f"{root.resolve()}/")
            left -= len(instructions)
            if left < 0:
                break
            for name, lines in instructions.items():
                key = module, name
                lines_by_key[key] = lines if lines_by_key.get(key, lines) == lines else ()
    except (ValueError, IndexError):
        pass  # what came before is sound
    return lines_by_key


def with_instruction_lines(profile: Profile, lines: InstructionLines) -> Profile:
    """Return the profile with the lines of each operation that is an instruction of a program."""
    return replace(
        profile,
        operations=tuple(
            replace(operation, lines=_lines_of(operation, lines))
            for operation in profile.operations
        ),
    )


def _lines_of(operation: Operation, lines: InstructionLines) -> tuple[CallingLine, ...]:
    instruction = lines.get((operation.path, operation.name), ())
    return tuple(replace(line, calls=operation.count) for line in instruction)


def _programs(data: memoryview) -> Iterator[memoryview]:
    """Yield the HloModuleProtos of an xplane."""
    for number, value in fields(data):
        plane = message(value) if number == _SPACE_PLANES else memoryview(b"")
        if _text(plane, _PLANE_NAME) != PROGRAMS:
            continue
        for entry in _parts(plane, _PLANE_EVENT_NAMES):
            for event in _parts(entry, _ENTRY_VALUE):
                for stat in _parts(event, _EVENT_STATS):
                    for program in _parts(stat, _STAT_PROGRAM):
                        yield from _parts(program, _PROGRAM_MODULE)


def _module_lines(
    module: memoryview, root: str
) -> tuple[str, Mapping[str, tuple[CallingLine, ...]]]:
    """Return a module's name, and the lines of its instructions by name."""
    name = _text(module, _MODULE_NAME)
    frames = _frames(module)
    computations: dict[int, list[_Instruction]] = {}
    for computation in _parts(module, _MODULE_COMPUTATIONS):
        computations[_number(computation, _COMPUTATION_ID)] = [
            _instruction(part, frames, root)
            for part in _parts(computation, _COMPUTATION_INSTRUCTIONS)
        ]
    lines: defaultdict[str, tuple[CallingLine, ...]] = defaultdict(tuple)
    for instructions in computations.values():
        for one in instructions:
            lines[clean_name(one.name)] = _fused_lines(one, computations)
    return clean_name(name), lines


def _fused_lines(
    instruction: _Instruction, computations: Mapping[int, list[_Instruction]]
) -> tuple[CallingLine, ...]:
    if instruction.opcode != _FUSION:
        return instruction.lines
    counted = Counter(
        line
        for number in instruction.called
        for part in computations.get(number, ())
        if part.opcode not in _NO_WORK
        for line in part.lines
    )
    counted.update(instruction.lines)
    return tuple(line for line, _ in counted.most_common(MAX_LINES))


def _instruction(data: memoryview, frames: _Frames, root: str) -> _Instruction:
    name = opcode = ""
    lines: tuple[CallingLine, ...] = ()
    called: list[int] = []
    for number, value in fields(data):
        if number == _INSTRUCTION_NAME:
            name = text(value)
        elif number == _OPCODE:
            opcode = text(value)
        elif number == _METADATA:
            lines = _own_lines(message(value), frames, root)
        elif number == _CALLED:
            called += read_varints(value)
    return _Instruction(name=name, opcode=opcode, lines=lines, called=tuple(called))


def _own_lines(metadata: memoryview, frames: _Frames, root: str) -> tuple[CallingLine, ...]:
    """Return the innermost line below the root, and whether it is of a backward pass."""
    place = _place_of_frame(_number(metadata, _FRAME), frames, root) or _place(
        _text(metadata, _SOURCE_FILE), _number(metadata, _SOURCE_LINE), root
    )
    if place is None:
        return ()
    path, line = place
    is_backward = _BACKWARD in _text(metadata, _OPERATION_NAME)
    return (CallingLine(path=path, line=line, calls=1.0, is_backward=is_backward),)


def _place_of_frame(number: int, frames: _Frames, root: str) -> _Place | None:
    for _ in range(MAX_FRAMES):
        if number not in frames:
            return None
        file, line, number = frames[number]
        place = _place(file, line, root)
        if place is not None:
            return place
    return None


def _place(file: str, line: int, root: str) -> _Place | None:
    return (file.removeprefix(root), line) if line > 0 and file.startswith(root) else None


def _frames(module: memoryview) -> _Frames:
    """Return a module's stack frames by number; all numbers in it count from 1."""
    frames: dict[int, tuple[str, int, int]] = {}
    for index in _parts(module, _MODULE_FRAMES):
        files = {
            number: str(name, "utf-8", "replace")
            for number, name in enumerate(_parts(index, _FILE_NAMES), start=1)
        }
        locations = {
            number: (files.get(_number(each, _LOCATION_FILE), ""), _number(each, _LOCATION_LINE))
            for number, each in enumerate(_parts(index, _LOCATIONS), start=1)
        }
        for number, frame in enumerate(_parts(index, _FRAMES), start=1):
            file, line = locations.get(_number(frame, _FRAME_LOCATION), ("", 0))
            frames[number] = (file, line, _number(frame, _FRAME_PARENT))
    return frames


def _parts(data: memoryview, number: int) -> Iterator[memoryview]:
    return (message(value) for each, value in fields(data) if each == number)


def _last(data: memoryview, number: int) -> Field | None:
    value = None
    for each, content in fields(data):
        if each == number:
            value = content
    return value


def _text(data: memoryview, number: int) -> str:
    value = _last(data, number)
    return "" if value is None else text(value)


def _number(data: memoryview, number: int) -> int:
    value = _last(data, number)
    return 0 if value is None else integer(value)
