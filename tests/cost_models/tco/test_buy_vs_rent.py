from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.draws import DRAWS
from perfledger_cost_models.prices.packaged_sheet import packaged_sheet
from perfledger_cost_models.tco.buy_vs_rent import (
    ComparisonError,
    bought_option,
    break_even,
    chance_cheaper,
    compare,
    owned_curve,
    owned_option,
    owned_usd,
    tornado,
    yearly_parts,
)
from perfledger_cost_models.tco.hardware_inputs import packaged_hardware_inputs
from perfledger_cost_models.tco.horizon import Horizon
from perfledger_cost_models.tco.onprem import (
    SERVERS,
    Ownership,
    hourly_cost,
    inputs_of,
    kept_years,
)
from perfledger_cost_models.tco.purchase_modes import Payment, PurchaseTerms, terms_of
from tests.cost_models.tco.year_end_study import year_end_break_even

H100, A100 = SERVERS
SHEET, PARAMETERS = packaged_sheet(), packaged_hardware_inputs()
P5 = "p5.48xlarge"
uses = st.floats(0.05, 1.0)


def bought(option, use=0.7):
    mode = terms_of(SHEET.find(option))
    return bought_option(mode, PARAMETERS, use=use, accelerator="H100-80GB")


def test_an_owned_hour_is_that_of_the_standard_rate():
    rate = hourly_cost(H100, PARAMETERS, utilization=0.7)
    (option_comparison,) = compare([owned_option(H100, PARAMETERS, use=0.7)])

    assert option_comparison.mode_usd == pytest.approx(rate.mode_usd)
    assert (
        option_comparison.p5_usd,
        option_comparison.p50_usd,
        option_comparison.p95_usd,
    ) == pytest.approx((rate.p5_usd, rate.p50_usd, rate.p95_usd))


def test_the_cheapest_is_first_and_the_chances_sum_to_one():
    options = [
        bought(f"{P5}/on_demand"),
        owned_option(H100, PARAMETERS, use=0.7),
        bought(f"{P5}/savings_plan/3y_all_upfront"),
    ]

    option_comparisons = compare(options)

    assert [one.p50_usd for one in option_comparisons] == sorted(
        one.p50_usd for one in option_comparisons
    )
    assert sum(one.chance_cheapest for one in option_comparisons) == pytest.approx(1)
    assert option_comparisons[-1].chance_cheapest == 0


def test_the_chance_of_two_options_is_that_of_their_draws():
    owned = owned_option(H100, PARAMETERS, use=0.7)
    dearer = replace(owned, draws_usd=owned.draws_usd + np.tile([0.1, -0.1, 0.1, 0.1], DRAWS // 4))

    assert chance_cheaper(owned, dearer) == 0.75
    assert chance_cheaper(dearer, owned) == 0.25
    assert chance_cheaper(owned, owned) == 0


def test_options_that_cost_the_same_share_the_chance():
    one = bought(f"{P5}/on_demand")

    option_comparisons = compare([one, replace(one, name="the same again")])

    assert [each.chance_cheapest for each in option_comparisons] == [0.5, 0.5]


def test_what_options_share_does_not_decide_between_them():
    """Nearly all of both costs is drawn alike, so that the dearer server is never cheaper."""
    dearer = replace(H100, option="with one accelerator fewer", accelerators=7)
    option_comparisons = compare(
        [owned_option(each, PARAMETERS, use=0.7) for each in (H100, dearer)]
    )

    assert [one.chance_cheapest for one in option_comparisons] == [1, 0]


def test_the_interest_on_upfront_money_is_drawn_and_mostly_as_at_its_mode():
    plan = bought(f"{P5}/savings_plan/3y_all_upfront", use=1.0)

    assert plan.draws_usd.std() > 0
    assert float(np.median(plan.draws_usd)) == pytest.approx(plan.mode_usd, rel=0.01)


def test_what_is_paid_by_use_is_certain():
    assert bought(f"{P5}/on_demand", use=0.2).draws_usd.tolist() == [6.88] * DRAWS


def test_a_server_breaks_even_with_on_demand_where_the_study_says():
    """The study's payments are due at year ends, which makes owning dearer than by the month."""
    at_year_ends = year_end_break_even(H100, PARAMETERS, usd_per_hour=6.88)
    found_break_even = break_even(H100, PARAMETERS, usd_per_hour=6.88)

    assert at_year_ends == pytest.approx(0.44, abs=0.015)
    assert found_break_even.p50 == pytest.approx(at_year_ends * 0.98, abs=0.002)
    assert found_break_even.chance_ever == 1


def test_a_server_breaks_even_with_a_one_year_plan_where_the_study_says():
    at_year_ends = year_end_break_even(H100, PARAMETERS, usd_per_hour=4.045)

    assert at_year_ends == pytest.approx(0.75, abs=0.015)


@pytest.mark.parametrize("usd", [2.587, 2.69])
def test_a_server_does_not_break_even_with_the_lowest_prices(usd):
    found_break_even = break_even(H100, PARAMETERS, usd_per_hour=usd)

    assert found_break_even.p50 is None
    assert found_break_even.chance_ever < 0.5


def test_energy_alone_above_the_price_never_breaks_even():
    found_break_even = break_even(H100, PARAMETERS, usd_per_hour=0.01)

    assert (
        found_break_even.p5,
        found_break_even.p50,
        found_break_even.p95,
        found_break_even.chance_ever,
    ) == (None, None, None, 0)


@given(st.floats(0.5, 20), st.floats(0.5, 20))
def test_the_dearer_the_hour_the_earlier_owning_pays(one, two):
    low, high = sorted((one, two))

    at_low = break_even(H100, PARAMETERS, usd_per_hour=low).p50
    at_high = break_even(H100, PARAMETERS, usd_per_hour=high).p50

    assert at_low is None or (at_high is not None and at_high <= at_low)


def test_at_the_break_even_use_half_of_the_draws_are_cheaper():
    use = break_even(H100, PARAMETERS, usd_per_hour=6.88).p50
    options = [owned_option(H100, PARAMETERS, use=use or 1), bought(f"{P5}/on_demand")]

    chances = {one.name: one.chance_cheapest for one in compare(options)}

    assert chances[H100.option] == pytest.approx(0.5, abs=0.001)


def test_the_widest_bars_are_those_of_the_published_study():
    """In thousands of USD a year: staff 80, server 75, depreciation 62, support 45, salary 33.

    The server's is 45 of support and 30 of capital, which is 4 % less by the month, as all of the
    depreciation's is.
    """
    hours = 8760 * 8 * 0.7
    bars = tornado(H100, PARAMETERS, use=0.7)[:5]

    numbers = {bar.parameter: round(bar.width_usd * hours / 1000) for bar in bars}
    assert numbers == {
        "staff_fte_per_8gpu_node_small": 80,
        "server_price_8xH100_SXM": 73,
        "depreciation_years": 60,
        "support_contract": 45,
        "staff_cost_loaded": 33,
    }


def test_an_input_that_lowers_the_cost_has_a_negative_rank_correlation():
    bars = {bar.parameter: bar.rank_correlation for bar in tornado(H100, PARAMETERS, use=0.7)}

    assert bars["depreciation_years"] < -0.2
    assert bars["server_price_8xH100_SXM"] > 0.4


def test_a_certain_input_has_no_bar():
    certain = tuple(
        replace(each, low=each.mode, high=each.mode) if each.name == "wacc" else each
        for each in PARAMETERS.parameters
    )
    bars = tornado(H100, replace(PARAMETERS, parameters=certain), use=0.7)

    (wacc,) = (bar for bar in bars if bar.parameter == "wacc")
    assert wacc.width_usd == 0.0
    assert wacc.rank_correlation == 0


def test_low_confidence_inputs_are_named():
    (option_comparison,) = compare([owned_option(A100, PARAMETERS, use=0.4)])

    assert any("price of a server with 8 A100" in words for words in option_comparison.assumed)


@pytest.mark.parametrize("use", [0.0, 1.01, float("nan")])
def test_a_use_is_a_share_of_the_hours(use):
    with pytest.raises(ComparisonError, match="above 0"):
        owned_option(H100, PARAMETERS, use=use)


@pytest.mark.parametrize("usd", [0.0, -1.0, float("nan"), float("inf")])
def test_owning_is_not_held_against_a_missing_price(usd):
    with pytest.raises(ComparisonError, match="not a price"):
        break_even(H100, PARAMETERS, usd_per_hour=usd)


def test_no_options_or_one_twice_cannot_be_compared():
    one = bought(f"{P5}/on_demand")

    for options in ([], [one, one]):
        with pytest.raises(ComparisonError, match="each only once"):
            compare(options)


def test_a_server_that_is_kept_three_years_breaks_even_later_and_sells_for_more():
    """Own arithmetic at the most likely inputs; the review of the same server has 49 %, too."""
    three = Ownership(years=Horizon.THREE)
    at_five = break_even(H100, PARAMETERS, usd_per_hour=6.88)
    at_three = break_even(H100, PARAMETERS, usd_per_hour=6.88, terms=three)

    monthly, grown = 12 * (1.085 ** (1 / 12) - 1), 1.085**3  # payments at the ends of months
    bought, sold = 320_000 * 1.21 * 1.03, 0.28 * 320_000
    capital = bought * monthly / (1 - 1 / grown) - sold * monthly / (grown - 1)
    running = 0.08 * 320_000 + 10.2 * 12 * 184.06 + 0.25 * 200_000
    usd_of_power = 10.2 * 8760 * 1.54 * 0.0861
    likely = owned_usd(H100, PARAMETERS, 0.5, {}, three)[0]
    total = capital + running + (0.7 * 0.5 + 0.25 * 0.5) * usd_of_power
    assert likely == pytest.approx(total / (8 * 8760 * 0.5))
    shares = [
        [round(100 * (share or 0.0)) for share in (each.p5, each.p50, each.p95)]
        for each in (at_five, at_three)
    ]
    assert shares == [[34, 42, 52], [41, 49, 59]]


def test_the_years_that_a_server_is_kept_are_those_of_depreciation_or_three():
    five, three = (
        list(map(int, kept_years(PARAMETERS, terms=Ownership(years=years))))
        for years in (Horizon.FIVE, Horizon.THREE)
    )

    assert (five, three) == ([3, 5, 6], [3, 3, 3])
    names = inputs_of(H100, Ownership(years=Horizon.THREE))
    assert "residual_value_36m" in names
    assert not {"residual_value_60m", "depreciation_years"} & set(names)


def test_what_costs_nothing_is_an_error_and_not_the_cheapest():
    free = replace(bought(f"{P5}/on_demand"), name="free", draws_usd=np.zeros(DRAWS))

    with pytest.raises(ComparisonError, match="free"):
        compare([bought(f"{P5}/on_demand"), free])


@given(uses, st.decimals("0.5", "20", places=3))
def test_a_price_twice_as_high_costs_twice_as_much(use, usd):
    mode = PurchaseTerms(option="x", payment=Payment.TERM, usd_per_hour=usd, years=3)
    twice = replace(mode, usd_per_hour=2 * usd, upfront_share=Decimal(0))
    one, two = (bought_option(m, PARAMETERS, use=use, accelerator="a") for m in (mode, twice))

    np.testing.assert_allclose(two.draws_usd, 2 * one.draws_usd, rtol=1e-6)


def test_capital_that_costs_nothing_leaves_the_published_rate():
    wacc = replace(PARAMETERS.find("wacc"), low=Decimal(0), mode=Decimal(0), high=Decimal(0))
    free = replace(PARAMETERS, parameters=(wacc,))
    mode = terms_of(SHEET.find(f"{P5}/savings_plan/3y_all_upfront"))

    option_cost = bought_option(mode, free, use=1.0, accelerator="H100-80GB")

    np.testing.assert_allclose(option_cost.draws_usd, np.full(DRAWS, 20.695 / 8), rtol=1e-6)


def test_hours_of_tenths_of_a_cent_are_compared_as_those_of_dollars():
    dear = [owned_option(H100, PARAMETERS, use=0.7), bought(f"{P5}/on_demand")]
    cheap = [
        replace(one, mode_usd=one.mode_usd / 1000, draws_usd=one.draws_usd / 1000) for one in dear
    ]

    for small, large in zip(compare(cheap), compare(dear), strict=True):
        assert (small.name, small.chance_cheapest) == (large.name, large.chance_cheapest)
        assert small.p50_usd == pytest.approx(large.p50_usd / 1000)
        assert small.mode_usd == pytest.approx(large.mode_usd / 1000)
    assert chance_cheaper(*cheap) == chance_cheaper(*dear)


@pytest.mark.parametrize("usd", [4.045, 6.88, 20.0])
def test_at_the_break_even_use_the_median_of_owning_is_the_price(usd):
    use = break_even(H100, PARAMETERS, usd_per_hour=usd).p50

    assert use is not None
    (_, median, _), (_, below, _) = owned_curve(H100, PARAMETERS, [use, use * 0.99])
    assert median == pytest.approx(usd, rel=1e-4)
    assert below > usd * 1.005


def test_the_parts_of_a_year_sum_to_an_hours_cost_at_their_modes():
    parts = yearly_parts(H100, PARAMETERS, use=0.7)

    hours = 8760 * 8 * 0.7
    (option_comparison,) = compare([owned_option(H100, PARAMETERS, use=0.7)])
    assert sum(likely for _, _, likely, _ in parts) / hours == pytest.approx(
        option_comparison.mode_usd
    )
    assert all(p5 <= p95 for _, p5, _, p95 in parts)
