import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.prices.accelerator_names import (
    ACCELERATORS,
    accelerator_of,
)
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet


@pytest.mark.parametrize(
    ("model", "memory_bytes", "accelerator"),
    [
        ("NVIDIA H100 80GB HBM3", 85_520_809_984, "H100-80GB"),
        ("NVIDIA H100 PCIe", 85_520_809_984, "H100-80GB-PCIe"),
        ("NVIDIA A100-SXM4-40GB", 42_505_273_344, "A100-40GB"),
        ("A100-SXM4-40GB", None, "A100-40GB"),
        ("NVIDIA A100-SXM4-80GB", 85_198_045_184, "A100-80GB"),
        ("NVIDIA H200", 150_754_820_096, "H200-141GB"),
        ("Tesla T4", 15_843_721_216, "T4"),
        ("TPU v4", None, "TPU-v4"),
        ("TPU v5 lite", 16_909_336_064, "TPU-v5e"),
        ("NVIDIA H100 80GB HBM3 MIG 3g.40gb", 42_000_000_000, None),
        ("NVIDIA H100 80GB HBM3", 42_000_000_000, None),
        ("NVIDIA H100 80GB HBM3", 0, None),
        ("NVIDIA A100-PCIE-40GB", 42_505_273_344, None),
        ("NVIDIA H200 NVL", None, None),
        ("NVIDIA", None, None),
        ("H100", None, None),
        ("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", 64_000_000_000, None),
        ("", None, None),
    ],
)
def test_a_device_is_known_by_its_own_name_and_whole_memory_or_not_at_all(
    model, memory_bytes, accelerator
):
    assert accelerator_of(model, memory_bytes) == accelerator


def test_every_accelerator_that_devices_are_known_as_has_a_price():
    priced = {price.accelerator for price in packaged_sheet().prices}

    assert {name for name, _ in ACCELERATORS.values()} <= priced


@given(st.text().filter(lambda model: "h100" not in model.casefold()))
def test_no_other_name_is_taken_for_an_h100(model):
    assert accelerator_of(model, None) != "H100-80GB"


# In GB, by the makers' data sheets; TPUs by cloud.google.com/tpu/docs/system-architecture-tpu-vm.
MEMORY_GB = {
    "V100-16GB": 16,
    "V100-32GB": 32,
    "T4": 16,
    "A10": 24,
    "A10G": 24,
    "A100-40GB": 40,
    "A100-80GB": 80,
    "A100-80GB-PCIe": 80,
    "L4": 24,
    "L40S": 48,
    "H100-80GB": 80,
    "H100-80GB-PCIe": 80,
    "H100-NVL-94GB": 94,
    "H200-141GB": 141,
    "B200": 180,
    "GB200": 186,
    "RTX-PRO-6000": 96,
    "MI300X": 192,
    "TPU-v4": 32,
    "TPU-v5e": 16,
    "TPU-v5p": 95,
    "TPU-v6e": 32,
}


def test_each_accelerator_has_the_memory_of_its_data_sheet():
    assert {
        name: {gb for each, gb in ACCELERATORS.values() if each == name} for name in MEMORY_GB
    } == {name: {gb} for name, gb in MEMORY_GB.items()}
    assert {name for name, _ in ACCELERATORS.values()} == set(MEMORY_GB)


@pytest.mark.parametrize(
    ("gigabytes", "is_whole"), [(55.9, False), (56, True), (104, True), (104.1, False)]
)
def test_a_device_may_report_a_little_less_or_more_than_its_memory(gigabytes, is_whole):
    accelerator = accelerator_of("H100 PCIe", int(gigabytes * 1e9))

    assert (accelerator == "H100-80GB-PCIe") is is_whole
