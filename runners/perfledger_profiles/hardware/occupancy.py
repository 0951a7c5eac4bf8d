"""Computes occupancy from a kernel's launch configuration."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from math import ceil, prod

from perfledger.profile import TORCH_PROFILER, Kernel, Profile, ProfiledDevice, ProfileReading
from perfledger_profiles.parsing.errors import ProfileError

# Names of the readings.
OCCUPANCY = "est_occupancy"
EFFICIENCY = "est_sm_efficiency"

KIB = 1024
THREADS_PER_WARP = 32
# The same for every device in the table (CUDA C++ Programming Guide, technical specifications).
MAX_THREADS_PER_BLOCK = 1024
MAX_REGISTERS_PER_THREAD = 255
REGISTERS_PER_MULTIPROCESSOR = 65_536
# Registers are allocated to a warp in units of this size, and warps to four schedulers in turn
# (cuda_occupancy.h).
REGISTER_UNIT = 256
SCHEDULERS = 4
# Shared memory of a block above which torch.profiler's occupancy is wrong. Above the default limit
# of a block's shared memory, torch.profiler calls the calculator with that limit, and it answers
# that no block fits.
MISREAD_SHARED_MEMORY_BYTES = 48 * KIB
MISREAD_NOTE = (
    "torch.profiler states an occupancy of 0 % for kernels with more than 48 KiB of shared memory "
    "({count} of {total} here): it is recomputed from their launches"
)

# More than any launch has.
_MAX_DIMENSION = 2**31 - 1
_DIMENSIONS = re.compile(r"\s*(\d{1,10})\s*(?:,\s*(\d{1,10})\s*){0,2}")


class OccupancyLimiter(StrEnum):
    """The resource that limits the blocks of a multiprocessor."""

    WARPS = "warps"
    BLOCKS = "blocks"
    REGISTERS = "registers"
    SHARED_MEMORY = "shared memory"


@dataclass(frozen=True, slots=True)
class MultiprocessorLimits:
    """The limits of one multiprocessor of a compute capability."""

    warps: int
    blocks: int
    shared_memory_bytes: int
    _: KW_ONLY
    shared_memory_unit_bytes: int = 128
    reserved_bytes_per_block: int = 1 * KIB  # by the driver, from 8.0 on

    @property
    def shared_memory_bytes_per_block(self) -> int:
        """Return the shared memory of a block that opts in: all but the driver's reserve."""
        return self.shared_memory_bytes - self.reserved_bytes_per_block


_BEFORE_8 = {"shared_memory_unit_bytes": 256, "reserved_bytes_per_block": 0}
# CCCL libcudacxx/include/cuda/__device/arch_traits.h; the units are those of cuda_occupancy.h.
_LIMITS: Mapping[str, MultiprocessorLimits] = {
    "7.0": MultiprocessorLimits(64, 32, 96 * KIB, **_BEFORE_8),
    "7.5": MultiprocessorLimits(32, 16, 64 * KIB, **_BEFORE_8),
    "8.0": MultiprocessorLimits(64, 32, 164 * KIB),
    "8.6": MultiprocessorLimits(48, 16, 100 * KIB),
    "8.7": MultiprocessorLimits(48, 16, 164 * KIB),
    "8.9": MultiprocessorLimits(48, 24, 100 * KIB),
    "9.0": MultiprocessorLimits(64, 32, 228 * KIB),
    "10.0": MultiprocessorLimits(64, 32, 228 * KIB),
    "11.0": MultiprocessorLimits(48, 24, 228 * KIB),
    "12.0": MultiprocessorLimits(48, 24, 100 * KIB),
}
# By the same source, these have the limits of another capability: B300 those of B200.
_SAME_AS = {"8.8": "8.6", "10.3": "10.0", "12.1": "12.0"}
LIMITS = {**_LIMITS, **{new: _LIMITS[twin] for new, twin in _SAME_AS.items()}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """The occupancy of a launch: the limits of active blocks per multiprocessor, and waves.

    `theoretical` and `achieved` are shares of a multiprocessor's warps, 0 to 1. Occupancy is
    context, not a goal: a fast attention kernel may run at 0.13.
    """

    theoretical: float
    achieved: float  # estimated from the launch; lower if there are too few blocks
    limits: Mapping[OccupancyLimiter, int]  # a multiprocessor's blocks by each limit
    blocks_per_multiprocessor: float  # of the launch
    waves: float  # rounds of active blocks in the launch

    @property
    def idle_wave_share(self) -> float:
        """Return the share of block slots that the last wave of the launch leaves empty."""
        return 1 - self.waves / ceil(self.waves)


def occupancy_of(
    *,
    grid: Sequence[int],
    block: Sequence[int],
    registers: int,
    shared_memory_bytes: int,
    compute_capability: str,
    multiprocessors: int,
) -> Occupancy | None:
    """Return the occupancy of a launch, or None for an unknown device or an impossible launch.

    `grid` is in blocks, `block` in threads, `registers` per thread, `shared_memory_bytes` static
    and dynamic per block, without the driver's reserve. Source: NVIDIA's cuda_occupancy.h;
    `achieved` = min(active blocks, blocks / multiprocessors) x threads / most threads (kineto).
    """
    limits = LIMITS.get(compute_capability)
    blocks, threads = prod(grid), prod(block)
    if limits is None or multiprocessors < 1 or blocks < 1:
        return None
    if not (1 <= threads <= MAX_THREADS_PER_BLOCK and 0 <= registers <= MAX_REGISTERS_PER_THREAD):
        return None
    if not 0 <= shared_memory_bytes <= limits.shared_memory_bytes_per_block:
        return None
    warps = ceil(threads / THREADS_PER_WARP)
    blocks_by_limiter = {
        OccupancyLimiter.WARPS: limits.warps // warps,
        OccupancyLimiter.BLOCKS: limits.blocks,
        OccupancyLimiter.REGISTERS: _blocks_by_registers(registers, warps, limits),
        OccupancyLimiter.SHARED_MEMORY: _blocks_by_shared_memory(shared_memory_bytes, limits),
    }
    active = min(blocks_by_limiter.values())
    if active < 1:
        return None
    per_multiprocessor = blocks / multiprocessors
    return Occupancy(
        theoretical=active * warps / limits.warps,
        achieved=min(active, per_multiprocessor) * threads / (limits.warps * THREADS_PER_WARP),
        limits=blocks_by_limiter,
        blocks_per_multiprocessor=per_multiprocessor,
        waves=per_multiprocessor / active,
    )


def kernel_occupancy(kernel: Kernel, device: ProfiledDevice | None) -> Occupancy | None:
    """Return the occupancy of a profile's kernel, or None if its launch or device is unknown."""
    if device is None or device.multiprocessors is None:
        return None
    if kernel.registers is None or kernel.shared_memory_bytes is None:
        return None
    if not (kernel.grid and kernel.block):
        return None
    try:
        grid, block = dimensions(kernel.grid), dimensions(kernel.block)
    except ProfileError:
        return None
    return occupancy_of(
        grid=grid,
        block=block,
        registers=kernel.registers,
        shared_memory_bytes=kernel.shared_memory_bytes,
        compute_capability=device.compute_capability,
        multiprocessors=device.multiprocessors,
    )


def dimensions(text: str) -> tuple[int, ...]:
    """Parse "x,y,z", one to three numbers, as a kernel's grid and block are stored.

    Raises ProfileError.
    """
    if not _DIMENSIONS.fullmatch(text):
        msg = f'the launch size {text[:40]!r} is not of the form "x,y,z"'
        raise ProfileError(msg)
    sizes = tuple(int(part) for part in text.split(","))
    if not all(1 <= size <= _MAX_DIMENSION for size in sizes):
        msg = f"the launch size {text[:40]!r} is out of range: sides are 1 to {_MAX_DIMENSION}"
        raise ProfileError(msg)
    return sizes


def with_occupancy(profile: Profile) -> Profile:
    """Return the profile with its kernels' occupancy recomputed, and two readings of the step.

    Measured occupancies are kept; torch.profiler's estimates are replaced.

    est_occupancy is the mean over the kernels, weighted by time. est_sm_efficiency is the sum of
    duration x min(blocks / multiprocessors, 1) over the step (torch_tb_profiler); overlapping
    kernels are counted separately there, up to 1. A profile without launches or with an unknown
    device is returned unchanged.
    """
    occupancies = [(kernel, kernel_occupancy(kernel, profile.device)) for kernel in profile.kernels]
    known_occupancies = [
        (kernel, occupancy) for kernel, occupancy in occupancies if occupancy is not None
    ]
    if not known_occupancies:
        return profile
    is_misread = profile.tool == TORCH_PROFILER
    kernels = tuple(_fill(*pair, is_misread=is_misread) for pair in occupancies)
    other_readings = [
        r for r in profile.readings if r.subject or r.name not in (OCCUPANCY, EFFICIENCY)
    ]
    return replace(
        profile,
        kernels=kernels,
        readings=(*other_readings, *_readings(known_occupancies, profile.step_seconds)),
        notes=tuple(dict.fromkeys((*profile.notes, *_note_on_misread(profile)))),
    )


def _blocks_by_registers(registers: int, warps: int, limits: MultiprocessorLimits) -> int:
    if registers == 0:
        return limits.blocks
    per_warp = ceil(registers * THREADS_PER_WARP / REGISTER_UNIT) * REGISTER_UNIT
    per_scheduler = REGISTERS_PER_MULTIPROCESSOR // SCHEDULERS // per_warp
    return SCHEDULERS * per_scheduler // warps


def _blocks_by_shared_memory(shared_memory_bytes: int, limits: MultiprocessorLimits) -> int:
    unit = limits.shared_memory_unit_bytes
    bytes_per_block = ceil((shared_memory_bytes + limits.reserved_bytes_per_block) / unit) * unit
    return limits.shared_memory_bytes // bytes_per_block if bytes_per_block else limits.blocks


def _fill(kernel: Kernel, occupancy: Occupancy | None, *, is_misread: bool) -> Kernel:
    if occupancy is None:
        return kernel
    is_measured = kernel.occupancy is not None and not is_misread
    return replace(
        kernel,
        occupancy=kernel.occupancy if is_measured else occupancy.achieved,
        blocks_per_multiprocessor=occupancy.blocks_per_multiprocessor,
    )


def _readings(
    occupancies: Sequence[tuple[Kernel, Occupancy]], step_seconds: float
) -> tuple[ProfileReading, ...]:
    seconds = sum(kernel.seconds for kernel, _ in occupancies)
    if seconds <= 0 or step_seconds <= 0:
        return ()
    occupied = sum(kernel.seconds * occupancy.achieved for kernel, occupancy in occupancies)
    busy = sum(
        kernel.seconds * min(occupancy.blocks_per_multiprocessor, 1.0)
        for kernel, occupancy in occupancies
    )
    return (
        ProfileReading(
            name=OCCUPANCY,
            value=occupied / seconds,
            source="mean of min(active blocks, blocks/SMs) x threads / max threads, by duration",
            is_estimate=True,
        ),
        ProfileReading(
            name=EFFICIENCY,
            value=min(busy / step_seconds, 1.0),
            source="sum of duration x min(blocks/SMs, 1) / step (torch_tb_profiler)",
            is_estimate=True,
        ),
    )


def _note_on_misread(profile: Profile) -> tuple[str, ...]:
    if profile.tool != TORCH_PROFILER:
        return ()
    known_sizes = (kernel.shared_memory_bytes for kernel in profile.kernels)
    count = sum(size is not None and size > MISREAD_SHARED_MEMORY_BYTES for size in known_sizes)
    return (MISREAD_NOTE.format(count=count, total=len(profile.kernels)),) if count else ()
