"""Finds the compilations that only head has, and what takes longer to compile."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfledger.compile_record import (
    MAX_PROGRAMS,
    CompilationKind,
    CompiledProgram,
    CompilePhase,
    CompileRecord,
)
from perfledger.profile import Compilation
from perfledger_profiles.diff.cause import CompileCause, CompileExplanation, CompilePhaseChange
from perfledger_profiles.diff.caveats import MAX_REST_SHARE

MAX_LISTED = 5
_SAME_ARGUMENTS = (
    "keep the shapes, types and static arguments of the function's calls the same, and define it "
    "once"
)
# What to do about a compilation that only head reports.
COMPILER_ADVICE: Mapping[CompilationKind, str] = {
    CompilationKind.GRAPH_BREAK: (
        "keep the compiled function in one graph: take out what breaks it, such as a value that is "
        "read, a print or an unsupported call"
    ),
    CompilationKind.RECOMPILATION: (
        "keep what the guard compares the same in all calls, or mark sizes that vary with "
        "torch._dynamo.mark_dynamic"
    ),
    CompilationKind.RETRACE: _SAME_ARGUMENTS,
    CompilationKind.START_RETRACE: _SAME_ARGUMENTS,
}

# Sizes, argument counts and lines differ between compilations of the same function.
_NUMBER = re.compile(r"\d+")

_Key = tuple[CompilationKind, str, str]


def new_compilations(
    base: Sequence[Compilation], head: Sequence[Compilation], *, has_more_windows: bool = False
) -> tuple[Compilation, ...]:
    """Return the compilations that head reports more often than base, most often first.

    Compilations are the same if kind, function and reason are the same, ignoring the numbers in the
    reason: a change of the code moves lines, and sizes may differ in each step. If head
    `has_more_windows` than base, it may have compiled more often just for that reason: then only
    what no window explains is returned.
    """
    before = Counter[_Key]()
    for compilation in base:
        before[_key(compilation)] += compilation.count
    after = Counter[_Key]()
    for compilation in head:
        after[_key(compilation)] += compilation.count
    more = [
        one
        for one in head
        if after[_key(one)] > before[_key(one)]
        and not (has_more_windows and _may_grow(one, before[_key(one)]))
    ]
    return tuple(sorted(more, key=lambda one: -one.count)[:MAX_LISTED])


def explain_compiling(
    base: Sequence[CompileRecord],
    head: Sequence[CompileRecord],
    *,
    base_compilations: Sequence[Compilation] = (),
    head_compilations: Sequence[Compilation] = (),
) -> CompileExplanation | None:
    """Return how the cost of compiling differs on head, or None if a side is unknown.

    `base` and `head` are the records of all processes of each side. The record with the median time
    of each side is compared, because its parts add up. The compilations come from the profiles,
    which have the compilers' reasons.
    """
    if not base or not head:
        return None
    before, after = map(_typical, (base, head))
    return CompileExplanation(
        base_seconds=before.seconds,
        head_seconds=after.seconds,
        phases=tuple(
            CompilePhaseChange(
                phase=phase,
                base_seconds=before.phases_s.get(phase, 0.0),
                head_seconds=after.phases_s.get(phase, 0.0),
            )
            for phase in CompilePhase
        ),
        causes=tuple(
            _with_reason(cause, base_compilations, head_compilations)
            for cause in _compile_causes(before, after)[:MAX_LISTED]
        ),
    )


def _typical(records: Sequence[CompileRecord]) -> CompileRecord:
    ranked = sorted(records, key=lambda one: one.seconds)
    return ranked[(len(ranked) - 1) // 2]


def _compile_causes(base: CompileRecord, head: CompileRecord) -> list[CompileCause]:
    """Return the functions behind a change of compile time, the largest difference first.

    A function that is compiled as often as before is listed only if it explains much of the change.
    Empty if a side's functions are unknown.
    """
    if not (base.programs or not base.phases_s) or not (head.programs or not head.phases_s):
        return []
    sides = [{program.name: program for program in one.programs} for one in (base, head)]
    is_cut = [len(one.programs) >= MAX_PROGRAMS for one in (base, head)]
    change_s = head.seconds - base.seconds
    causes: list[CompileCause] = []
    for name in dict.fromkeys([*sides[1], *sides[0]]):
        if any(name not in side and cut for side, cut in zip(sides, is_cut, strict=True)):
            continue  # it may be unlisted on that side
        before, after = (
            side.get(name, CompiledProgram(name=name, count=0, seconds=0.0)) for side in sides
        )
        cause = CompileCause(
            name=name,
            base_count=before.count,
            head_count=after.count,
            base_seconds=before.seconds,
            head_seconds=after.seconds,
        )
        is_large = abs(cause.delta_seconds) > MAX_REST_SHARE * abs(change_s)
        if cause.delta_seconds * change_s > 0 and (before.count != after.count or is_large):
            causes.append(cause)
    return sorted(causes, key=lambda cause: -abs(cause.delta_seconds))


def _with_reason(
    cause: CompileCause, base: Sequence[Compilation], head: Sequence[Compilation]
) -> CompileCause:
    """Return the cause with the reason of a compilation that is new, or more frequent, on head."""
    if cause.head_count <= cause.base_count:
        return cause
    again = [
        one
        for one in head
        if one.function == cause.name and one.kind is not CompilationKind.GRAPH_BREAK
    ]
    reason = next(iter(new_compilations(base, again)), None)
    return cause if reason is None else replace(cause, reason=reason.reason, lines=reason.lines)


def _may_grow(compilation: Compilation, base_count: int) -> bool:
    """Return whether one more window, with its own set-up, may explain one more compilation.

    JAX is watched in the same number of steps on both sides, and a graph break that any set-up
    causes also occurs in the first one.
    """
    match compilation.kind:
        case CompilationKind.RETRACE | CompilationKind.START_RETRACE:
            return False
        case CompilationKind.GRAPH_BREAK:
            return base_count > 0
        case CompilationKind.RECOMPILATION:
            return True


def _key(compilation: Compilation) -> _Key:
    return compilation.kind, compilation.function, _NUMBER.sub("", compilation.reason)
