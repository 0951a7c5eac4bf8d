from decimal import Decimal
from pathlib import Path

import pytest

from perfledger_service.cli.price_flags import PriceFlags
from perfledger_service.errors import NotFoundError, UsageError


@pytest.fixture(autouse=True)
def no_variables(monkeypatch):
    for name in ("PRICES", "OVERRIDES", "CONTRACT"):
        monkeypatch.delenv(f"PERFLEDGER_{name}", raising=False)


def test_an_option_goes_before_its_variable(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_PRICES", "variable.csv")
    monkeypatch.setenv("PERFLEDGER_CONTRACT", "contract.csv")

    settings = PriceFlags(prices=Path("option.csv")).settings

    assert (settings.prices, settings.contract) == ("option.csv", "contract.csv")


def test_own_prices_are_laid_over_the_packaged_ones(own_prices):
    prices = PriceFlags(overrides=own_prices).books.sheet.prices

    assert Decimal("21.5") in {price.usd_per_hour for price in prices}


def test_a_purchase_option_has_the_rate_of_the_files(own_prices):
    rate = PriceFlags(overrides=own_prices).rate_of("p5.48xlarge/savings_plan/3y_no_upfront")

    assert rate is not None
    assert rate.usd_per_device_hour == Decimal("21.5") / 8


def test_without_a_purchase_option_there_is_no_rate(monkeypatch):
    monkeypatch.setenv("PERFLEDGER_PRICES", "absent.csv")

    assert PriceFlags().rate_of(None) is None


def test_price_files_without_a_purchase_option_are_an_error_that_names_them():
    flags = PriceFlags(prices=Path("a.csv"), exchange_rates=Path("b.csv"))

    with pytest.raises(UsageError, match="--prices, --exchange-rates: without --purchase-option"):
        flags.rate_of(None)


def test_a_purchase_option_without_a_price_is_not_found():
    with pytest.raises(NotFoundError, match="p9/on_demand"):
        PriceFlags().rate_of("p9/on_demand")
