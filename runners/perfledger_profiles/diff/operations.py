"""Prepares profiles and their operations for comparison."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfledger.profile import Bucket, Kernel, Operation, Profile
from perfledger.records import Side
from perfledger_profiles.diff.operation_change import MatchStage, OperationChange
from perfledger_profiles.timeline.breakdown import (
    OTHER_OPERATIONS,
    OUTSIDE_OPERATIONS,
    longest_operations,
)
from perfledger_profiles.timeline.step_windows import MIN_REPEATS

# Most operations that are compared with each other. The readers keep 200, but an untrusted bundle
# may have thousands, and some stages compare each operation with all others.
MAX_COMPARED = 500


def by_iteration(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """Return the profiles with one repeat of their kernels as the step; empty if that is unknown.

    Recordings without steps are as long as somebody recorded them. If each repeats a sequence of
    equally many kernels, its repeats are comparable, whether they are steps or layers of one.
    """
    kernels = {profile.iteration_kernels for profile in profiles}
    is_known = all(
        not profile.has_steps and profile.iterations >= MIN_REPEATS for profile in profiles
    )
    return tuple(map(_one_iteration, profiles)) if is_known and len(kernels) == 1 else ()


def operations_of(profile: Profile) -> tuple[Operation, ...]:
    """Return the profile's operations, or the kernels of a summary without operations.

    The time outside operations gets the number of Python's calls as its count, which distinguishes
    many more short calls from slower Python. If there are very many operations, the longest are
    compared and the rest is summed per bucket.
    """
    operations = profile.operations or tuple(map(_kernel_as_operation, profile.kernels))
    calls = sum(
        one.count
        for one in operations
        if not one.path and one.name not in {OTHER_OPERATIONS, OUTSIDE_OPERATIONS}
    )
    counted = [
        replace(one, count=calls) if one.name == OUTSIDE_OPERATIONS else one for one in operations
    ]
    return (
        tuple(counted)
        if len(counted) <= MAX_COMPARED
        else longest_operations(counted, most=MAX_COMPARED)
    )


def with_unlisted_kernels(
    changes: Sequence[OperationChange], base: Profile, head: Profile
) -> tuple[OperationChange, ...]:
    """Return the changes in which no kernel is new or gone whose calls the other side has, too.

    A profile lists its longest operations and sums the others, so a kernel may be listed on one
    side only; its launches are known from the kernels. On the other side it took less than any
    listed operation, which counts as no time.
    """
    unlisted = {Side.BASE: _unlisted_launches(base), Side.HEAD: _unlisted_launches(head)}
    return tuple(_with_other_side(change, unlisted) for change in changes)


def _with_other_side(
    change: OperationChange, unlisted: Mapping[Side, Mapping[str, float]]
) -> OperationChange:
    if change.stage is not MatchStage.ALONE:
        return change
    listed, other_side = (change.head, Side.BASE) if change.head else (change.base, Side.HEAD)
    needed: defaultdict[str, float] = defaultdict(float)
    for one in listed:
        needed[one.name] += one.count
    if any(unlisted[other_side].get(name, 0.0) < max(count, 1.0) for name, count in needed.items()):
        return change
    without_time = tuple(replace(one, seconds=0.0, lines=()) for one in listed)
    if other_side is Side.BASE:
        return replace(change, base=without_time, stage=MatchStage.SAME)
    return replace(change, head=without_time, stage=MatchStage.SAME)


def _unlisted_launches(profile: Profile) -> Mapping[str, float]:
    """Return the launches per step of kernels beyond those of the listed operations, by name."""
    launches: defaultdict[str, float] = defaultdict(float)
    for kernel in profile.kernels:
        launches[kernel.name] += kernel.count
    for one in operations_of(profile):
        if one.name in launches:
            launches[one.name] -= one.count
    return launches


def _one_iteration(profile: Profile) -> Profile:
    count = profile.iterations
    return replace(
        profile,
        steps=int(count),
        has_steps=True,
        step_seconds=profile.step_seconds / count,
        operations=tuple(_per_iteration(one, count) for one in profile.operations),
        kernels=tuple(
            replace(one, seconds=one.seconds / count, count=one.count / count)
            for one in profile.kernels
        ),
        each_step=(),
        call_times=(),
    )


def _per_iteration(operation: Operation, count: float) -> Operation:
    return replace(operation, seconds=operation.seconds / count, count=operation.count / count)


def _kernel_as_operation(kernel: Kernel) -> Operation:
    return Operation(
        name=kernel.name,
        bucket=Bucket.COMPUTE,
        seconds=kernel.seconds,
        count=kernel.count,
        shapes=f"grid[{kernel.grid}] block[{kernel.block}]" if kernel.grid else "",
    )
