import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from perfledger_baselines.history.detection.detect import detect

seeds = st.integers(0, 10_000)

pytestmark = pytest.mark.slow


def walk(count, *, seed, sd=0.005):
    """Return made-up logs of which each is the one before and something new."""
    return np.cumsum(sd * np.random.default_rng(seed).standard_normal(count))


def test_a_jump_far_beyond_what_a_walk_takes_at_once_is_a_change(make):
    count = 0
    for seed in range(40):
        values = make.series(walk(60, seed=seed), [(40, 0.05)])
        count += any(c.earliest <= 40 <= c.latest for c in detect(values).changes)

    assert count >= 20


@pytest.mark.parametrize("count", [60, 200])
def test_a_walk_without_a_jump_is_rarely_called_one(make, count):
    called = sum(
        bool(detect(make.series(walk(count, seed=seed))).changes) for seed in range(100, 200)
    )

    assert called <= 10


@pytest.mark.slow(ci_only=True)
@settings(deadline=None, max_examples=60)
@given(seeds, st.integers(20, 40), st.sampled_from([0.04, 0.06]))
def test_a_fall_is_not_moved_to_where_a_slow_recovery_has_ended(make, seed, length, change):
    logs = make.noise(220, seed=seed, sd=0.004)
    logs[60 + length : 120 + length] += np.linspace(0, -np.log1p(-change) + 0.01, 60)
    logs[120 + length :] += -np.log1p(-change) + 0.01

    changes = detect(make.series(logs, [(60 + length, -change)])).changes

    assert any(abs(c.index - 60 - length) <= 2 and c.change < 0 for c in changes)
