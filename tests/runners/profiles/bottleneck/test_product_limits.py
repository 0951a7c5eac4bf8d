from dataclasses import replace

import pytest

from perfledger.profile import Kernel, OperationFamily, ProfileReading
from perfledger_profiles.bottleneck.classification import Bottleneck
from perfledger_profiles.bottleneck.product_limits import product_limits
from perfledger_profiles.hardware.device_lookup import match_hardware

A100 = match_hardware("NVIDIA A100-SXM4-40GB").hardware
SMALL, LARGE = "Half[8,64] Half[64,64]", "Half[8192,8192] Half[8192,8192]"
INTENSITIES = {SMALL: 6.0, LARGE: 2730.0}


@pytest.mark.parametrize(
    ("seconds", "limit"),
    [
        ({SMALL: 1.0}, Bottleneck.MEMORY),
        ({SMALL: 1.0, LARGE: 2.0}, Bottleneck.COMPUTE),
        ({SMALL: 1.0, "Half[1,1]": 0.9}, Bottleneck.MEMORY),
        ({SMALL: 1.0, "Half[1,1]": 1.1}, None),  # most of its time has no recorded product
    ],
)
def test_a_kernels_limit_is_that_of_most_of_its_time(make, seconds, limit):
    operations = [
        make.operation("gemm_kernel", spent, shapes=shapes, path="aten::linear/aten::mm")
        for shapes, spent in seconds.items()
    ]
    kernel = Kernel(name="gemm_kernel", family=OperationFamily.GEMM, seconds=3.0, count=1.0)
    readings = tuple(
        ProfileReading(name="arithmetic_intensity", value=value, subject=f"aten::mm {shapes}")
        for shapes, value in INTENSITIES.items()
    )
    profile = replace(make.profile(*operations), kernels=(kernel,), readings=readings)

    assert product_limits(profile, A100).get("gemm_kernel") is limit
    assert product_limits(replace(profile, readings=()), A100) == {}
