"""Bills in another currency than USD: converted by a table of rates, else refused."""

from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.billing.bill_currency import BillRates
from perfledger_cost_models.billing.focus import paid_prices, read_focus
from perfledger_cost_models.billing.focus_columns import COLUMNS, OPTIONAL, BillError
from perfledger_cost_models.csv_table import csv_text
from perfledger_cost_models.prices.exchange_rates import read_exchange_rates
from tests.cost_models.billing.example_rows import TWO_HOURS

EUROS = {"BillingCurrency": "EUR", "BilledCost": "100", "EffectiveCost": "90", "ListCost": "110"}
ROW = dict.fromkeys((*COLUMNS, *OPTIONAL), "") | TWO_HOURS | EUROS | {"ResourceType": "p5.48xlarge"}
NEXT_DAY = {
    "ChargePeriodStart": "2026-10-02T00:00:00Z",
    "ChargePeriodEnd": "2026-10-02T02:00:00Z",
}
TABLE = "Date,USD,DKK,JPY\n2026-10-02,1.25,7.46,160\n2026-10-01,1.2,7.46,160\n"


def bill_of(*rows, table=TABLE):
    rates = read_exchange_rates(table, "ecb.csv") if table else None
    lines = csv_text(tuple(ROW), [ROW | row for row in rows]).splitlines(keepends=True)
    return read_focus(lines, exchange_rates=rates)


def test_each_cost_is_converted_at_the_rate_of_its_own_day():
    """90 EUR at 1.20 and 90 EUR at 1.25 are 220.50 USD, for four hours."""
    bill = bill_of({}, NEXT_DAY)

    assert bill.effective_usd == Decimal("220.5")
    assert bill.billed_usd == Decimal("245.0")
    assert bill.list_usd == Decimal("269.5")
    assert [price.usd_per_hour for price in paid_prices(bill, source="x")] == [Decimal("55.125")]
    assert [price.note for price in paid_prices(bill, source="x")] == [
        (
            "4 hours from 2026-10-01 to 2026-10-02; EUR at 1.2 to 1.25 USD of 2026-10-01 to "
            "2026-10-02, ecb.csv"
        )
    ]
    assert bill.rates == (
        BillRates(
            currency="EUR",
            source="ecb.csv",
            low_usd=Decimal("1.2"),
            high_usd=Decimal("1.25"),
            first=date(2026, 10, 1),
            last=date(2026, 10, 2),
        ),
    )


def test_rows_in_usd_beside_others_stay_as_they_are():
    bill = bill_of({}, NEXT_DAY | {"BillingCurrency": "USD"})

    assert bill.effective_usd == Decimal("108.0") + 90
    assert [rates.currency for rates in bill.rates] == ["EUR"]


@pytest.mark.parametrize(
    ("row", "table", "problem"),
    [
        ({}, "", "line 2, is in 'EUR': give the ECB's table with --exchange-rates"),
        ({"BillingCurrency": "SEK"}, TABLE, "line 2, is in 'SEK': ecb.csv has no 'SEK'"),
        (
            {"ChargePeriodStart": "2026-09-01T00:00:00Z"},
            TABLE,
            "line 2, is in 'EUR': ecb.csv has no rates of 2026-09-01",
        ),
    ],
)
def test_a_bill_without_a_rate_of_its_day_is_refused_by_its_line(row, table, problem):
    with pytest.raises(BillError, match=problem):
        bill_of(row, table=table)
