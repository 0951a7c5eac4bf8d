"""The prices of changes over time, for people and programs."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from perfledger_cost_models.quote import ChangePrice
from perfledger_service.rendering.cost.price_history import (
    MAX_ROWS,
    page_values,
    price_history_document,
)
from perfledger_service.rendering.layout.writers import to_csv
from perfledger_service.values.change_price import PricedCheck, PriceHistory

UNPRICED = ChangePrice(
    workload="gpt:step",
    rate=None,
    device_hours_per_year=(0.0, 0.0, 0.0),
    hours_source="",
    usd=None,
    low=None,
    high=None,
    is_detectable=True,
    note="no fleet entry matches <gpt>",
)
PRICED = replace(UNPRICED, usd=Decimal(9000), low=Decimal(8000), high=Decimal(10_000), note="")
CHECK = PricedCheck(
    upload_id="1" * 32,
    head_sha="a" * 40,
    subject="=1+1",
    pull_request=None,
    is_on_branch=True,
    machine_class="cuda:H100:8",
    judged_on=date(2026, 11, 20),
    prices=(PRICED,),
)


def values_of(history) -> Mapping[str, Any]:
    return page_values(history)


def history_of(*prices, **values):
    check = replace(CHECK, prices=prices, **values)
    return PriceHistory(repository="octo/models", checks=(check,), has_older=False)


def test_the_most_expensive_change_is_named_with_its_interval():
    values = values_of(history_of(PRICED, UNPRICED))

    assert values["summary"].replace("\N{NO-BREAK SPACE}", " ") == (
        "1 of 2 changes have a price; the most expensive is gpt:step in default branch, "
        "+9,000 USD a year (8,000 to 10,000)."
    )
    assert len(values["changes"].rows) == len(values["unpriced"].rows) == 1
    assert values["svg"].count("<circle") == 1


def test_an_amount_that_no_fleet_costs_is_not_drawn():
    huge = replace(PRICED, usd=Decimal(10) ** 13, high=Decimal(10) ** 14)

    assert values_of(history_of(huge))["svg"] == ""


def test_savings_and_unclear_changes_have_their_own_colours():
    saving = replace(PRICED, usd=Decimal(-9), low=Decimal(-10), high=Decimal(-8))
    unclear = replace(PRICED, low=Decimal(-1))
    styles = [row.style for row in values_of(history_of(PRICED, saving, unclear))["changes"].rows]

    assert styles == ["worse", "better", "plain"]


def test_tables_end_and_the_data_has_every_change():
    history = history_of(*[PRICED] * (MAX_ROWS + 1), is_on_branch=False)

    assert values_of(history)["changes"].most == MAX_ROWS
    assert len(to_csv(price_history_document(history)).splitlines()) == MAX_ROWS + 2
    assert "unattested" in values_of(history)["summary"]


def test_a_subject_is_no_formula_in_a_spreadsheet():
    assert ",=1+1" not in to_csv(price_history_document(history_of(PRICED)))
