"""Turn kernels and figures that a tool has summed up already into a Profile without steps."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from perfledger.profile import Bucket, Family, Kernel, Operation, Profile, ProfiledDevice, Reading
from perfledger.records import Side
from perfledger_profiles.breakdown import folded
from perfledger_profiles.errors import ProfileError

# What is shorter than these is not worth a line; it is folded, one for each family.
MAX_KERNELS = 500
# The answer of a reader may be 16 MiB, and a reading takes 200 bytes.
MAX_READINGS = 20_000
OTHER_KERNELS = "(other kernels)"
# No figure of a device or a server is larger; what is, is a broken file.
MAX_VALUE = 1e30

_DRIVER_COPY = re.compile(r"\[?(?:CUDA )?mem(?:cpy|set)\b", re.IGNORECASE)


def summary_profile(
    *,
    workload: str,
    side: Side,
    tool: str,
    kernels: Iterable[Kernel] = (),
    readings: Iterable[Reading] = (),
    device: ProfiledDevice | None = None,
    dropped: int = 0,
    notes: Sequence[str] = (),
) -> Profile:
    """Return the profile whose one step is the whole file: `step_seconds` is its kernels' time.

    Of readings with one name and subject the first counts. Raises ProfileError when nothing is
    left of a file.
    """
    rows = sorted((_without_nonsense(k) for k in kernels if _is_sound(k)), key=_rank)
    figures = {(r.name, r.subject): r for r in reversed([*readings]) if abs(r.value) <= MAX_VALUE}
    if not rows and not figures:
        msg = f"nothing in this file can be used: is it the output of {tool}, and whole?"
        raise ProfileError(msg)
    shown = tuple(reversed(figures.values()))
    said = [*notes]
    if dropped:
        said.append(f"lines or values that could not be read: {dropped}")
    if len(shown) > MAX_READINGS:
        said.append(f"only the first {MAX_READINGS} of {len(shown)} readings are kept")
    operations = _operations(rows)
    return Profile(
        workload=workload,
        side=side,
        tool=tool,
        steps=1,
        step_seconds=math.fsum(operation.seconds for operation in operations),
        operations=operations,
        dropped_events=dropped,
        notes=tuple(dict.fromkeys(said)),
        has_steps=False,
        device=device,
        kernels=_folded(rows),
        readings=shown[:MAX_READINGS],
    )


def is_driver_copy(name: str) -> bool:
    """Tell whether this is a copy or memset of the driver, not a kernel of the program."""
    return _DRIVER_COPY.match(name) is not None


def _is_sound(kernel: Kernel) -> bool:
    return 0 <= kernel.seconds <= MAX_VALUE and 0 <= kernel.count <= MAX_VALUE


def _without_nonsense(kernel: Kernel) -> Kernel:
    """Return the kernel with None for figures that follow from broken ones: NaN, infinity."""
    occupancy = kernel.occupancy
    return replace(
        kernel,
        occupancy=occupancy if occupancy is not None and 0 <= occupancy <= 1 else None,
        blocks_per_multiprocessor=_possible(kernel.blocks_per_multiprocessor),
        flops=_possible(kernel.flops),
        bytes=_possible(kernel.bytes),
    )


def _possible(value: float | None) -> float | None:
    return value if value is not None and 0 <= value <= MAX_VALUE else None


def _rank(kernel: Kernel) -> tuple[float, str, str, str]:
    return -kernel.seconds, kernel.name, kernel.grid, kernel.block


def _folded(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Return the longest kernels, and what the rest of each family amounts to."""
    rest: dict[str, Kernel] = {}
    for kernel in kernels[MAX_KERNELS:]:
        before = rest.get(kernel.family)
        rest[kernel.family] = Kernel(
            name=OTHER_KERNELS,
            family=kernel.family,
            seconds=kernel.seconds + (before.seconds if before else 0.0),
            count=kernel.count + (before.count if before else 0.0),
        )
    return tuple(sorted([*kernels[:MAX_KERNELS], *rest.values()], key=_rank))


def _operations(kernels: Sequence[Kernel]) -> tuple[Operation, ...]:
    """Return the kernels' time by name, longest first; beyond a limit by bucket."""
    seconds: dict[tuple[str, Bucket], float] = defaultdict(float)
    counts: dict[tuple[str, Bucket], float] = defaultdict(float)
    for kernel in kernels:
        key = kernel.name, _bucket(kernel)
        seconds[key] += kernel.seconds
        counts[key] += kernel.count
    return folded(
        [
            Operation(name=name, bucket=bucket, seconds=spent, count=counts[name, bucket])
            for (name, bucket), spent in seconds.items()
        ]
    )


def _bucket(kernel: Kernel) -> Bucket:
    """Return what a kernel's time is spent on; a kernel that moves data computes."""
    if is_driver_copy(kernel.name):
        return Bucket.MEMSET if kernel.family is Family.MEMSET else Bucket.COPY
    is_collective = kernel.family is Family.COMMUNICATION
    return Bucket.COMMUNICATION if is_collective else Bucket.COMPUTE
