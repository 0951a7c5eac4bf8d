"""Finds the workloads whose steps call functions that head changed.

If the budget is too short for all workloads, these begin first: a change shows nowhere else. The
others are measured after them, as far as there is time: what compiled code, threads that ran before
and other processes call is not seen.
"""

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path

from perfledger.protocol import ChildRequest, Command
from perfledger.records import FailureReason, WorkloadSpec
from perfledger_runners.checkouts.changed_lines import changed_places
from perfledger_runners.children.child_process import run_request
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.limit_watch import TOOK_SHARE
from perfledger_runners.children.protocol_parser import CalledMessage, FailedMessage

# Share of the remaining budget: it decides an order only, and the pairs need the time.
CALLS_SHARE = 0.1
# Seconds for one set-up and step. A call is recorded in microseconds, so a step may take longer.
MAX_CALLS_SECONDS = 20.0
# Share of the rest of the time for calls: a slow workload leaves time to ask others.
WORKLOAD_SHARE = 0.15
PYTHON = ".py"

Lines = tuple[int, int]  # first and last line of a function, from 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedCalls:
    """The `callers` of changed functions among workloads, in the order in which they begin.

    `files` have these functions. Of workloads that are not in `answers` nothing is known; those in
    `probable` are other parameters of what calls such a function. The `slow` ones did not answer in
    their time: they begin last, as each would take the time of many others.
    """

    files: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    answers: frozenset[str] = field(default_factory=frozenset[str])
    callers: tuple[str, ...] = ()
    probable: tuple[str, ...] = ()
    slow: frozenset[str] = field(default_factory=frozenset[str])

    @property
    def first(self) -> tuple[str, ...]:
        """Return the workloads that begin before all others, in order."""
        return (*self.callers, *self.probable)


NO_CALLS = ChangedCalls()


def find_changed_calls(
    harness: Harness,
    request: ChildRequest,
    workloads: Sequence[WorkloadSpec],
    functions: Mapping[str, tuple[Lines, ...]],
) -> ChangedCalls:
    """Run one step of each workload on head, and return those that call any of the functions.

    `request` is head's, and `functions` are as `changed_functions` returns them. Nothing is timed,
    and no failure counts. Workloads of one function follow those of others, because they probably
    call the same: with little time, each function is measured with one of its parameters. So is
    asked, too: one of each function first.
    """
    names = _firsts_first([spec for spec in workloads if spec.devices == 1])
    if not functions or not names:
        return NO_CALLS
    ends_at = harness.ends_at - (1 - CALLS_SHARE) * harness.seconds_left()
    limits = harness.limits
    hasty = replace(
        harness,
        limits=replace(
            limits,
            workload_s=min(limits.workload_s, MAX_CALLS_SECONDS),
            own_workload_s={},
            workload_share=WORKLOAD_SHARE,
        ),
        ends_at=ends_at if math.isfinite(ends_at) else math.inf,
    )
    calling = replace(
        request, command=Command.CALLS, workloads=names, functions=functions, is_interleaved=False
    )
    numbers: dict[str, int] = {}
    slow: set[str] = set()
    for message in run_request(hasty, calling):
        match message:
            case CalledMessage():
                numbers[message.workload] = message.functions
            case FailedMessage() if _is_slow(message):
                slow.add(message.workload)
            case _:
                pass
    callers = [spec for spec in workloads if numbers.get(spec.id)]
    functions_of_callers = {(spec.module, spec.function) for spec in callers}
    probable = [
        spec
        for spec in workloads
        if spec.id not in (numbers.keys() | slow)
        and (spec.module, spec.function) in functions_of_callers
    ]
    return ChangedCalls(
        files=tuple(functions),
        workloads=names,
        answers=frozenset(numbers),
        callers=_functions_in_turn(callers),
        probable=_functions_in_turn(probable),
        slow=frozenset(slow),
    )


def changed_functions(
    repository: Path, base: str, head: str, paths: Iterable[str], *, checkout: Path
) -> dict[str, tuple[Lines, ...]]:
    """Return the functions of head's files in which lines changed, by path.

    `paths` are files that differ between the commits, and `checkout` has those of head. If only
    lines outside of functions changed in a file, such as constants, all of its functions count.
    """
    functions = {
        path: tuple(_functions_at(checkout / path, changed_places(repository, base, head, path)))
        for path in paths
        if path.endswith(PYTHON)
    }
    return {path: lines for path, lines in functions.items() if lines}


def _is_slow(message: FailedMessage) -> bool:
    """Return whether a workload took its time, and not only what was left of all."""
    return message.reason is FailureReason.HUNG or message.detail.startswith(TOOK_SHARE)


def _functions_at(file: Path, places: Sequence[range]) -> Iterator[Lines]:
    """Yield the innermost functions of a file that have lines in these places, or else all."""
    every = [] if not places else sorted(_functions_of(file), key=lambda each: each[0] - each[1])
    innermost: set[Lines] = set()
    for line in (each for place in places for each in place):
        around = [each for each in every if each[0] <= line <= each[1]]
        innermost |= set(around[-1:])
    yield from sorted(innermost or every)


def _functions_of(file: Path) -> Iterator[Lines]:
    """Yield the functions of a file, with the empty lines after each: its end may be removed."""
    with suppress(OSError, SyntaxError, ValueError, RecursionError):
        content = file.read_bytes()
        lines = content.splitlines()
        for node in ast.walk(ast.parse(content)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min(each.lineno for each in (node, *node.decorator_list))
                last = node.end_lineno or node.lineno
                yield first, last + len([*takewhile(lambda line: not line.strip(), lines[last:])])


def _firsts_first(workloads: Iterable[WorkloadSpec]) -> tuple[str, ...]:
    """Return the first workload of each function, then the others: files are imported twice."""
    specs = tuple(workloads)
    firsts = {(spec.module, spec.function): spec.id for spec in reversed(specs)}
    first_ids = frozenset(firsts.values())
    return tuple(sorted((spec.id for spec in specs), key=lambda name: name not in first_ids))


def _functions_in_turn(workloads: Iterable[WorkloadSpec]) -> tuple[str, ...]:
    """Return the workloads, the first of each function before the second of any."""
    before: Counter[tuple[str, str]] = Counter()
    places: dict[str, int] = {}
    for spec in workloads:
        places[spec.id] = before[spec.module, spec.function]
        before[spec.module, spec.function] += 1
    return tuple(sorted(places, key=places.__getitem__))
