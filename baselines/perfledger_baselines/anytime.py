"""Pairs as they come and no plan of looks in, evidence that is valid at every moment out.

For looks that nobody planned: a person who watches and stops when it suits, a service that judges
what has arrived so far. The e-value of a test is a bet against "no change": under it, its value is
1 on average, and the chance that it ever reaches 1 / alpha is at most alpha (Ville 1939), however
often one looks and whatever makes one stop. Planned looks (`spending`) find more with equal pairs.
"""

import math
from dataclasses import dataclass

from perfledger_baselines.evidence import SMALLEST_SPREAD
from perfledger_baselines.prior import SpreadPrior

# Variance of the change that is bet on, in units of a pair's variance: changes of about one
# standard deviation of a pair, which some ten pairs can find, are found soonest.
MIXTURE = 1.0
# One pair has no spread of its own.
FEWEST_DEGREES = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AnytimeEvidence:
    """What the pairs so far say, on the log scale, valid at any moment.

    `half_width` is infinite as long as no interval of that confidence exists.
    """

    pairs: int
    mean: float
    e_value: float
    half_width: float

    @property
    def p_value(self) -> float:
        """Return 1 / e, at most 1: a p-value, though not a sharp one."""
        return min(1.0, 1 / self.e_value)


def weigh_anytime(
    differences: tuple[float, ...], *, alpha: float, prior: SpreadPrior | None = None
) -> AnytimeEvidence:
    """Test whether differences of logs have mean zero, at a moment that nobody planned.

    With t the (moderated) t statistic of k pairs on nu degrees of freedom and g = MIXTURE:

        e = (1 + k g)^(-1/2) * ((1 + t^2 / nu) / (1 + t^2 / (nu (1 + k g))))^((nu + 1) / 2)

    Without a prior that is the scale-invariant mixture of Lai 1976 (Wang & Ramdas, "Anytime-valid
    t-tests and confidence sequences for Gaussian means with unknown variance", 2024): valid for
    every spread. With one it is the Bayes factor, valid on average over the spreads of the prior.
    The interval holds the means that the bet has not refuted.
    """
    pairs = len(differences)
    mean = math.fsum(differences) / pairs if pairs else 0.0
    squares = math.fsum((each - mean) ** 2 for each in differences)
    known, known_degrees = (prior.variance, prior.weight) if prior else (0.0, 0.0)
    degrees = pairs - 1 + known_degrees
    if not pairs or degrees < FEWEST_DEGREES:
        return AnytimeEvidence(pairs=pairs, mean=mean, e_value=1.0, half_width=math.inf)
    variance = max((known_degrees * known + squares) / degrees, SMALLEST_SPREAD**2)
    error = math.sqrt(variance / pairs)
    shrunk = 1 + pairs * MIXTURE
    return AnytimeEvidence(
        pairs=pairs,
        mean=mean,
        e_value=_e_value(mean, error, degrees=degrees, shrunk=shrunk),
        half_width=error * _critical(alpha, degrees=degrees, shrunk=shrunk),
    )


def _e_value(mean: float, error: float, *, degrees: float, shrunk: float) -> float:
    squared = (mean / error) ** 2 / degrees
    logged = (degrees + 1) / 2 * (math.log1p(squared) - math.log1p(squared / shrunk))
    return math.exp(min(logged - math.log(shrunk) / 2, 700.0))  # exp(709.8) is the largest double


def _critical(alpha: float, *, degrees: float, shrunk: float) -> float:
    """Return the t at which e reaches 1 / alpha; infinite where none does."""
    ratio = (math.sqrt(shrunk) / alpha) ** (2 / (degrees + 1))
    if ratio >= shrunk:
        return math.inf
    return math.sqrt(degrees * (ratio - 1) / (1 - ratio / shrunk))
