from dataclasses import replace
from decimal import Decimal

from perfledger_cost_models.procurement.cost_model import (
    InputBasis,
    ModelInput,
    PurchaseMode,
    PurchaseOption,
    SizeBasis,
)
from perfledger_cost_models.tco.onprem import SERVERS

RENTED = PurchaseOption(
    key="w2",
    name="today",
    where="p5.48xlarge/on_demand",
    mode=PurchaseMode.PAY_AS_YOU_GO,
    accelerator="H100-80GB",
    size_basis=SizeBasis.FIRST_NEED,
    devices=None,
    years=0,
    upfront_share=Decimal(0),
    lead_time="",
    note="",
    terms=None,
)
PRICE = ModelInput(
    name="w2_usd_per_hour",
    label="price",
    unit="USD/h",
    low=Decimal(4),
    mode=Decimal(4),
    high=Decimal(4),
    basis=InputBasis.QUOTED,
    source="a quote",
)


def test_the_figures_of_an_option_begin_with_its_key():
    assert RENTED.rate == "w2_usd_per_hour"
    assert RENTED.paid == ("w2_paid_0", "w2_paid_1", "w2_paid_2", "w2_paid_3")
    assert RENTED.npv == "w2_npv_usd"


def test_an_owned_option_has_the_price_of_its_server():
    owned = replace(RENTED, mode=PurchaseMode.OWNED, server=SERVERS[0])

    assert owned.rate == SERVERS[0].price


def test_an_input_without_a_range_is_certain():
    assert PRICE.is_certain
    assert not replace(PRICE, high=Decimal("4.01")).is_certain
