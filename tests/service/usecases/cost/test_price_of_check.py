"""What a check itself cost: device-hours by the price of the project, or unknown."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger.bundle import FleetUse, PricingConfig
from perfledger.records import Device, Machine
from perfledger_service.usecases.cost.price_of_check import cost_of_check, usd_per_device_hour
from perfledger_service.values.report import CheckCost, CheckCostSource

TODAY = date(2026, 11, 20)
H100 = Machine(
    device=Device.CUDA, model="NVIDIA H100 80GB HBM3", memory_bytes=85_520_809_984, count=2
)
P5, ONPREM, A100 = "p5.48xlarge/on_demand", "onprem-8xH100", "p4d.24xlarge/on_demand"


@pytest.fixture
def cost_of(make_bundle):
    def cost_of(*options, machine=H100, held_s=1800.0, **settings):
        fleet = tuple(
            FleetUse(workload="*", where=option, device_hours_per_year=1.0) for option in options
        )
        bundle = make_bundle(machine=machine, pricing=PricingConfig(fleet=fleet))
        return cost_of_check(replace(bundle, held_s=held_s, settings=settings), today=TODAY)

    return cost_of


def test_all_devices_of_the_machine_are_paid_for_at_the_fleets_price(cost_of):
    cost = cost_of(P5)
    per_hour = usd_per_device_hour(P5, "H100-80GB", today=TODAY)

    assert per_hour is not None
    assert cost.device_s == 3600.0
    assert (cost.low_usd, cost.high_usd) == (per_hour, per_hour)  # two devices for half an hour
    assert cost.source is CheckCostSource.FLEET


def test_of_several_options_for_the_accelerator_the_cheapest_and_the_most_expensive_count(cost_of):
    prices = {usd_per_device_hour(one, "H100-80GB", today=TODAY) for one in (P5, ONPREM)}
    cost = cost_of(P5, ONPREM, A100)

    assert {cost.low_usd, cost.high_usd} == prices
    assert cost.low_usd < cost.high_usd


@pytest.mark.parametrize("setting", ["2.5", 2.5])
def test_the_setting_comes_before_the_fleet(cost_of, setting):
    cost = cost_of(P5, device_price=setting)

    assert (cost.low_usd, cost.high_usd) == (Decimal("2.5"), Decimal("2.5"))
    assert cost.source is CheckCostSource.SETTING


@pytest.mark.parametrize(
    ("options", "machine"),
    [
        ((), H100),
        ((A100,), H100),
        (("no-such-option",), H100),
        ((P5,), Machine(device=Device.CPU, model="Xeon")),
        ((P5,), replace(H100, model="B9000")),
    ],
)
def test_without_a_price_for_the_accelerator_it_is_unknown_and_not_zero(cost_of, options, machine):
    cost = cost_of(*options, machine=machine)

    assert cost == CheckCost(device_s=1800.0 * machine.count)
    assert (cost.low_usd, cost.source) == (None, CheckCostSource.UNKNOWN)


@pytest.mark.parametrize("machine", [H100, Machine(device=Device.CPU, model="Xeon")])
def test_the_price_of_another_accelerator_is_not_that_of_this_one(cost_of, machine):
    assert cost_of(machine=machine, device_price=A100).source is CheckCostSource.UNKNOWN
    assert cost_of(machine=machine, device_price="2.5").source is CheckCostSource.SETTING


@pytest.mark.parametrize("setting", ["1e-999999", "0", "-1", "NaN", "1e7"])
def test_a_price_that_no_device_has_is_unknown(cost_of, setting):
    assert cost_of(device_price=setting).source is CheckCostSource.UNKNOWN


def test_a_check_that_does_not_say_how_long_it_took_has_no_cost(cost_of):
    assert cost_of(P5, held_s=None) is None


@pytest.mark.parametrize("price", ["", "0", "-1", "NaN", "1e9", "x" * 300, "no-such-option"])
def test_what_is_no_price_of_a_device_hour_is_unknown(price):
    assert usd_per_device_hour(price, "H100-80GB", today=TODAY) is None


def test_the_cost_is_linear_in_the_time(cost_of):
    assert cost_of(P5, held_s=3600.0).high_usd == 2 * cost_of(P5, held_s=1800.0).high_usd
