"""Made-up prices, and what the rules find about them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from perfledger_cost_models.csv_table import SourceConfidence
from perfledger_cost_models.prices.diff import newest_prices
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.plausibility_rules import RULES
from perfledger_cost_models.prices.price_sheet import Price, PricingModel
from perfledger_cost_models.prices.priced_rows import FindingSeverity, PricedRow

DAY = date(2026, 11, 20)


@pytest.fixture
def price():
    def price(usd, as_of=DAY, **values):
        usual: dict[str, Any] = {
            "provider": "aws",
            "sku": "p5.48xlarge",
            "region": "r1",
            "accelerator": "H100-80GB",
            "count": 8,
            "pricing_model": PricingModel.ON_DEMAND,
            "term": "",
            "usd_per_hour": Decimal(usd),
            "as_of": as_of,
            "is_read_date": False,
            "retrieved_at": None,
            "confidence": SourceConfidence.HIGH,
            "source": "made up",
        }
        return Price(**usual | values)

    return price


@pytest.fixture
def rejected():
    """Return the places of the prices that a rule rejects; references are not counted."""

    def rejected(rule, *prices, references=()):
        listed = [
            *(PricedRow(-place, one, is_reference=True) for place, one in enumerate(references, 1)),
            *(PricedRow(place, one) for place, one in enumerate(prices)),
        ]
        return sorted(
            {one.row for one, level, _ in RULES[rule](listed) if level is FindingSeverity.REJECT}
        )

    return rejected


@pytest.fixture
def packaged():
    """Return the newest packaged price of each option."""
    return tuple(newest_prices(packaged_sheet()).values())
