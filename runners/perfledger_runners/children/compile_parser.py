"""Parses and validates a child's report on what its framework compiled."""

from typing import Annotated

from msgspec import Meta, Struct

from perfledger.compile_record import (
    MAX_COMPILATIONS,
    MAX_NAME,
    MAX_PROGRAMS,
    CompiledProgram,
    CompilePhase,
    CompileRecord,
)
from perfledger_runners.children.message_texts import NO_CONTROLS
from perfledger_runners.children.reading_checks import MAX_READING
from perfledger_runners.safe_text import clean_text

CompileSeconds = Annotated[float, Meta(ge=0, le=MAX_READING)]


class ProgramFields(Struct, frozen=True, kw_only=True):
    """A compiled function, with the fields of a CompiledProgram."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME, pattern=NO_CONTROLS)]
    count: Annotated[int, Meta(ge=1, le=MAX_COMPILATIONS)]
    seconds: CompileSeconds


class CompiledPrograms(Struct, frozen=True, kw_only=True):
    """What a framework compiled in a run, with the fields of a CompileRecord."""

    phases_s: dict[CompilePhase, CompileSeconds] = {}
    programs: Annotated[tuple[ProgramFields, ...], Meta(max_length=MAX_PROGRAMS)] = ()

    def record(self) -> CompileRecord:
        """Return the record with names that are safe to show and store."""
        return CompileRecord(
            phases_s={str(phase): seconds for phase, seconds in self.phases_s.items()},
            programs=tuple(
                CompiledProgram(name=clean_text(each.name), count=each.count, seconds=each.seconds)
                for each in self.programs
            ),
        )
