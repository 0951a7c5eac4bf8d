import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chi, norm, t as student

from perfledger_baselines.significance.power import (
    relative,
    smallest_detectable_change,
    steps_per_process,
)

spreads = st.floats(1e-4, 0.2)


def exact_power(change, sd, pairs, alpha):
    """The chance that a paired t test rejects upwards, over the distribution of the spread."""
    critical = student.isf(alpha / 2, pairs - 1)
    true_errors = math.log1p(change) / (sd / math.sqrt(pairs))
    spread = chi(pairs - 1, scale=1 / math.sqrt(pairs - 1))
    ratios = spread.ppf((np.arange(20_000) + 0.5) / 20_000)
    return norm.sf(critical * ratios - true_errors).mean()


@pytest.mark.parametrize("pairs", [4, 6, 11, 20, 40])
@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001, 0.00005])
def test_the_smallest_detectable_change_is_found_four_times_out_of_five(pairs, alpha):
    change = smallest_detectable_change(0.01, pairs, alpha=alpha)

    assert exact_power(change, 0.01, pairs, alpha) == pytest.approx(0.8, abs=0.005)


def test_what_is_below_the_floor_is_never_detected():
    quiet = smallest_detectable_change(0.0, 4, alpha=0.05, floor=0.003)
    noisy = smallest_detectable_change(0.001, 40, alpha=0.05, floor=0.003)

    assert quiet == pytest.approx(0.003)
    assert noisy > 0.003


def test_one_pair_has_no_spread():
    with pytest.raises(ValueError, match="at least 2"):
        smallest_detectable_change(0.01, 1, alpha=0.05)


@given(spreads, st.integers(2, 50))
def test_more_pairs_and_less_noise_detect_smaller_changes(sd, pairs):
    change = smallest_detectable_change(sd, pairs, alpha=0.05)

    assert smallest_detectable_change(sd, pairs + 1, alpha=0.05) < change
    assert smallest_detectable_change(sd / 2, pairs, alpha=0.05) < change
    assert smallest_detectable_change(sd, pairs, alpha=0.01) > change


@pytest.mark.parametrize("alpha", [1e-200, 1e-300, 5e-324])
@pytest.mark.parametrize("pairs", [2, 4, 5, 9, 40])
def test_a_level_that_nothing_reaches_detects_no_change(pairs, alpha):
    assert smallest_detectable_change(0.01, pairs, alpha=alpha) == pytest.approx(1e6)


@given(st.floats(-1e6, 1e6))
def test_a_relative_change_is_always_a_finite_number(log_change):
    assert -1 <= relative(log_change) < math.inf


def test_a_history_makes_one_pair_enough_to_speak_of():
    known_change = smallest_detectable_change(0.01, 1, alpha=0.05, degrees=10)

    assert 0.02 < known_change < 0.05


@pytest.mark.parametrize(
    ("startup_s", "within_sd", "between_sd", "steps"),
    [
        pytest.param(16.0, 0.01, 0.01, 13, id="sqrt(16 / 0.1), rounded up"),
        pytest.param(16.0, 0.001, 0.01, 5, id="steady steps: more processes"),
        pytest.param(1e6, 0.1, 0.01, 30, id="a long start-up: more steps, within reason"),
        pytest.param(16.0, 0.01, 0.0, 30, id="processes that do not differ"),
    ],
)
def test_steps_follow_from_what_starting_costs_and_what_steps_vary(
    startup_s, within_sd, between_sd, steps
):
    best = steps_per_process(
        startup_s=startup_s, step_s=0.1, within_sd=within_sd, between_sd=between_sd
    )

    assert best == steps


@pytest.mark.parametrize(("startup_s", "step_s"), [(0.0, 1.0), (1.0, 0.0), (math.nan, 1.0)])
def test_steps_and_their_start_take_time(startup_s, step_s):
    with pytest.raises(ValueError, match="both must be above 0"):
        steps_per_process(startup_s=startup_s, step_s=step_s, within_sd=0.1, between_sd=0.1)
