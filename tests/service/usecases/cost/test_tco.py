"""Lenovo's published cost of owning, from its published inputs."""

import json

import pytest

# Lenovo Press LP2225, "On-Premise vs Cloud: Generative AI Total Cost of Ownership", 2025-05-23: a
# ThinkSystem SR675 V3 with 8 H100 NVL for 833,806 USD that costs 0.87 USD an hour to run, against
# p5.48xlarge; capital without interest, resale, network, staff or room.
# https://lenovopress.lenovo.com/lp2225-on-premise-vs-cloud-generative-ai-total-cost-of-ownership
LENOVO = {
    "sr675_price": 833806,
    "sr675_power": 5.8,  # kW, at 0.15 USD a kWh
    "electricity_us_industrial": 0.15,
    "depreciation_years": 5,
    "average_load_power_fraction": 1,
    "pue_enterprise": 1,
} | dict.fromkeys(
    (
        "network_share_of_capex",
        "storage_share_of_capex",
        "spares_pool",
        "residual_value_60m",
        "support_contract",
        "idle_power_server_fraction",
        "colo_price",
        "staff_fte_per_8gpu_node_small",
        "wacc",
    ),
    0,
)


SR675 = (
    '[[server]]\noption = "onprem-SR675"\naccelerator = "H100-80GB"\naccelerators = 8\n'
    'price = "sr675_price"\nmax_power = "sr675_power"\n'
)


@pytest.fixture
def lenovo(run, overrides, price_table):
    path = overrides(
        LENOVO,
        SR675,
        price_table("p5.48xlarge", 98.32),
        price_table("p5.48xlarge", 77.43, model="reserved", term="1y_no_upfront"),
        price_table("p5.48xlarge", 53.95, model="reserved", term="3y_no_upfront"),
    )

    def owned(use):
        words = (
            "tco",
            "onprem-SR675",
            "--allocated-percent",
            use,
            "--overrides",
            path,
            "--format",
            "json",
        )
        return json.loads(run("cost", *words))

    return owned


@pytest.mark.parametrize(
    ("option", "hours"),
    [
        ("aws:p5.48xlarge/on_demand", 8_556),
        ("aws:p5.48xlarge/reserved/1y_no_upfront", 10_891),
        ("aws:p5.48xlarge/reserved/3y_no_upfront", 15_709),
    ],
)
def test_lenovos_hours_until_owning_has_paid_itself(lenovo, option, hours):
    rents = {rent["option"]: rent for rent in lenovo(100)["in_place_of"]}

    assert rents[option]["payback_hours"] == pytest.approx(hours, abs=1)
    assert rents[option]["payback_years"] == pytest.approx(hours / 8760, abs=1e-4)


def test_lenovos_hours_are_the_same_however_many_of_a_day_are_used(lenovo):
    rents = {rent["option"]: rent for rent in lenovo(100 * 8 / 24)["in_place_of"]}

    server_rent = rents["aws:p5.48xlarge/on_demand"]
    assert server_rent["payback_hours"] == pytest.approx(8_556, abs=1)
    assert server_rent["payback_years"] == pytest.approx(
        2.93, abs=0.01
    )  # "2.9 years" at 8 hours a day


def test_lenovos_five_years_cost_871_912_and_save_3_434_504(lenovo):
    tco = lenovo(100)

    rents = {rent["option"]: rent for rent in tco["in_place_of"]}
    assert 5 * sum(float(part["mode_usd"]) for part in tco["usd_per_year"]) == pytest.approx(
        871_912, abs=1
    )
    assert float(rents["aws:p5.48xlarge/on_demand"]["npv_usd"]) == pytest.approx(3_434_504, abs=1)
