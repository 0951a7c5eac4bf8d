"""Draws seeded random samples of uncertain figures, so that equal inputs give equal results."""

from statistics import NormalDist
from zlib import crc32

import numpy as np

from perfledger_cost_models.arrays import FloatArray

DRAWS = 20_000  # P5 and P95 of an owned hour's cost are then stable to about half a cent
SEED = 2026
PERT_WEIGHT = 4.0  # of the mode relative to each end: Malcolm et al. 1959, the usual value


def draw_pert(low: float, mode: float, high: float, *, name: str) -> FloatArray:
    """Draw from the PERT distribution: a beta over low to high with mean (low + 4 mode + high) / 6.

    The stream depends only on `name`: an input that two options share has the same draws in both
    (common random numbers), and a new input does not change any other input's draws.
    """
    width = high - low
    if width <= 0:
        return np.full(DRAWS, mode)
    return low + width * _generator(name).beta(*pert_shape(low, mode, high), DRAWS)


def pert_shape(low: float, mode: float, high: float) -> tuple[float, float]:
    """Return the two shape parameters of PERT's beta distribution; `low` and `high` must differ.

    They give the mean (low + 4 mode + high) / 6 and the variance
    (mean - low) (high - mean) / 7 (Vose 2008, "Risk analysis", the modified PERT with weight 4).
    """
    width = high - low
    return 1 + PERT_WEIGHT * (mode - low) / width, 1 + PERT_WEIGHT * (high - mode) / width


def draw_ratios(
    low: float, middle: float, high: float, *, coverage: float, name: str
) -> FloatArray:
    """Draw ratios whose logarithm is normal on each side of the middle.

    Half of them lie below `middle`, and the central share `coverage` lies between `low` and `high`
    (all positive), however asymmetric the interval is.
    """
    reach = NormalDist().inv_cdf((1 + coverage) / 2)
    normal = _generator(name).standard_normal(DRAWS)
    below = np.log(middle / low) * np.minimum(normal, 0)
    above = np.log(high / middle) * np.maximum(normal, 0)
    factors: FloatArray = np.exp((below + above) / reach)
    return middle * factors


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng((SEED, crc32(name.encode())))
