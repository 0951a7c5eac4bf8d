"""Explains a change of peak memory by what holds it on each side."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import fsum

from perfledger.profile import CallingLine, HeldTensors
from perfledger.records import Side
from perfledger.rounding import percentage
from perfledger.step_work import (
    ALIASED_MEMORY,
    ARGUMENT_MEMORY,
    OUTPUT_MEMORY,
    TEMPORARY_MEMORY,
    StepWork,
)
from perfledger_profiles.diff.cause import MemoryCause, MemoryExplanation
from perfledger_profiles.diff.caveats import MAX_OPEN_SHARE, MAX_REST_SHARE
from perfledger_profiles.diff.lines import MAX_LINES

# As for a step time.
MAX_CAUSES = 5
# Share of the measured change; a smaller difference is not worth a line.
MIN_SHARE = 0.02
OLDER = "(made before the step)"
ARGUMENTS = "(arguments of the largest program)"
RESULTS = "(its results, apart from those in donated arguments)"
TEMPORARIES = "(its temporaries)"
NOT_ATTRIBUTABLE = "not attributable"
NOT_RECORDED = (
    f"{NOT_ATTRIBUTABLE}: what holds memory was not recorded on {{}}: that needs a torch step that "
    "runs under TorchDispatchMode, or JAX programs whose memory XLA states; a heap profiler shows "
    "it for any step (memray, or torch.cuda.memory._record_memory_history on a GPU)"
)

_GroupOf = Callable[[HeldTensors], tuple[str, str]]
_Held = Sequence[HeldTensors]


def explain_memory(
    base: _Held, head: _Held, *, measured: tuple[float, float], error_bytes: float = 0.0
) -> MemoryExplanation:
    """Return what makes the memory peak differ between the two sides.

    `measured` is base's and head's peak; their difference may be off by `error_bytes` either way.
    What both sides hold equally is no cause. The list has the fewest causes that explain enough,
    the one that explains most at each step; single kinds of tensors are tried before all tensors of
    an operator.
    """
    change = measured[1] - measured[0]
    listed: Sequence[MemoryCause] = ()
    rest = change
    groupings = (_unlike(base, head), _operator) if base and head else ()
    for group in groupings:
        causes = _select(_causes(base, head, group), change)
        left = change - fsum(cause.delta_bytes for cause in causes)
        if abs(left) < abs(rest):
            listed, rest = causes, left
        if abs(rest) <= MAX_REST_SHARE * abs(change):
            break
    note = _note(base, head, change, rest, error_bytes)
    return MemoryExplanation(
        base_bytes=measured[0],
        head_bytes=measured[1],
        base_held_bytes=_bytes(base),
        head_held_bytes=_bytes(head),
        causes=tuple(listed),
        rest_bytes=rest,
        is_attributable=not note,
        note=note,
    )


def held_by_programs(work: StepWork) -> tuple[HeldTensors, ...]:
    """Return what XLA's largest program holds, by XLA's own count; empty if unknown.

    The memory of a donated argument is also that of a result, and counts once.
    """
    counts = {one.name: one.value for one in work.counts}
    aliased = counts.get(ALIASED_MEMORY, 0.0)
    sizes = {
        ARGUMENTS: counts.get(ARGUMENT_MEMORY, 0.0),
        RESULTS: counts.get(OUTPUT_MEMORY, 0.0) - aliased,
        TEMPORARIES: counts.get(TEMPORARY_MEMORY, 0.0),
    }
    return tuple(
        HeldTensors(operator=name, tensor="", bytes=size, count=1)
        for name, size in sizes.items()
        if size > 0
    )


def _note(base: _Held, head: _Held, change: float, rest: float, error_bytes: float) -> str:
    sides = [side for side, tensors in zip(Side, (base, head), strict=True) if not tensors]
    if sides:
        return NOT_RECORDED.format(" and ".join(sides))
    if abs(rest) <= max(MAX_OPEN_SHARE * abs(change), error_bytes):
        return ""
    return (
        f"{NOT_ATTRIBUTABLE}: {percentage(abs(rest / change))} of the change is not in what "
        "the step is known to hold at its peak: it may be memory of libraries, of Python objects "
        "or of the set-up, which tracemalloc or a device's allocator would show"
    )


def _unlike(base: _Held, head: _Held) -> _GroupOf:
    """Return a grouping: by kind of tensors if both sides have that kind, else by operator."""
    common = {_kind(one) for one in base} & {_kind(one) for one in head}
    return lambda one: _kind(one) if _kind(one) in common else _operator(one)


def _kind(tensors: HeldTensors) -> tuple[str, str]:
    return tensors.operator, tensors.tensor


def _operator(tensors: HeldTensors) -> tuple[str, str]:
    return tensors.operator, ""


def _causes(base: _Held, head: _Held, group: _GroupOf) -> list[MemoryCause]:
    sides: defaultdict[tuple[str, str], tuple[list[HeldTensors], list[HeldTensors]]]
    sides = defaultdict(lambda: ([], []))
    for number, side in enumerate((base, head)):
        for one in side:
            sides[group(one)][number].append(one)
    return [_cause(operator, *both) for (operator, _), both in sides.items()]


def _cause(operator: str, base: _Held, head: _Held) -> MemoryCause:
    return MemoryCause(
        name=operator or OLDER,
        base_tensor=_largest(base),
        head_tensor=_largest(head),
        base_bytes=_bytes(base),
        head_bytes=_bytes(head),
        base_count=sum(one.count for one in base),
        head_count=sum(one.count for one in head),
        lines=_lines(head),
        base_lines=_lines(base),
    )


def _select(causes: Sequence[MemoryCause], change: float) -> list[MemoryCause]:
    left = [one for one in causes if abs(one.delta_bytes) > MIN_SHARE * abs(change)]
    chosen: list[MemoryCause] = []
    rest = change
    while len(chosen) < MAX_CAUSES and abs(rest) > MAX_REST_SHARE * abs(change):
        helpful = [one for one in left if abs(rest - one.delta_bytes) < abs(rest)]
        if not helpful:
            break
        best = min(helpful, key=lambda one: abs(rest - one.delta_bytes))
        left.remove(best)
        chosen.append(best)
        rest -= best.delta_bytes
    return sorted(chosen, key=lambda one: (one.delta_bytes * change < 0, -abs(one.delta_bytes)))


def _largest(tensors: _Held) -> str:
    return max(tensors, key=lambda one: one.bytes).tensor if tensors else ""


def _bytes(tensors: _Held) -> float:
    return fsum(one.bytes for one in tensors)


def _lines(tensors: _Held) -> tuple[CallingLine, ...]:
    """Return the lines that hold most, each once."""
    ranked = sorted(tensors, key=lambda one: -one.bytes)
    return tuple(dict.fromkeys(line for one in ranked for line in one.lines))[:MAX_LINES]
