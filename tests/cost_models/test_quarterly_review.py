"""What the review says, what it refuses, and what it says that it does not know."""

import json
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from perfledger_cost_models.age import StalePriceError
from perfledger_cost_models.budget import Variance
from perfledger_cost_models.last_review import FORMAT, MAX_BYTES, LastReviewError, read_last
from perfledger_cost_models.option_facts import expiry
from perfledger_cost_models.procurement import Basis
from perfledger_cost_models.quarter import quarter_of
from perfledger_cost_models.review import LastDecision, Unknown
from perfledger_cost_models.review_records import MeasuredSpeed, Records
from perfledger_cost_models.sheet import PriceSheet, packaged_sheet

SUPPLY = """
[[supply]]
name = "plan"
accelerator = "H100-80GB"
devices = 16
is_owned = false
since = 2024-01-01
until = 2029-12-31
usd_per_year = 400000
source = "invoice"
[[supply]]
name = "lab"
accelerator = "H100-80GB"
devices = 8
is_owned = true
since = 2024-01-01
until = 2029-12-31
source = "register"
"""
OLD = """
[[supply]]
name = "old"
accelerator = "A100-80GB"
devices = 8
is_owned = false
since = 2024-01-01
until = 2029-12-31
source = "register"
"""
LAST = {
    "format": FORMAT,
    "version": 1,
    "quarter": "2026Q2",
    "taken": {"name": "today", "where": "p5.48xlarge/on_demand"},
    "outlook": {"quarter": "2026Q3", "hours": "700", "usd": "4816"},
    "inputs": [{"name": "w1_usd_per_hour", "mode": "12.29"}],
    "later keys": "are skipped",
}


def last(**values):
    return json.dumps(LAST | values).encode()


def read(data):
    return read_last(data, before=quarter_of("2026Q3"))


def test_prices_beyond_half_a_year_are_refused(make_review):
    with pytest.raises(StalePriceError, match="allow-stale-prices"):
        make_review(today=date(2027, 5, 9))


def test_prices_of_exactly_half_a_year_are_not(make_review):
    # The commitment's price is of 2026-08-07.
    assert make_review(today=date(2027, 2, 3)).stale == ()
    with pytest.raises(StalePriceError, match="2026-08-07"):
        make_review(today=date(2027, 2, 4))


def test_stale_prices_that_were_allowed_are_named(make_review):
    review = make_review(today=date(2027, 2, 4), is_stale_allowed=True)

    assert "181 days" in review.stale[0]


def test_prices_keep_until_the_first_of_the_two_that_are_decided_between(make_review):
    review = make_review()

    assert review.expires == date(2026, 11, 5)  # 90 days after 2026-08-07
    assert review.expired == ("three years",)


def test_what_is_not_known_is_listed_once_with_a_way_to_know_it(make_review):
    unknowns = make_review().unknowns

    assert len(set(unknowns)) == len(unknowns)
    assert {"queue waits" in one.what for one in unknowns} == {True, False}
    assert all(one.why and one.how for one in unknowns)


def test_every_assumed_input_is_a_risk(make_review):
    review = make_review()
    assumed = [each for each in review.model.inputs if each.basis is Basis.ASSUMED]

    words = " ".join(risk.what for risk in review.risks)
    assert assumed
    assert all(each.words in words for each in assumed)


def test_every_input_has_a_source(make_review, plan_text, all_options):
    review = make_review(plan_text + all_options)

    assert all(each.source for each in review.model.inputs)


def test_supply_that_the_bill_does_not_hold_carries_none_of_its_hours(
    make_review, plan_text, make_bill
):
    text = "\n".join(line for line in plan_text.splitlines() if not line.startswith("hours"))
    review = make_review(text + SUPPLY + OLD, bill=make_bill(("a", "9200", "506368")))

    counted = {one.name: one.equivalents for one in review.supply.held}
    assert counted["plan"] == (16, 16, 16)
    assert counted["lab"] is None
    assert counted["old"] is None
    assert any("lab" in risk.what for risk in review.risks)
    assert {one.hours_a_year for one in review.supply.held} == {8 * 8760, 16 * 8760}


def test_the_budget_is_what_is_held_and_the_rest_at_what_was_decided(make_review, plan_text):
    review = make_review(plan_text + SUPPLY)

    carried = 24 * 8760 * Decimal("0.7")
    rest = (300_000 - carried) / 4 * review.taken.hour
    assert review.outlook.quarter == "2026Q4"
    assert float(review.outlook.usd) == pytest.approx(float(100_000 + rest))


@pytest.mark.parametrize(
    ("since", "until", "share"),
    [
        ("2026-01-01", "2026-11-15", Decimal(46) / 92),  # half of the quarter
        ("2027-01-01", "2029-01-01", Decimal(0)),  # not yet there
    ],
)
def test_the_budget_has_what_is_held_while_it_is_held(make_review, plan_text, since, until, share):
    text = (
        f'[[supply]]\nname = "plan"\naccelerator = "H100-80GB"\ndevices = 16\nis_owned = false\n'
        f"since = {since}\nuntil = {until}\nusd_per_year = 400000\nsource = 'made up'\n"
    )
    review = make_review(plan_text + text)

    (held,) = review.supply.held
    need = (300_000 - held.equivalents[0] * 8760 * Decimal("0.7")) / 4 * review.taken.hour
    assert float(review.outlook.usd) == pytest.approx(float(100_000 * share + need))


def test_without_the_supplys_cost_there_is_no_budget(make_review, plan_text):
    review = make_review(plan_text + SUPPLY.replace("usd_per_year = 400000\n", ""))

    assert review.outlook.usd is None
    assert "usd_per_year" in review.outlook.why


def test_the_last_decision_is_held_against_the_bill(make_review, make_bill):
    review = make_review(last=read(last()), bill=make_bill(("a", "100", "6000")))

    assert isinstance(review.last, LastDecision)
    found = review.last.variance
    assert isinstance(found, Variance)
    assert found.budget_usd == 4816
    assert found.actual_usd == 6000
    assert found.volume_usd == 100 * Decimal("6.88")  # 800 hours, not 700
    assert found.efficiency_usd is None
    assert found.price_usd == 6000 - 800 * Decimal("6.88")
    assert review.last.moved[0][1:] == (Decimal("12.29"), Decimal("6.88"))


@pytest.mark.parametrize(
    ("outlook", "why"),
    [({"usd": None}, "no budget"), ({"hours": "0"}, "no rate")],
)
def test_a_last_review_without_a_budget_says_so(make_review, make_bill, outlook, why):
    given = last(outlook={"quarter": "2026Q3", "hours": "1", "usd": "1"} | outlook)

    review = make_review(last=read(given), bill=make_bill(("a", "100", "6000")))
    assert isinstance(review.last.variance, Unknown)
    assert why in review.last.variance.why


def test_a_bill_of_a_part_of_the_quarter_is_not_held_against_its_budget(
    make_review, make_bill, a_bill_row
):
    august = a_bill_row("a", "100", "6000", ChargePeriodStart="2026-08-01T00:00:00Z")

    review = make_review(last=read(last()), bill=make_bill(august))

    assert isinstance(review.last.variance, Unknown)
    assert "not the whole quarter" in review.last.variance.why


def test_commitments_to_other_accelerators_are_no_part_of_what_was_spent(
    make_review, make_bill, a_bill_row
):
    unused = {"PricingCategory": "Committed", "CommitmentDiscountStatus": "Unused"}
    same, other = (
        a_bill_row("a", "1", "50", ResourceType=sku, **unused)
        for sku in ("p5.48xlarge", "p4d.24xlarge")
    )

    bill = make_bill(("a", "100", "6000"), same, other)
    review = make_review(last=read(last()), bill=bill)

    assert (bill.unused_usd, review.last.variance.actual_usd) == (100, 6050)


def test_a_last_review_without_a_bill_has_no_actual(make_review):
    assert "no bill" in make_review(last=read(last())).last.variance.why


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (last(quarter="2026Q1"), "before 2026Q3"),
        (last(quarter="soon"), "cannot be read"),
        (last(format="other"), "version 1"),
        (last(version=2), "version 1"),
        (last(inputs=[{"name": "a", "mode": "NaN"}]), "number that is none"),
        (last(outlook={"quarter": "2026Q3", "hours": "1e99", "usd": None}), "number that is none"),
        (last(taken=1), "cannot be read"),
        (b" " * (MAX_BYTES + 1), "at most"),
    ],
)
def test_what_is_not_the_last_review_is_refused(data, says):
    with pytest.raises(LastReviewError, match=says):
        read(data)


def test_owned_ways_have_a_break_even_and_a_resale(make_review, plan_text, all_options):
    review = make_review(plan_text + all_options)
    facts = {one.outcome.way.name: one for one in review.options}

    assert 0 < facts["buy"].break_even.p50 < 1
    assert facts["buy"].resale[1] == 7 * 320_000 * Decimal("0.28")
    assert facts["three years"].break_even.p50 == pytest.approx(23.777 / 55.04)
    assert facts["three years"].owed_usd == pytest.approx(
        Decimal(56 * 8760 * 2) * Decimal("2.972125")
    )
    assert facts["three years upfront"].owed_usd == 0
    assert facts["today"].break_even is None
    assert facts["blocks"].break_even.p50 == pytest.approx(41.53 / 55.04)
    assert isinstance(facts["TPU"].carbon, Unknown)
    assert facts["buy"].carbon.energy_kwh > facts["today"].carbon.energy_kwh
    assert facts["buy"].payback_years > 0
    assert facts["buy"].return_per_year > 0


def test_what_is_no_price_does_not_expire(make_review):
    assert expiry(make_review().demand.hours) is None


def test_units_are_priced_where_they_were_measured(make_review):
    speed = MeasuredSpeed(
        workload="gpt:step",
        unit="tokens",
        device="NVIDIA H100 80GB HBM3",
        accelerator="H100-80GB",
        units_per_second=(90.0, 100.0, 110.0),
        day=date(2026, 8, 1),
        commit="abc",
        origin="upload 1",
    )
    records = Records(origin="the store", checks=1, observations=2, speeds=(speed,))

    review = make_review(records=records)
    (evidence,) = review.performance.evidence
    low, middle, high = dict(evidence.usd)["today"]
    assert float(middle) == pytest.approx(6.88 / 100 / 3600 * 1e6)
    assert low < middle < high


def test_a_licence_that_the_plan_states_is_paid(make_review, plan_text, all_options):
    licence = """
[[input]]
parameter = "software_licence_nvidia_ai_enterprise"
value = { low = 4000, mode = 4500, high = 5000, basis = "quoted", source = "quote" }
"""
    before, after = (
        {one.outcome.way.name: one.outcome.npv for one in make_review(text).options}
        for text in (plan_text + all_options, plan_text + all_options + licence)
    )

    assert after["buy"] > before["buy"]
    assert after["today"] == before["today"]


def test_terms_that_are_not_of_one_or_three_years_have_no_price_here(make_review, plan_text):
    sheet = packaged_sheet()
    two = [
        replace(price, term=price.term.replace("3y", "2y"))
        for price in sheet.prices
        if price.term == "3y_no_upfront"
    ]
    text = plan_text.replace("savings_plan/3y", "savings_plan/2y")

    review = make_review(text, sheet=PriceSheet(name="two", prices=(*sheet.prices, *two)))
    assert "1 and 3" in review.model.unpriced[0].why


def test_the_curve_falls_with_use_where_hours_are_paid_for_unused(
    make_review, plan_text, all_options
):
    for one in make_review(plan_text + all_options).options:
        costs = [usd for _, usd in one.curve]
        assert costs == sorted(costs, reverse=True)
