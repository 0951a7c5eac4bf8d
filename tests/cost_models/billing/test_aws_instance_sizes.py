from decimal import Decimal

import pytest

from perfledger_cost_models.billing.commitment_coverage import InstanceSize, size_of


# AWS's table of normalization factors; its bare metal and "high memory" sizes are not in it.
@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("t2.nano", "0.25"),
        ("t2.micro", "0.5"),
        ("t2.small", "1"),
        ("t2.medium", "2"),
        ("m4.large", "4"),
        ("m4.xlarge", "8"),
        ("c4.8xlarge", "64"),
        ("p4d.24xlarge", "192"),
        ("u-12tb1.112xlarge", "896"),
    ],
)
def test_a_size_has_awss_units(name, units):
    assert size_of(name) == InstanceSize(name.partition(".")[0], Decimal(units))


@pytest.mark.parametrize(
    "name",
    ["p5.48xlarge", "g5.xlarge", "tpu-v4", "Standard_ND96", "m5.metal", "m5.0xlarge", "", "."],
)
def test_what_a_reservation_covers_as_it_is_alone_has_none(name):
    assert size_of(name) is None
