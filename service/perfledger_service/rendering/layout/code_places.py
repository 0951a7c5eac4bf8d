"""Shows lines of the user's code; their paths are not escaped yet."""

from collections.abc import Iterable
from dataclasses import dataclass

from perfledger.profile import CallingLine


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePlace:
    """A line of the user's code, as shown."""

    place: str  # "models/gpt.py:34"
    remark: str  # on what it does there; "" if there is nothing to add


def code_places(lines: Iterable[CallingLine]) -> tuple[CodePlace, ...]:
    """Return the lines, each with a remark on what it does there."""
    return tuple(map(_code_place, lines))


def _code_place(line: CallingLine) -> CodePlace:
    remarks = ["its backward pass"] if line.is_backward else []
    remarks += ["changed on head"] if line.is_changed else []
    return CodePlace(place=f"{line.path}:{line.line}", remark=", ".join(remarks))
