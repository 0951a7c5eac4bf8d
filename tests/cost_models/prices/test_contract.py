from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.prices.contract import (
    MAX_CHARACTERS,
    OverrideError,
    PriceOverrides,
    apply_overrides,
    read_overrides,
    with_contract,
)
from perfledger_cost_models.prices.layers import layer_sheets
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.prices.price_sheet import BILLED_TERM, PriceSheet

SHEET = packaged_sheet()
P5 = "p5.48xlarge/on_demand"
OWN = (
    '[[parameter]]\nname = "wacc"\nlow = {}\nmode = 0.1\nhigh = 0.1\n'
    'as_of = 2026-11-01\nsource = "ours"\n'
)
DISCOUNT = """
[[discount]]
provider = "aws"
share = 0.12
models = ["on_demand"]
as_of = 2026-07-01
source = "enterprise agreement 4711"
"""
PRICE = """
[[price]]
provider = "aws"
sku = "p5.48xlarge"
region = "us-east-1"
accelerator = "H100-80GB"
count = 8
model = "on_demand"
per_hour = 40
currency = "{currency}"
as_of = 2026-10-01
source = "quote 815"
"""
EXCHANGE = """
[[exchange]]
currency = "EUR"
usd = 1.16
as_of = 2026-11-01
source = "ECB reference rate"
"""
TAX = """
[tax]
share = 0.19
source = "German VAT, not deducted"
"""


def applied(text):
    return apply_overrides(SHEET, read_overrides(text, "o"), name="ours")


def test_without_overrides_the_sheet_stays_as_it_is():
    assert applied("").prices == SHEET.prices


def test_a_discount_is_taken_off_exactly_and_said():
    price = applied(DISCOUNT).find(P5)

    assert price.usd_per_hour == Decimal("55.04") * Decimal("0.88")
    assert "list 55.04 less 12.00 %" in price.note
    assert price.source.endswith("enterprise agreement 4711")


def test_a_discount_is_on_its_provider_and_modes_alone():
    price_sheet = applied(DISCOUNT)

    for option in ("p5.48xlarge/savings_plan/3y_no_upfront", "tpu-v4/on_demand"):
        assert price_sheet.find(option) == SHEET.find(option)


def test_an_own_price_takes_the_place_of_every_published_one():
    price_sheet = applied(PRICE.format(currency="USD"))

    same = [
        price for price in price_sheet.prices if price.option == P5 and price.region == "us-east-1"
    ]
    assert [price.usd_per_hour for price in same] == [40]
    assert (same[0].as_of, same[0].source) == (date(2026, 10, 1), "quote 815")


def test_an_own_price_has_no_discount():
    assert applied(DISCOUNT + PRICE.format(currency="USD")).find(P5).usd_per_hour == 40


def test_another_currency_is_exchanged_at_a_rate_with_a_day_and_a_source():
    price = applied(PRICE.format(currency="EUR") + EXCHANGE).find(P5)

    assert price.usd_per_hour == Decimal("46.4")
    assert price.note == "40 EUR at 1.16 USD of 2026-11-01"
    assert price.source == "quote 815; ECB reference rate"


def test_a_currency_without_a_rate_is_an_error_and_not_a_dollar():
    with pytest.raises(OverrideError, match=r"add its \[\[exchange\]\] rate"):
        applied(PRICE.format(currency="EUR"))


@pytest.mark.parametrize(
    ("currency", "inverted", "right"),
    [("EUR", "0.862", "1.16"), ("JPY", "149", "0.0067"), ("TWD", "32", "0.031")],
)
def test_a_rate_that_may_be_inverted_needs_a_persons_confirmation(currency, inverted, right):
    text = EXCHANGE.replace("EUR", currency)
    with pytest.raises(OverrideError, match=rf"one {currency} at {inverted} USD may be inverted"):
        applied(text.replace("1.16", inverted))

    assert applied(text.replace("1.16", right)).prices == SHEET.prices
    assert applied(text.replace("1.16", f"{inverted}\nconfirmed_on = 2026-11-02"))


@pytest.mark.parametrize("usd", ["0", "-1.16", "1e-10", "inf"])
def test_a_rate_is_above_zero(usd):
    with pytest.raises(OverrideError, match="give what one EUR costs in USD"):
        applied(EXCHANGE.replace("1.16", usd))


@pytest.mark.parametrize(
    ("today", "is_right"),
    [
        (date(2026, 10, 31), True),  # a day's difference may be the time zone
        (date(2027, 4, 30), True),
        (date(2027, 5, 1), False),
        (date(2026, 10, 30), False),
    ],
)
def test_a_rate_of_another_time_converts_nothing(today, is_right):
    overrides = read_overrides(EXCHANGE, "o")
    if is_right:
        assert apply_overrides(SHEET, overrides, name="ours", today=today).prices
    else:
        with pytest.raises(OverrideError, match="rate of EUR is of 2026-11-01: give one of at mos"):
            apply_overrides(SHEET, overrides, name="ours", today=today)


@pytest.mark.parametrize("per_hour", ["0.000001", "99999999"])
def test_a_price_that_no_device_can_have_is_refused_even_if_confirmed(per_hour):
    text = PRICE.format(currency="USD").replace("40", per_hour) + "confirmed_on = 2026-10-02\n"

    with pytest.raises(OverrideError, match="is no price of 8 accelerators"):
        applied(text)


def test_tax_is_on_everything_that_is_bought():
    price_sheet = applied(TAX)

    for price in SHEET.prices[:5]:
        assert price.usd_per_hour * Decimal("1.19") in {
            one.usd_per_hour for one in price_sheet.prices
        }


def test_the_same_price_twice_is_an_error():
    with pytest.raises(OverrideError, match="twice"):
        applied(2 * PRICE.format(currency="USD"))


def test_two_discounts_on_one_price_are_an_error():
    with pytest.raises(OverrideError, match="two discounts"):
        applied(2 * DISCOUNT)


def test_a_discount_on_nothing_is_an_error():
    with pytest.raises(OverrideError, match="applies to no price"):
        applied(DISCOUNT.replace('"aws"', '"amazon"'))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[[price]]\n", "required field"),
        (DISCOUNT.replace("0.12", "12"), "discount"),
        (DISCOUNT.replace("0.12", "0"), "discount"),
        (DISCOUNT.replace("0.12", '"a lot"'), "discount"),
        (DISCOUNT.replace("0.12", "nan"), "discount"),
        (DISCOUNT.replace("on_demand", "free"), "models"),
        (DISCOUNT + "rebate = 3\n", "rebate"),
        (PRICE.replace("40", "-1"), "per_hour"),
        (PRICE.replace("40", "inf"), "per_hour"),
        (PRICE.replace("p5.48xlarge", "p5/48"), "sku"),
        (PRICE.replace('"quote 815"', '""'), "source"),
        (PRICE.replace("40", "9e999999"), "per_hour"),
        (PRICE.replace("40", "9" * 5000), "overrides 'o'"),
        (OWN.format("nan"), "low <= mode <= high"),
        (OWN.format("-1"), "low <= mode <= high"),
        (OWN.format("9e999999"), "low <= mode <= high"),
        ("[[price", "declaration"),
        ("a = 1", "unknown field"),
    ],
)
def test_what_is_written_wrong_is_an_error_that_names_the_place(text, place):
    with pytest.raises(OverrideError, match=place):
        read_overrides(text, "o")


def test_a_file_that_is_too_long_is_an_error():
    with pytest.raises(OverrideError, match="characters"):
        read_overrides("#" * (MAX_CHARACTERS + 1), "o")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text):
    try:
        read_overrides(text, "o")
    except OverrideError:
        return


def test_of_two_layers_the_later_one_counts_for_the_options_that_it_has():
    fetched = PriceSheet(name="fetched", prices=applied(DISCOUNT).prices[:1])
    price_sheet = layer_sheets([SHEET, fetched], name="both")

    first = fetched.prices[0]
    own = [price for price in price_sheet.prices if price.option == first.option]
    assert own == [replace(first, newer_below=SHEET.find(first.option).as_of)]
    assert price_sheet.find(P5) == SHEET.find(P5)


def test_a_contract_goes_before_the_organisations_own_prices():
    first, second = (
        read_overrides(
            '[[price]]\nprovider = "aws"\nsku = "p5.48xlarge"\nregion = "us-east-1"\n'
            f'accelerator = "H100-80GB"\ncount = 8\nmodel = "on_demand"\nper_hour = {usd}\n'
            'as_of = 2026-10-01\nsource = "deal"\n',
            "mine",
        )
        for usd in (30, 20)
    )

    both = with_contract(first, second)

    sheet = apply_overrides(packaged_sheet(), both, name="ours")
    assert sheet.find("p5.48xlarge/on_demand").usd_per_hour == 20


def test_a_contract_of_nothing_changes_nothing():
    own = read_overrides(DISCOUNT + "[tax]\nshare = 0.19\nsource = 'VAT'\n", "mine")

    assert with_contract(own, PriceOverrides()) == own
    assert with_contract(PriceOverrides(), own) == own


def test_what_was_really_paid_has_no_discount_again():
    price = replace(SHEET.find(P5), term=BILLED_TERM)
    sheet = PriceSheet(name="bill", prices=(price, SHEET.find(P5)))

    price_sheet = apply_overrides(sheet, read_overrides(DISCOUNT, "mine"), name="ours")

    assert price in price_sheet.prices
    assert price_sheet.find(P5).usd_per_hour < price.usd_per_hour


@pytest.mark.parametrize(
    ("text", "is_accepted"),
    [
        (DISCOUNT.replace("agreement 4711", "a" * 477), True),  # a source of 500 letters
        (DISCOUNT.replace("agreement 4711", "a" * 490), False),
        (DISCOUNT.replace("enterprise agreement 4711", "a"), True),
        (DISCOUNT.replace("enterprise agreement 4711", ""), False),
        (DISCOUNT.replace("0.12", "0.6"), True),
        (DISCOUNT.replace("0.12", "0.601"), False),
        (DISCOUNT.replace("0.12", "0.949") + "confirmed_on = 2026-07-02\n", True),
        (DISCOUNT.replace("0.12", "0.95"), False),
        (DISCOUNT.replace("0.12", "0"), False),
        (TAX.replace("0.19", "0.99"), True),
        (TAX.replace("0.19", "1"), False),
        (PRICE.format(currency="USD").replace("us-east-1", "r" * 200), True),
        (PRICE.format(currency="USD").replace("us-east-1", "r" * 201), False),
        (PRICE.format(currency="USD").replace("count = 8", "count = 1"), True),
        (PRICE.format(currency="USD").replace("count = 8", "count = 0"), False),
    ],
)
def test_overrides_are_accepted_up_to_their_limits(text, is_accepted):
    if is_accepted:
        read_overrides(text, "o")
    else:
        with pytest.raises(OverrideError):
            read_overrides(text, "o")


def test_a_large_discount_has_to_be_confirmed():
    paid = DISCOUNT.replace("0.12", "0.88")

    with pytest.raises(OverrideError, match=r"88 % leaves 12 % to pay.*0\.12 perhaps"):
        read_overrides(paid, "o")
    confirmed = read_overrides(f"{paid}confirmed_on = 2026-07-02\n", "o")
    assert apply_overrides(SHEET, confirmed, name="ours").find(P5).usd_per_hour == pytest.approx(
        Decimal("0.12") * SHEET.find(P5).usd_per_hour
    )


def test_a_discount_of_the_future_is_not_applied():
    overrides = read_overrides(DISCOUNT, "o")

    with pytest.raises(OverrideError, match="dated 2026-07-01, after 2026-06-29: leave it out"):
        apply_overrides(SHEET, overrides, name="ours", today=date(2026, 6, 29))
    applied_then = apply_overrides(SHEET, overrides, name="ours", today=date(2026, 6, 30))
    assert applied_then.find(P5).usd_per_hour < SHEET.find(P5).usd_per_hour


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (DISCOUNT, "the discount of 0.12 on 'aws'"),
        (PRICE.format(currency="USD"), "the price of p5"),
    ],
)
def test_nobody_can_have_confirmed_a_price_tomorrow(entry, name):
    overrides = read_overrides(f"{entry}confirmed_on = 2026-12-26\n", "o")

    with pytest.raises(OverrideError, match=f"is 2026-12-26 for {name}.*, after 2026-11-30"):
        apply_overrides(SHEET, overrides, name="ours", today=date(2026, 11, 30))
    apply_overrides(SHEET, overrides, name="ours", today=date(2026, 12, 25))
