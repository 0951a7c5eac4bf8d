"""Rows of a price list: what cannot be read is left out, with its place and its reason."""

from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.check import CheckContext, check_sheet
from perfledger_cost_models.prices.exchange_rates import read_exchange_rates
from perfledger_cost_models.prices.price_sheet import (
    ADDRESS_COLUMN,
    COLUMNS,
    CURRENCY_COLUMN,
    PriceMissingError,
    PricingModel,
)
from tests.cost_models.prices.example_rows import ROW, sheet_text

UNKNOWN = {"usd_per_hour": "", "usd_per_accelerator_hour": "", "confidence": "unknown"}
RATES = read_exchange_rates("Date,USD,GBP\n2026-07-17,1.16,0.86\n", "rates.csv")


def checked(*changes, **context):
    return check_sheet(sheet_text(*changes), "made-up", context=CheckContext(**context))


def in_currency(currency, **context):
    text = sheet_text({CURRENCY_COLUMN: currency}, columns=(*COLUMNS, CURRENCY_COLUMN))
    return check_sheet(text, "made-up", context=CheckContext(**context))


def with_address(address, source="price list"):
    text = sheet_text(
        {"source": source, ADDRESS_COLUMN: address}, columns=(*COLUMNS, ADDRESS_COLUMN)
    )
    return check_sheet(text, "made-up", context=CheckContext()).sheet


def test_a_price_has_the_address_of_its_row():
    (price,) = with_address("https://aws.example/prices?region=us#p5").prices

    assert price.source_url == "https://aws.example/prices?region=us#p5"


def test_a_price_without_an_address_has_the_one_that_its_source_names():
    (named,) = with_address("", source="see https://aws.example/p5, of June").prices
    (unnamed,) = checked({}).sheet.prices

    assert named.source_url == "https://aws.example/p5"
    assert unnamed.source_url == ""


@pytest.mark.parametrize(
    "address",
    [
        "http://aws.example/",
        "javascript:alert(1)",
        "https://aws.example/)x",
        "aws.example",
        "https://localhost/",
        "see https://aws.example/",
    ],
)
def test_a_row_with_another_text_as_address_is_left_out(address):
    sheet = with_address(address)

    assert sheet.prices == ()
    assert "is not an https address" in sheet.rejected[0].reason


@pytest.mark.parametrize(
    ("column", "cell", "problem"),
    [
        ("provider", "", "is empty"),
        ("provider", "a:b", "contains : / or @"),
        ("sku", "p5/48", "contains : / or @"),
        ("region", "a@b", "contains : / or @"),
        ("term", "1/2", "contains : / or @"),
        ("accelerator", " ", "is empty"),
        ("count", "0", "is not a count of 1 to 10000"),
        ("count", "2.5", "is not a count"),
        ("count", "10001", "is not a count"),
        ("count", "eight", "is not a plain decimal"),
        ("pricing_model", "reserve", f"is not one of {', '.join(PricingModel)}"),
        ("usd_per_hour", "", "is empty"),
        ("usd_per_hour", "0.00", "a missing price is not zero"),
        ("usd_per_hour", "-55.04", "is not a plain decimal"),
        ("usd_per_hour", "NaN", "is not a plain decimal"),
        ("usd_per_hour", "Infinity", "is not a plain decimal"),
        ("usd_per_hour", "1e2", "is not a plain decimal"),
        ("usd_per_hour", "55,04", "has a comma: write decimals with a point"),
        ("usd_per_accelerator_hour", "55.04", "is not 55.04 / 8 accelerators"),
        ("as_of_date", "2026-13-01", "is not a date"),
        ("as_of_date", "20/11/2026", "is not a date"),
        ("retrieved_at", "yesterday", "is not a date"),
        ("source", "", "is empty"),
        ("note", "\x1b[31m", "has control characters"),
    ],
)
def test_a_row_with_a_bad_cell_is_left_out_with_its_row_and_column(column, cell, problem):
    check = checked(ROW, {"sku": "other", column: cell})

    (rejected,) = check.sheet.rejected
    assert [price.sku for price in check.sheet.prices] == ["p5.48xlarge"]
    assert (rejected.row, check.rejected[0].row) == (3, 3)
    assert rejected.reason.startswith(f"column {column!r}: {cell!r} ")
    assert problem in rejected.reason


def test_asking_for_a_price_that_was_left_out_says_why():
    check = checked({"as_of_date": "20/11/2026"})

    with pytest.raises(PriceMissingError, match=r"made-up, line 2 .* is left out: .*'20/11/2026'"):
        check.sheet.find("p5.48xlarge/on_demand")


@pytest.mark.parametrize("as_of", ["", "unknown", "unknown (before 2025-06)"])
def test_a_price_whose_list_states_no_day_has_the_day_of_reading(as_of):
    (price,) = checked({"as_of_date": as_of}).sheet.prices
    missing = checked({"as_of_date": as_of, "retrieved_at": ""})

    assert (price.as_of, price.is_read_date) == (date(2026, 11, 20), True)
    assert "column 'retrieved_at': '' is not a date" in missing.rejected[0].reason


@pytest.mark.parametrize("confidence", ["unknown", "certain", ""])
def test_a_confidence_that_is_none_of_ours_is_low(confidence):
    (price,) = checked({"confidence": confidence}).sheet.prices

    assert not price.is_trusted


def test_a_row_that_its_author_rejects_is_left_out():
    check = checked({"confidence": "reject"})

    assert [one.rule for one in check.rejected] == ["confidence"]
    assert check.sheet.prices == ()


def test_an_unknown_price_appears_once_and_gives_way_to_a_price():
    once = checked(UNKNOWN)
    twice = checked(UNKNOWN, UNKNOWN)
    priced = checked(UNKNOWN, ROW)

    assert [one.level for one in once.findings] == ["unknown"]
    assert "is unknown here and in an earlier row" in twice.rejected[0].reason
    assert (len(priced.sheet.prices), priced.sheet.unknown) == (1, ())


def test_a_price_per_accelerator_is_not_unknown():
    check = checked(UNKNOWN | {"usd_per_accelerator_hour": "5.0"})

    assert check.sheet.unknown == ()
    assert "column 'usd_per_hour': '' is empty" in check.rejected[0].reason


@pytest.mark.parametrize("form", [{"delimiter": ";"}, {"lineterminator": "\r\n"}, {}])
def test_what_excel_writes_is_read(form):
    text = f"\ufeff{sheet_text(ROW, **form)}{';' * 13 if form.get('delimiter') else ',' * 13}\n"

    assert check_sheet(text, "made-up").sheet == checked(ROW).sheet


@pytest.mark.parametrize(
    ("currency", "usd", "words"),
    [
        ("EUR", Decimal("55.04") * Decimal("1.16"), "55.04 EUR at 1.16 USD of 2026-07-17"),
        ("GBP", Decimal("55.04") * Decimal("1.16") / Decimal("0.86"), "55.04 GBP at 1.34884 USD"),
    ],
)
def test_a_price_in_another_currency_is_converted_at_the_rate_of_its_day(currency, usd, words):
    (price,) = in_currency(currency, exchange_rates=RATES).sheet.prices

    assert price.usd_per_hour == pytest.approx(usd)
    assert words in price.note
    assert "rates.csv" in price.note


@pytest.mark.parametrize(
    ("currency", "context", "problem"),
    [
        ("EUR", {}, "'EUR' has no exchange rate: give the ECB's table"),
        ("XXX", {"exchange_rates": RATES}, "rates.csv has no 'XXX' on 2026-07-17"),
        ("eur", {"exchange_rates": RATES}, "rates.csv has no 'eur'"),
    ],
)
def test_a_currency_without_a_rate_is_refused_by_its_name(currency, context, problem):
    check = in_currency(currency, **context)

    assert check.sheet.prices == ()
    assert problem in check.rejected[0].reason


@pytest.mark.parametrize("currency", ["USD", ""])
def test_dollars_need_no_rate(currency):
    assert in_currency(currency).sheet == checked(ROW).sheet
