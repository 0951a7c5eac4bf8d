"""Switching values against the cost of owning at them."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from perfledger_cost_models.tco.buy_vs_rent import owned_usd
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.onprem import DEFAULT_OWNERSHIP, SERVERS, draw_inputs
from perfledger_cost_models.tco.switching_values import switching_inputs

H100 = SERVERS[0]
SHEET = packaged_hardware_inputs()


def median_at(figures):
    """Return the median cost of a useful hour at 60 %, the other inputs drawn."""
    draws = draw_inputs(H100, SHEET) | figures
    return float(np.median(owned_usd(H100, SHEET, 0.6, draws, DEFAULT_OWNERSHIP)))


@pytest.mark.slow(ci_only=True)
def test_at_a_switching_input_the_median_of_owning_is_as_much_as_the_rival():
    rival = 1.02 * median_at({})

    found_switching_inputs = switching_inputs(H100, SHEET, use=0.6, usd_per_hour=rival)

    assert {each.parameter for each in found_switching_inputs} >= {
        "wacc",
        "server_price_8xH100_SXM",
    }
    for each in found_switching_inputs:
        parameter = SHEET.find(each.parameter)
        assert parameter.low <= each.value <= parameter.high
        assert median_at({each.parameter: np.array([each.value])}) == pytest.approx(rival, rel=1e-8)


@pytest.mark.slow(ci_only=True)
def test_an_input_whose_mode_alone_changes_the_side_has_no_switching_value():
    price = "server_price_8xH100_SXM"
    at_mode = median_at({price: np.array([float(SHEET.find(price).mode)])})
    between = (at_mode + median_at({})) / 2

    found_switching_inputs = switching_inputs(H100, SHEET, use=0.6, usd_per_hour=between)

    assert at_mode != median_at({})
    assert price not in {each.parameter for each in found_switching_inputs}


def test_a_rival_beyond_every_range_has_no_switching_input():
    assert switching_inputs(H100, SHEET, use=0.6, usd_per_hour=1000.0) == ()


@pytest.mark.slow(ci_only=True)
def test_the_nearest_to_its_mode_is_first_and_an_input_whose_mode_is_nothing_last():
    free = replace(SHEET.find("wacc"), low=Decimal(0), mode=Decimal(0))
    others = (each for each in SHEET.parameters if each.name != "wacc")
    sheet = replace(SHEET, parameters=(*others, free))
    draws = draw_inputs(H100, sheet)
    median = float(np.median(owned_usd(H100, sheet, 0.6, draws, DEFAULT_OWNERSHIP)))

    *nearer, last = switching_inputs(H100, sheet, use=0.6, usd_per_hour=1.03 * median)

    distances = [abs(each.value / each.mode - 1) for each in nearer]
    assert len(distances) > 3
    assert distances == sorted(distances)
    assert (last.parameter, last.mode) == ("wacc", 0)
