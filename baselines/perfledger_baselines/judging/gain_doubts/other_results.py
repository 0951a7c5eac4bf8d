"""Compares the results of both sides' steps roughly: head may do less, or something else."""

from collections.abc import Sequence

from perfledger.records import Run
from perfledger.rounding import digits
from perfledger.step_evidence import Answer
from perfledger_baselines.judging.gain_doubts.workload_pairs import Pairs, complete_pairs

# Relative to the largest number of a result. Another order of operations changes less.
MAX_RESULT_CHANGE = 1e-3
NAMES = ("numbers", "smallest", "largest", "types")


def other_result(pairs: Pairs) -> str:
    """Return how the result of head's first step differs from base's; "" if it does not.

    It counts only if every process of a side returns the same: without a seed, steps return
    something else each time.
    """
    run_pairs = complete_pairs(pairs)
    sides = [_common_outline([runs[side] for runs in run_pairs]) for side in (0, 1)]
    base, head = sides
    if len(run_pairs) < 2 or not base or not head:  # noqa: PLR2004 - one may be so by chance
        return ""
    changes = [
        f"{name} {_words(base[name])} → {_words(head[name])}"
        for name in NAMES
        if name in base and name in head and _differ(base, head, name)
    ]
    return (
        f"the result of its first step differs from base's ({', '.join(changes)})"
        if changes
        else ""
    )


def _common_outline(runs: Sequence[Run]) -> Answer:
    """Return the outline that all processes of a side have; {} if they differ."""
    first, *later = [run.evidence.outline for run in runs] or [{}]
    is_common = all(
        each.keys() == first.keys() and not any(_differ(first, each, name) for name in first)
        for each in later
    )
    return first if is_common else {}


def _differ(base: Answer, head: Answer, name: str) -> bool:
    before, after = base[name], head[name]
    if isinstance(before, str) or isinstance(after, str) or name == "numbers":
        return before != after
    scale = max(abs(float(each.get(end, 0.0))) for each in (base, head) for end in NAMES[1:3])
    return abs(float(after) - float(before)) > MAX_RESULT_CHANGE * scale


def _words(value: float | str) -> str:
    return value if isinstance(value, str) else digits(value, 3)
