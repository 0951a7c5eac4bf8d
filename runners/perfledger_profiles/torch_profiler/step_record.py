"""Adds to a profile the lines of the user's code that call its operations and hold its memory.

They were recorded in a separate step: calls by operator and sizes of its tensors, memory by what
made the tensors that are held at its peak.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from perfledger.compile_record import CompilationKind
from perfledger.profile import (
    CallingLine,
    Compilation,
    HeldTensors,
    Operation,
    Profile,
)
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.trace import MAX_COUNT

MAX_BYTES = 16 * 2**20  # of the record of one profiled step
MAX_LINES = 5  # of an operation
MAX_PATH = 400
_SIZES = re.compile(r"\[[^\]]*\]")

_Text = Annotated[str, Meta(max_length=2000)]


LinesByOperator = Mapping[tuple[str, str], Sequence[CallingLine]]


class _CallRow(Struct, frozen=True):
    operator: _Text
    sizes: str
    path: Annotated[str, Meta(min_length=1, max_length=MAX_PATH)]
    line: Annotated[int, Meta(ge=1)]
    is_backward: bool
    calls: Annotated[int, Meta(ge=1)]


class _HeldRow(Struct, frozen=True):
    operator: _Text
    tensor: _Text
    path: Annotated[str, Meta(max_length=MAX_PATH)]
    line: Annotated[int, Meta(ge=0)]
    is_backward: bool
    bytes: Annotated[int, Meta(ge=1, lt=MAX_COUNT)]
    tensors: Annotated[int, Meta(ge=1)]


class _CompilationRow(Struct, frozen=True):
    kind: CompilationKind
    function: _Text
    reason: _Text
    path: Annotated[str, Meta(max_length=MAX_PATH)]
    line: Annotated[int, Meta(ge=0)]
    count: Annotated[int, Meta(ge=1)]


class _File(Struct, frozen=True):
    calls: list[_CallRow]
    peak_tensors: list[_HeldRow]
    compilations: list[_CompilationRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step: the callers of its operators, the tensors at its memory peak, and its compilations.

    `lines` are keyed by operator and the sizes of all its tensors, one after the other: "[8,3][3]".
    The key "" has an operator's lines for all sizes.
    """

    lines: LinesByOperator
    peak_tensors: tuple[HeldTensors, ...]
    compilations: tuple[Compilation, ...]


def read_step_record(path: Path) -> StepRecord:
    """Return the record in a file; raise ProfileError."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        msg = f"{path.name} is larger than {MAX_BYTES // 2**20} MiB: its lines are not read"
        raise ProfileError(msg)
    try:
        record = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError as error:
        msg = f"{path.name} is not a record of a step: {error}"
        raise ProfileError(msg) from error
    return StepRecord(
        lines=_lines(record.calls),
        peak_tensors=_peak_tensors(record.peak_tensors),
        compilations=_compilations(record.compilations),
    )


def with_step_record(profile: Profile, record: StepRecord) -> Profile:
    """Return the profile with each operation's lines: those for its sizes if they are known."""
    return replace(
        profile,
        operations=tuple(
            replace(operation, lines=_lines_of(operation, record.lines))
            for operation in profile.operations
        ),
        peak_tensors=record.peak_tensors,
        compilations=record.compilations,
    )


def _lines(rows: Sequence[_CallRow]) -> LinesByOperator:
    lines: defaultdict[tuple[str, str], list[CallingLine]] = defaultdict(list)
    for row in rows:
        line = CallingLine(
            path=row.path, line=row.line, calls=float(row.calls), is_backward=row.is_backward
        )
        lines[row.operator, row.sizes].append(line)
        if row.sizes:
            lines[row.operator, ""].append(line)
    return lines


def _peak_tensors(rows: Sequence[_HeldRow]) -> tuple[HeldTensors, ...]:
    return tuple(
        HeldTensors(
            operator=row.operator,
            tensor=row.tensor,
            bytes=float(row.bytes),
            count=row.tensors,
            lines=_line(row.path, row.line, calls=row.tensors, is_backward=row.is_backward),
        )
        for row in rows
    )


def _compilations(rows: Sequence[_CompilationRow]) -> tuple[Compilation, ...]:
    return tuple(
        Compilation(
            kind=row.kind,
            function=row.function,
            reason=row.reason,
            count=row.count,
            lines=_line(row.path, row.line, calls=row.count),
        )
        for row in rows
    )


def _line(
    path: str, line: int, *, calls: int, is_backward: bool = False
) -> tuple[CallingLine, ...]:
    """Return the line, or nothing if it is not in the repository."""
    if not (path and line):
        return ()
    return (CallingLine(path=path, line=line, calls=float(calls), is_backward=is_backward),)


def _lines_of(operation: Operation, lines: LinesByOperator) -> tuple[CallingLine, ...]:
    sizes = "".join(_SIZES.findall(operation.shapes))
    # A kernel's operator is the innermost one around it.
    operators = (operation.name, operation.path.rpartition("/")[2])
    for operator in operators:
        calling_lines = lines.get((operator, sizes)) or lines.get((operator, ""))
        if calling_lines:
            ranked = sorted(calling_lines, key=lambda one: (-one.calls, one.path, one.line))
            return tuple(ranked[:MAX_LINES])
    return ()
