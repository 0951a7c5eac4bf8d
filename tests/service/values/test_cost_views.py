"""Tests which costs are doubtful, and whose price they rest on."""

from dataclasses import replace

import pytest

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.money import Usd
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.quote import PriceLayer
from perfledger_cost_models.tco.buy_vs_rent import OptionComparison
from perfledger_cost_models.tco.npv import Investment
from perfledger_service.values.cost_views import CostRow, RentalOption

COST = OptionComparison(
    name="aws:p5.48xlarge/on_demand",
    accelerator="H100-80GB",
    mode_usd=Usd(7.0),
    p5_usd=Usd(6.0),
    p50_usd=Usd(7.0),
    p95_usd=Usd(8.0),
    chance_cheapest=0.5,
)
INVESTMENT = Investment(
    years=4,
    flows_usd=(Usd(-100.0), Usd(50.0)),
    resale_usd=Usd(0.0),
    npv_p5_usd=Usd(-10.0),
    npv_usd=Usd(0.0),
    npv_p50_usd=Usd(0.0),
    npv_p95_usd=Usd(10.0),
    chance_worth_it=0.5,
    payback_years=None,
    payback_hours=None,
    irr=None,
)
PRICE = packaged_sheet().prices[0]


def row(price):
    return CostRow(
        cost=COST, work=None, price=price, break_even=None, investment=None, footprint=None
    )


@pytest.mark.parametrize("layer", PriceLayer)
def test_a_rental_has_the_layer_of_its_price(layer):
    assert row(replace(PRICE, layer=layer)).layer is layer


def test_the_cost_of_owning_is_derived_and_not_doubtful():
    assert (row(None).layer, row(None).is_doubtful) == (PriceLayer.DERIVED, False)


@pytest.mark.parametrize("confidence", SourceConfidence)
def test_a_price_of_low_confidence_is_doubtful(confidence):
    price = replace(PRICE, confidence=confidence)

    rent = RentalOption(name="a rental", price=price, investment=INVESTMENT)

    is_low = confidence is SourceConfidence.LOW
    assert (row(price).is_doubtful, rent.is_doubtful) == (is_low, is_low)
