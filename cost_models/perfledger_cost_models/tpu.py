"""What a slice of TPUs is called into the chips that it has.

The numbers in the names count cores for some versions and chips for others:
https://cloud.google.com/tpu/docs/supported-tpu-configurations.
"""

import re
from dataclasses import dataclass

CORES_PER_CHIP = 2
_SLICE = re.compile(r"(?:tpu-)?(?P<version>v\d+(?:litepod|[ep])?)-(?P<size>\d{1,5})")
_COUNTS_CORES = ("v2", "v3", "v4", "v5p")  # v5litepod, v5e and v6e count chips
_VERSIONS = {"v5litepod": "v5e"}  # as slices are called, where chips are called otherwise

_CHIP = re.compile(r"tpu-(?P<version>v\d+[ep]?)")


@dataclass(frozen=True, slots=True)
class Slice:
    """One slice: the chip's name on the price sheet, and how many there are."""

    sku: str
    chips: int


def slice_of(name: str) -> Slice | None:
    """Read "v4-32", "tpu-v4-32", "v5litepod-16" or "v6e-8"; None for another name or no chip.

    v4-32 has 32 cores and so 16 chips, v6e-8 has 8 chips.
    """
    found = _SLICE.fullmatch(name)
    if found is None:
        return None
    version, size = found["version"], int(found["size"])
    chips = size // CORES_PER_CHIP if version in _COUNTS_CORES else size
    return Slice(f"tpu-{_VERSIONS.get(version, version)}", chips) if chips else None


def has_two_cores(chip: str) -> bool:
    """Whether a chip, "TPU-v4" or "tpu-v4", has two cores, so that half of it has a name."""
    found = _CHIP.fullmatch(chip.casefold())
    return found is not None and found["version"] in _COUNTS_CORES
