"""Names lines of the user's code; their paths are not escaped yet."""

from collections.abc import Sequence
from dataclasses import dataclass

from perfledger.profile import CallingLine


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of the user's code, as shown."""

    text: str  # "models/gpt.py:34"
    remark: str  # on what the line does, or ""
    is_on_head: bool = True  # else its number is that of base's file


def source_lines(
    lines: Sequence[CallingLine], *, base_lines: Sequence[CallingLine] = ()
) -> tuple[SourceLine, ...]:
    """Return the lines, each with a remark on what it does; without any on head, those of base."""
    if lines:
        return tuple(_source_line(line, is_on_head=True) for line in lines)
    return tuple(_source_line(line, is_on_head=False) for line in base_lines)


def _source_line(line: CallingLine, *, is_on_head: bool) -> SourceLine:
    remarks = [] if is_on_head else ["on base"]
    remarks += ["its backward pass"] if line.is_backward else []
    remarks += ["changed on head"] if line.is_changed else []
    text, remark = f"{line.path}:{line.line}", ", ".join(remarks)
    return SourceLine(text=text, remark=remark, is_on_head=is_on_head)
