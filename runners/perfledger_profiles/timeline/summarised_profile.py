"""Builds a Profile without steps from a tool's summary."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from perfledger.profile import (
    Bucket,
    Kernel,
    Operation,
    OperationFamily,
    Profile,
    ProfiledDevice,
    ProfileReading,
)
from perfledger.records import Side
from perfledger_profiles.parsing.copy_names import copy_bucket
from perfledger_profiles.parsing.errors import ProfileError
from perfledger_profiles.timeline.breakdown import longest_operations

# Shorter kernels are summed into one row per family.
MAX_KERNELS = 500
# A reader may answer with 16 MiB; a reading takes 200 bytes.
MAX_READINGS = 20_000
OTHER_KERNELS = "(other kernels)"
# No metric of a device or a server is larger; larger values come from broken files.
MAX_VALUE = 1e30

# "[CUDA memcpy HtoD]", "Memcpy HtoD" and, from rocprof, "CopyHostToDevice".
_DRIVER_COPY = re.compile(
    r"\[?(?:CUDA )?mem(?:cpy|set)\b|Copy(?:Host|Device)To(?:Host|Device)$", re.IGNORECASE
)


def summary_profile(
    *,
    workload: str,
    side: Side,
    tool: str,
    kernels: Iterable[Kernel] = (),
    readings: Iterable[ProfileReading] = (),
    device: ProfiledDevice | None = None,
    dropped: int = 0,
    notes: Sequence[str] = (),
) -> Profile:
    """Return a profile whose single step is the whole file; `step_seconds` is its kernels' time.

    Of readings with the same name and subject, the first counts. Raises ProfileError if nothing is
    usable.
    """
    rows = sorted((_drop_impossible_values(k) for k in kernels if _is_sound(k)), key=kernel_rank)
    figures = {(r.name, r.subject): r for r in reversed([*readings]) if abs(r.value) <= MAX_VALUE}
    if not rows and not figures:
        msg = f"nothing in this file is usable: give the complete output of {tool}"
        raise ProfileError(msg)
    kept_readings = tuple(reversed(figures.values()))
    all_notes = [*notes]
    if dropped:
        all_notes.append(f"unreadable lines or values: {dropped}")
    if len(kept_readings) > MAX_READINGS:
        all_notes.append(f"only the first {MAX_READINGS} of {len(kept_readings)} readings are kept")
    operations = _operations(rows)
    return Profile(
        workload=workload,
        side=side,
        tool=tool,
        steps=1,
        step_seconds=math.fsum(operation.seconds for operation in operations),
        operations=operations,
        dropped_events=dropped,
        notes=tuple(dict.fromkeys(all_notes)),
        has_steps=False,
        device=device,
        kernels=_fold(rows),
        readings=kept_readings[:MAX_READINGS],
    )


def is_driver_copy(name: str) -> bool:
    """Return whether a name is a copy or memset of the driver, not a kernel of the program."""
    return _DRIVER_COPY.match(name) is not None


def _is_sound(kernel: Kernel) -> bool:
    return 0 <= kernel.seconds <= MAX_VALUE and 0 <= kernel.count <= MAX_VALUE


def _drop_impossible_values(kernel: Kernel) -> Kernel:
    """Return the kernel with None in place of impossible values such as NaN and infinity."""
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


def kernel_rank(kernel: Kernel) -> tuple[float, str, str, str]:
    """Return a key that sorts the longest kernels first."""
    return -kernel.seconds, kernel.name, kernel.grid, kernel.block


def _fold(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Return the longest kernels, and one row per family for the others."""
    rest: dict[str, Kernel] = {}
    for kernel in kernels[MAX_KERNELS:]:
        before = rest.get(kernel.family)
        rest[kernel.family] = Kernel(
            name=OTHER_KERNELS,
            family=kernel.family,
            seconds=kernel.seconds + (before.seconds if before else 0.0),
            count=kernel.count + (before.count if before else 0.0),
        )
    return tuple(sorted([*kernels[:MAX_KERNELS], *rest.values()], key=kernel_rank))


def _operations(kernels: Sequence[Kernel]) -> tuple[Operation, ...]:
    """Return the kernels' time by name, longest first, and that of the others by bucket."""
    seconds: dict[tuple[str, Bucket], float] = defaultdict(float)
    counts: dict[tuple[str, Bucket], float] = defaultdict(float)
    for kernel in kernels:
        key = kernel.name, _bucket(kernel)
        seconds[key] += kernel.seconds
        counts[key] += kernel.count
    return longest_operations(
        [
            Operation(name=name, bucket=bucket, seconds=spent, count=counts[name, bucket])
            for (name, bucket), spent in seconds.items()
        ]
    )


def _bucket(kernel: Kernel) -> Bucket:
    """Return a kernel's bucket; a kernel that moves data counts as compute."""
    if is_driver_copy(kernel.name):
        return (
            Bucket.MEMSET if kernel.family is OperationFamily.MEMSET else copy_bucket(kernel.name)
        )
    is_collective = kernel.family is OperationFamily.COMMUNICATION
    return Bucket.COMMUNICATION if is_collective else Bucket.COMPUTE
