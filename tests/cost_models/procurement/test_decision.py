"""Which way to take, and what would change that."""

from decimal import Decimal

import numpy as np
import pytest

from perfledger_cost_models.procurement.decision import (
    MIN_CHANCE,
    decide,
    draws_of,
    evaluate,
    evaluate_at_modes,
)
from tests.cost_models.procurement.example_models import CONFIRMED, a_model


@pytest.fixture
def review(make_review):
    return make_review()


def test_the_way_with_the_lowest_mean_is_taken_when_it_is_surely_cheaper(review):
    decision = review.decision

    choice, status_quo = review.choice, review.status_quo
    assert choice.option.name == "three years"
    assert choice.npv_mean < status_quo.npv_mean
    assert choice.chance_cheaper >= MIN_CHANCE
    assert decision.saving[0] < decision.saving[1] < decision.saving[2]


def test_chances_of_being_best_sum_to_one(review):
    assert sum(one.chance_best for one in review.decision.outcomes) == pytest.approx(1)


def test_the_lowest_mean_is_the_least_regret(review):
    choice = review.choice
    least = min(one.npv_mean for one in review.decision.outcomes)

    assert choice.npv_mean == least
    assert 0 <= review.decision.regret_mean <= review.decision.regret_p95


def test_the_regret_where_another_option_is_best_counts_those_draws_only(make_review, plan_text):
    text = plan_text.replace(
        "low = 0.5, mode = 0.7, high = 0.8", "low = 0.2, mode = 0.45, high = 0.8"
    )
    review = make_review(text + "devices = 80\n")
    model, decision = review.model, review.decision
    draws = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    costs = np.array(np.broadcast_arrays(*(draws[option.npv] for option in model.options)))
    regret = draws[review.choice.option.npv] - costs.min(axis=0)

    assert 0.2 < (regret > 0).mean() < 0.8
    assert float(decision.regret_if_not_best) == pytest.approx(regret[regret > 0].mean())
    assert decision.regret_if_not_best > Decimal("1.25") * decision.regret_mean


def test_what_is_not_surely_cheaper_leaves_all_as_it_is(make_review, plan_text):
    # Half of the hours that were meant to be used are: a commitment gains little.
    text = plan_text.replace(
        "low = 0.5, mode = 0.7, high = 0.8", "low = 0.2, mode = 0.45, high = 0.8"
    )
    review = make_review(text + "devices = 80\n")

    assert not review.is_change
    assert review.choice.option.name == "today"
    assert review.decision.saving == (0, 0, 0)
    assert review.decision.regret_mean > 0


def test_a_switch_is_where_another_way_becomes_the_cheapest(review):
    model = review.model
    assert review.decision.switches
    for switch in review.decision.switches:
        values = {each.name: np.array([float(each.mode)]) for each in model.inputs}
        beyond = evaluate(model, values | {switch.input.name: np.array([float(switch.value)])})
        costs = {option.name: beyond[option.npv][0] for option in model.options}
        assert min(costs, key=lambda name: costs[name]) == switch.alternative


def test_the_price_at_which_today_is_as_cheap_is_exact(review):
    likely = evaluate_at_modes(review.model)
    (switch,) = [one for one in review.decision.switches if one.input.name == "w1_usd_per_hour"]

    devices = review.choice.option.devices
    commitment = devices * 8760 * 23.777 / 8
    factors = [float(likely[f"discount_{year}"][0]) for year in (1, 2, 3)]
    carried = devices * 8760 * 0.7
    used = [min(300_000 * 1.1**year, carried) for year in range(3)]
    exact = sum(f * commitment for f in factors) / sum(
        f * hours for f, hours in zip(factors, used, strict=True)
    )
    assert float(switch.value) == pytest.approx(exact, rel=1e-4)


def test_the_widest_swing_is_first_and_certain_inputs_have_none(review):
    widths = [one.width for one in review.decision.swings]

    assert widths == sorted(widths, reverse=True)
    assert not any(one.input.is_certain for one in review.decision.swings)


def test_the_same_model_gives_the_same_decision(review):
    assert decide(review.model) == review.decision


def test_one_option_alone_is_kept_without_switches(make_review, plan_text):
    text = plan_text[: plan_text.rindex("[[option]]")]

    review = make_review(text)
    assert not review.is_change
    assert review.decision.switches == ()


def test_without_a_need_no_hour_has_a_cost(make_review, plan_text):
    supply = """
[[supply]]
name = "enough"
accelerator = "H100-80GB"
devices = 800
is_owned = true
since = 2024-01-01
until = 2035-01-01
source = "register"
"""
    review = make_review(plan_text + supply)

    assert review.status_quo.npv == 0
    assert review.status_quo.hour is None
    assert review.status_quo.hour_band is None
    assert not review.is_change


def test_options_on_one_accelerator_have_one_speed_in_each_draw(plan_text):
    """An option that costs a tenth more an hour on the same accelerator is never the best."""
    text = (
        plan_text
        + """
[[option]]
name = "TPUs by the hour"
where = "tpu-v5p/on_demand"

[[option]]
name = "TPUs elsewhere"
where = "tpu-v5p/on_demand@europe-west4"

[[speed]]
accelerator = "TPU-v5p"
hours = { low = 0.1, mode = 0.5, high = 3.0, source = "a guess" }
"""
    )
    model = a_model(text, sheet=CONFIRMED)
    outcomes = {one.option.name: one for one in decide(model).outcomes}

    assert outcomes["TPUs elsewhere"].npv > outcomes["TPUs by the hour"].npv
    assert outcomes["TPUs elsewhere"].chance_best == 0
    assert [each.name for each in model.inputs].count("hours_ratio_1") == 1
