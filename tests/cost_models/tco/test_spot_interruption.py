import math
from decimal import Decimal

import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import lambertw

from perfledger_cost_models.tco.spot_interruption import (
    InterruptionError,
    InterruptionModel,
    best_interval_h,
    daly_interval_h,
    expected_hours,
    spot_cost,
    young_interval_h,
)

# Llama 3 on 16,384 GPUs: 419 interruptions in 54 days.
LLAMA = InterruptionModel(per_hour=419 / 54 / 24, save_h=0.02, restart_h=0.2)
CALM = InterruptionModel(per_hour=0.0, save_h=0.1, restart_h=0.5)
SPOT, ON_DEMAND = Decimal("27.20"), Decimal("63.296")
rates = st.floats(1e-5, 2.0)
saves = st.floats(1e-4, 0.5)


def test_the_expected_hours_are_those_worked_out_by_hand():
    found_expected_hours = expected_hours(
        10.0, InterruptionModel(per_hour=0.1, save_h=0.5, restart_h=1.0), interval_h=2.0
    )

    assert found_expected_hours == pytest.approx(5 * (math.exp(0.25) - 1) * 11, rel=1e-12)


def test_without_interruptions_only_the_saves_are_added():
    assert expected_hours(10.0, CALM, interval_h=2.0) == pytest.approx(10.5)


@given(rates, saves)
def test_rare_interruptions_are_nearly_none(per_hour, save_h):
    rare = InterruptionModel(per_hour=per_hour * 1e-9, save_h=save_h, restart_h=0.1)
    calm = InterruptionModel(per_hour=0.0, save_h=save_h, restart_h=0.1)

    assert expected_hours(8.0, rare, interval_h=1.0) == pytest.approx(
        expected_hours(8.0, calm, interval_h=1.0), rel=1e-6
    )


@given(rates, saves, st.floats(0.0, 2.0))
def test_the_best_interval_is_the_one_that_a_search_finds(per_hour, save_h, restart_h):
    interruptions = InterruptionModel(per_hour=per_hour, save_h=save_h, restart_h=restart_h)
    best = best_interval_h(interruptions)

    def hours(interval_h):
        return expected_hours(100.0, interruptions, interval_h=interval_h)

    found_minimize_scalar = minimize_scalar(hours, bounds=(best / 3, best * 3), method="bounded")
    assert hours(best) <= found_minimize_scalar.fun * (1 + 1e-9)


@given(st.floats(1e-9, 1e-4))
def test_the_series_and_lamberts_function_meet(load):
    interruptions = InterruptionModel(per_hour=load, save_h=1.0, restart_h=0.0)
    every_h = best_interval_h(interruptions)

    # The derivative's zero: (l t - 1) e^(l t) = -e^(-l c), with both sides near -1.
    left = math.expm1(math.log1p(-load * every_h) + load * every_h)
    assert left == pytest.approx(math.expm1(-load), rel=1e-5)


def test_young_and_daly_are_near_the_best_where_saves_are_short():
    best = best_interval_h(LLAMA)

    assert young_interval_h(LLAMA) == pytest.approx(math.sqrt(2 * 0.02 / LLAMA.per_hour))
    assert young_interval_h(LLAMA) == pytest.approx(best, rel=0.06)
    assert daly_interval_h(LLAMA) == pytest.approx(best, rel=1e-3)


def test_dalys_estimate_ends_at_the_mean_time_between_interruptions():
    slow = InterruptionModel(per_hour=1.0, save_h=2.0, restart_h=0.0)

    assert daly_interval_h(slow) == 1.0


@pytest.mark.parametrize("interval", [best_interval_h, young_interval_h, daly_interval_h])
def test_who_is_never_interrupted_need_not_save(interval):
    assert math.isinf(interval(CALM))


def test_without_interruptions_a_save_that_takes_no_time_is_never_needed():
    calm = InterruptionModel(per_hour=0.0, save_h=0.0, restart_h=0.0)

    assert best_interval_h(calm) == math.inf
    assert spot_cost(
        10.0, calm, spot_usd_per_hour=Decimal(1), on_demand_usd_per_hour=Decimal(2)
    ).usd == Decimal(10)


def test_a_save_that_takes_no_time_has_no_best_interval():
    with pytest.raises(InterruptionError, match="give a time above 0"):
        best_interval_h(InterruptionModel(per_hour=1.0, save_h=0.0, restart_h=0.0))


@given(rates, rates, saves)
def test_more_interruptions_never_take_less_time(one, two, save_h):
    few, many = sorted((one, two))

    def hours(per_hour):
        each = InterruptionModel(per_hour=per_hour, save_h=save_h, restart_h=0.1)
        return expected_hours(50.0, each, interval_h=1.0)

    assert hours(few) <= hours(many) * (1 + 1e-12)


def test_spot_is_paid_for_what_is_lost_and_repeated():
    cost = spot_cost(100.0, LLAMA, spot_usd_per_hour=SPOT, on_demand_usd_per_hour=ON_DEMAND)

    assert cost.overhead > 1.1
    assert cost.usd == pytest.approx(Decimal(cost.hours) * SPOT)
    assert cost.usd < 100 * ON_DEMAND


def test_what_no_spot_machine_was_had_for_is_paid_on_demand():
    cost = spot_cost(
        100.0,
        CALM,
        spot_usd_per_hour=SPOT,
        on_demand_usd_per_hour=ON_DEMAND,
        fallback_share=0.25,
    )

    assert cost.usd == pytest.approx(Decimal("75.075") * SPOT + 25 * ON_DEMAND)


def test_without_interruptions_one_save_at_the_end_is_enough():
    cost = spot_cost(100.0, CALM, spot_usd_per_hour=SPOT, on_demand_usd_per_hour=ON_DEMAND)

    assert cost.interval_h == 100.0
    assert cost.hours == pytest.approx(100.1)


def test_spot_that_is_taken_away_all_the_time_is_dearer():
    wild = InterruptionModel(per_hour=3.0, save_h=0.2, restart_h=0.5)

    cost = spot_cost(10.0, wild, spot_usd_per_hour=SPOT, on_demand_usd_per_hour=ON_DEMAND)

    assert cost.usd > 10 * ON_DEMAND


@pytest.mark.parametrize(
    ("work_h", "interval_h"), [(0.0, 1.0), (1.0, 0.0), (math.nan, 1.0), (1.0, math.inf)]
)
def test_times_that_are_none_are_refused(work_h, interval_h):
    with pytest.raises(InterruptionError, match="above zero"):
        expected_hours(work_h, CALM, interval_h=interval_h)


def test_a_stretch_that_never_ends_is_refused():
    with pytest.raises(InterruptionError, match="save more often"):
        expected_hours(1.0, LLAMA, interval_h=1e4)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("per_hour", "interruptions per hour"),
        ("save_h", "time to save a checkpoint"),
        ("restart_h", "time until an interrupted job resumes"),
    ],
)
@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_interruptions_are_not_negative(name, words, value):
    fields = {"per_hour": 1.0, "save_h": 1.0, "restart_h": 1.0} | {name: value}

    with pytest.raises(InterruptionError, match=f"{words} is negative or not finite"):
        InterruptionModel(**fields)


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_between_none_and_all(share):
    with pytest.raises(InterruptionError, match="fallback_share"):
        spot_cost(
            1.0,
            CALM,
            spot_usd_per_hour=SPOT,
            on_demand_usd_per_hour=ON_DEMAND,
            fallback_share=share,
        )


def test_a_price_of_nothing_is_refused():
    with pytest.raises(InterruptionError, match="missing price"):
        spot_cost(1.0, CALM, spot_usd_per_hour=Decimal(0), on_demand_usd_per_hour=ON_DEMAND)


@pytest.mark.parametrize("step", [1e-6, 1e-4, 1e-3, 1.3e-3, 1.5e-3, 0.1, 0.9])
def test_the_best_interval_solves_the_equation_of_its_derivative(step):
    # (1 - y) e^y = e^(-load) for y = interval * rate: the load of a given y needs no Lambert W.
    exact = Decimal(str(step))
    load = float(-((1 - exact).ln() + exact))
    often = InterruptionModel(per_hour=0.5, save_h=load / 0.5, restart_h=0.1)

    assert best_interval_h(often) == pytest.approx(step / 0.5, rel=1e-9)


def test_dalys_estimate_is_his_equation_37_worked_out_by_hand():
    """With 0.5 h for a save and 4 h between faults, c / 2M is 1/16 and sqrt(2 c M) is 2."""
    found_daly_interval_h = daly_interval_h(
        InterruptionModel(per_hour=0.25, save_h=0.5, restart_h=0.0)
    )

    assert found_daly_interval_h == pytest.approx(2 * (1 + 1 / 12 + 1 / 144) - 0.5, rel=1e-12)


def test_the_series_of_a_small_load_is_that_of_lamberts_function():
    """Of 0.9 e-3, where the function itself still has nine digits."""
    for load in (1e-4, 9e-4):
        found_best_interval_h = best_interval_h(
            InterruptionModel(per_hour=load, save_h=1.0, restart_h=0.0)
        )
        exact = float(1 + lambertw(-math.exp(-load - 1)).real) / load

        assert found_best_interval_h == pytest.approx(exact, rel=1e-6)
