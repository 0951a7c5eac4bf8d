"""What a device can cost an hour."""

from decimal import Decimal

import pytest

from perfledger_cost_models.prices.device_hour import (
    MAX_USD_PER_HOUR,
    MIN_USD_PER_HOUR,
    is_device_price,
)


@pytest.mark.parametrize("usd", [MIN_USD_PER_HOUR, Decimal("2.5"), MAX_USD_PER_HOUR])
def test_a_price_within_the_limits_is_accepted(usd):
    assert is_device_price(usd)


@pytest.mark.parametrize(
    "usd",
    [
        MIN_USD_PER_HOUR / 2,
        MAX_USD_PER_HOUR + 1,
        Decimal(0),
        Decimal(-1),
        Decimal("NaN"),
        Decimal("Infinity"),
    ],
)
def test_a_free_infinite_or_absurd_price_is_refused(usd):
    assert not is_device_price(usd)
