"""Names lines of the user's code; their paths are not escaped yet."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfledger.profile import CallingLine


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of the user's code, as shown."""

    text: str  # "models/gpt.py:34"
    remark: str  # on what the line does, or ""


def source_lines(lines: Iterable[CallingLine]) -> tuple[SourceLine, ...]:
    """Return the lines, each with a remark on what it does."""
    return tuple(map(_source_line, lines))


def _source_line(line: CallingLine) -> SourceLine:
    remarks = ["its backward pass"] if line.is_backward else []
    remarks += ["changed on head"] if line.is_changed else []
    return SourceLine(text=f"{line.path}:{line.line}", remark=", ".join(remarks))
