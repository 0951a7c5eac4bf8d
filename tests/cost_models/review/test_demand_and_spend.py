from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from perfledger.bundle import FleetUse
from perfledger_cost_models.billing.bill_against_list import (
    compared_prices,
    unsure_models,
    unsure_sentences,
)
from perfledger_cost_models.billing.showback import CostAllocation
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.procurement.plan import PlanTeam, ProcurementPlanError, read_plan
from perfledger_cost_models.review.demand_and_spend import (
    allocation_of,
    changes_of,
    demand_hours,
    efficiency_hours,
    hours_by_mode,
    team_hours,
    workload_hours,
)
from perfledger_cost_models.review.document import UnknownFigure
from perfledger_cost_models.review.measured_changes import (
    LandedChange,
    QuarterRecords,
    RepositoryFleet,
)
from perfledger_cost_models.review.quarter import Quarter

FLEET = (FleetUse(workload="gpt:*", where="p5.48xlarge/on_demand", device_hours_per_year=8000.0),)


UNUSED = {"PricingCategory": "Committed", "CommitmentDiscountStatus": "Unused"}


def landed(
    change=(0.08, 0.10, 0.12), workload="gpt:step", day=date(2026, 8, 1), repository="octo/models"
):
    return LandedChange(
        repository=repository,
        workload=workload,
        commit="abc",
        subject="slower",
        day=day,
        device="NVIDIA H100 80GB HBM3",
        accelerator="H100-80GB",
        change=change,
        origin="upload 1",
    )


def fleet_of(entries, registered=(), repository="octo/models"):
    return RepositoryFleet(repository=repository, entries=entries, registered=registered)


def records(fleet=(), **values):
    known_fields: dict[str, Any] = {
        "origin": "the store",
        "checks": 1,
        "observations": 2,
        "fleets": (fleet_of(fleet),),
    }
    return QuarterRecords(**(known_fields | values))


def demand(text, **values):
    known_fields: dict[str, Any] = {
        "bill": None,
        "bill_name": "bill.csv",
        "records": None,
        "sheet": packaged_sheet(),
    }
    return demand_hours(read_plan(text, "plan.toml"), **(known_fields | values))


@pytest.fixture
def no_hours(plan_text):
    return "\n".join(line for line in plan_text.splitlines() if not line.startswith("hours"))


def test_the_plans_hours_go_before_all_others(plan_text, make_bill):
    assert demand(plan_text, bill=make_bill(("a", "100", "5504"))).mode == 300_000


def test_the_bills_hours_are_a_measured_year(no_hours, make_bill):
    input_range = demand(no_hours, bill=make_bill(("a", "92", "5063.68")))

    assert input_range.low == input_range.mode == input_range.high == 92 * 8 * Decimal(365) / 92
    assert input_range.basis == "measured"


def test_a_bill_without_the_accelerator_says_nothing_of_its_hours(no_hours, make_bill, a_bill_row):
    bill = make_bill(a_bill_row("a", "10", "200", ResourceType="p4d.24xlarge"))

    assert demand(no_hours, bill=bill, records=records(fleet=FLEET)).mode == 8000


def test_the_configurations_hours_are_their_ranges_summed(no_hours):
    fleet = (
        *FLEET,
        FleetUse(
            workload="b",
            where="p5.48xlarge/on_demand",
            device_hours_per_year=10.0,
            low=0.0,
            high=30.0,
        ),
        FleetUse(workload="c", where="tpu-v4/on_demand", device_hours_per_year=99.0),
        FleetUse(workload="d", where="no/such", device_hours_per_year=99.0),
    )

    input_range = demand(no_hours, records=records(fleet=fleet))
    assert (input_range.low, input_range.mode, input_range.high) == (8000, 8010, 8030)


def test_an_equal_entry_of_two_repositories_may_be_a_copy(no_hours):
    """As of a fork: its hours would count twice. Another source says that they are others."""
    of_a_fork = fleet_of(FLEET, repository="octo/fork")
    other = tuple(replace(use, source="the batch cluster") for use in FLEET)
    of_another = fleet_of(other, repository="octo/batch")

    with pytest.raises(
        ProcurementPlanError,
        match=r"octo/models and octo/fork have an equal \[\[fleet\]\] entry, 8,000 hours of 'gpt:",
    ):
        demand(no_hours, records=records(fleets=(fleet_of(FLEET), of_a_fork)))
    assert demand(no_hours, records=records(fleets=(fleet_of(FLEET), of_another))).mode == 16_000


def test_without_any_hours_it_says_where_to_put_them(no_hours):
    with pytest.raises(ProcurementPlanError, match=r"\[demand\]"):
        demand(no_hours)


def test_a_team_that_got_back_more_than_it_spent_has_its_credit(make_bill):
    cost_allocation = allocation_of(make_bill(("a", "10", "550.40"), ("b", "-1", "-55.04")), ())

    assert isinstance(cost_allocation, CostAllocation)
    assert [(row.team, row.total_usd) for row in cost_allocation.rows] == [
        ("a", Decimal("550.40")),
        ("b", Decimal("-55.04")),
    ]


def test_the_bill_is_shared_out_by_its_own_teams_and_the_plans_entitlements(make_bill, a_bill_row):
    bill = make_bill(("a", "10", "550.40"), a_bill_row("x", "1", "57.53", **UNUSED))

    cost_allocation = allocation_of(bill, (PlanTeam(name="b", entitled_hours=Decimal(1)),))
    assert isinstance(cost_allocation, CostAllocation)
    assert [(row.team, row.total_usd) for row in cost_allocation.rows] == [
        ("a", Decimal("550.40")),
        ("b", Decimal("57.53")),
    ]


def test_hours_are_shown_by_team_and_by_mode(make_bill, a_bill_row):
    committed = a_bill_row(
        "a", "5", "100", PricingCategory="Committed", CommitmentDiscountType="Savings Plan"
    )
    bill = make_bill(("a", "10", "550.40"), ("b", "5", "275.20"), committed)

    teams = team_hours(bill)
    assert not isinstance(teams, UnknownFigure)
    assert [(row.team, row.hours, row.share) for row in teams] == [
        ("a", Decimal(120), 0.75),
        ("b", Decimal(40), 0.25),
    ]
    assert hours_by_mode(bill) == (
        ("H100-80GB, on demand", Decimal(120), Decimal("825.60")),
        ("H100-80GB, savings plan", Decimal(40), Decimal(100)),
    )


def test_hours_that_may_be_a_capacity_blocks_are_a_row_with_a_question_mark(make_bill):
    """As `prices bill` says of the same bill, by the same functions."""
    bill = make_bill(("a", "10", "550.40"), ("b", "5", "200"))
    certain = make_bill(("a", "10", "550.40"))
    comparisons = compared_prices(bill, packaged_sheet(), name="bill.csv")

    ((name, hours, usd),) = hours_by_mode(bill, unsure_models(comparisons))
    assert (name, hours, usd) == ("H100-80GB, on demand?", Decimal(120), Decimal("750.40"))
    (sentence,) = unsure_sentences(comparisons)
    assert sentence.startswith("p5.48xlarge at 50.03 USD an hour, and not the 55.04 USD")
    assert "RunInstances:CB" in sentence
    at_list = compared_prices(certain, packaged_sheet(), name="bill.csv")
    assert not unsure_models(at_list)
    assert not list(unsure_sentences(at_list))


def test_without_a_bill_what_it_would_say_is_not_known():
    assert isinstance(team_hours(None), UnknownFigure)
    assert isinstance(allocation_of(None, ()), UnknownFigure)


def test_workloads_have_the_team_whose_pattern_they_match():
    teams = (PlanTeam(name="language", workloads=("gpt:*",)),)

    rows = workload_hours(records(fleet=FLEET), teams)
    assert not isinstance(rows, UnknownFigure)
    (row,) = rows
    assert (row.team, row.hours) == ("language", 8000.0)
    assert isinstance(workload_hours(records(), teams), UnknownFigure)


def test_landed_changes_are_priced_on_the_fleet():
    landed_changes = changes_of(
        records(landed_changes=(landed(),), branch_checks=1, fleet=FLEET), packaged_sheet()
    )

    assert not isinstance(landed_changes, UnknownFigure)
    (price,) = landed_changes[0].prices
    assert price.usd == 8000 * Decimal("0.1") * Decimal("6.88")
    hours = {
        name: efficiency_hours(landed_changes, accelerator=name, quarter=Quarter(2026, 3))
        for name in ("H100-80GB", "A100-80GB")
    }
    # 10 % of 8,000 hours a year, for the 61 days from the first of August to the quarter's end.
    assert hours == {"H100-80GB": pytest.approx(Decimal(800) * 61 / 365), "A100-80GB": 0}


@pytest.mark.parametrize(
    ("day", "days"),
    [
        (date(2026, 6, 30), 92),  # committed before the quarter, measured in it
        (date(2026, 7, 1), 92),
        (date(2026, 9, 30), 1),
        (date(2026, 10, 1), 0),
    ],
)
def test_a_change_counts_from_the_day_that_it_landed(day, days):
    landed_changes = changes_of(
        records(landed_changes=(landed(day=day),), branch_checks=1, fleet=FLEET), packaged_sheet()
    )

    assert not isinstance(landed_changes, UnknownFigure)
    hours = efficiency_hours(landed_changes, accelerator="H100-80GB", quarter=Quarter(2026, 3))
    assert hours == pytest.approx(Decimal(800) * days / 365)


def test_a_change_is_priced_on_the_fleet_of_its_own_repository():
    """Another repository's workload of the same id has other hours."""
    other_fleet = (replace(FLEET[0], workload="*", device_hours_per_year=500_000.0),)
    fleets = (fleet_of(FLEET), fleet_of(other_fleet, repository="octo/other"))
    landed_changes = changes_of(
        records(landed_changes=(landed(),), branch_checks=1, fleets=fleets), packaged_sheet()
    )

    assert not isinstance(landed_changes, UnknownFigure)
    (price,) = landed_changes[0].prices
    assert price.usd == 8000 * Decimal("0.1") * Decimal("6.88")


def test_a_change_of_a_repository_without_a_fleet_has_no_price():
    landed_changes = changes_of(
        records(landed_changes=(landed(repository="octo/other"),), branch_checks=1, fleet=FLEET),
        packaged_sheet(),
    )

    assert not isinstance(landed_changes, UnknownFigure)
    (price,) = landed_changes[0].prices
    assert (price.usd, price.note[:22]) == (None, "no fleet entry matches")


def test_hours_that_may_stand_in_two_entries_are_no_demand(no_hours):
    """Summed, a copied entry would double what is bought."""
    one = replace(FLEET[0], workload="gpt:step")
    pattern = replace(FLEET[0], device_hours_per_year=20_000.0)
    split = replace(pattern, weights={"gpt:step": 0.0, "gpt:other": 1.0})

    with pytest.raises(ProcurementPlanError, match="count twice is unknown"):
        demand(no_hours, records=records(fleet=(*FLEET, *FLEET)))
    with pytest.raises(ProcurementPlanError, match="count twice is unknown"):
        demand(no_hours, records=records(fleet=(one, pattern)))
    assert demand(no_hours, records=records(fleet=(one, split))).mode == 28_000
    more = (replace(FLEET[0], device_hours_per_year=9000.0),)
    fleets = (fleet_of(FLEET), fleet_of(more, repository="octo/other"))
    assert demand(no_hours, records=records(fleets=fleets)).mode == 17_000


def test_a_change_without_hours_leaves_the_efficiency_unknown():
    landed_changes = changes_of(
        records(landed_changes=(landed(workload="other"),), branch_checks=1), packaged_sheet()
    )

    assert not isinstance(landed_changes, UnknownFigure)
    assert (
        efficiency_hours(landed_changes, accelerator="H100-80GB", quarter=Quarter(2026, 3)) is None
    )


def test_heads_of_pull_requests_are_not_taken_for_landed():
    landed_changes = changes_of(records(pull_request_checks=3), packaged_sheet())

    assert isinstance(landed_changes, UnknownFigure)
    assert "3 checks of pull requests" in landed_changes.reason
