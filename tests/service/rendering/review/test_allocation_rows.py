from dataclasses import replace
from datetime import date
from decimal import Decimal
from xml.etree import ElementTree

import pytest

from perfledger_cost_models.billing.allocated_hours import HeatMap, WeeklyHours
from perfledger_cost_models.billing.cost_allocation import AllocationRow
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_service.rendering.review.allocation_rows import allocation_tables
from perfledger_service.rendering.review.rows import MAX_ROWS


def row_of(team, usd, project="", hours="1000.5"):
    return AllocationRow(
        team=team,
        project=project,
        hours=Decimal(hours),
        direct_usd=Decimal(usd),
        idle_usd=Decimal("1.00"),
        overhead_usd=Decimal("0.50"),
    )


def allocation_of(*rows):
    total = sum((row.total_usd for row in rows), Decimal(0))
    return CostAllocation(
        rows=rows,
        effective_usd=total,
        billed_usd=total,
        list_usd=total,
        contracted_usd=total,
        start=date(2026, 7, 1),
        end=date(2026, 10, 1),
        paid_hours=Decimal(5000),
        source="usage files",
    )


@pytest.fixture
def allocation():
    return allocation_of(
        row_of("nlp", "10.00", "gpt"), row_of("nlp", "5.00"), row_of("", "2.00", "vit")
    )


def test_what_is_not_known_has_no_tables():
    assert allocation_tables(UnknownFigure(name="a", reason="no bill", remedy="--bill")) is None


def test_teams_are_summed_over_their_projects_and_the_bill_comes_last(allocation):
    tables = allocation_tables(allocation)

    assert tables is not None
    assert [(row["team"], row["direct"], row["total"]) for row in tables.teams] == [
        ("nlp", "15.00", "18.00"),
        ("(untagged)", "2.00", "3.50"),
        ("the bill", "17.00", "21.50"),
    ]
    assert tables.teams[0]["hours"] == "2,001"
    assert (tables.teams[-1]["idle"], tables.teams[-1]["overhead"]) == ("3.00", "1.50")


def test_projects_have_rows_of_their_own(allocation):
    tables = allocation_tables(allocation)

    assert tables is not None
    assert [(row["team"], row["project"]) for row in tables.projects] == [
        ("nlp", "gpt"),
        ("nlp", "(no project)"),
        ("(untagged)", "vit"),
        ("the bill", ""),
    ]


def test_where_no_project_is_known_there_is_no_table_of_them():
    tables = allocation_tables(allocation_of(row_of("nlp", "5.00")))

    assert tables is not None
    assert tables.projects == ()
    assert tables.heat == ""


def test_of_many_teams_the_first_are_shown_and_the_bill_is_of_all():
    rows = [row_of(f"team {number}", "1.00") for number in range(MAX_ROWS + 1)]

    tables = allocation_tables(allocation_of(*rows))

    assert tables is not None
    assert len(tables.teams) == MAX_ROWS + 1
    assert tables.teams[-1]["direct"] == "501.00"


def test_weeks_are_drawn_where_they_are_known(allocation):
    weeks = HeatMap(
        starts=(date(2026, 7, 6),),
        end=date(2026, 7, 13),
        rows=(WeeklyHours(team="<nlp>", hours=(168.0,)),),
    )

    tables = allocation_tables(replace(allocation, weeks=weeks))

    assert tables is not None
    assert ElementTree.fromstring(tables.heat).tag.endswith("svg")
    assert "<nlp>" not in tables.heat
