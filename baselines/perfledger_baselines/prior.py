"""Earlier measurements of a series in, what spread its pairs' differences will have out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from perfledger.bundle import Plan
from perfledger_baselines.location import medians

# A spread from history counts as so many pairs beside those of today (moderated variance: Smyth
# 2004): few enough for a dozen of today to overrule it.
MOST_WEIGHT = 12
# How well a spread is known, in degrees of freedom. However long the history, it is of other days
# than today: its bounds never come closer to the normal's than this.
MAX_DEGREES = 25
# Single spikes are no spread: values are clipped so many standard deviations from the median. That
# deviation is the larger of what the median absolute deviation and what the outer tenths make of
# it. The first alone would clip a second state that fewer than half of the runs are in, and call
# the series quiet: a quarter of single pairs were then called different without cause.
CLIP = 6.0
MAD_TO_SD = 1.4826
OUTER = 0.1
OUTER_TO_SD = 1 / (2 * 1.2816)  # of the distance between the outer tenths of a normal
# Fewer values than this say too little of a spread to lean on it.
FEWEST_VALUES = 5
# Of earlier checks' pairs, the newest: 200 tell a spread to 5 %, and older ones tell of an older
# machine.
MOST_VALUES = 200
# Differences of logs that agree to this are the same but for rounding.
ROUNDING = 1e-12
# One pair has nobody beside it to show that it is a spike. What happens to this share of pairs
# without cause must therefore not look like a change: see `_variance_of_tails`.
RARE = 0.02
# Where most pairs agree to the last bit, as those of coarse readings do, t knows nothing of how
# often they do not: so many must have been seen that this share would have shown.
FEWEST_COARSE = 50


class PriorSource(StrEnum):
    """Where a spread was learnt."""

    PAIRS = "pairs"  # differences of earlier pairs that were not different
    RUNS = "runs"  # single runs of earlier sessions: more than a pair differs by, never less


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPrior:
    """The variance of a pair's difference of logs, and with how many degrees of freedom."""

    variance: float
    degrees: float
    source: PriorSource
    values: int  # pairs or runs that told it

    @property
    def weight(self) -> float:
        """Return how many pairs of today it counts as."""
        return min(self.degrees, MOST_WEIGHT)


# Workload and metric's name → what is known of the spread of its pairs.
Priors = Mapping[tuple[str, str], SpreadPrior]


class PriorError(ValueError):
    """The history has no spread that could be learnt."""


def prior_from_pairs(differences: Sequence[float]) -> SpreadPrior:
    """Learn from earlier pairs' differences of logs, each less the mean of its check.

    Raises PriorError for fewer than five, or for one that is no number.
    """
    values = _clipped(_checked(differences))
    return SpreadPrior(
        variance=float(values.var(ddof=1)),
        degrees=_degrees(values),
        source=PriorSource.PAIRS,
        values=len(values),
    )


def prior_from_checks(checks: Iterable[Sequence[float]]) -> SpreadPrior:
    """Learn from the pairs' differences of logs of earlier checks, the newest check first.

    The mean of each check is taken out: it is what the check was made to find, and a change that it
    found is no spread. What is left of k pairs varies by (k - 1) / k as much as pairs do, and is
    stretched accordingly; of a single pair nothing is left. Checks are taken until there are
    MOST_VALUES. Raises PriorError for fewer than five values, for fewer than FEWEST_COARSE of which
    most are the same, or for one that is no number.
    """
    parts: list[NDArray[np.float64]] = []
    known = 0
    for differences in checks:
        if known >= MOST_VALUES:
            break
        if len(differences) > 1:
            part = np.asarray(differences, dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # what is no number is refused below
                parts.append((part - part.mean()) * math.sqrt(len(part) / (len(part) - 1)))
            known += len(part)
    values = _checked(np.concatenate(parts) if parts else ())
    equal = np.count_nonzero(np.abs(values) <= ROUNDING)
    if 2 * equal > len(values) and len(values) < FEWEST_COARSE:
        msg = (
            f"{equal} of {len(values)} earlier values agree to the last bit: how often they do not "
            f"is told by {FEWEST_COARSE}"
        )
        raise PriorError(msg)
    clipped = _clipped(values)
    degrees = _degrees(clipped, lost=len(parts) - 1)
    variance = _variance_of_tails(values, degrees=degrees)
    return SpreadPrior(
        variance=max(float(clipped.var(ddof=1)), variance),
        degrees=degrees,
        source=PriorSource.PAIRS,
        values=len(values),
    )


def moderate(
    variance: NDArray[np.float64],
    degrees: NDArray[np.float64],
    *,
    squares: NDArray[np.float64],
    own_degrees: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variance that history and today tell together, and its degrees of freedom.

    With w the history's weight, v0 its `variance` and s^2 today's, `squares` / `own_degrees`:

        (w v0 + own_degrees s^2) / (w + own_degrees)

    The degrees are those of a sum of two variances (Satterthwaite, "An approximate distribution of
    estimates of variance components", Biometrics Bulletin 2, 1946). So a history of 30 is worth 25
    to a single pair though it weighs as 12, and next to nothing where today is far noisier.
    """
    weight = np.minimum(degrees, MOST_WEIGHT)
    total, count = weight * variance + squares, np.maximum(weight + own_degrees, 1)
    told = np.where(total > 0, weight * variance / np.where(total > 0, total, 1), weight / count)
    moderated: NDArray[np.float64] = total / count
    both = told**2 / np.maximum(degrees, 1) + (1 - told) ** 2 / np.maximum(own_degrees, 1)
    return moderated, 1 / both


def priors_of(plan: Plan) -> dict[tuple[str, str], SpreadPrior]:
    """Return what a check's stopping knew of its tests' spreads."""
    return {
        (known.workload, known.metric): SpreadPrior(
            variance=known.variance,
            degrees=known.degrees,
            source=PriorSource.PAIRS,
            values=known.pairs,
        )
        for known in plan.spreads
    }


def prior_from_runs(values: Sequence[float], *, changes: Sequence[int] = ()) -> SpreadPrior:
    """Learn from one positive value a run, of earlier sessions in their order.

    `changes` are the places where the series is known to have moved: the levels between them are
    taken out. Two runs of one session share its state and differ by less than two of different
    ones: the prior errs on the safe side, and pairs of today put it right (`evidence`). Raises
    PriorError for fewer than five values, or for one that is not positive.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # what has no log is refused below
        logs = _checked(np.log(np.asarray(values, dtype=np.float64)))
    parts = np.split(logs, sorted(changes))
    residuals = _clipped(
        np.concatenate([part - medians(part[np.newaxis, :]) for part in parts if len(part)])
    )
    return SpreadPrior(
        variance=2 * float(residuals.var(ddof=1)),
        degrees=_degrees(residuals, lost=len(parts) - 1),
        source=PriorSource.RUNS,
        values=len(residuals),
    )


def _checked(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    checked = np.asarray(values, dtype=np.float64)
    if len(checked) < FEWEST_VALUES or not np.isfinite(checked).all():
        usable = np.count_nonzero(np.isfinite(checked))
        msg = (
            f"{len(checked)} earlier values, of which {usable} are usable: a spread needs "
            f"{FEWEST_VALUES} that are positive numbers, and no others"
        )
        raise PriorError(msg)
    return checked


def _clipped(values: NDArray[np.float64]) -> NDArray[np.float64]:
    ordered = np.sort(values)
    center = medians(ordered[np.newaxis, :])[0]
    outer = int(OUTER * len(ordered))
    width = ordered[-1 - outer] - ordered[outer]
    deviation = medians(np.abs(ordered - center)[np.newaxis, :])[0]
    reach = CLIP * max(MAD_TO_SD * deviation, OUTER_TO_SD * width)
    if reach > ROUNDING:  # where nearly all agree, the few that do not are all the spread there is
        ordered = ordered.clip(center - reach, center + reach)
    return ordered


def _variance_of_tails(values: NDArray[np.float64], *, degrees: float) -> float:
    """Return the variance with which a t test of one value calls RARE of these values a change.

    Spikes in some of a hundred pairs hardly move the variance, and single pairs that have one were
    called changed. The quantile of the values is put where that of t is; normal ones lie below it.
    """
    quantile = float(np.quantile(np.abs(values), 1 - RARE))
    return (quantile / -float(stdtrit(degrees, RARE / 2))) ** 2


def _degrees(values: NDArray[np.float64], *, lost: int = 0) -> float:
    """Return with how many degrees of freedom so many values tell their variance.

    Of normal ones, as many as are left. A variance of others scatters by their kurtosis: it is as
    well known as that of 2 n / (kurtosis - 1) normal ones (Box, "Non-normality and tests on
    variances", Biometrika 40, 1953).
    """
    most: float = min(MAX_DEGREES, len(values) - 1 - lost)
    squares = (values - values.mean()) ** 2
    if squares.mean() > ROUNDING**2:
        excess = float((squares**2).mean() / squares.mean() ** 2) - 1  # 2 for normal values
        most = min(most, 2 * len(values) / max(excess, 1.0))
    return float(max(1, most))
