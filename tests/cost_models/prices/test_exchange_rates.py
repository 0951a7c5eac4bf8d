"""Exchange rates as the European Central Bank publishes them."""

from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.prices.exchange_rates import ExchangeRateError, read_exchange_rates

HISTORY = "Date,USD,JPY,CYP,\n2026-11-20,1.1525,178.1,N/A,\n2026-11-19,1.1500,177.5,0.58,\n"
LATEST = "Date, USD, JPY, \n20 November 2026, 1.1525, 178.1, \n"


@pytest.mark.parametrize("text", [HISTORY, LATEST, f"\ufeff{HISTORY}"])
def test_both_files_of_the_ecb_are_read(text):
    table = read_exchange_rates(text, "rates.csv")

    assert table.find("EUR", date(2026, 11, 20)).usd == Decimal("1.1525")
    assert table.find("JPY", date(2026, 11, 20)).usd == Decimal("1.1525") / Decimal("178.1")
    assert table.find("USD", date(2026, 11, 20)).usd == 1


@pytest.mark.parametrize("day", [date(2026, 11, 20), date(2026, 11, 22), date(2026, 11, 27)])
def test_a_day_without_a_rate_has_that_of_the_last_working_day(day):
    rate = read_exchange_rates(HISTORY, "rates.csv").find("EUR", day)

    assert (rate.usd, rate.as_of) == (Decimal("1.1525"), date(2026, 11, 20))


@pytest.mark.parametrize(
    ("currency", "day", "problem"),
    [
        ("EUR", date(2026, 11, 28), "has no rates of 2026-11-28: it has 2026-11-19 to 2026-11-20"),
        ("EUR", date(2026, 11, 18), "has no rates of 2026-11-18"),
        ("CYP", date(2026, 11, 20), "has no 'CYP' on 2026-11-20"),
    ],
)
def test_a_rate_that_the_table_lacks_is_an_error(currency, day, problem):
    with pytest.raises(ExchangeRateError, match=problem):
        read_exchange_rates(HISTORY, "rates.csv").find(currency, day)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is empty: a row with the names"),
        ("Day,USD\n2026-11-20,1.1\n", "its first column must be Date"),
        ("Date,JPY\n2026-11-20,178\n", "one must be USD"),
        ("Date,USD\n", "has no rates"),
        ("Date,USD\n20/11/2026,1.1\n", "'20/11/2026' is not a day"),
        ("Date,USD\n2026-11-20,-1\n", "'-1' is not a rate of 'USD'"),
        ("Date,USD\n2026-11-20,NaN\n", "'NaN' is not a rate"),
        ("Date,USD\n2026-11-20,1e-999999999\n", "'1e-999999999' is not a rate"),
        ("Date,USD\n2026-11-20,9e-10\n", "'9e-10' is not a rate"),
        ("Date,USD\n2026-11-20,1000000001\n", "'1000000001' is not a rate"),
        ("Date,USD\n2026-11-20,much\n", "'much' is not a rate"),
    ],
)
def test_another_file_is_refused(text, problem):
    with pytest.raises(ExchangeRateError, match=f"rates.csv.*{problem}"):
        read_exchange_rates(text, "rates.csv")


def test_the_ecbs_own_rates_are_the_right_way_round():
    """The rates of 13 April 2026, from its eurofxref.csv."""
    header = "Date, USD, JPY, DKK, GBP, CHF, CAD, HKD, KRW, \n"
    rates = "13 April 2026, 1.1684, 186.75, 7.4727, 0.87058, 0.92210, 1.6195, 9.1507, 1742.51, \n"
    table = read_exchange_rates(header + rates, "eurofxref.csv")

    day = date(2026, 4, 13)
    assert table.find("EUR", day).usd == Decimal("1.1684")
    assert table.find("CHF", day).usd == Decimal("1.1684") / Decimal("0.92210")


def test_a_euro_below_a_dollar_is_right_where_the_krone_proves_the_direction():
    """As on 28 September 2022."""
    table = read_exchange_rates("Date,USD,DKK\n2022-09-28,0.9565,7.4365\n", "hist.csv")

    assert table.find("EUR", date(2022, 9, 28)).usd == Decimal("0.9565")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Date,USD,DKK\n2026-11-20,0.8677,0.1341\n", "0.1341 DKK for one EUR, which is pegged"),
        ("Date,USD,DKK\n2026-11-20,1.0,6.4\n", "6.4 DKK for one EUR"),  # units to the dollar
        ("Date,USD,DKK,HKD\n2026-11-20,0.8677,7.46,9.04\n", "10.4183 HKD for one USD"),
    ],
)
def test_a_table_of_another_base_or_direction_is_refused(text, problem):
    with pytest.raises(ExchangeRateError, match=f"rates.csv, 2026-11-20: {problem}"):
        read_exchange_rates(text, "rates.csv")


@pytest.mark.parametrize(
    ("currency", "problem"),
    [
        ("EUR", r"one EUR at 0.8677 USD may be inverted.*more than a dollar.*\(1.15247 the other"),
        ("JPY", r"one JPY at 154.5\d* USD may be inverted.*less than a dollar"),
    ],
)
def test_an_inverted_table_without_kroner_gives_no_rate(currency, problem):
    table = read_exchange_rates("Date,USD,JPY\n2026-11-20,0.8677,0.005615\n", "rates.csv")

    with pytest.raises(ExchangeRateError, match=f"rates.csv: {problem}"):
        table.find(currency, date(2026, 11, 20))


def test_a_day_with_two_different_rates_has_none():
    """The last row would win without a word: 564 USD or 550 for the same 470 EUR."""
    twice = "Date,USD\n2026-11-20,1.17\n2026-11-20,1.20\n"

    with pytest.raises(ExchangeRateError, match="2026-11-20 is there twice, with different rates"):
        read_exchange_rates(twice, "rates.csv")


def test_a_day_that_is_there_twice_with_the_same_rates_is_read_once():
    row = "2026-11-20,1.17\n"

    assert read_exchange_rates(f"Date,USD\n{row}{row}", "rates.csv").days == (date(2026, 11, 20),)


def test_a_currency_with_two_columns_is_refused():
    with pytest.raises(ExchangeRateError, match="USD"):
        read_exchange_rates("Date,USD,USD\n2026-11-20,1.17,1.20\n", "rates.csv")
