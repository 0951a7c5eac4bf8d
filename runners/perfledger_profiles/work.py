"""Turn a profile into the operations that two profiles are compared by."""

from dataclasses import replace

from perfledger.profile import Bucket, Kernel, Operation, Profile
from perfledger_profiles.breakdown import FOLDED, OUTSIDE, folded

# Our readers keep 200. Matching compares some with all others, and a bundle of another's making may
# hold many thousands.
MAX_COMPARED = 500


def work_of(profile: Profile) -> tuple[Operation, ...]:
    """Return the profile's operations, or the kernels of a summary that has nothing else.

    The time outside of operations lies between those that Python calls: their number is its count,
    so that many more short calls are told from slower Python. Of very many the longest are
    compared, and the rest is one for each bucket.
    """
    operations = profile.operations or tuple(map(_launched, profile.kernels))
    calls = sum(
        one.count for one in operations if not one.path and one.name not in {FOLDED, OUTSIDE}
    )
    counted = [replace(one, count=calls) if one.name == OUTSIDE else one for one in operations]
    return tuple(counted) if len(counted) <= MAX_COMPARED else folded(counted, most=MAX_COMPARED)


def _launched(kernel: Kernel) -> Operation:
    return Operation(
        name=kernel.name,
        bucket=Bucket.COMPUTE,
        seconds=kernel.seconds,
        count=kernel.count,
        shapes=f"grid[{kernel.grid}] block[{kernel.block}]" if kernel.grid else "",
    )
