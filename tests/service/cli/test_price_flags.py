from decimal import Decimal
from pathlib import Path

import pytest

from perfledger_service.cli.price_flags import PriceFlags

OWN = """\
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "savings_plan"
term = "3y_no_upfront"
per_hour = 21.5
currency = "USD"
as_of = 2026-10-01
source = "quote 815"
"""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("PRICES", "OVERRIDES", "CONTRACT"):
        monkeypatch.delenv(f"PERFLEDGER_{name}", raising=False)


def test_an_option_goes_before_its_variable(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_PRICES", "variable.csv")
    monkeypatch.setenv("PERFLEDGER_CONTRACT", "contract.csv")

    settings = PriceFlags(prices=Path("option.csv")).settings

    assert (settings.prices, settings.contract) == ("option.csv", "contract.csv")


def test_own_prices_are_laid_over_the_packaged_ones(tmp_path):
    own = tmp_path / "own.toml"
    own.write_text(OWN)

    prices = PriceFlags(overrides=own).books.sheet.prices

    assert Decimal("21.5") in {price.usd_per_hour for price in prices}
