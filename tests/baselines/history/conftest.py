"""Made-up series whose truth is known, seeded."""

import numpy as np
import pytest


class Make:
    """Makes series of one value per commit around 100."""

    def noise(self, count, *, seed, sd=0.01, dependence=0.0):
        """Return logs of Gaussian noise, AR(1) with this lag-1 dependence."""
        fresh = np.random.default_rng(seed).standard_normal(count)
        logs = np.empty(count)
        logs[0] = fresh[0]
        for index in range(1, count):
            logs[index] = dependence * logs[index - 1] + (1 - dependence**2) ** 0.5 * fresh[index]
        return sd * logs

    def series(self, logs, steps=()):
        """Return values of these logs, with (place, relative change) steps."""
        values = 100 * np.exp(logs)
        for place, change in steps:
            values[place:] *= 1 + change
        return values

    def two_states(self, count, *, seed, sd=0.003, distance=0.025, share=0.35):
        """Return logs that switch between two states, each observation four times out of ten."""
        rng = np.random.default_rng(seed)
        states = np.empty(count)
        states[0] = rng.random() < share
        for index in range(1, count):
            stays = rng.random() < 0.6
            states[index] = states[index - 1] if stays else rng.random() < share
        return sd * rng.standard_normal(count) + distance * states


@pytest.fixture(scope="session")
def make():
    return Make()
