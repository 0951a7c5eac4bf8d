"""Lists the reports and times of compilers; names and reasons are not escaped yet."""

from dataclasses import dataclass

from perfledger.compile_record import CompilationKind
from perfledger.profile import Compilation
from perfledger_profiles.diff.cause import CompileCause, CompileExplanation
from perfledger_profiles.diff.compilation_change import COMPILER_ADVICE
from perfledger_service.rendering.layout import number_format, vocabulary
from perfledger_service.rendering.layout.source_lines import SourceLine, source_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationRow:
    """A report of head's compilers that base's do not make, as shown."""

    what: str  # trusted text: "torch.compile compiles a function again, 3 times"
    function: str  # "" if unknown
    source_lines: tuple[SourceLine, ...]
    reason: str  # the compiler's words
    suggestion: str  # what to do about it
    is_in_steps: bool  # else it only takes time before they are measured


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRow:
    """A function whose compile time changed, as shown."""

    name: str
    how: str  # trusted text: "is compiled 4 times instead of once"
    delta: str
    reason: str  # the compiler's words; "" if unknown
    source_lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileBlock:
    """The explanation of a changed compile time of one workload's process, as shown."""

    summary: str  # trusted text
    longest: str  # the phase with most of the change: "backend compile +3.1 s"
    rows: tuple[CompileRow, ...]


def compilation_row(compilation: Compilation) -> CompilationRow:
    """Return one report of head's compilers."""
    return CompilationRow(
        what=vocabulary.compilation_phrase(compilation),
        function=compilation.function,
        source_lines=source_lines(compilation.lines),
        reason=compilation.reason.rstrip("."),
        suggestion=COMPILER_ADVICE[compilation.kind],
        is_in_steps=compilation.kind is not CompilationKind.START_RETRACE,
    )


def compile_block(explanation: CompileExplanation) -> CompileBlock:
    """Return the phases and functions that make up a change in compile time."""
    base, head = map(number_format.seconds, (explanation.base_seconds, explanation.head_seconds))
    change = number_format.signed_seconds(explanation.delta_seconds)
    phases = [
        (one, f"{one.phase} {number_format.signed_seconds(one.delta_seconds)}")
        for one in explanation.phases
        if one.delta_seconds
    ]
    ranked = sorted(phases, key=lambda one: -one[0].delta_seconds * explanation.delta_seconds)
    by_phase = f": {', '.join(words for _, words in phases)}" if phases else ""
    return CompileBlock(
        summary=f"A process compiled for {base} on base and {head} on head ({change}){by_phase}.",
        longest=ranked[0][1] if ranked else "",
        rows=tuple(map(_compile_row, explanation.causes)),
    )


def _compile_row(cause: CompileCause) -> CompileRow:
    return CompileRow(
        name=cause.name,
        how=vocabulary.compile_phrase(cause),
        delta=number_format.signed_seconds(cause.delta_seconds),
        reason=cause.reason,
        source_lines=source_lines(cause.lines),
    )
