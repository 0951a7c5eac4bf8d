import numpy as np
import pytest

from perfledger_baselines.history.detection.bimodal_series import (
    CAP_SPREADS,
    alternation,
    guess_states,
    place_costs,
    separate_states,
)
from perfledger_baselines.history.detection.detect import detect, detect_many
from perfledger_baselines.history.detection.variance_changes import find_share_shifts


def test_two_states_are_told_with_their_distance(make):
    distance = guess_states(make.two_states(300, seed=1)[None])[0]

    assert distance == pytest.approx(0.025, rel=0.1)


@pytest.mark.parametrize("dependence", [0.0, 0.6])
def test_ordinary_noise_has_one_state(make, dependence):
    levels = [make.noise(200, seed=seed, dependence=dependence) for seed in range(50)]

    assert guess_states(np.stack(levels)) == {}


def test_the_digits_of_coarse_readings_are_no_states_but_two_exact_levels_are(make):
    coarse = np.round(make.series(make.noise(200, seed=6, sd=0.005)))
    states = np.where(make.two_states(200, seed=6, sd=0.0) > 0, 102.0, 100.0)

    assert set(coarse) >= {99.0, 100.0, 101.0}
    assert guess_states(np.log(coarse)[None]) == {}
    assert guess_states(np.log(states)[None])[0] == pytest.approx(np.log(1.02))


def test_steps_make_no_states(make):
    levels = make.noise(200, seed=2)
    levels[100:] += 0.1
    levels[150:] -= 0.05

    assert guess_states(levels[None]) == {}


def test_states_are_taken_off_and_a_step_stays(make):
    levels = make.two_states(200, seed=3)
    levels[120:] += 0.01

    two = separate_states(levels, distance=0.025)

    assert two.distance == pytest.approx(0.025, abs=0.001)
    assert two.levels[120:].mean() - two.levels[:120].mean() == pytest.approx(0.01, abs=0.001)
    assert two.levels[:120].std() < 0.005


def test_a_row_that_is_never_in_the_other_state_keeps_the_distance_it_was_given(make):
    two = separate_states(make.noise(100, seed=4), distance=0.5)

    assert two.distance == 0.5
    assert not two.is_upper.any() or two.is_upper.all()


def test_changes_to_and_fro_at_short_intervals_are_states():
    assert alternation([10, 20, 31, 40], [0.02, -0.021, 0.02, -0.019]) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("places", "steps"),
    [
        ([10, 20, 30], [0.02, -0.02, 0.02]),
        ([10, 20, 30, 40], [0.02, 0.02, -0.02, 0.02]),
        ([10, 20, 30, 40], [0.02, -0.05, 0.02, -0.02]),
        ([10, 50, 90, 130], [0.02, -0.02, 0.02, -0.02]),
    ],
)
def test_few_or_unlike_or_lasting_changes_are_no_states(places, steps):
    assert alternation(places, steps) == 0


def test_a_short_row_tells_no_share():
    assert find_share_shifts(np.array([True, False] * 10)) == ()


def test_a_row_always_in_one_state_has_no_shift():
    assert find_share_shifts(np.ones(100, dtype=bool)) == ()


def test_states_that_switch_rarely_are_known_by_their_changes(make):
    levels = make.noise(120, seed=5, sd=0.002)
    levels += 0.02 * (np.arange(120) % 24 < 12)

    history = detect(np.exp(levels))

    assert history.changes == ()


@pytest.mark.slow
def test_the_place_of_a_step_as_large_as_the_states_are_apart_is_honest(make):
    batch = [
        np.exp(make.two_states(200, seed=seed, sd=0.004) + 0.02 * (np.arange(200) >= 110))
        for seed in range(60)
    ]

    near = [
        change
        for history in detect_many(batch)
        for change in history.changes
        if abs(change.index - 110) <= 20
    ]

    assert len(near) >= 50
    assert np.mean([change.earliest <= 110 <= change.latest for change in near]) >= 0.9


@pytest.mark.parametrize("distance", [0.05, 0.3, 1.0])
def test_exact_states_far_apart_are_no_changes_and_hide_none(distance):
    rng = np.random.default_rng(7)
    still = [100 + 100 * distance * (rng.random(200) < 0.4) for _ in range(10)]
    moved_values = [values * np.where(np.arange(200) < 110, 1.0, 1.02) for values in still]

    assert [history.changes for history in detect_many(still)] == [()] * 10
    for history in detect_many(moved_values):
        assert [change.index for change in history.changes] == [pytest.approx(110, abs=3)]


def test_an_observation_is_in_the_nearer_state():
    """A third of the distance off is still the lower state, two thirds are the upper one."""
    levels = np.tile([0.0, 0.3, 0.0, 0.3, 0.3, 0.0], 20) + np.resize([0.002, -0.002, 0.0], 120)
    levels[[31, 62]] = 0.12, 0.18

    two = separate_states(levels, distance=0.3)

    assert (two.is_upper[31], two.is_upper[62]) == (False, True)


def test_the_cost_of_a_step_at_a_place_is_that_of_all_residuals_on_either_side():
    levels = np.random.default_rng(2).uniform(-0.05, 0.15, 30)
    before, after, distance, sd = 0.0, 0.03, 0.08, 0.01

    costs = place_costs(levels, distance=distance, before=before, after=after, sd=sd)

    def cost(level, base):
        off = min(abs(level - base), abs(level - base - distance)) / sd
        return min(off, CAP_SPREADS) ** 2

    expected = [
        sum(cost(level, before if at < place else after) for at, level in enumerate(levels))
        for place in range(31)
    ]
    assert costs == pytest.approx(expected)


def test_turns_may_last_fifteen_observations_in_the_median():
    steps = [0.02, -0.02, 0.02, -0.02]

    assert alternation([10, 25, 40, 90], steps) == pytest.approx(0.02)
    assert alternation([10, 26, 42, 44], steps) == 0


def test_each_turn_reverts_the_one_before_but_for_less_than_two_fifths():
    assert alternation([10, 20, 30, 40], [5, -5, 5, -6.99]) > 0
    assert alternation([10, 20, 30, 40], [5, -5, 5, -7]) == 0
