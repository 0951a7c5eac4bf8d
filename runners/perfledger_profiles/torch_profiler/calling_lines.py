"""Adds to a profile's operations the lines of the user's code that call them.

The lines were recorded in a step of their own, by operator and sizes of its tensors.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from perfledger.profile import CallingLine, Operation, Profile
from perfledger_profiles.parsing.errors import ProfileError

MAX_BYTES = 16 * 2**20
MAX_LINES = 5  # of an operation
MAX_PATH = 400
_SIZES = re.compile(r"\[[^\]]*\]")

_Text = Annotated[str, Meta(max_length=2000)]


class _Row(Struct, frozen=True):
    operator: _Text
    sizes: str
    path: Annotated[str, Meta(min_length=1, max_length=MAX_PATH)]
    line: Annotated[int, Meta(ge=1)]
    is_backward: bool
    calls: Annotated[int, Meta(ge=1)]


def read_lines(path: Path) -> Mapping[tuple[str, str], Sequence[CallingLine]]:
    """Return the calling lines by operator and sizes; raise ProfileError.

    The sizes of all tensors stand one after the other: "[8,3][3]". With "" are an operator's lines
    whatever the sizes.
    """
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        msg = f"{path.name} is larger than {MAX_BYTES // 2**20} MiB: its lines are not read"
        raise ProfileError(msg)
    try:
        rows = msgspec.json.decode(data, type=list[_Row])
    except msgspec.MsgspecError as error:
        msg = f"{path.name} is no list of calling lines: {error}"
        raise ProfileError(msg) from error
    lines: defaultdict[tuple[str, str], list[CallingLine]] = defaultdict(list)
    for row in rows:
        line = CallingLine(
            path=row.path, line=row.line, calls=float(row.calls), is_backward=row.is_backward
        )
        lines[row.operator, row.sizes].append(line)
        if row.sizes:
            lines[row.operator, ""].append(line)
    return lines


def with_lines(profile: Profile, lines: Mapping[tuple[str, str], Sequence[CallingLine]]) -> Profile:
    """Return the profile with the lines of each operation, those of its sizes if they are known."""
    return replace(
        profile,
        operations=tuple(
            replace(operation, lines=_lines_of(operation, lines))
            for operation in profile.operations
        ),
    )


def _lines_of(
    operation: Operation, lines: Mapping[tuple[str, str], Sequence[CallingLine]]
) -> tuple[CallingLine, ...]:
    sizes = "".join(_SIZES.findall(operation.shapes))
    # A kernel's operator is the innermost one around it.
    operators = (operation.name, operation.path.rpartition("/")[2])
    for operator in operators:
        calling_lines = lines.get((operator, sizes)) or lines.get((operator, ""))
        if calling_lines:
            ranked = sorted(calling_lines, key=lambda one: (-one.calls, one.path, one.line))
            return tuple(ranked[:MAX_LINES])
    return ()
