import math

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.money import to_decimal
from perfledger_cost_models.tco.api_break_even import (
    ApiPrice,
    ApiPriceError,
    break_even_throughput,
)
from perfledger_cost_models.tco.unit_cost import usd_per_million_units


def price(input_usd=0.6, output_usd=2.4, output_share=0.25):
    return ApiPrice(input_usd=input_usd, output_usd=output_usd, output_share=output_share)


def test_a_mix_costs_its_parts():
    assert price().usd_per_million == pytest.approx(0.75 * 0.6 + 0.25 * 2.4)


def test_an_hour_of_an_h100_against_a_dollar_a_million():
    # 6.88 USD buy 6.88 million tokens: 6.88e6 / 3600 a second.
    tokens = break_even_throughput(price(1.0, 1.0), usd_per_useful_hour=6.88)

    assert tokens == pytest.approx(1911.1, abs=0.05)


@given(hour=st.floats(0.01, 1e4), usd=st.floats(0.001, 1e3))
def test_at_the_break_even_a_million_tokens_cost_what_the_api_asks(hour, usd):
    tokens = break_even_throughput(price(usd, usd), usd_per_useful_hour=hour)

    assert float(usd_per_million_units(to_decimal(hour), tokens)) == pytest.approx(usd)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((-1.0, 1.0, 0.5), "input"),
        ((1.0, math.nan, 0.5), "output"),
        ((1.0, 1.0, 1.5), "150 %"),
        ((0.0, 1.0, 0.0), "cost nothing"),
        ((5e-324, 0.0, 0.25), "at least 0.000000001"),
        ((1e308, 0.0, 0.25), "up to 1,000,000,000"),
        ((math.inf, 1.0, 0.5), "input"),
    ],
)
def test_what_is_no_price_is_refused(values, reason):
    with pytest.raises(ApiPriceError, match=reason):
        price(*values)
