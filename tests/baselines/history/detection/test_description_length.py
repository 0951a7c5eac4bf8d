import math

import numpy as np
import pytest

from perfledger_baselines.history.detection.bimodal_series import guess_states, separate_states
from perfledger_baselines.history.detection.description_length import (
    cauchy_scales,
    description_length,
    state_cost,
)
from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.segmentation.changepoints import search_rows


def length(levels):
    (row,) = search_rows(levels[None], np.zeros((1, len(levels))), floors=np.array([0.003]))
    return description_length(row)


def test_less_noise_is_told_shorter_by_its_logarithm(make):
    levels = make.noise(200, seed=1)

    assert length(levels) - length(levels / 2) == pytest.approx(200 * math.log(2))


def test_a_step_costs_what_makes_it_significant(make):
    levels = make.noise(200, seed=1)
    stepped = levels + 0.1 * (np.arange(200) >= 90)

    assert 8 < length(stepped) - length(levels) < 14


@pytest.mark.parametrize("seed", range(5))
def test_two_states_are_told_shorter_than_one(make, seed):
    levels = make.two_states(200, seed=seed)

    two = separate_states(levels, distance=guess_states(levels[None])[0])

    assert length(two.levels) + state_cost(two.is_upper) + 20 < length(levels)


def test_a_walk_is_told_shorter_than_two_states():
    levels = np.cumsum(0.005 * np.random.default_rng(3).standard_normal(200))

    two = separate_states(levels, distance=0.03)

    assert length(levels) < length(two.levels) + state_cost(two.is_upper)


def test_states_that_last_are_told_shorter_than_states_that_switch():
    index = np.arange(100)

    rarely, often = (
        state_cost(index % 50 < 25),
        state_cost(np.random.default_rng(1).random(100) < 0.5),
    )

    assert rarely < 25
    assert often == pytest.approx(100 * math.log(2), rel=0.1)
    assert state_cost(np.zeros(100, dtype=bool)) < 2


@pytest.mark.slow
def test_heavy_tails_are_no_second_state():
    """Small series of noise with a tight core, as public CI of GPUs has it."""
    rng = np.random.default_rng(7)
    rows = [0.004 * rng.standard_t(1.5, 50) for _ in range(200)]

    changes = sum(
        len(history.changes) for history in detect_many([np.exp(row).tolist() for row in rows])
    )

    assert changes <= 2


def test_the_scale_of_cauchy_noise_is_its_own():
    off = 0.01 * np.random.default_rng(7).standard_cauchy((20, 500))

    assert cauchy_scales(off).mean() == pytest.approx(0.01, rel=0.05)


def test_the_cost_of_states_is_that_of_a_markov_chain_whose_odds_are_not_known():
    """Each of n followers of a state costs -log((k + 1/2) / (n + 1)), Krichevsky & Trofimov's."""
    alternating, rare = np.array([0, 0, 1, 1, 0]) > 0, np.array([0, 0, 0, 0, 1]) > 0

    assert state_cost(alternating) == pytest.approx(math.log(2) + 4 * math.log(2))
    assert state_cost(rare) == pytest.approx(
        math.log(2) - 3 * math.log(3.5 / 5) - math.log(1.5 / 5)
    )
