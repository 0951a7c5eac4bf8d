"""Turn the name and memory of a device into its peak rates, from the packaged table of facts."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

# Devices report a little less than the size they are sold by, or the same in binary units.
MIN_MEMORY_RATIO = 0.85
MAX_MEMORY_RATIO = 1.10

_TERA = 1e12
_GIGA = 1e9

# Columns in the order of preference: tensor cores first where they take the type as it is.
_PEAKS = {
    "float64": ("fp64_tc", "fp64"),
    "float32": ("fp32",),
    "tf32": ("tf32_tc",),
    "bfloat16": ("bf16_tc",),
    "float16": ("fp16_tc",),
    "float8": ("fp8_tc",),
    "int8": ("int8_tc",),
    "float4": ("fp4_tc",),
}
_DTYPES = {
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "float8_e4m3fn": "float8",
    "float8_e5m2": "float8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What a device can do at most, from its maker; unknown is None or absent.

    `peak_flops` maps a type to dense operations per second, without structured sparsity.
    """

    key: str
    names: tuple[str, ...]  # as drivers report them
    vendor: str
    architecture: str
    memory_bytes: int
    memory_bytes_per_second: float
    peak_flops: Mapping[str, float]
    tdp_w: float | None
    sources: str
    confidence: str  # high or medium
    notes: str = ""


def find_hardware(model: str, memory_bytes: int | None) -> Hardware | None:
    """Return the facts about a device by its whole name and memory, None where they are not known.

    A name that is only similar, a part of a device (MIG, vGPU) and a memory of another size are
    not known: a wrong peak is worse than none.
    """
    wanted = _folded(model)
    for hardware in known_hardware():
        if wanted in {_folded(name) for name in hardware.names}:
            return hardware if _is_size(memory_bytes, hardware.memory_bytes) else None
    return None


def peak_flops(hardware: Hardware, dtype: str) -> float | None:
    """Return the dense peak in operations per second for a type named as in torch, jax or NumPy.

    float32 is the peak without TF32. None where the maker publishes none.
    """
    name = dtype.removeprefix("torch.")
    return hardware.peak_flops.get(_DTYPES.get(name, name))


@cache
def known_hardware() -> tuple[Hardware, ...]:
    """Return the packaged table, in its order."""
    text = files("perfledger_profiles").joinpath("hardware.csv").read_text(encoding="utf-8")
    return tuple(_hardware(row) for row in csv.DictReader(text.splitlines()))


def _hardware(row: Mapping[str, str]) -> Hardware:
    peaks = {
        dtype: float(found[0]) * _TERA
        for dtype, columns in _PEAKS.items()
        if (found := [row[column] for column in columns if row[column]])
    }
    return Hardware(
        key=row["key"],
        names=tuple(row["match_names"].split("|")),
        vendor=row["vendor"],
        architecture=row["arch"],
        memory_bytes=int(float(row["mem_gb"]) * _GIGA),
        memory_bytes_per_second=float(row["mem_bw_gbs"]) * _GIGA,
        peak_flops=peaks,
        tdp_w=float(row["tdp_w"]) if row["tdp_w"] else None,
        sources=row["sources"],
        confidence=row["confidence"],
        notes=row["notes"],
    )


def _folded(name: str) -> str:
    return " ".join(name.lower().split())


def _is_size(memory_bytes: int | None, nominal_bytes: int) -> bool:
    if memory_bytes is None:
        return True
    return MIN_MEMORY_RATIO <= memory_bytes / nominal_bytes <= MAX_MEMORY_RATIO
