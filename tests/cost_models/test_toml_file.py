from decimal import Decimal

import msgspec
import pytest

from perfledger_cost_models.toml_file import read_toml


class RefusedError(Exception):
    pass


class Rates(msgspec.Struct, forbid_unknown_fields=True):
    usd: Decimal
    count: int = 1


RATES_DECODER = msgspec.json.Decoder(Rates)


def read(text, max_characters=100):
    return read_toml(
        text, RATES_DECODER, name="rates.toml", max_characters=max_characters, error=RefusedError
    )


def test_numbers_with_a_point_are_exact():
    assert read("usd = 0.1\ncount = 3").usd * 3 == Decimal("0.3")


def test_a_text_may_have_the_most_characters_and_not_one_more():
    text = "usd = 1.5"

    assert read(text, max_characters=len(text)).usd == Decimal("1.5")
    with pytest.raises(RefusedError, match=r"rates\.toml has 9 characters: keep it below 8"):
        read(text, max_characters=len(text) - 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("usd = ", "rates.toml: Invalid value", id="no TOML"),
        pytest.param("count = 1", "missing required field `usd`", id="a missing key"),
        pytest.param("usd = 1.5\nusb = 2", "unknown field `usb`", id="an unknown key"),
        pytest.param('usd = 1.5\ncount = "1"', "Expected `int`, got `str`", id="a text"),
        pytest.param(f"usd = {'9' * 5000}", "Exceeds the limit", id="an integer too long to read"),
    ],
)
def test_another_file_is_an_error_that_names_it_and_the_place(text, message):
    with pytest.raises(RefusedError, match=message):
        read(text, max_characters=10_000)
