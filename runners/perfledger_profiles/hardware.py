"""Turn the name and memory of a device into its peak rates, from the packaged table of facts."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

# Devices report a little less than the size they are sold by, or the same in binary units.
MIN_MEMORY_RATIO = 0.85
MAX_MEMORY_RATIO = 1.10

# What the best known program reaches of the dense matrix peak, where the table has no measurement
# of the device itself: the best bfloat16 (A100) and float8 product among those of ml-engineering's
# "Maximum Achievable Matmul FLOPS" (0.73 to 0.87, 0.71 to 0.78). The best, since "nothing is left
# to gain" has to be true.
ACHIEVABLE_MATRIX_FRACTION = 0.87
ACHIEVABLE_FLOAT8_FRACTION = 0.78
# STREAM add on a GB200, of the device's stated bandwidth (superbenchmark's log).
ACHIEVABLE_BANDWIDTH_FRACTION = 0.904
# nccl-tests' all_reduce on eight A100: 235 of 300 GB/s one way, at 8 GiB.
ACHIEVABLE_INTERCONNECT_FRACTION = 0.78

_TERA = 1e12
_GIGA = 1e9
_MEGA = 1e6

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
    """What a device can do at most, from its maker; unknown is None, "" or absent.

    `peak_flops` maps a type to dense operations per second, without structured sparsity, at
    `clock_hz`. `achievable` maps a type to the share of its peak that was measured on the device.
    `held_back` says why the device does not reach its peaks, by how much being unknown.
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
    compute_capability: str = ""
    multiprocessors: int | None = None
    clock_hz: float | None = None
    achievable: Mapping[str, float] = field(default_factory=dict[str, float])
    interconnect_bytes_per_second: float | None = None  # one way, over all of its links
    held_back: str = ""


def find_hardware(model: str, memory_bytes: int | None) -> Hardware | None:
    """Return the facts about a device by its whole name and memory, None where they are not known.

    A name that is only similar, a part of a device (MIG, vGPU) and a memory of another size are
    not known: a wrong peak is worse than none. `match_hardware` says why, and scales slices.
    """
    fitting = [row for row in rows_named(model) if is_memory(memory_bytes, row.memory_bytes)]
    return fitting[0] if len(fitting) == 1 else None


def peak_flops(hardware: Hardware, dtype: str) -> float | None:
    """Return the dense peak in operations per second for a type named as in torch, jax or NumPy.

    float32 is the peak without TF32. None where the maker publishes none, and for a device that is
    held back: no share of a peak that it cannot reach means anything.
    """
    return None if hardware.held_back else hardware.peak_flops.get(_plain(dtype))


def ridge_flop_per_byte(hardware: Hardware, dtype: str) -> float | None:
    """Return the arithmetic intensity at which a type's peak and the memory's bandwidth meet.

    Operations with fewer FLOP per byte of device memory are bound by memory (Williams, Waterman
    and Patterson 2009, "Roofline"). None where the maker publishes no peak.
    """
    peak = peak_flops(hardware, dtype)
    return None if peak is None else peak / hardware.memory_bytes_per_second


def achievable_fraction(hardware: Hardware, dtype: str) -> float:
    """Return the share of a type's dense peak that real matrix products reach, 0 to 1."""
    name = _plain(dtype)
    if name in hardware.achievable:
        return hardware.achievable[name]
    return ACHIEVABLE_FLOAT8_FRACTION if name == "float8" else ACHIEVABLE_MATRIX_FRACTION


def rows_named(model: str) -> tuple[Hardware, ...]:
    """Return the rows of a device's whole name; boards of several memory sizes may share it."""
    wanted = _folded(model)
    return tuple(row for row in known_hardware() if wanted in {_folded(name) for name in row.names})


def is_memory(memory_bytes: int | None, nominal_bytes: int) -> bool:
    """Tell whether what a device reports is the size it is sold by; unknown is taken to be."""
    if memory_bytes is None:
        return True
    return MIN_MEMORY_RATIO <= memory_bytes / nominal_bytes <= MAX_MEMORY_RATIO


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
    measured = float(row["mamf_bf16"]) * _TERA if row["mamf_bf16"] else None
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
        compute_capability=row["cc"],
        multiprocessors=int(row["sms"]) if row["sms"] else None,
        clock_hz=float(row["clock_mhz_at_peak"]) * _MEGA if row["clock_mhz_at_peak"] else None,
        achievable={} if measured is None else {"bfloat16": measured / peaks["bfloat16"]},
        interconnect_bytes_per_second=_one_way(row["ici_gbs_bidir"]),
    )


def _one_way(both_ways: str) -> float | None:
    return float(both_ways) * _GIGA / 2 if both_ways else None


def _plain(dtype: str) -> str:
    name = dtype.removeprefix("torch.")
    return _DTYPES.get(name, name)


def _folded(name: str) -> str:
    return " ".join(name.lower().split())
