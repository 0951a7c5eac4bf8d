"""Pairs are as long as their turns need to be, by how much processes and turns differ."""

import math

import pytest

from perfledger.records import Side
from perfledger_baselines.planning.pair_length import (
    FEWEST_TURNS,
    PAIR_SPREAD,
    TurnTimes,
    pair_length,
    turn_times,
)

TURN_S = 0.03


@pytest.fixture(scope="session")
def pair_in_turns(build):
    """Return a function that makes base and head of turns whose step times differ by logs."""

    def make(differences, *, step_s=0.01, steps=3):
        times = {
            Side.BASE: [step_s] * len(differences),
            Side.HEAD: [step_s * math.exp(each) for each in differences],
        }
        return tuple(
            build.with_turns(
                build.run(side=side, step_time_p50=tuple(t for t in each for _ in range(steps))),
                (steps,) * len(each),
            )
            for side, each in times.items()
        )

    return make


def turns_of(seconds, measured_s=1.5, *, spread):
    return TurnTimes(seconds=seconds, measured_s=measured_s, spread=spread)


def test_the_spread_of_turns_ignores_a_few_disturbed_ones(pair_in_turns):
    differences = (*(0.04 if number % 2 else -0.04 for number in range(24)), 0.9, 1.2)

    times = turn_times(*pair_in_turns(differences))

    assert times is not None
    assert times.spread == pytest.approx(1.4826 * 0.08)  # the median is one of the middle values


def test_the_time_of_a_turn_is_that_of_its_steps(pair_in_turns):
    times = turn_times(*pair_in_turns([0.0] * 20))

    assert times is not None
    assert times.seconds == pytest.approx(0.03)
    assert times.measured_s == pytest.approx(2 * 20 * 0.03)


def test_too_few_turns_say_nothing(pair_in_turns):
    assert turn_times(*pair_in_turns([0.0] * (FEWEST_TURNS - 1))) is None
    assert turn_times(*pair_in_turns([0.0] * FEWEST_TURNS)) is not None


def test_runs_without_turns_say_nothing(build):
    runs = build.pairs("m:f", step_time_p50=[(0.01, 0.01)])[0]

    assert turn_times(*runs) is None


def test_steady_turns_are_few():
    assert pair_length([turns_of(TURN_S, spread=0.0)], pair_s=2.0) == FEWEST_TURNS


def test_the_length_is_that_of_kalibera_and_jones():
    """A start of .54 s costs as much as nine turns of both sides; turns spread 8 times as much."""
    turns = [turns_of(TURN_S, spread=8 * PAIR_SPREAD)]

    assert pair_length(turns, pair_s=1.5 + 0.54) == math.sqrt(9) * 8


def test_a_pair_in_which_the_clocks_disagree_costs_no_start():
    assert pair_length([turns_of(TURN_S, spread=0.5)], pair_s=1.4) == FEWEST_TURNS


def test_one_pair_with_a_wide_spread_does_not_lengthen_all():
    turns = [turns_of(TURN_S, spread=each) for each in (0.01, 3.0, 0.02)]

    assert pair_length(turns, pair_s=2.0) == FEWEST_TURNS


def test_the_best_length_has_the_least_variance_for_its_time():
    """Over all numbers of turns, by the variance of the mean of the pairs that an hour holds."""
    start_s, spread = 0.9, 0.1
    best = pair_length([turns_of(TURN_S, spread=spread)], pair_s=1.5 + start_s)

    def variance(turns):
        pairs = 3600 / (start_s + 2 * TURN_S * turns)
        return (PAIR_SPREAD**2 + spread**2 / turns) / pairs

    assert min(range(1, 200), key=variance) == pytest.approx(best, abs=1)
