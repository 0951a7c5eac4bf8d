"""Finds the reason why a change's calls take more or less time, with its evidence."""

from collections import defaultdict
from collections.abc import Sequence

from perfledger.profile import Kernel, Operation, Profile
from perfledger.rounding import decimals, digits, percentage
from perfledger_profiles.diff.cause import ChangeKind, ChangeReason
from perfledger_profiles.diff.input_differences import input_change
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.diff.stable_names import normal_region

# Closer occupancies may be the same launch, rounded differently.
MIN_OCCUPANCY_STEP = 0.05
# Share of a launch's bytes; smaller differences come from caches and counters.
MIN_BYTES_STEP = 0.05
# Share of a group's differences above which one operation is named by itself.
MAIN_SHARE = 0.5
# Share of a change; a smaller one would be printed as 0 %.
MIN_AROUND_SHARE = 0.01
# Names that fit on a line.
MAX_NAMED = 3

_BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))

ReasonWithEvidence = tuple[ChangeReason, str]


def reason_of(change: OperationChange, base: Profile, head: Profile) -> ReasonWithEvidence:
    """Return the reason and its evidence; UNKNOWN and "" if the profiles do not show it."""
    reason, evidence = _reason_of(change, base, head)
    return reason, ", ".join(filter(None, (evidence, _around_calls(change))))


def _reason_of(change: OperationChange, base: Profile, head: Profile) -> ReasonWithEvidence:
    match change.stage:
        case MatchStage.ATTENTION | MatchStage.FUSION:
            return (
                ChangeReason.FUSION,
                f"{join_names(change.base)} became {join_names(change.head)}",
            )
        case MatchStage.VARIANT:
            return (
                ChangeReason.VARIANT,
                f"{join_names(change.base)} became {join_names(change.head)}",
            )
        case MatchStage.FAMILY:  # of one kind, but not known to do the same work
            return (
                ChangeReason.UNKNOWN,
                f"{join_names(change.base)} became {join_names(change.head)}",
            )
        case MatchStage.CLOCK:
            return (
                ChangeReason.CLOCK,
                f"{len(change.base)} operations by the same ratio: {_ratio(change)}",
            )
        case MatchStage.INPUT:
            return ChangeReason.UNKNOWN, _most_changed(change)
        case MatchStage.SAME | MatchStage.NAME | MatchStage.PATH | MatchStage.ALONE:
            return _by_inputs(change) or _by_kernels(change, base, head) or _other_reasons(change)


def _around_calls(change: OperationChange) -> str:
    if change.between_seconds * change.delta_seconds <= 0:
        return ""
    share = min(1.0, change.between_seconds / change.delta_seconds)
    return f"{percentage(share)} of it between the calls" if share >= MIN_AROUND_SHARE else ""


def join_names(operations: Sequence[Operation]) -> str:
    """Return the operations' names, the longest first: "aten::bmm, aten::_softmax and 3 more"."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for operation in operations:
        seconds[normal_region(operation.name)] += operation.seconds
    return _join(sorted(seconds, key=lambda name: -seconds[name]))


def _join(names: Sequence[str]) -> str:
    if len(names) > MAX_NAMED:
        return f"{', '.join(names[: MAX_NAMED - 1])} and {len(names) - MAX_NAMED + 1} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _ratio(change: OperationChange) -> str:
    return decimals(change.head_seconds / change.base_seconds, 2)


def _most_changed(change: OperationChange) -> str:
    """Return the operations of a group that changed most, or "" if there is only one."""
    deltas: defaultdict[str, float] = defaultdict(float)
    for operations, sign in ((change.base, -1.0), (change.head, 1.0)):
        for one in operations:
            deltas[one.name] += sign * one.seconds
    names = sorted(deltas, key=lambda name: -abs(deltas[name]))
    if len(names) <= 1:
        return ""
    if abs(deltas[names[0]]) <= MAIN_SHARE * sum(map(abs, deltas.values())):
        return _join(names)
    return f"most of it is {names[0]}" if names[0] != change.label else ""


def _other_reasons(change: OperationChange) -> ReasonWithEvidence:
    return ChangeReason.UNKNOWN, _most_changed(change) if change.label else ""


def _by_inputs(change: OperationChange) -> ReasonWithEvidence | None:
    difference = input_change(change) if change.base and change.head else None
    return (difference.reason, difference.evidence) if difference is not None else None


def _by_kernels(change: OperationChange, base: Profile, head: Profile) -> ReasonWithEvidence | None:
    """Compare the occupancy and the bytes of the change's kernel launches.

    A launch explains only a change in the same direction.
    """
    if change.kind is not ChangeKind.RATE:
        return None
    before = _kernels(base, change.base)
    after = _kernels(head, change.head)
    is_slower = change.delta_seconds > 0
    occupancy_before, occupancy_after = _mean_occupancy(before), _mean_occupancy(after)
    if (
        occupancy_before is not None
        and occupancy_after is not None
        and _is_step(occupancy_before, occupancy_after, is_slower=is_slower)
    ):
        return (
            ChangeReason.OCCUPANCY,
            f"occupancy {decimals(occupancy_before, 2)} became {decimals(occupancy_after, 2)}",
        )
    bytes_before, bytes_after = _bytes_per_launch(before), _bytes_per_launch(after)
    if bytes_before and bytes_after:
        grown = bytes_after / bytes_before - 1
        if abs(grown) > MIN_BYTES_STEP and (grown > 0) is is_slower:
            return (
                ChangeReason.BYTES,
                f"{_bytes(bytes_before)} became {_bytes(bytes_after)} a launch",
            )
    return None


def _is_step(before: float, after: float, *, is_slower: bool) -> bool:
    return abs(after - before) > MIN_OCCUPANCY_STEP and (after < before) is is_slower


def _kernels(profile: Profile, operations: Sequence[Operation]) -> list[Kernel]:
    names = {operation.name for operation in operations}
    return [kernel for kernel in profile.kernels if kernel.name in names]


def _mean_occupancy(kernels: Sequence[Kernel]) -> float | None:
    """Return the time-weighted mean of the kernels' occupancy, or None if one is unknown."""
    weighted = [(k.occupancy, k.seconds) for k in kernels if k.occupancy is not None]
    seconds = sum(weight for _, weight in weighted)
    if len(weighted) < len(kernels) or seconds <= 0:
        return None
    return sum(occupancy * weight for occupancy, weight in weighted) / seconds


def _bytes_per_launch(kernels: Sequence[Kernel]) -> float | None:
    sizes = [kernel.bytes for kernel in kernels if kernel.bytes is not None]
    launches = sum(kernel.count for kernel in kernels)
    return sum(sizes) / launches if len(sizes) == len(kernels) and launches > 0 else None


def _bytes(value: float) -> str:
    unit, name = next(pair for pair in _BYTE_UNITS if value >= pair[0] or pair[1] == "B")
    return f"{digits(value / unit, 3)} {name}"
