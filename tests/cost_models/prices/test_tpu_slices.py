from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.prices.tpu_slices import slice_of
from perfledger_cost_models.tco.hourly_rates import rate_of

SHEET = packaged_sheet()


@pytest.mark.parametrize(
    ("name", "sku", "chips"),
    [
        ("v4-32", "tpu-v4", 16),
        ("tpu-v4-8", "tpu-v4", 4),
        ("v5p-8", "tpu-v5p", 4),
        ("v5litepod-16", "tpu-v5e", 16),
        ("v5e-16", "tpu-v5e", 16),
        ("v6e-8", "tpu-v6e", 8),
    ],
)
def test_a_slice_counts_cores_or_chips_as_its_version_does(name, sku, chips):
    tpu_slice = slice_of(name)

    assert tpu_slice is not None
    assert (tpu_slice.sku, tpu_slice.chips) == (sku, chips)


@pytest.mark.parametrize("name", ["tpu-v4", "v4-1", "v6e-0", "p5.48xlarge", "v4-999999", ""])
def test_another_name_is_no_slice(name):
    assert slice_of(name) is None


@given(st.text(max_size=30))
def test_any_text_is_a_slice_or_none(name):
    tpu_slice = slice_of(name)

    assert tpu_slice is None or tpu_slice.chips > 0


def test_a_slice_costs_what_its_chips_cost():
    price = SHEET.find("tpu-v4-32/on_demand")

    assert (price.count, price.usd_per_hour) == (16, 16 * Decimal("3.22"))
    assert price.note.startswith("16 chips")


def test_a_slices_rate_is_the_chips():
    today = date(2026, 11, 20)

    (chip, whole_hourly_rate) = (
        rate_of(SHEET, f"{name}/on_demand", today=today) for name in ("tpu-v5p", "tpu-v5p-8")
    )
    assert whole_hourly_rate.usd_per_device_hour == chip.usd_per_device_hour


def test_a_slice_of_chips_without_a_price_has_none():
    with pytest.raises(PriceMissingError, match="v3-8"):
        SHEET.find("v3-8/on_demand")
