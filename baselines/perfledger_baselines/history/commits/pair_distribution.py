"""Estimates where the differences of pairs lie and how they scatter, by Student's t distribution.

The estimates are those of maximum likelihood (Lange, Little & Taylor, "Robust statistical modeling
using the t distribution", Journal of the American Statistical Association 84, 1989), by the EM
algorithm. Processes on shared machines are often outliers, and one such pair must not decide.
"""

import math
from collections.abc import Sequence
from statistics import median

# With this few degrees of freedom the tails allow for such pairs.
PAIR_DEGREES = 4.0
# Number of iterations; each closes about half of the remaining gap.
STEPS_TO_SCALE, STEPS_TO_CENTER = 12, 5


def log_density(place: float) -> float:
    """Return the log density at a distance from the centre, in scales, up to a constant."""
    return -(PAIR_DEGREES + 1) / 2 * math.log1p(place**2 / PAIR_DEGREES)


def likely_center(differences: Sequence[float], scale: float) -> float:
    """Return the maximum-likelihood centre of differences with this positive scale."""
    center = median(differences)
    for _ in range(STEPS_TO_CENTER):
        weights = [_weight((each - center) / scale) for each in differences]
        products = (weight * each for weight, each in zip(weights, differences, strict=True))
        center = math.fsum(products) / math.fsum(weights)
    return center


def center_error(count: int, scale: float) -> float:
    """Return the standard error of the most likely centre of this many differences.

    It follows from Fisher's information: (v + 1) / (v + 3) per difference with v degrees of
    freedom.
    """
    return scale * math.sqrt((PAIR_DEGREES + 3) / (PAIR_DEGREES + 1) / count)


def pooled_scale(groups: Sequence[Sequence[float]]) -> float:
    """Return the common scale of groups of differences that each have a centre of their own.

    With few differences it is too large rather than too small. 0 if no group has two that differ.
    """
    scattered = [group for group in groups if len(group) > 1]
    degrees = max(1, sum(map(len, scattered)) - len(scattered) - 2)
    scale = max((max(group) - min(group) for group in scattered), default=0.0)
    for _ in range(STEPS_TO_SCALE):
        if scale <= 0:
            break
        squares = 0.0
        for group in scattered:
            center = likely_center(group, scale)
            squares += sum(
                _weight((each - center) / scale) * (each - center) ** 2 for each in group
            )
        scale = math.sqrt(squares / degrees)
    return scale


def _weight(place: float) -> float:
    """Return how much a pair counts, by its distance from the centre in scales."""
    return (PAIR_DEGREES + 1) / (PAIR_DEGREES + place**2)
