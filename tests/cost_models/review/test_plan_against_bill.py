from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.procurement.hour_shares import (
    HourShare,
    HourShares,
    ShareContradictionError,
    planned_shares,
    reconcile,
)
from perfledger_cost_models.procurement.owned_supply import supply_years
from perfledger_cost_models.procurement.plan import read_plan
from perfledger_cost_models.review.measured_shares import measured_shares
from perfledger_cost_models.review.plan_against_bill import (
    PlanContradictionError,
    check_planned_hours,
    supply_utilization,
)
from tests.cost_models.review.test_measured_shares import PLAN

H100 = "H100-80GB"
HELD = """
[[supply]]
name = "plan"
accelerator = "H100-80GB"
devices = {devices}
is_owned = {is_owned}
since = 2024-01-01
until = {until}
source = "invoice"
"""


@pytest.fixture
def bill(make_bill, a_bill_row):
    """Return a bill of the 92 days from July with 8 devices' 17,664 hours, 93 % of them used."""
    used = a_bill_row("a", "2053.44", "930", **PLAN, CommitmentDiscountStatus="Used")
    unused = a_bill_row("a", "9", "70", **PLAN, CommitmentDiscountStatus="Unused")
    return make_bill(("a", "25", "1376"), used, unused)


def holdings(plan_text, *, devices=8, is_owned="false", until="2029-12-31"):
    text = plan_text + HELD.format(devices=devices, is_owned=is_owned, until=until)
    return supply_years(
        read_plan(text, "plan.toml").supply,
        accelerator=H100,
        hours_per_hour={},
        start=date(2026, 10, 1),
        years=3,
        omission_reasons={},
    )


def reconciled(bill, supply):
    measured = measured_shares(bill, None, accelerator=H100, bill_name="bill.csv")
    supplied = supply_utilization(bill, supply, accelerator=H100, bill_name="bill.csv")
    return reconcile((*measured, *supplied))


def test_a_supply_that_fits_the_bill_is_a_second_source(bill, plan_text):
    (statement,) = supply_utilization(
        bill, holdings(plan_text), accelerator=H100, bill_name="bill.csv"
    )

    assert statement.share is HourShare.COMMITMENT_UTILIZATION
    assert float(statement.range.mode) == pytest.approx(0.93, abs=1e-6)
    assert statement.counts.startswith("16,428 of the 17,664 hours that the supply's 8 H100-80GB")
    assert reconciled(bill, holdings(plan_text)).by_share[statement.share].mode == Decimal("0.93")


@pytest.mark.parametrize(("devices", "share"), [(80, "9.3 %"), (4, "186.0 %")])
def test_a_supply_with_other_devices_than_the_bills_stops_the_decision(
    bill, plan_text, devices, share
):
    """Ten times the devices, and a bill that counts all rows twice."""
    supply = holdings(plan_text, devices=devices)

    with pytest.raises(ShareContradictionError, match=r"93\.0 % by 'bill\.csv: used") as error:
        reconciled(bill, supply)
    assert f"and {share} by 'bill.csv / [[supply]] of the plan" in str(error.value)


def bare(plan_text, *, devices=8):
    """Return a plan without hours and utilization, which the bill has."""
    lines = plan_text.splitlines()
    text = "\n".join(line for line in lines if not line.startswith(("hours", "commitment")))
    return text + HELD.format(devices=devices, is_owned="false", until="2029-12-31")


def test_a_bill_that_contradicts_the_plan_stops_the_decision(make_review, bill, plan_text):
    text = bare(plan_text).replace(
        "[[option]]",
        'commitment_utilization = { low = 0.5, mode = 0.6, high = 0.8, source = "made up" }\n'
        "[[option]]",
        1,
    )

    with pytest.raises(ShareContradictionError, match=r"60.0 % by 'made up' and 93.0 % by 'bill"):
        make_review(text, bill=bill)
    with pytest.raises(ShareContradictionError, match=r"and 9.3 % by 'bill"):
        make_review(bare(plan_text, devices=80), bill=bill)


def test_hours_of_a_bill_are_not_divided_again(make_review, bill, plan_text):
    review = make_review(bare(plan_text), bill=bill)

    hours = next(line for line in review.model.lines if line.name == "hours_1")
    assert hours.formula == "hours_a_year"
    assert "paid H100-80GB hours" in review.demand.hours.label


def test_committed_hours_without_a_supply_stop_the_decision(bill, plan_text):
    with pytest.raises(PlanContradictionError, match="16,428 committed H100-80GB hours"):
        reconciled(bill, holdings(plan_text, is_owned="true"))
    with pytest.raises(PlanContradictionError, match="no committed"):
        reconciled(bill, holdings(plan_text, until="2026-06-30"))


def test_without_commitments_there_is_nothing_to_compare(make_bill, plan_text):
    supply = holdings(plan_text, is_owned="true")

    assert supply_utilization(None, supply, accelerator=H100, bill_name="b") == ()
    on_demand = make_bill(("a", "25", "1376"))
    assert supply_utilization(on_demand, supply, accelerator=H100, bill_name="b") == ()


def check(bill, plan_text, hours, *, kind="paid", supply=()):
    low, high = hours
    lines = [line for line in plan_text.splitlines() if not line.startswith("hours")]
    place = lines.index("[demand]") + 1
    lines.insert(place, f'hours_kind = "{kind}"')
    lines.insert(
        place, f'hours = {{ low = {low}, mode = {low}, high = {high}, source = "the team" }}'
    )
    lines.insert(
        place, 'allocated_share = { low = 0.5, mode = 0.5, high = 0.5, source = "made up" }'
    )
    demand = read_plan("\n".join(lines), "plan.toml").demand
    shares: HourShares = reconcile(planned_shares(demand))
    check_planned_hours(demand, bill, supply, shares, bill_name="bill.csv")


# The bill has (2,053.44 + 25) x 8 hours in 92 days: 65,968 a year.
@pytest.mark.parametrize("hours", [(63_000, 63_000), (69_000, 69_000), (20_000, 66_000)])
def test_hours_within_five_percent_or_with_the_bills_in_their_range_agree(bill, plan_text, hours):
    check(bill, plan_text, hours)


@pytest.mark.parametrize("hours", [(62_000, 62_000), (70_000, 70_000), (132_000, 140_000)])
def test_hours_that_differ_from_the_bills_stop_the_decision(bill, plan_text, hours):
    with pytest.raises(PlanContradictionError, match=r"by 'the team' and 65,968 by 'bill\.csv'"):
        check(bill, plan_text, hours)


def test_allocated_hours_are_compared_as_paid_ones(bill, plan_text):
    check(bill, plan_text, (33_000, 33_000), kind="allocated")
    with pytest.raises(PlanContradictionError, match="132,000 by"):
        check(bill, plan_text, (66_000, 66_000), kind="allocated")


def test_owned_devices_may_have_hours_besides_the_bills(bill, plan_text):
    owned = holdings(plan_text, is_owned="true")

    check(bill, plan_text, (136_000, 136_000), supply=owned)
    with pytest.raises(PlanContradictionError, match="and 70,080 of owned devices"):
        check(bill, plan_text, (150_000, 150_000), supply=owned)


def test_without_the_accelerator_in_a_bill_there_are_no_hours_to_compare(bill, plan_text):
    check(None, plan_text, (1, 1))
    check(bill, plan_text.replace("H100-80GB", "A100-80GB"), (1, 1))
