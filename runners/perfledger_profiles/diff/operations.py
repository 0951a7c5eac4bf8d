"""Prepares a profile's operations for comparison."""

from dataclasses import replace

from perfledger.profile import Bucket, Kernel, Operation, Profile
from perfledger_profiles.timeline.breakdown import (
    OTHER_OPERATIONS,
    OUTSIDE_OPERATIONS,
    longest_operations,
)

# Most operations that are compared with each other. The readers keep 200, but an untrusted bundle
# may have thousands, and some stages compare each operation with all others.
MAX_COMPARED = 500


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


def _kernel_as_operation(kernel: Kernel) -> Operation:
    return Operation(
        name=kernel.name,
        bucket=Bucket.COMPUTE,
        seconds=kernel.seconds,
        count=kernel.count,
        shapes=f"grid[{kernel.grid}] block[{kernel.block}]" if kernel.grid else "",
    )
