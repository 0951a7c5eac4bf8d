import pytest

from perfledger_profiles.hardware.device_lookup import match_hardware
from perfledger_profiles.hardware.device_peaks import (
    achievable_fraction,
    known_hardware,
    peak_flops,
)

GIB = 2**30
# Dense operations of one compute unit in a clock: AMD's white paper on CDNA 3, which also has those
# of CDNA 2, and OpenXLA's table from the one on CDNA 4.
AMD_FLOP_PER_CLOCK = {
    "CDNA2": {"float64": 256, "float32": 256, "float16": 1024, "bfloat16": 1024, "int8": 1024},
    "CDNA3": {
        "float64": 256,
        "float32": 256,
        "tf32": 1024,
        "float16": 2048,
        "bfloat16": 2048,
        "float8": 4096,
        "int8": 4096,
    },
    "CDNA4": {
        "float64": 128,
        "float32": 256,
        "float16": 4096,
        "bfloat16": 4096,
        "float8": 8192,
        "int8": 8192,
        "float4": 16384,
    },
}
# Dense float16 operations of one multiprocessor's tensor cores in a clock.
FLOP_PER_CLOCK = {"7.0": 1024, "7.5": 1024, "8.0": 2048, "8.9": 1024, "9.0": 4096, "10.0": 8192}


@pytest.mark.parametrize(
    ("model", "memory_bytes", "key"),
    [
        ("NVIDIA H100 80GB HBM3", 85_520_809_984, "h100-sxm5-80gb"),
        ("nvidia h100  80gb hbm3", 85_520_809_984, "h100-sxm5-80gb"),
        ("NVIDIA A100-SXM4-40GB", 42_505_273_344, "a100-sxm4-40gb"),
        ("NVIDIA A100-SXM4-80GB", 85_094_825_984, "a100-sxm4-80gb"),
        ("NVIDIA H200", 143_771 * 2**20, "h200-sxm"),
        ("Tesla V100-PCIE-16GB", 16 * GIB, "v100-pcie-16gb"),
        ("Tesla T4", 15_360 * 2**20, "t4"),
        ("TPU v4", 32 * GIB, "tpu-v4"),
        ("TPU v5 lite", None, "tpu-v5e"),
        ("AMD Instinct MI210", 64 * GIB, "mi210"),
        ("AMD Instinct MI300X", 205_822_885_888, "mi300x"),
        ("AMD Instinct MI300X VF", 205_571_227_648, "mi300x"),
        ("AMD Instinct MI325X", 256 * GIB, "mi325x"),
        ("AMD Instinct MI350X", 288 * GIB, "mi350x"),
        ("AMD Instinct MI355X", 288 * GIB, "mi355x"),
    ],
)
def test_a_device_is_known_by_its_name_and_memory(model, memory_bytes, key):
    hardware = match_hardware(model, memory_bytes=memory_bytes).hardware

    assert hardware is not None
    assert hardware.key == key


@pytest.mark.parametrize(
    ("model", "memory_bytes"),
    [
        ("NVIDIA H100", 85_520_809_984),
        ("NVIDIA H100 80GB HBM3", 42_000_000_000),
        ("NVIDIA A100-SXM4-40GB", 85_094_825_984),
        ("NVIDIA GeForce RTX 4090", 24 * GIB),
        ("Intel(R) Xeon(R) Platinum 8480C", None),
        ("TPU7x", 192_000_000_000),
        ("AMD Instinct MI300X", 24 * GIB),  # a partition of the device
        ("AMD Instinct MI300X VF", 24 * GIB),
        ("AMD Instinct MI300A", 128 * GIB),
        ("", None),
    ],
)
def test_what_is_only_similar_is_not_known(model, memory_bytes):
    assert match_hardware(model, memory_bytes=memory_bytes).hardware is None


@pytest.mark.parametrize(
    ("dtype", "peak"),
    [
        ("bfloat16", 989.4e12),
        ("torch.bfloat16", 989.4e12),
        ("half", 989.4e12),
        ("float32", 67e12),
        ("tf32", 494.7e12),
        ("float64", 67e12),
        ("float8_e4m3fn", 1979e12),
        ("complex64", None),
    ],
)
def test_peaks_are_dense_and_by_type(dtype, peak):
    hardware = match_hardware("NVIDIA H100 80GB HBM3").hardware

    assert hardware is not None
    assert peak_flops(hardware, dtype) == peak
    assert hardware.memory_bytes_per_second == 3350e9
    assert hardware.tdp_w == 700


def test_a_type_that_the_maker_gives_no_peak_for_has_none():
    tpu = match_hardware("TPU v5e").hardware

    assert tpu is not None
    assert peak_flops(tpu, "float32") is None
    assert peak_flops(tpu, "bfloat16") == 197e12
    assert tpu.tdp_w is None


def test_every_row_has_a_source_and_no_name_is_in_two():
    rows = known_hardware()
    names = [name.lower() for row in rows for name in row.names]

    assert len(set(names)) >= len(names) - 1  # "TPU v6 lite" is spelled in two ways
    assert all(row.sources.startswith("https://") for row in rows)
    assert {row.confidence for row in rows} == {"high", "medium"}
    assert all(peak > 0 for row in rows for peak in row.peak_flops.values())


@pytest.mark.parametrize("row", known_hardware(), ids=lambda row: row.key)
def test_narrower_types_are_never_slower(row):
    order = ["float64", "tf32", "bfloat16", "float8", "float4"]
    peaks = [row.peak_flops[name] for name in order if name in row.peak_flops]

    assert peaks == sorted(peaks)


@pytest.mark.parametrize(
    ("model", "dtype", "ridge"),
    [
        ("NVIDIA A100-SXM4-40GB", "bfloat16", 201),
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 153),
        ("NVIDIA H100 80GB HBM3", "bfloat16", 295),
        ("NVIDIA H200", "bfloat16", 206),
        ("NVIDIA B200", "bfloat16", 281),
        ("NVIDIA L4", "bfloat16", 403),
        ("TPU v5e", "bfloat16", 241),
        ("TPU v6e", "bfloat16", 560),
    ],
)
def test_the_ridge_is_the_peak_over_the_bandwidth(model, dtype, ridge):
    hardware = match_hardware(model).hardware

    assert hardware is not None
    peak = peak_flops(hardware, dtype)
    assert peak is not None
    assert peak / hardware.memory_bytes_per_second == pytest.approx(ridge, abs=0.6)


@pytest.mark.parametrize(
    ("model", "dtype", "fraction"),
    [
        ("NVIDIA A100-SXM4-80GB", "bfloat16", 0.869),
        ("NVIDIA H100 80GB HBM3", "torch.bfloat16", 0.803),
        ("NVIDIA B200", "bfloat16", 0.776),
        ("NVIDIA H100 80GB HBM3", "float8_e4m3fn", 0.78),
        ("NVIDIA L4", "bfloat16", 0.87),
        ("AMD Instinct MI300X", "bfloat16", 0.5415),
        ("AMD Instinct MI325X", "bfloat16", 0.6448),
        ("AMD Instinct MI355X", "bfloat16", 0.87),
    ],
)
def test_what_is_achievable_is_measured_where_it_can_be(model, dtype, fraction):
    hardware = match_hardware(model).hardware

    assert hardware is not None
    assert achievable_fraction(hardware, dtype) == pytest.approx(fraction, abs=0.0005)


@pytest.mark.parametrize(
    "row",
    [row for row in known_hardware() if row.clock_hz and row.compute_capability in FLOP_PER_CLOCK],
    ids=lambda row: row.key,
)
def test_multiprocessors_times_clock_reproduce_the_half_precision_peak(row):
    per_clock = FLOP_PER_CLOCK[row.compute_capability]

    reckoned = row.multiprocessors * row.clock_hz * per_clock

    assert row.peak_flops["float16"] == pytest.approx(reckoned, rel=0.012)


def test_an_interconnect_counts_one_way_and_is_none_where_there_is_none():
    links = {each.key: each.interconnect_bytes_per_second for each in known_hardware()}

    assert links["a100-sxm4-80gb"] == 300e9
    assert links["h100-sxm5-80gb"] == 450e9
    assert links["t4"] is None


def test_amds_peaks_are_those_of_their_compute_units_at_their_clock():
    amd = [row for row in known_hardware() if row.vendor == "AMD"]
    assert len(amd) == 5
    for row in amd:
        assert row.multiprocessors is not None
        assert row.clock_hz is not None
        units_per_second = row.multiprocessors * row.clock_hz
        per_clock = AMD_FLOP_PER_CLOCK[row.architecture]
        rates = {dtype: units_per_second * operations for dtype, operations in per_clock.items()}
        assert row.peak_flops == pytest.approx(rates, rel=1e-3)


def test_amds_interconnects_are_the_sum_of_their_links_one_way():
    links = {each.key: each.interconnect_bytes_per_second for each in known_hardware()}

    assert links["mi210"] == 3 * 50e9
    assert links["mi300x"] == links["mi325x"] == 7 * 64e9
    assert links["mi350x"] == links["mi355x"] == pytest.approx(7 * 76.8e9)
