"""Reads the packaged table of device peaks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from perfledger_profiles.parsing.text_table import read_table
from perfledger_profiles.parsing.units import GIGA, MEGA, TERA

# Devices report slightly less than their nominal size, or the same number in binary units.
MIN_MEMORY_RATIO = 0.85
MAX_MEMORY_RATIO = 1.10

# Share of the matrix peak that a program can reach, for devices without a measurement. The share of
# the dense matrix peak that the best known program reaches, if the table has no measurement of the
# device: the best bfloat16 (A100) and float8 product of ml-engineering's "Maximum Achievable Matmul
# FLOPS" (0.73 to 0.87, 0.71 to 0.78). The best one is used because the label "at the roof" must
# mean that nothing is left to gain.
ACHIEVABLE_MATRIX_FRACTION = 0.87
ACHIEVABLE_FLOAT8_FRACTION = 0.78
# STREAM add on a GB200, as a share of the stated bandwidth (superbenchmark's log).
ACHIEVABLE_BANDWIDTH_FRACTION = 0.904
# nccl-tests' all_reduce on eight A100: 235 of 300 GB/s one way, at 8 GiB.
ACHIEVABLE_INTERCONNECT_FRACTION = 0.78

# Columns in order of preference: tensor cores first if they take the type unchanged.
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
class HardwareSpec:
    """The peaks of a device as published by its vendor; unknown is None, "" or absent.

    `peak_flops` maps a type to dense operations per second, without structured sparsity, at
    `clock_hz`. `achievable` maps a type to the share of its peak that was measured on the device.
    `unreachable_reason` is set if the device misses its peaks by an unknown amount.
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
    interconnect_bytes_per_second: float | None = None  # one way, over all links
    unreachable_reason: str = ""


def peak_flops(hardware: HardwareSpec, dtype: str) -> float | None:
    """Return the dense peak in operations per second of a type, named as in torch, jax or NumPy.

    float32 is the peak without TF32. None if the vendor publishes none, and for a device that
    cannot reach its peak, because a share of it would be meaningless.
    """
    return None if hardware.unreachable_reason else hardware.peak_flops.get(_canonical_dtype(dtype))


def achievable_fraction(hardware: HardwareSpec, dtype: str) -> float:
    """Return the share of a type's dense peak that real matrix products reach (0 to 1)."""
    name = _canonical_dtype(dtype)
    if name in hardware.achievable:
        return hardware.achievable[name]
    return ACHIEVABLE_FLOAT8_FRACTION if name == "float8" else ACHIEVABLE_MATRIX_FRACTION


def find_specs(model: str) -> tuple[HardwareSpec, ...]:
    """Return the rows with a device's full name; boards of different memory sizes may share it."""
    folded = _fold(model)
    return tuple(row for row in known_hardware() if folded in {_fold(name) for name in row.names})


def is_memory(memory_bytes: int | None, nominal_bytes: int) -> bool:
    """Return whether a reported memory size fits the nominal one; an unknown size fits."""
    if memory_bytes is None:
        return True
    return MIN_MEMORY_RATIO <= memory_bytes / nominal_bytes <= MAX_MEMORY_RATIO


@cache
def known_hardware() -> tuple[HardwareSpec, ...]:
    """Return the rows of the packaged table."""
    text = files("perfledger_profiles").joinpath("hardware.csv").read_text(encoding="utf-8")
    table = read_table(text, "hardware.csv", error=ValueError)
    return tuple(_hardware(dict(zip(table.header, cells, strict=True))) for _, cells in table.rows)


def _hardware(row: Mapping[str, str]) -> HardwareSpec:
    peaks = {
        dtype: float(values[0]) * TERA
        for dtype, columns in _PEAKS.items()
        if (values := [row[column] for column in columns if row[column]])
    }
    measured = float(row["mamf_bf16"]) * TERA if row["mamf_bf16"] else None
    return HardwareSpec(
        key=row["key"],
        names=tuple(row["match_names"].split("|")),
        vendor=row["vendor"],
        architecture=row["arch"],
        memory_bytes=int(float(row["mem_gb"]) * GIGA),
        memory_bytes_per_second=float(row["mem_bw_gbs"]) * GIGA,
        peak_flops=peaks,
        tdp_w=float(row["tdp_w"]) if row["tdp_w"] else None,
        sources=row["sources"],
        confidence=row["confidence"],
        notes=row["notes"],
        compute_capability=row["cc"],
        multiprocessors=int(row["sms"]) if row["sms"] else None,
        clock_hz=float(row["clock_mhz_at_peak"]) * MEGA if row["clock_mhz_at_peak"] else None,
        achievable={} if measured is None else {"bfloat16": measured / peaks["bfloat16"]},
        interconnect_bytes_per_second=_one_way(row["ici_gbs_bidir"]),
    )


def _one_way(both_ways: str) -> float | None:
    return float(both_ways) * GIGA / 2 if both_ways else None


def _canonical_dtype(dtype: str) -> str:
    name = dtype.removeprefix("torch.")
    return _DTYPES.get(name, name)


def _fold(name: str) -> str:
    return " ".join(name.lower().split())
