import pytest
from hypothesis import given, strategies as st

from perfledger_cost_models.tco.work_cost import (
    WorkError,
    inference_work,
    step_work,
    training_work,
    units_work,
)

speeds = st.floats(1e-3, 1e6)


def test_a_step_takes_its_time_on_every_accelerator():
    work = step_work("H100-80GB", (0.3, 0.45, 0.9), accelerators=8, source="given")

    assert work.hours == pytest.approx(8 * 0.45 / 3600, rel=1e-12)
    assert (work.low_hours, work.high_hours) == pytest.approx((8 * 0.3 / 3600, 8 * 0.9 / 3600))


def test_a_million_tokens_cost_what_the_closed_form_says():
    """$/1M = rate / (throughput · 3600 / 1e6): 6.88 / (4000 · 3600 / 1e6) = 0.4777... USD."""
    work = units_work("H100-80GB", (4000, 4000, 4000), unit="tokens", source="given")

    assert work.hours * 6.88 == pytest.approx(6.88 / (4000 * 3600 / 1e6), rel=1e-12)
    assert work.piece == "a million tokens"


def test_a_thousand_inferences_cost_what_the_closed_form_says():
    work = inference_work("H100-80GB", (42, 42, 42), source="given")

    assert work.hours * 6.88 == pytest.approx(6.88 / (42 * 3.6), rel=1e-12)


def test_a_training_is_scored_without_the_best_and_the_worst_run():
    runs = [300.0, 310.0, 320.0, 330.0, 900.0]

    work = training_work("H100-80GB", runs, accelerators=8, source="logs")

    assert work.hours == pytest.approx(8 * 320 / 3600)


def test_a_published_training_costs_its_minutes_on_all_accelerators():
    """BERT on 8 H100, MLPerf training 3.0: 5.264 minutes, 0.70 accelerator-hours, 4.83 USD."""
    work = training_work("H100-80GB", [5.264 * 60], accelerators=8, source="MLPerf v3.0")

    assert work.hours * 6.88 == pytest.approx(4.829, abs=1e-3)


def test_the_overhead_of_a_whole_run_multiplies_it():
    work = training_work(
        "H100-80GB", [3600.0], accelerators=1, source="logs", overhead=(1.05, 1.2, 1.5)
    )

    assert (work.low_hours, work.hours, work.high_hours) == (1.05, 1.2, 1.5)


def test_a_training_that_reached_no_target_has_no_cost():
    with pytest.raises(WorkError, match="no run reached"):
        training_work("H100-80GB", [], accelerators=8, source="logs")


@pytest.mark.parametrize("speed", [0.0, -1.0])
def test_work_that_is_not_done_has_no_cost(speed):
    with pytest.raises(WorkError, match="above zero"):
        units_work("H100-80GB", (speed, 1.0, 1.0), unit="tokens", source="given")


@pytest.mark.parametrize("times", [(float("nan"),) * 3, (2.0, 1.0, 3.0), (0.0, 1.0, 2.0)])
def test_a_time_that_cannot_be_is_refused(times):
    with pytest.raises(WorkError, match="low <= middle <= high"):
        step_work("H100-80GB", times, accelerators=1, source="given")


@given(speeds, speeds, speeds)
def test_the_faster_the_cheaper_and_draws_lie_between_the_ends(one, two, three):
    slow, middle, fast = sorted((one, two, three))

    work = units_work("H100-80GB", (slow, middle, fast), unit="tokens", source="given")

    draws = work.hour_draws
    assert work.low_hours <= work.hours <= work.high_hours
    slack = 1e-9 * work.high_hours
    assert work.low_hours - slack <= draws.min()
    assert draws.max() <= work.high_hours + slack


@given(speeds)
def test_a_thousand_inferences_are_a_thousandth_of_a_million_units(speed):
    many = units_work("x", (speed,) * 3, unit="u", source="s")
    few = inference_work("x", (speed,) * 3, source="s")

    assert many.hours == pytest.approx(1000 * few.hours, rel=1e-12)
