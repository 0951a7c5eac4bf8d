"""Turn a change into why its calls take another time, with the evidence that the profiles hold."""

from collections.abc import Sequence

from perfledger.profile import Kernel, Operation, Profile
from perfledger_profiles.cause import How, Reason
from perfledger_profiles.change import Change, Stage
from perfledger_profiles.inputs import input_change
from perfledger_profiles.names import normal_path

# Occupancies that are further apart than this are not two roundings of one launch.
MIN_OCCUPANCY_STEP = 0.05
# Of the bytes of a launch: less comes from caches and counters.
MIN_BYTES_STEP = 0.05
# Of the differences inside a group: what has more of it than all others need not share its line.
MAIN_SHARE = 0.5
# Of a change: less of it around the calls is written as 0 %.
MIN_AROUND_SHARE = 0.01
# What a line has room for.
MAX_NAMED = 3

_BYTE_UNITS = ((2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))

Why = tuple[Reason, str]


def reason_of(change: Change, base: Profile, head: Profile) -> Why:
    """Return the reason and what it rests on; UNKNOWN and "" where the profiles do not tell."""
    reason, evidence = _reason_of(change, base, head)
    return reason, ", ".join(filter(None, (evidence, _around_calls(change))))


def _reason_of(change: Change, base: Profile, head: Profile) -> Why:
    match change.stage:
        case Stage.ATTENTION | Stage.FUSION:
            return Reason.FUSION, f"{named(change.base)} became {named(change.head)}"
        case Stage.VARIANT | Stage.FAMILY:
            return Reason.VARIANT, f"{named(change.base)} became {named(change.head)}"
        case Stage.CLOCK:
            return Reason.CLOCK, f"{len(change.base)} operations by one ratio: {_ratio(change)}"
        case Stage.INPUT:
            return Reason.UNKNOWN, _most_changed(change)
        case Stage.SAME | Stage.NAME | Stage.PLACE | Stage.ALONE:
            return _by_inputs(change) or _by_kernels(change, base, head) or _others(change)


def _around_calls(change: Change) -> str:
    if change.between_seconds * change.delta_seconds <= 0:
        return ""
    share = min(1.0, change.between_seconds / change.delta_seconds)
    return f"{share:.0%} of it in Python around the calls" if share >= MIN_AROUND_SHARE else ""


def named(operations: Sequence[Operation]) -> str:
    """Name operations, the longest first: "aten::bmm, aten::_softmax and 3 more"."""
    seconds: dict[str, float] = {}
    for operation in operations:
        name = normal_path(operation.name)
        seconds[name] = seconds.get(name, 0.0) + operation.seconds
    return _joined(sorted(seconds, key=lambda name: -seconds[name]))


def _joined(names: Sequence[str]) -> str:
    if len(names) > MAX_NAMED:
        return f"{', '.join(names[: MAX_NAMED - 1])} and {len(names) - MAX_NAMED + 1} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _ratio(change: Change) -> str:
    return f"{change.head_seconds / change.base_seconds:.2f}"


def _most_changed(change: Change) -> str:
    """Name the operations inside a group that changed most; "" if it is only one."""
    deltas: dict[str, float] = {}
    for operations, sign in ((change.base, -1.0), (change.head, 1.0)):
        for one in operations:
            deltas[one.name] = deltas.get(one.name, 0.0) + sign * one.seconds
    names = sorted(deltas, key=lambda name: -abs(deltas[name]))
    if len(names) <= 1:
        return ""
    if abs(deltas[names[0]]) <= MAIN_SHARE * sum(map(abs, deltas.values())):
        return _joined(names)
    return f"most of it is {names[0]}" if names[0] != change.label else ""


def _others(change: Change) -> Why:
    return Reason.UNKNOWN, _most_changed(change) if change.label else ""


def _by_inputs(change: Change) -> Why | None:
    found = input_change(change) if change.base and change.head else None
    return (found.reason, found.evidence) if found is not None else None


def _by_kernels(change: Change, base: Profile, head: Profile) -> Why | None:
    """Compare the launches of the change's kernels: how full they keep the device, what they move.

    A launch explains only a change in its own direction.
    """
    if change.how is not How.RATE:
        return None
    before = _kernels(base, change.base)
    after = _kernels(head, change.head)
    is_slower = change.delta_seconds > 0
    full, now = _mean_occupancy(before), _mean_occupancy(after)
    if full is not None and now is not None and _is_step(full, now, is_slower=is_slower):
        return Reason.OCCUPANCY, f"occupancy {full:.2f} became {now:.2f}"
    moved, moves = _bytes_per_launch(before), _bytes_per_launch(after)
    if moved and moves:
        grown = moves / moved - 1
        if abs(grown) > MIN_BYTES_STEP and (grown > 0) is is_slower:
            return Reason.BYTES, f"{_bytes(moved)} became {_bytes(moves)} a launch"
    return None


def _is_step(full: float, now: float, *, is_slower: bool) -> bool:
    return abs(now - full) > MIN_OCCUPANCY_STEP and (now < full) is is_slower


def _kernels(profile: Profile, operations: Sequence[Operation]) -> list[Kernel]:
    names = {operation.name for operation in operations}
    return [kernel for kernel in profile.kernels if kernel.name in names]


def _mean_occupancy(kernels: Sequence[Kernel]) -> float | None:
    """Return the mean over time of the kernels' occupancy; None where one is not known."""
    known = [(k.occupancy, k.seconds) for k in kernels if k.occupancy is not None]
    seconds = sum(weight for _, weight in known)
    if len(known) < len(kernels) or seconds <= 0:
        return None
    return sum(occupancy * weight for occupancy, weight in known) / seconds


def _bytes_per_launch(kernels: Sequence[Kernel]) -> float | None:
    known = [kernel.bytes for kernel in kernels if kernel.bytes is not None]
    launches = sum(kernel.count for kernel in kernels)
    return sum(known) / launches if len(known) == len(kernels) and launches > 0 else None


def _bytes(value: float) -> str:
    unit, name = next(pair for pair in _BYTE_UNITS if value >= pair[0] or pair[1] == "B")
    return f"{value / unit:.3g} {name}"
