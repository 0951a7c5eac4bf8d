"""Matches both sides' kernels by their work, and lists their times in all profiled steps.

If one side names the work differently, fuses it or splits it, it is still one kernel here: a change
of its time is a change of the work's. Time outside kernels, such as launches or Python, is not
listed.

Other load can only lengthen calls. Most steps have some lengthened calls, but few calls are
lengthened in every step. The undisturbed time of a kernel is therefore the sum of its calls, each
at its shortest. If the calls of different steps cannot be matched, the shortest steps are used on
both sides of the pair, which gives longer times.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from statistics import fmean

from perfledger.kernel_times import OPERATOR_ARROW, KernelTimes, StepSeconds
from perfledger.profile import Bucket, Operation, Profile
from perfledger_profiles.diff.grouping import longest_operation, name_of
from perfledger_profiles.diff.matching import match
from perfledger_profiles.diff.operation_change import OperationChange
from perfledger_profiles.diff.stable_names import normal_name, operator_of
from perfledger_profiles.timeline.breakdown import DEVICE_ORDER, MAX_OPERATIONS, OTHER_OPERATIONS

KernelKey = tuple[str, Bucket, str]
TIME_DIGITS = 9  # of seconds, to the nanosecond
# Characters of a name; its end says most.
MAX_NAME = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class SideKernel:
    """One kernel of one side of a pair: its exclusive seconds in each profiled step."""

    name: str
    bucket: Bucket
    path: str  # the operations around it
    count: float  # calls per step, mean over the windows
    seconds: StepSeconds
    undisturbed: float | None  # per step, each call at its shortest; None if unknown

    @property
    def key(self) -> KernelKey:
        """Return the key that identifies it among its side's kernels."""
        return self.name, self.bucket, self.path


SideTable = Mapping[KernelKey, SideKernel]


def kernels_of_side(windows: Sequence[Profile]) -> tuple[SideKernel, ...]:
    """Return the kernels of one side of a pair, in all steps of its windows.

    A kernel that a step lacks took 0 there.
    """
    steps = [one for window in windows for one in _steps_of(window)]
    counts: defaultdict[KernelKey, float] = defaultdict(float)
    for window in windows:
        for one in window.operations:
            if one.bucket in DEVICE_ORDER:
                counts[_key(one)] += one.count / len(windows)
    calls = {key: [step.get(key, ()) for step in steps] for key in counts}
    return tuple(
        SideKernel(
            name=key[0],
            bucket=key[1],
            path=key[2],
            count=counts[key],
            seconds=tuple(round(fsum(step), TIME_DIGITS) for step in calls[key]),
            undisturbed=undisturbed_seconds(calls[key]),
        )
        for key in counts
    )


def step_seconds(windows: Sequence[Profile]) -> StepSeconds:
    """Return the total seconds of each step of one side of a pair."""
    return tuple(
        fsum(seconds for calls in step.values() for seconds in calls)
        for window in windows
        for step in _steps_of(window)
    )


def undisturbed_seconds(steps: Sequence[Sequence[float]]) -> float | None:
    """Return the sum of a step's calls, each at its shortest; `steps` has the calls of each step.

    Steps without calls are left out. None if the others have different numbers of calls, because
    then the calls cannot be matched.
    """
    busy = [calls for calls in steps if fsum(calls) > 0]
    if len(set(map(len, busy))) > 1:
        return None
    return fsum(_shortest(one) for one in zip(*busy, strict=True))


def _shortest(seconds: Iterable[float]) -> float:
    """Return the mean of the shortest quarter, 0 if empty."""
    ranked = sorted(seconds)
    count = ceil(len(ranked) / 4)
    return fsum(ranked[:count]) / count if count else 0.0


def _steps_of(window: Profile) -> list[Mapping[KernelKey, Sequence[float]]]:
    """Return each step's calls by kernel, or the mean step's sums if single calls are unknown."""
    steps = window.call_times or (tuple((one.seconds,) for one in window.operations),)
    tables: list[Mapping[KernelKey, Sequence[float]]] = []
    for calls in steps:
        table: dict[KernelKey, tuple[float, ...]] = {}
        for one, own in zip(window.operations, calls, strict=True):
            table[_key(one)] = (*table.get(_key(one), ()), *own)
        tables.append(table)
    return tables


def _key(operation: Operation) -> KernelKey:
    return operation.name, operation.bucket, operation.path


def kernel_times(
    base: Sequence[Sequence[SideKernel]], head: Sequence[Sequence[SideKernel]]
) -> tuple[KernelTimes, ...]:
    """Return the matched kernels of a workload's pairs; `base[i]` and `head[i]` are of pair i.

    Kernels that are not among the longest of either side, over all its pairs, are merged: the
    windows differ in which of their kernels are the longest.
    """
    longest = _longest_keys(base) | _longest_keys(head)
    base, head = ([_with_rest(pair, longest) for pair in side] for side in (base, head))
    changes = match(_typical_operations(base), _typical_operations(head))
    before, after = ([{one.key: one for one in pair} for pair in side] for side in (base, head))
    widths = [[_steps_in(pair) for pair in side] for side in (base, head)]
    return tuple(
        _times_of(change, before, after, widths=(widths[0], widths[1])) for change in changes
    )


def _times_of(
    change: OperationChange,
    before: Sequence[SideTable],
    after: Sequence[SideTable],
    *,
    widths: tuple[Sequence[int], Sequence[int]],
) -> KernelTimes:
    base = _seconds(change.base, before, widths[0])
    head = _seconds(change.head, after, widths[1])
    estimates = [
        _undisturbed_seconds(change, sides, steps)
        for sides, steps in zip(
            zip(before, after, strict=True), zip(base, head, strict=True), strict=True
        )
    ]
    return KernelTimes(
        family=_family_of(change),
        name=_name_of(change),
        base_count=change.base_count,
        head_count=change.head_count,
        base=base,
        head=head,
        base_undisturbed=tuple(one for one, _ in estimates),
        head_undisturbed=tuple(one for _, one in estimates),
    )


def _longest_keys(pairs: Sequence[Sequence[SideKernel]]) -> frozenset[KernelKey]:
    ranked = sorted(_typical_operations(pairs), key=lambda one: -one.seconds)
    return frozenset(map(_key, ranked[:MAX_OPERATIONS]))


def _with_rest(pair: Sequence[SideKernel], longest: Collection[KernelKey]) -> list[SideKernel]:
    """Return the longest kernels of one side of a pair, and the sum of the others per bucket."""
    groups: defaultdict[KernelKey, list[SideKernel]] = defaultdict(list)
    for one in pair:
        rest = (OTHER_OPERATIONS, one.bucket, "")
        groups[one.key if one.key in longest else rest].append(one)
    return [
        SideKernel(
            name=name,
            bucket=bucket,
            path=path,
            count=fsum(one.count for one in group),
            seconds=tuple(map(fsum, zip(*(one.seconds for one in group), strict=True))),
            undisturbed=_sum_if_known([one.undisturbed for one in group]),
        )
        for (name, bucket, path), group in groups.items()
    ]


def _typical_operations(pairs: Sequence[Sequence[SideKernel]]) -> tuple[Operation, ...]:
    """Return the operations of a side, each with its mean over the pairs."""
    kernels: dict[KernelKey, list[SideKernel]] = {}
    for pair in pairs:
        for one in pair:
            kernels.setdefault(one.key, []).append(one)
    return tuple(
        Operation(
            name=name,
            bucket=bucket,
            path=path,
            seconds=fsum(fmean(one.seconds) for one in of_pairs) / len(pairs),
            count=fsum(one.count for one in of_pairs) / len(pairs),
        )
        for (name, bucket, path), of_pairs in kernels.items()
    )


def _family_of(change: OperationChange) -> str:
    """Return the operator with most of the work, or both names if it changed."""
    sides = [side for side in (change.base, change.head) if side]
    names = [_operator(longest_operation(side)) for side in sides]
    return OPERATOR_ARROW.join(dict.fromkeys(names))


def _name_of(change: OperationChange) -> str:
    """Return the longest kernel's path and name, and the number of other names."""
    operations = change.head or change.base
    path = longest_operation(operations).path
    return "/".join(filter(None, (path, name_of(operations))))[-MAX_NAME:]


def _operator(operation: Operation) -> str:
    if operation.name == OTHER_OPERATIONS:
        return OTHER_OPERATIONS
    return normal_name(operator_of(operation.name, operation.path))


def _steps_in(pair: Sequence[SideKernel]) -> int:
    return max((len(one.seconds) for one in pair), default=1)


def _seconds(
    operations: Sequence[Operation],
    pairs: Sequence[SideTable],
    widths: Sequence[int],
) -> tuple[StepSeconds, ...]:
    """Return the operations' total seconds in each step of each pair."""
    keys = set(map(_key, operations))
    return tuple(
        tuple(
            fsum(pair[key].seconds[index] for key in keys & pair.keys()) for index in range(width)
        )
        for pair, width in zip(pairs, widths, strict=True)
    )


def _undisturbed_seconds(
    change: OperationChange,
    sides: tuple[SideTable, SideTable],
    steps: tuple[StepSeconds, StepSeconds],
) -> tuple[float, float]:
    """Return the undisturbed seconds of both sides of a pair, estimated in the same way."""
    keys = [set(map(_key, operations)) for operations in (change.base, change.head)]
    base, head = (
        _sum_if_known([side[key].undisturbed for key in own & side.keys()])
        for own, side in zip(keys, sides, strict=True)
    )
    if base is None or head is None:
        base, head = (_shortest(filter(None, seconds)) for seconds in steps)
    return round(base, TIME_DIGITS), round(head, TIME_DIGITS)


def _sum_if_known(seconds: Sequence[float | None]) -> float | None:
    """Return the sum, or None if one of the times is unknown."""
    times = [one for one in seconds if one is not None]
    return fsum(times) if len(times) == len(seconds) else None
