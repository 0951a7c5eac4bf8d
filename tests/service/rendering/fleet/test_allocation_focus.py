"""An allocation as FOCUS rows: every cost sums to the bill's, and names are only names."""

import csv
import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.billing.cost_allocation import (
    NO_USD,
    UNALLOCATED,
    AllocationRow,
)
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_service.rendering.fleet.allocation_focus import COLUMNS, allocation_focus

COSTS = ("EffectiveCost", "BilledCost", "ListCost", "ContractedCost")


def row_of(team, *usd, project="", hours="0"):
    direct, idle, overhead = map(Decimal, usd)
    return AllocationRow(
        team=team,
        project=project,
        hours=Decimal(hours),
        direct_usd=direct,
        idle_usd=idle,
        overhead_usd=overhead,
    )


def allocation_of(*rows, **usd):
    effective = sum((row.total_usd for row in rows), NO_USD)
    totals: dict[str, Any] = {
        "billed_usd": effective,
        "list_usd": effective,
        "contracted_usd": effective,
    }
    return CostAllocation(
        rows=rows,
        effective_usd=effective,
        start=date(2026, 7, 1),
        end=date(2026, 10, 1),
        paid_hours=Decimal(100),
        source="usage files",
        **totals | {name: Decimal(value) for name, value in usd.items()},
    )


def rows_in(allocation, **options):
    return list(csv.DictReader(allocation_focus(allocation, **options).splitlines()))


@pytest.fixture
def allocation():
    return allocation_of(
        row_of("nlp", "10.01", "2.00", "0.50", project="gpt", hours="12.5"),
        row_of("", "5.00", "0.00", "0.25", hours="4"),
        row_of(UNALLOCATED, "0.00", "3.33", "0.00"),
        billed_usd="30.00",
        list_usd="40.01",
        contracted_usd="35.00",
    )


def test_there_is_a_row_for_each_owner_and_part_that_costs_something(allocation):
    rows = rows_in(allocation, quarter="2026Q3")

    assert [
        (row["SubAccountName"], row["x_AllocationPart"], row["EffectiveCost"]) for row in rows
    ] == [
        ("nlp", "direct", "10.01"),
        ("nlp", "idle", "2.00"),
        ("nlp", "overhead", "0.50"),
        ("(untagged)", "direct", "5.00"),
        ("(untagged)", "overhead", "0.25"),
        ("(unallocated)", "idle", "3.33"),
    ]
    assert list(rows[0]) == list(COLUMNS)
    assert {row["x_Quarter"] for row in rows} == {"2026Q3"}


def test_each_cost_sums_to_the_bills(allocation):
    sums = {name: sum(Decimal(row[name]) for row in rows_in(allocation)) for name in COSTS}

    assert sums == {
        "EffectiveCost": Decimal("21.09"),
        "BilledCost": Decimal("30.00"),
        "ListCost": Decimal("40.01"),
        "ContractedCost": Decimal("35.00"),
    }


amounts = st.decimals(min_value=-1000, max_value=10**6, places=2)


@given(st.lists(st.tuples(amounts, amounts, amounts), max_size=5), amounts)
def test_whatever_a_bill_holds_its_costs_sum_to_the_cent(parts, billed):
    rows = [row_of(f"team {place}", *usd) for place, usd in enumerate(parts)]
    allocation = allocation_of(*rows, billed_usd=billed)

    written = rows_in(allocation)

    assert sum(Decimal(row["BilledCost"]) for row in written) == billed
    assert sum(Decimal(row["EffectiveCost"]) for row in written) == allocation.effective_usd


def test_a_bill_that_nobody_pays_anything_of_has_a_row_with_what_was_invoiced():
    (row,) = rows_in(allocation_of(billed_usd="7.00"))

    assert (row["SubAccountName"], row["EffectiveCost"]) == ("(unallocated)", "0.00")
    assert row["BilledCost"] == "7.00"


def test_hours_are_of_the_direct_part_alone_and_always_have_a_point(allocation):
    rows = rows_in(allocation)

    assert [row["ConsumedQuantity"] for row in rows] == ["12.5", "0.0", "0.0", "4.0", "0.0", "0.0"]
    assert all(row["ConsumedQuantity"] == row["PricingQuantity"] for row in rows)


def test_the_method_says_which_share_of_the_bill_a_row_is(allocation):
    first, second = (json.loads(row["AllocatedMethodDetails"]) for row in rows_in(allocation)[:2])

    assert first["Elements"] == [
        {
            "AllocatedRatio": pytest.approx(10.01 / 21.09),
            "UsageUnit": "Hours",
            "UsageQuantity": 12.5,
        }
    ]
    assert second["Elements"] == [{"AllocatedRatio": pytest.approx(2.00 / 21.09)}]


def test_what_nobody_pays_is_allocated_to_nothing(allocation):
    first, *_, untagged, nobody = rows_in(allocation)

    assert first["AllocatedResourceName"] == "nlp/gpt"
    assert json.loads(first["Tags"]) == {"team": "nlp", "project": "gpt"}
    assert (untagged["AllocatedResourceName"], untagged["Tags"]) == ("(untagged)", "{}")
    assert (nobody["AllocatedResourceName"], nobody["AllocatedTags"]) == ("", "{}")


def test_every_row_has_the_period_of_the_bill(allocation):
    for row in rows_in(allocation):
        assert (row["BillingPeriodStart"], row["ChargePeriodEnd"]) == (
            "2026-07-01T00:00:00Z",
            "2026-10-01T00:00:00Z",
        )


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", "-2+3", "\x1b[31mred\u202e", 'a"b,c\nd'])
def test_a_name_of_others_is_no_formula_and_stays_in_its_cell(allocation, name):
    first = replace(allocation.rows[0], team=name, project=name)

    row = rows_in(replace(allocation, rows=(first, *allocation.rows[1:])))[0]

    assert row["SubAccountName"][0] not in "=@-"
    assert row["x_Project"][0] not in "=@-"
    assert not {"\x1b", "\u202e", "\n"} & set("".join(row.values()))
    assert row["EffectiveCost"] == "10.01"
