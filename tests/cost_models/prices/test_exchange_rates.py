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
