"""Ranks the lines of the user's code that call a cause's operations."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from perfledger.profile import CallingLine, Operation

MAX_LINES = 3


def longest_lines(operations: Sequence[Operation]) -> tuple[CallingLine, ...]:
    """Return the lines with the most time of the operations, one entry per line.

    An operation's time is divided among its lines by their calls. A line whose backward pass also
    calls an operation is listed once, as a forward call.
    """
    seconds: defaultdict[tuple[str, int], float] = defaultdict(float)
    lines: dict[tuple[str, int], CallingLine] = {}
    for operation in operations:
        calls = sum(line.calls for line in operation.lines)
        for line in operation.lines:
            source = line.path, line.line
            share = operation.seconds * line.calls / calls
            seconds[source] += share
            listed_line = lines.get(source, line)
            lines[source] = replace(
                listed_line,
                calls=line.calls if source not in lines else listed_line.calls + line.calls,
                is_backward=listed_line.is_backward and line.is_backward,
                is_changed=listed_line.is_changed or line.is_changed,
            )
    ranked = sorted(lines, key=lambda source: (-seconds[source], source))
    return tuple(lines[source] for source in ranked[:MAX_LINES])
