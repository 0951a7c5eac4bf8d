from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.change_price.memory_upgrade import (
    LADDERS,
    MemoryGrowth,
    may_outgrow,
    memory_of,
    next_rate,
)
from perfledger_cost_models.prices.accelerator_names import ACCELERATORS
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceMissingError, PriceSheet

SHEET = packaged_sheet()


@pytest.mark.parametrize("ladder", LADDERS)
def test_each_rung_is_a_known_device_and_no_smaller_than_the_one_before(ladder):
    names = {name for name, _ in ACCELERATORS.values()}
    memory = [memory_of(name) or 0 for name in ladder]

    assert set(ladder) <= names
    assert memory == sorted(memory)


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        pytest.param(30e9, 40e9, False, id="just fits"),
        pytest.param(30e9, 40.1e9, True, id="no longer fits"),
        pytest.param(40e9, 45e9, True, id="just fitted before"),
        pytest.param(41e9, 45e9, False, id="did not fit before"),
    ],
)
def test_a_boundary_is_crossed_upwards_only(base, head, expected):
    assert may_outgrow(MemoryGrowth(base, (head, head, head)), "A100-40GB") is expected


def test_a_device_of_unknown_memory_has_no_boundary():
    assert memory_of("Trainium") is None
    assert not may_outgrow(MemoryGrowth(1.0, (1e15, 1e15, 1e15)), "Trainium")


@pytest.mark.parametrize(
    ("option", "needed", "expected"),
    [
        ("p4d.24xlarge/on_demand", 41e9, "aws:p4de.24xlarge/on_demand@us-east-1"),
        ("p4d.24xlarge/on_demand", 80e9, "aws:p4de.24xlarge/on_demand@us-east-1"),
        ("p4d.24xlarge/on_demand", 81e9, "aws:p5en.48xlarge/on_demand@us-east-1"),
        ("p5.48xlarge/on_demand", 100e9, "aws:p5en.48xlarge/on_demand@us-east-1"),
        ("tpu-v5e/on_demand", 20e9, "gcp:tpu-v6e/on_demand"),
        ("lambda:A100 80GB/on_demand", 100e9, "lambda:"),  # which sells no H200
    ],
)
def test_the_next_device_up_is_bought_of_the_same_provider_alike(option, needed, expected):
    assert next_rate(SHEET, option, needed_bytes=needed).option.startswith(expected)


@pytest.mark.parametrize(
    ("option", "needed"),
    [
        pytest.param("p4d.24xlarge/on_demand", 1e12, id="none is so large"),
        pytest.param("p6-b300.48xlarge/on_demand", 1e12, id="none is above it"),
    ],
)
def test_no_device_with_so_much_memory_is_no_price(option, needed):
    with pytest.raises(PriceMissingError, match="no price for"):
        next_rate(SHEET, option, needed_bytes=needed)


def test_what_a_device_cost_years_ago_does_not_choose_it():
    small, now = SHEET.find("p4d.24xlarge/on_demand"), SHEET.find("p4de.24xlarge/on_demand")
    once = replace(now, usd_per_hour=Decimal(1), as_of=date(2020, 1, 1))
    cheaper = replace(now, sku="p4dx.24xlarge", usd_per_hour=now.usd_per_hour - 1)
    sheet = PriceSheet(name="history", prices=(small, once, now, cheaper))

    hourly_rate = next_rate(sheet, "p4d.24xlarge/on_demand", needed_bytes=41e9)

    assert hourly_rate.option == "aws:p4dx.24xlarge/on_demand@us-east-1"
