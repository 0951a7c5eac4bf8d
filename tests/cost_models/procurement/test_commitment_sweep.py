"""Sizes and ladders against the model itself, and against every ladder of a small plan."""

from dataclasses import replace
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from perfledger_cost_models.procurement.commitment_sweep import (
    commitment_ladder,
    commitment_sweeps,
    with_least_cost,
)
from perfledger_cost_models.procurement.cost_model import (
    COMMITMENT_UTILIZATION,
    PurchaseMode,
    SizeBasis,
)
from perfledger_cost_models.procurement.decision import decide, draws_of, evaluate
from perfledger_cost_models.tco.hardware_inputs import WACC
from tests.cost_models.conftest import OPTIONS, PLAN
from tests.cost_models.procurement.example_models import CONFIRMED, a_model


@pytest.fixture(scope="module")
def model():
    return a_model(PLAN + OPTIONS, sheet=CONFIRMED)


@pytest.mark.slow(ci_only=True)
def test_the_options_own_size_costs_what_the_decision_says(model):
    decision = decide(model)

    for sweep in commitment_sweeps(model):
        own = next(one for one in sweep.sizes if one.devices == sweep.option.devices)
        outcome = decision.of(sweep.option.key)
        assert own.npv == outcome.npv
        assert float(own.npv_mean) == pytest.approx(float(outcome.npv_mean))


@pytest.mark.slow(ci_only=True)
def test_no_devices_are_todays_option(model):
    keep = decide(model).of(model.keep.key)

    for sweep in commitment_sweeps(model):
        assert sweep.sizes[0].devices == 0
        assert float(sweep.sizes[0].npv_mean) == pytest.approx(float(keep.npv_mean))


def test_sizes_are_whole_instances_and_the_best_has_the_lowest_mean(model):
    for sweep in commitment_sweeps(model):
        assert all(one.devices % sweep.option.sold_together == 0 for one in sweep.sizes)
        assert sweep.best.npv_mean == min(one.npv_mean for one in sweep.sizes)
        assert len(sweep.sizes) > 2


def mean_costs(model, option):
    """Return the mean cost of each number of instances, each by a whole evaluation of the model."""
    draws = {each.name: draws_of(each) for each in model.inputs}
    name = f"{option.key}_devices"
    usd = {0: float(np.mean(evaluate(model, draws)[model.keep.npv]))}
    for devices in range(option.sold_together, 2 * option.devices, option.sold_together):
        values = evaluate(model, draws | {name: np.array([float(devices)])})
        usd[devices] = float(np.mean(values[option.npv]))
    return usd


def test_an_option_has_the_number_of_devices_that_costs_least_over_all_years(model):
    checked = 0
    for before, option in zip(model.options, with_least_cost(model), strict=True):
        if option.devices is None:
            assert option == before
            continue
        usd = mean_costs(model, before)
        best = min(usd, key=usd.__getitem__)
        is_least = option.size_basis is SizeBasis.LEAST_COST
        assert option.devices == (best if is_least else before.devices)
        assert is_least is (best > 0)
        checked += 1
    assert checked > 2


def test_a_number_that_the_plan_gives_stays():
    planned = PLAN.replace('3y_no_upfront"', '3y_no_upfront"\ndevices = 16')

    options = with_least_cost(a_model(planned, sheet=CONFIRMED))

    assert [(option.devices, option.size_basis) for option in options if option.devices] == [
        (16, SizeBasis.PLANNED)
    ]


@pytest.mark.slow(ci_only=True)
def test_options_that_are_paid_by_the_hour_are_not_swept(model):
    modes = {sweep.option.mode for sweep in commitment_sweeps(model)}

    assert modes == {PurchaseMode.COMMITMENT, PurchaseMode.OWNED}


def test_a_ladder_costs_its_terms_and_the_hours_beyond_them(model):
    """Written out from prices, years and discounts, without the functions of the module."""
    ladder = commitment_ladder(model)
    values = evaluate(model, {each.name: draws_of(each) for each in model.inputs})
    wacc, share = values[WACC], values[COMMITMENT_UTILIZATION]
    starts = [1 / (1 + wacc) ** year for year in (0, 1, 2)]
    months = np.mean([(1 + wacc) ** (-month / 12) for month in range(1, 13)], axis=0)
    by_month = [start * months for start in starts]
    usd = 0.0
    terms = ((ladder.long, [ladder.long_devices] * 3), (ladder.short, ladder.short_devices))
    for term, sizes in terms:
        up = float(term.upfront_share)
        for year, devices in enumerate(sizes, start=1):
            paid_on = starts[0 if term is ladder.long else year - 1]
            yearly = devices * 8760 * values[term.rate]
            usd += float(np.mean(yearly * (up * paid_on + (1 - up) * by_month[year - 1])))
    for year in (1, 2, 3):
        total = ladder.long_devices + ladder.short_devices[year - 1]
        beyond = np.maximum(0, values[f"need_{year}"] - total * 8760 * share)
        usd += float(np.mean(beyond * values[model.keep.rate] * by_month[year - 1]))

    assert float(ladder.npv_mean) == pytest.approx(usd, rel=1e-9)


def test_no_other_ladder_of_these_sizes_is_cheaper(model):
    ladder = commitment_ladder(model)
    values = evaluate(model, {each.name: draws_of(each) for each in model.inputs})

    def usd(base, sizes):
        total = 0.0
        starts = [np.ones(1), *(values[f"end_worth_{year}"] for year in (1, 2))]
        up_long, up_short = (float(each.upfront_share) for each in (ladder.long, ladder.short))
        for year, size in enumerate(sizes, start=1):
            long_year = base * 8760 * values[ladder.long.rate]
            short_year = size * 8760 * values[ladder.short.rate]
            beyond = np.maximum(
                0,
                values[f"need_{year}"] - (base + size) * 8760 * values[COMMITMENT_UTILIZATION],
            )
            by_month = values[f"discount_{year}"]
            total += np.mean(
                long_year * (up_long + (1 - up_long) * by_month)
                + short_year * (up_short * starts[year - 1] + (1 - up_short) * by_month)
                + beyond * values[model.keep.rate] * by_month
            )
        return total

    best = usd(ladder.long_devices, ladder.short_devices)
    assert best == pytest.approx(float(ladder.npv_mean))
    for base, shift in product((-8, 0, 8), product((-8, 0, 8), repeat=3)):
        sizes = [size + each for size, each in zip(ladder.short_devices, shift, strict=True)]
        if ladder.long_devices + base >= 0 and min(sizes) >= 0:
            assert usd(ladder.long_devices + base, sizes) >= best - 1e-6


def test_a_ladder_costs_no_more_than_either_of_its_terms_alone():
    """A ladder may have no devices of a term: 41 chips alone once beat a ladder of 40 and none."""
    text = """
[demand]
accelerator = "TPU-v5e"
keep = "tpu-v5e/on_demand"
growth = { low = -0.1, mode = 0.1, high = 0.5, source = "made up" }
hours = { low = 302220, mode = 302220, high = 302220, source = "made up" }
commitment_utilization = { low = 0.75, mode = 0.9, high = 0.97, source = "made up" }
[[option]]
name = "today"
where = "tpu-v5e/on_demand"
[[option]]
name = "one year"
where = "tpu-v5e/committed_use/1y"
[[option]]
name = "three years"
where = "tpu-v5e/committed_use/3y"
"""
    model = a_model(text, sheet=CONFIRMED)
    ladder = commitment_ladder(model)

    alone = [one.npv_mean for sweep in commitment_sweeps(model) for one in sweep.sizes]
    assert ladder.npv_mean <= min(alone) + Decimal("1e-6")


@pytest.mark.slow(ci_only=True)
def test_no_other_pair_of_terms_has_a_cheaper_ladder(model):
    """Each pair alone is a model with two commitments only."""
    commitments = [
        option
        for option in model.options
        if option.mode is PurchaseMode.COMMITMENT and option.accelerator == model.accelerator
    ]
    early = [
        replace(option, key=f"early_{option.key}", upfront_share=Decimal(1))
        for option in commitments
    ]
    rates = {each.name: each for each in model.inputs}
    # Paid at the start, at a price 1 % lower: the lowest price is not the lowest cost.
    lower = [
        replace(
            each,
            name=option.rate,
            low=each.low * Decimal("0.99"),
            mode=each.mode * Decimal("0.99"),
            high=each.high * Decimal("0.99"),
        )
        for option, source in zip(early, commitments, strict=True)
        for each in [rates[source.rate]]
    ]
    both = replace(model, options=(*model.options, *early), inputs=(*model.inputs, *lower))
    costs = []
    for long, short in product(
        *(
            [option for option in (*commitments, *early) if option.years == years]
            for years in (3, 1)
        )
    ):
        alone = replace(both, options=(model.keep, long, short))
        costs.append(commitment_ladder(alone).npv_mean)

    assert len(costs) >= 4
    assert commitment_ladder(both).npv_mean == min(costs)


def test_without_both_terms_there_is_no_ladder(model):
    only_long = replace(
        model, options=tuple(option for option in model.options if option.years != 1)
    )

    assert commitment_ladder(only_long) is None
