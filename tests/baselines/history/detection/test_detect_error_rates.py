"""How often history is wrong on made-up series; the README has more of it."""

import numpy as np
import pytest

from perfledger_baselines.history.detection.detect import detect_many
from perfledger_baselines.history.detection.tail_suspects import tail_suspects

pytestmark = pytest.mark.slow

SERIES = 200
COUNT = 200


def gaussian(make, seed):
    return make.noise(COUNT, seed=seed)


def heavy_tailed(make, seed):  # noqa: ARG001 - all noises are made alike
    return 0.01 * np.random.default_rng(seed).standard_t(3, COUNT)


def dependent(make, seed):
    return make.noise(COUNT, seed=seed, dependence=0.6)


def two_states(make, seed):
    return make.two_states(COUNT, seed=seed)


def drifting(make, seed):
    return make.noise(COUNT, seed=seed) + np.linspace(0, 0.03, COUNT)


def spiky(make, seed):
    rng = np.random.default_rng(seed)
    return make.noise(COUNT, seed=seed) + (rng.random(COUNT) < 0.04) * rng.uniform(0.05, 0.4, COUNT)


noises = pytest.mark.parametrize(
    "noise", [gaussian, heavy_tailed, dependent, two_states, drifting, spiky]
)


@pytest.mark.parametrize(
    ("noise", "most"),
    [
        (gaussian, 0.5),
        (heavy_tailed, 0.5),
        (dependent, 0.5),
        (two_states, 0.6),
        (drifting, 0.3),
        (spiky, 0.5),
    ],
)
def test_series_without_a_change_show_few(make, noise, most):
    batch = [make.series(noise(make, seed)) for seed in range(SERIES)]

    false = sum(len(history.changes) for history in detect_many(batch))

    assert 1000 * false / (SERIES * COUNT) <= most


@pytest.mark.parametrize(("digit", "sd"), [(0.5, 0.002), (1.0, 0.003), (1.0, 0.005), (2.0, 0.01)])
def test_coarse_readings_without_a_change_show_few(make, digit, sd):
    batch = [
        digit * np.round(make.series(make.noise(COUNT, seed=seed, sd=sd)) / digit)
        for seed in range(SERIES)
    ]

    false = sum(len(history.changes) for history in detect_many(batch))

    assert 1000 * false / (SERIES * COUNT) <= 1.0


@pytest.mark.slow(ci_only=True)
@noises
def test_steps_of_five_noise_spreads_are_found_within_their_intervals(make, noise):
    batch = [make.series(noise(make, seed), [(120, 0.08)]) for seed in range(SERIES)]

    histories = detect_many(batch)

    results = [
        any(c.earliest - 2 <= 120 <= c.latest + 2 for c in history.changes) for history in histories
    ]
    assert np.mean(results) >= 0.9


def test_the_intervals_of_places_and_sizes_hold_what_they_promise(make):
    batch = [make.series(make.noise(COUNT, seed=seed), [(90, 0.02)]) for seed in range(400)]

    changes = [
        min(history.changes, key=lambda change: abs(change.index - 90))
        for history in detect_many(batch)
        if history.changes
    ]

    assert len(changes) >= 390
    assert np.mean([c.earliest <= 90 <= c.latest for c in changes]) >= 0.92
    assert np.mean([c.low <= 0.02 <= c.high for c in changes]) >= 0.90


@pytest.mark.slow(ci_only=True)
def test_a_step_of_five_noise_spreads_is_suspected_within_three_commits(make):
    def is_suspected(seed):
        values = make.series(make.noise(63, seed=seed), [(60, 0.05)])
        suspects = tail_suspects([values[:stop] for stop in (61, 62, 63)])
        return any(one is not None and abs(one.index - 60) <= 1 for one in suspects)

    assert np.mean([is_suspected(seed) for seed in range(50)]) >= 0.95


@pytest.mark.slow(ci_only=True)
def test_few_commits_that_change_nothing_are_suspected(make):
    suspects = sum(
        tail_suspects([make.series(make.noise(count, seed=[seed, count]))]) != (None,)
        for seed in range(4)
        for count in range(60, 110)
    )

    assert suspects / 200 <= 0.05
