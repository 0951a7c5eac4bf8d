"""Tells which compilations of head are not base's."""

import re
from collections import Counter
from collections.abc import Sequence

from perfledger.profile import Compilation, CompilationKind

MAX_LISTED = 5
# Sizes, numbers of arguments and lines differ from one compilation to the next.
_NUMBER = re.compile(r"\d+")

_Key = tuple[CompilationKind, str, str]


def new_compilations(
    base: Sequence[Compilation], head: Sequence[Compilation], *, has_more_windows: bool = False
) -> tuple[Compilation, ...]:
    """Return what head's compilers said more often than base's, most often first.

    They are the same if kind, function and reason are, whatever the numbers in the reason: a change
    of the code moves lines, and sizes are another in each step. If head `has_more_windows` than
    base, it may have compiled more often for that alone: only what no window explains is returned.
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


def _may_grow(compilation: Compilation, base_count: int) -> bool:
    """Return whether one more window, with its own set-up, may explain one more compilation.

    JAX is watched in as many steps on both sides, and the first set-up breaks what any breaks.
    """
    match compilation.kind:
        case CompilationKind.RETRACE:
            return False
        case CompilationKind.GRAPH_BREAK:
            return base_count > 0
        case CompilationKind.RECOMPILATION:
            return True


def _key(compilation: Compilation) -> _Key:
    return compilation.kind, compilation.function, _NUMBER.sub("", compilation.reason)
