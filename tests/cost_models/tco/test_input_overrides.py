from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.contract import (
    OverrideError,
    PriceOverrides,
    read_overrides,
)
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import PriceMissingError
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.hourly_rates import rate_of
from perfledger_cost_models.tco.input_overrides import apply_own_inputs, own_rates, own_servers
from perfledger_cost_models.tco.onprem import SERVERS, hourly_cost

TAX = """
[tax]
share = 0.19
source = "German VAT, not deducted"
"""


def parameter(**changes):
    values = {"name": "wacc", "low": "0.07", "mode": "0.08", "high": "0.09"} | changes
    quoted = ("name", "unit")
    lines = [
        f"{key} = {value!r}" if key in quoted else f"{key} = {value}"
        for key, value in values.items()
    ]
    return "[[parameter]]\n" + "\n".join(lines) + '\nas_of = 2026-10-01\nsource = "treasury"\n'


def test_an_own_input_counts_and_is_no_longer_assumed():
    packaged = packaged_hardware_inputs()
    hardware_input_sheet = apply_own_inputs(
        packaged, read_overrides(parameter(), "mine"), name="ours"
    )

    wacc = hardware_input_sheet.find("wacc")
    assert packaged.find("wacc").is_assumed
    assert (wacc.mode, wacc.is_assumed, wacc.unit) == (Decimal("0.08"), False, "per year")
    assert len(hardware_input_sheet.parameters) == len(packaged.parameters)


def test_whole_numbers_are_numbers_too():
    text = parameter(name="staff_cost_loaded", low="150000", mode="160000", high="170000")

    hardware_input_sheet = apply_own_inputs(
        packaged_hardware_inputs(), read_overrides(text, "mine"), name="ours"
    )

    assert hardware_input_sheet.find("staff_cost_loaded").mode == 160_000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (parameter(low="0.1"), "low <= mode <= high"),
        (parameter(high="inf"), "low <= mode <= high"),
        (parameter(low="-1"), "low <= mode <= high"),
        ('[[server]]\noption = "p5"\n', "option"),
    ],
)
def test_inputs_that_cannot_be_are_refused(text, reason):
    with pytest.raises(OverrideError, match=reason):
        read_overrides(text, "mine")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (parameter() * 2, "twice"),
        (parameter(name="wac"), "not a packaged input"),
        (parameter(name="colo_price", unit="CHF/kW-month"), "in CHF: add its .*exchange"),
        (parameter(unit="percent"), "in 'percent', not in 'per year'"),
        (parameter(name="colo_price", unit="USD/kWh"), "not in 'USD/kW-month'"),
        (parameter(low="7", mode="8", high="9"), "0.08 for 8 %"),
        (parameter(name="spares", unit="of nodes", high="3"), "spares is up to 3 of nodes"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(text, reason):
    with pytest.raises(OverrideError, match=reason):
        apply_own_inputs(packaged_hardware_inputs(), read_overrides(text, "mine"), name="ours")


def test_a_full_time_equivalent_is_no_currency():
    text = parameter(name="staff_fte_per_8gpu_node_small", unit="FTE")
    sheet = apply_own_inputs(packaged_hardware_inputs(), read_overrides(text, "mine"), name="ours")

    assert sheet.find("staff_fte_per_8gpu_node_small").unit == "FTE"


@pytest.mark.parametrize("name", ["server_price_8xH100_SXM", "price_of_ours"])
def test_an_input_in_another_currency_is_converted(name):
    text = (
        parameter(name=name, low="290000", mode="298000", high="310000", unit="CHF")
        + '[[exchange]]\ncurrency = "CHF"\nusd = 1.24\nas_of = 2026-11-27\nsource = "ECB"\n'
    )

    price = apply_own_inputs(
        packaged_hardware_inputs(), read_overrides(text, "mine"), name="ours"
    ).find(name)

    assert [price.low, price.mode, price.high] == [359_600, 369_520, 384_400]
    assert (price.unit, price.source) == ("USD", "treasury; ECB")
    assert price.note == "298000 CHF at 1.24 USD of 2026-11-27"


def test_a_server_of_ones_own_is_priced_by_its_own_inputs():
    text = (
        '[[server]]\noption = "onprem-8xH200"\naccelerator = "H200-141GB"\naccelerators = 8\n'
        'price = "price_8xH200"\nmax_power = "max_power_8xH100"\n'
        + parameter(name="price_8xH200", low="300000", mode="350000", high="400000", unit="USD")
    )
    own = read_overrides(text, "mine")
    (server,) = own_servers(own)
    sheet = apply_own_inputs(packaged_hardware_inputs(), own, name="ours")

    cost = hourly_cost(server, sheet, utilization=0.7)

    assert server.label == "On-premises 8xH200"
    assert cost.mode_usd > hourly_cost(SERVERS[0], sheet, utilization=0.7).mode_usd


@pytest.mark.parametrize(
    ("name", "factor"),
    [
        ("server_price_8xH100_SXM", Decimal("1.19")),
        ("electricity_us_industrial", Decimal("1.19")),
        ("colo_price", Decimal("1.19")),
        ("staff_cost_loaded", Decimal(1)),
        ("wacc", Decimal(1)),
        ("residual_value_60m", 1 / Decimal("1.19")),
    ],
)
def test_tax_is_on_what_is_bought_to_own_as_well(name, factor):
    packaged = packaged_hardware_inputs()

    index = apply_own_inputs(packaged, read_overrides(TAX, "mine"), name="ours").find(name)

    assert index.mode == packaged.find(name).mode * factor
    assert ("German VAT" in index.note) == (factor > 1)


def test_an_owned_hour_costs_what_the_organisations_own_inputs_say():
    own = read_overrides(parameter(name="wacc", low="0", mode="0", high="0"), "mine")
    parameters = apply_own_inputs(packaged_hardware_inputs(), own, name="ours")
    sheet = replace(packaged_sheet(), owned=own_rates(SERVERS, parameters, own))

    ours = rate_of(sheet, "onprem-8xH100", today=date(2028, 1, 1))

    packaged = rate_of(packaged_sheet(), "onprem-8xH100")
    assert ours.usd_per_device_hour < packaged.usd_per_device_hour
    assert not [words for words in ours.assumed if words.startswith("wacc")]
    assert ours.warnings


def test_a_server_of_ones_own_is_a_place_where_work_runs():
    text = (
        '[[server]]\noption = "onprem-8xH200"\naccelerator = "H200-141GB"\naccelerators = 8\n'
        'price = "price_8xH200"\nmax_power = "max_power_8xH100"\n'
    )
    price = parameter(name="price_8xH200", low="3e5", mode="3.5e5", high="4e5", unit="USD")

    def rates(text):
        own = read_overrides(text, "mine")
        parameters = apply_own_inputs(packaged_hardware_inputs(), own, name="ours")
        return own_rates(own_servers(own), parameters, own)

    sheet = replace(packaged_sheet(), owned=rates(text + price))
    assert rate_of(sheet, "onprem-8xH200").accelerator == "H200-141GB"
    assert rates(text) == ()  # nothing says what it costs
    with pytest.raises(PriceMissingError, match="onprem-8xH200"):
        rate_of(sheet, "onprem-8xB200")


def test_without_inputs_of_ones_own_there_are_no_rates_of_ones_own():
    assert own_rates(SERVERS, packaged_hardware_inputs(), PriceOverrides()) == ()
