from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings, strategies as st

from perfledger_cost_models.energy.energy import CarbonEmissions
from perfledger_cost_models.tco.buy_vs_rent import BreakEven
from perfledger_service.rendering.layout.number_format import NOTHING
from perfledger_service.rendering.review.rows import (
    UNKNOWN_VALUE,
    calculable,
    chance,
    day,
    energy_sentences,
    input_rows,
    number_or_money,
    option_rows,
    paid_whole_usd,
    plain_number,
    switch_rows,
    with_unit,
)


def spaced(text):
    return text.replace("\xa0", " ")


def row_of(review, name):
    return next(row for row in option_rows(review) if row.name == name)


def with_facts(review, name, **values):
    """Return the review with other details of one option."""
    options = tuple(
        replace(one, **values) if one.outcome.option.name == name else one for one in review.options
    )
    return replace(review, options=options)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("0", "0"),
        ("-0.00001", "0"),
        ("0.12345", "0.1234"),
        ("0.5", "0.5"),
        ("12.30", "12.3"),
        ("123.456", "123.46"),
        ("99.9876", "99.9876"),
        ("100.4567", "100.46"),
        ("999.5", "999.5"),
        ("1000.4", "1,000"),
        ("1234.5", "1,234"),
        ("300000", "300,000"),
        ("-1000000", "-1,000,000"),
    ],
)
def test_a_number_has_four_digits_after_the_point_at_most(value, text):
    assert plain_number(Decimal(value)) == text


@settings(max_examples=50)
@given(st.decimals(-(10**9), 10**9, places=4))
def test_a_number_is_never_off_by_more_than_its_last_digit(value):
    shown_amount = Decimal(plain_number(value).replace(",", ""))

    assert abs(shown_amount - value) <= (Decimal("0.5") if abs(value) >= 1000 else Decimal("0.005"))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        ("1234.56", "USD", "1,234.56"),
        ("1000.5", "USD", "1,000.50"),
        ("999.5", "USD", "999.5"),
        ("1234", "USD", "1,234"),
        ("0.1234", "USD/h", "0.1234"),
        ("1234.56", "h", "1,235"),
    ],
)
def test_money_keeps_its_cents(value, unit, text):
    assert number_or_money(Decimal(value), unit) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        ("0.7", "share", "70.0 %"),
        ("0.1", "per year", "10.0 % a year"),
        ("0.25", "fraction", "25.0 %"),
        ("6.88", "USD/h", "6.88 USD/h"),
    ],
)
def test_a_share_is_a_percentage_and_other_numbers_have_their_unit(value, unit, text):
    assert spaced(with_unit(Decimal(value), unit)) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "< 1 %"),
        (0.0049, "< 1 %"),
        (0.006, "1 %"),
        (0.5, "50 %"),
        (0.994, "99 %"),
        (0.9951, "> 99 %"),
        (1.0, "> 99 %"),
    ],
)
def test_a_simulated_chance_is_never_certain_nor_impossible(share, text):
    assert spaced(chance(share)) == text


def test_a_day_is_shown_or_not_known():
    assert day(date(2026, 11, 22)) == "2026-11-22"
    assert day(None) == UNKNOWN_VALUE


def test_options_are_in_the_order_of_their_mean_cost_and_numbered(small):
    rows = option_rows(small)

    means = {one.outcome.option.name: one.outcome.npv_mean for one in small.options}
    assert [row.number for row in rows] == [1, 2, 3, 4]
    assert [row.name for row in rows] == sorted(means, key=lambda name: means[name])
    assert {row.tone for row in rows} == {"chosen", "today", "other"}
    assert row_of(small, "today").tone == "today"
    assert row_of(small, "today").cheaper == NOTHING


def test_an_option_refers_to_the_input_that_is_its_price(small):
    inputs = {row.number: row.name for row in input_rows(small)}

    for row in option_rows(small):
        option = next(
            one.outcome.option for one in small.options if one.outcome.option.name == row.name
        )
        assert inputs[row.price] == option.rate


def test_what_an_option_pays_adds_up_in_whole_dollars(small):
    for one in small.options:
        row = row_of(small, one.outcome.option.name)
        paid = [Decimal(each.replace(",", "")) for each in row.paid]
        total = sum(paid_whole_usd(one.outcome))
        assert sum(paid) == Decimal(row.paid_sum.replace(",", "")) == total
        assert len(paid) == 4
        assert row.line == one.outcome.option.npv


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        ("2.972125", "USD/h", "2.972125"),
        ("2.586875", "USD/h", "2.586875"),
        ("6.88", "USD/h", "6.88"),
        ("320000", "USD", "320,000"),
        ("0.93333333", "share", "0.93333333"),
        ("1.04817962138", "h/h", "1.04817962"),
        ("351786.365217", "h/year", "351,786.365"),
        ("10.652054795", "devices", "10.6520548"),
        ("0.15", "per year", "0.15"),
        ("4500.5", "USD", "4,500.50"),
        ("48", "devices", "48"),
        ("9876543210", "USD", "9,876,543,210"),
    ],
)
def test_an_input_has_the_digits_that_reproduce_whole_payments(value, unit, text):
    """48 devices for a year at 2.972125 USD an hour are 1,249,719 USD, at 2.9721 10 less."""
    assert calculable(Decimal(value), unit) == text


def test_the_energy_of_rented_hours_follows_from_the_figures_beside_it(small):
    """300,000 hours * 10.2 kW / 8 * 0.7 * 1.11 are 297 MWh, and at 0.385 kg per kWh 114.4 t."""
    rented, _, emitted = energy_sentences(small)
    today = row_of(small, "today")

    assert "(10.2 kW / 8 for H100-80GB) * 0.7 under load * a PUE of 1.11 (" in rented
    assert "0.385 kg per kWh by location (" in emitted
    assert emitted.endswith("unknown by market.")
    assert (spaced(today.energy), today.carbon) == ("297 MWh", "114.4 / not known")


def test_emission_factors_of_the_plan_have_its_source(make_review):
    plan = '[carbon]\nlocation_kg_per_kwh = 0.05\nmarket_kg_per_kwh = 0.2\nsource = "contracts"\n'
    *_, emitted = energy_sentences(make_review(plan))

    assert emitted == "CO2: 0.05 kg per kWh by location (contracts), 0.2 by market (contracts)."


def test_terms_of_rented_committed_and_owned_devices_differ(small):
    today, years, owned = (row_of(small, name) for name in ("today", "three years", "buy"))
    block = row_of(small, "blocks")

    assert (today.lock_in, block.lock_in, owned.lock_in) == ("none", "a block", "until sold")
    assert years.lock_in == "36 months"
    assert (today.exit, today.devices) == ("0", "as needed")
    assert "USD resale after 36 months, most likely; " in owned.exit
    assert owned.exit.endswith(
        " at the low and the high inputs of both price and resale value (appendix)"
    )
    assert "owed after a year" in years.exit
    assert today.break_even == NOTHING


@pytest.mark.parametrize(
    ("break_even", "text"),
    [
        (BreakEven(p5=None, p50=None, p95=None, chance_ever=0.0), "never"),
        (BreakEven(p5=0.4, p50=0.4, p95=0.4, chance_ever=1.0), "40 %"),
        (BreakEven(p5=0.3, p50=0.4, p95=None, chance_ever=0.9), "40 % (30 % to never)"),
    ],
)
def test_the_use_from_which_an_option_pays_has_its_interval(small, break_even, text):
    row = row_of(with_facts(small, "buy", break_even=break_even), "buy")

    assert spaced(row.break_even) == text


def test_energy_and_emissions_are_shown_as_far_as_they_are_known(small):
    emissions = CarbonEmissions(energy_kwh=1_234_567.0, location_kg=456_700.0, market_kg=None)

    row = row_of(with_facts(small, "buy", carbon=emissions), "buy")

    assert spaced(row.energy) == "1,235 MWh"
    assert row.carbon == f"456.7 / {UNKNOWN_VALUE}"


def test_where_no_hour_has_to_be_bought_there_is_no_price_of_one(covered_review):
    row = row_of(covered_review, "three years")

    assert (row.hour, row.hour_interval) == (NOTHING, "")


@pytest.mark.parametrize(
    ("band", "text"),
    [
        (("2.00", "2.00", "2.50"), "2.00 to 2.50"),
        (("2.00", "2.50", "2.50"), "2.00 to 2.50"),
        (("2.00", "2.00", "2.00"), ""),
    ],
)
def test_the_price_of_an_hour_has_an_interval_if_its_ends_differ(small, band, text):
    outcome = next(one.outcome for one in small.options if one.outcome.option.name == "buy")
    priced = replace(outcome, hour_band=tuple(map(Decimal, band)))

    row = row_of(with_facts(small, "buy", outcome=priced), "buy")

    assert spaced(row.hour_interval) == text


def test_a_return_is_shown_with_its_payback(small):
    neither = row_of(with_facts(small, "buy", return_per_year=None, payback_years=None), "buy")
    both = row_of(with_facts(small, "buy", return_per_year=0.25, payback_years=1.5625), "buy")

    assert neither.returns == NOTHING
    assert spaced(both.returns).startswith("25 % a year, ")
    assert "back in 1.6 years" in both.returns


def test_inputs_are_numbered_with_their_range_and_source(small):
    rows = input_rows(small)

    assert [row.number for row in rows] == list(range(1, len(small.model.inputs) + 1))
    hours = next(row for row in rows if row.name == "hours_a_year")
    assert (hours.low, hours.mode, hours.high) == ("200,000", "300,000", "400,000")
    assert (hours.source, hours.as_of) == ("made up", NOTHING)
    prices = [row for row in rows if row.name.endswith("usd_per_hour")]
    assert all(row.as_of[:4].isdigit() for row in prices)


def test_a_price_has_the_address_of_its_source(small):
    rows = {row.name: row for row in input_rows(small)}
    inputs = {each.name: each for each in small.model.inputs}

    assert all(row.link == inputs[name].source_url for name, row in rows.items())
    assert any(row.link for row in rows.values())
    assert rows["w1_usd_per_hour"].is_price
    assert not rows["hours_a_year"].is_price
    for one in option_rows(small):
        price = next(row for row in rows.values() if row.number == one.price)
        assert one.link == price.link


def test_what_would_change_the_answer_comes_nearest_first(small):
    rows = switch_rows(small)
    inputs = {row.number: row for row in input_rows(small)}

    assert rows
    for row in rows:
        assert inputs[row.number].words == row.words
        assert row.value.startswith(("below ", "above "))
        assert row.to in {one.outcome.option.name for one in small.options}
    steps = [abs(float(one.value) / float(one.input.mode) - 1) for one in small.decision.switches]
    nearest = min(zip(steps, small.decision.switches, strict=True), key=lambda pair: pair[0])[1]
    assert rows[0].words == nearest.input.label
