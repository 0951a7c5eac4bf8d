import numpy as np
import pytest

from perfledger_cost_models.forecasting.exponential_smoothing import SmoothingWeights


def test_reach_is_that_of_the_state_space_model():
    walk = SmoothingWeights(1.0, 0.0, 0.0, 0.0, 0)
    seasonal = SmoothingWeights(0.0, 0.0, 0.0, 1.0, 2)

    assert walk.reach(4) == pytest.approx(np.sqrt([1, 2, 3, 4]))
    assert seasonal.reach(4) == pytest.approx(np.sqrt([1, 1, 2, 2]))
    assert SmoothingWeights(0.5, 0.2, 0.9, 0.0, 0).reach(3) == pytest.approx(
        np.sqrt([1, 1 + 0.68**2, 1 + 0.68**2 + (0.5 + 0.2 * (0.9 + 0.81)) ** 2])
    )
