"""Finds the lines of the user's code from which XLA programs' instructions come."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from perfledger.profile import CallingLine, Operation, Profile
from perfledger_profiles.parsing.safe_names import clean_name
from perfledger_profiles.xla.hlo_programs import Instruction, Program

MAX_LINES = 5  # of an instruction

_FUSION = "fusion"
# An instruction that computes nothing has the line of what it passes on.
_NO_WORK = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast"})

InstructionKey = tuple[str, str]  # a module's name and an instruction's
InstructionLines = Mapping[InstructionKey, tuple[CallingLine, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ComputationLines:
    """The number of a computation's parts from each line, and the lines with most parts."""

    counts: Counter[CallingLine]
    most: Sequence[tuple[CallingLine, int]]


def instruction_lines(programs: Iterable[Program]) -> InstructionLines:
    """Return the lines of each instruction of the programs.

    A fused instruction has the lines of everything that was fused, those with most parts first. If
    several programs of the same name have the instruction, it has lines only if they agree.
    """
    lines_by_key: dict[InstructionKey, tuple[CallingLine, ...]] = {}
    for program in programs:
        reader = ProgramLines(program)
        lines_by_name = {clean_name(one.name): reader.of(one) for one in program.instructions}
        for name, lines in lines_by_name.items():
            key = clean_name(program.name), name
            lines_by_key[key] = lines if lines_by_key.get(key, lines) == lines else ()
    return lines_by_key


class ProgramLines:
    """The lines of a program's instructions; a fused computation is read only once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._computations: dict[int, _ComputationLines] = {}

    def of(self, instruction: Instruction) -> tuple[CallingLine, ...]:
        """Return an instruction's line, or the lines of everything that was fused into it."""
        if instruction.opcode != _FUSION:
            return instruction.lines
        fused = [self._lines_in(number) for number in instruction.called]
        counts = Counter[CallingLine]()
        for one in fused:
            counts.update(dict(one.most))
        for line in instruction.lines:
            counts[line] = 1 + sum(one.counts[line] for one in fused)
        return tuple(line for line, _ in counts.most_common(MAX_LINES))

    def _lines_in(self, number: int) -> _ComputationLines:
        if number not in self._computations:
            parts = self._program.computations.get(number, ())
            counts = Counter(
                line for part in parts if part.opcode not in _NO_WORK for line in part.lines
            )
            most = counts.most_common(MAX_LINES)
            self._computations[number] = _ComputationLines(counts=counts, most=most)
        return self._computations[number]


def with_instruction_lines(profile: Profile, lines: InstructionLines) -> Profile:
    """Return the profile with the lines of each operation that is a program's instruction."""
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
