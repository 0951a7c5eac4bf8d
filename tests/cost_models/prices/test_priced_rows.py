"""Rows as the rules see them."""

from datetime import date, timedelta
from decimal import Decimal

from perfledger_cost_models.prices.priced_rows import (
    MAX_LATER,
    PricedRow,
    current_prices,
    fold,
    groups_by,
    is_same_price,
    newer_of,
    on_demand_rows,
    row_in_force,
)

DAY = date(2026, 7, 1)
LATER = DAY + timedelta(days=1)


def test_the_newer_of_two_is_blamed_and_a_reference_never(price):
    old, new = PricedRow(1, price("1", DAY)), PricedRow(2, price("1", LATER))
    reference = PricedRow(-1, price("1", LATER), is_reference=True)

    assert newer_of(old, new) == newer_of(new, old) == new
    assert newer_of(old, reference) == newer_of(reference, old) == old
    assert newer_of(old, PricedRow(3, price("2", DAY))).row == 3


def test_the_price_of_a_day_is_the_newest_until_then_else_the_first_soon_after(price):
    rows = [PricedRow(1, price("1", DAY)), PricedRow(2, price("2", LATER))]

    assert [getattr(row_in_force(rows, day), "row", None) for day in (DAY, LATER)] == [1, 2]
    assert getattr(row_in_force(rows, DAY - MAX_LATER), "row", None) == 1
    assert row_in_force(rows, DAY - MAX_LATER - timedelta(days=1)) is None


def test_rows_are_grouped_and_the_newest_is_current(price):
    rows = [PricedRow(1, price("1", DAY)), PricedRow(2, price("2", LATER))]
    other = PricedRow(3, price("1", DAY, term="billed"))

    assert [len(group) for group in groups_by([*rows, other], lambda one: one.key)] == [2, 1]
    assert {one.row for one in current_prices([*rows, other])} == {2, 3}
    assert on_demand_rows([*rows, other]) == rows


def test_how_far_prices_are_apart():
    assert fold(Decimal(2), Decimal(8)) == fold(Decimal(8), Decimal(2)) == 4
    assert is_same_price(Decimal("55.04"), Decimal("55.09"))
    assert not is_same_price(Decimal("55.04"), Decimal("55.10"))
