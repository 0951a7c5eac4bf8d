"""Turn two profiles of a workload into an Explanation: which operations account for the change."""

from collections.abc import Sequence
from statistics import median

from perfledger.profile import Operation, Profile
from perfledger_profiles.breakdown import FOLDED
from perfledger_profiles.cause import Cause, Explanation, How
from perfledger_profiles.matching import Change, match
from perfledger_profiles.suggestions import suggestion

MAX_CAUSES = 5
# Enough to act on; below it the list goes on.
EXPLAINED_SHARE = 0.8
# With more than this unlisted, the list is not the reason for the change.
MAX_REST_SHARE = 0.25
# Two profiles of the same code differ by about a quarter of a percent of a step.
NOISE_SHARE = 0.002
# When the same work takes this much longer or shorter at the median of its operations, it is not a
# few of them that changed but what they all run on.
MAX_COMMON_RATIO = 1.25
# Fewer operations than this may all be what the change is about.
MIN_COMMON_OPERATIONS = 8


def explain(base: Profile, head: Profile) -> Explanation:
    """Return the causes of the change between two profiled steps, those in its direction first.

    base_step_seconds + the causes' deltas + rest_seconds = head_step_seconds.
    """
    change_s = head.step_seconds - base.step_seconds
    floor_s = NOISE_SHARE * base.step_seconds
    changes = match(base.operations, head.operations)
    listed = _listed(changes, change_s, floor_s) if abs(change_s) >= floor_s else []
    causes = tuple(_cause(change, base, head) for change in listed)
    rest_s = change_s - sum(cause.delta_seconds for cause in causes)
    note = _note(change_s, rest_s, floor_s) or _note_on_all(changes, floor_s)
    return Explanation(
        workload=head.workload,
        base_step_seconds=base.step_seconds,
        head_step_seconds=head.step_seconds,
        causes=causes,
        rest_seconds=rest_s,
        is_attributable=not note,
        note=note,
    )


def _listed(changes: Sequence[Change], change_s: float, floor_s: float) -> list[Change]:
    """Choose the fewest changes that explain enough, each time the one that explains most.

    One in the other direction is listed when what was chosen so far overshoots.
    """
    left = [c for c in changes if abs(c.delta_seconds) > floor_s and not _is_folded(c)]
    chosen: list[Change] = []
    rest_s = change_s
    while len(chosen) < MAX_CAUSES and abs(rest_s) > (1 - EXPLAINED_SHARE) * abs(change_s):
        helpful = [change for change in left if change.delta_seconds * rest_s > 0]
        if not helpful:
            break
        largest = max(helpful, key=lambda change: abs(change.delta_seconds))
        left.remove(largest)
        chosen.append(largest)
        rest_s -= largest.delta_seconds
    return sorted(chosen, key=lambda c: (c.delta_seconds * change_s < 0, -abs(c.delta_seconds)))


def _is_folded(change: Change) -> bool:
    """Tell whether a change is of many small operations that nobody can look up."""
    return any(operation.name == FOLDED for operation in (*change.base, *change.head))


def _cause(change: Change, base: Profile, head: Profile) -> Cause:
    how = change.how
    name = _name_of(change.head or change.base)
    return Cause(
        name=name,
        base_name=_name_of(change.base) if how is How.REPLACED else name,
        how=how,
        base_seconds=change.base_seconds,
        head_seconds=change.head_seconds,
        base_count=change.base_count,
        head_count=change.head_count,
        suggestion=suggestion(change, base, head),
    )


def _name_of(operations: Sequence[Operation]) -> str:
    """Return the name that took the longest, and how many others there are."""
    seconds: dict[str, float] = {}
    for operation in operations:
        seconds[operation.name] = seconds.get(operation.name, 0.0) + operation.seconds
    longest = max(seconds, key=lambda name: seconds[name])
    return longest if len(seconds) == 1 else f"{longest} (+{len(seconds) - 1})"


def _note(change_s: float, rest_s: float, floor_s: float) -> str:
    """Say why the causes do not account for the change; "" when they do."""
    if abs(change_s) < floor_s or change_s == 0:
        return (
            f"the profiled steps differ by less than {NOISE_SHARE:.1%} of a step: "
            "nothing to attribute"
        )
    share = abs(rest_s) / abs(change_s)
    if share > MAX_REST_SHARE:
        return (
            f"not attributable from this profile: {share:.0%} of the change is spread over "
            "operations that are not listed"
        )
    return ""


def _note_on_all(changes: Sequence[Change], floor_s: float) -> str:
    """Say that nearly everything got slower or faster alike; "" when it did not."""
    ratios = [
        change.head_seconds / change.base_seconds
        for change in changes
        if change.is_same_work and min(change.base_seconds, change.head_seconds) > floor_s
    ]
    if len(ratios) < MIN_COMMON_OPERATIONS:
        return ""
    ratio = median(ratios)
    if 1 / MAX_COMMON_RATIO <= ratio <= MAX_COMMON_RATIO:
        return ""
    return (
        f"not attributable from this profile: the same work takes {ratio:.2f} times as long in "
        "most operations, so the machine, its clock or the number of threads changed"
    )
