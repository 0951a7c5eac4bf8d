"""Parses names of TPU slices and counts their chips.

The numbers in the names count cores for some versions and chips for others:
https://cloud.google.com/tpu/docs/supported-tpu-configurations.
"""

import re
from dataclasses import dataclass

CORES_PER_CHIP = 2
_SLICE = re.compile(r"(?:tpu-)?(?P<version>v\d+(?:litepod|[ep])?)-(?P<size>\d{1,5})")
_COUNTS_CORES = ("v2", "v3", "v4", "v5p")  # v5litepod, v5e and v6e count chips
_VERSIONS = {"v5litepod": "v5e"}  # names of slices that differ from those of their chips

_CHIP = re.compile(r"tpu-(?P<version>v\d+[ep]?)")


@dataclass(frozen=True, slots=True)
class TpuSlice:
    """One slice: the chip's name on the price sheet, and how many chips it has."""

    sku: str
    chips: int


def slice_of(name: str) -> TpuSlice | None:
    """Read "v4-32", "tpu-v4-32", "v5litepod-16" or "v6e-8"; None for another name or no chip.

    v4-32 has 32 cores and so 16 chips, v6e-8 has 8 chips.
    """
    match = _SLICE.fullmatch(name)
    if match is None:
        return None
    version, size = match["version"], int(match["size"])
    chips = size // CORES_PER_CHIP if version in _COUNTS_CORES else size
    return TpuSlice(f"tpu-{_VERSIONS.get(version, version)}", chips) if chips else None


def has_two_cores(chip: str) -> bool:
    """Return whether a chip, such as "TPU-v4", has two cores, which slice names may count."""
    match = _CHIP.fullmatch(chip.casefold())
    return match is not None and match["version"] in _COUNTS_CORES
