"""Learns the spread of a series' pairs from its earlier measurements: a prior for its tests."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import stdtrit

from perfledger.bundle import Plan
from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.estimation.estimators import medians

# Most weight of a spread from history, in pairs. Weight of a spread from history in pairs, combined
# with the present ones (moderated variance: Smyth 2004): small enough for a dozen present pairs to
# outweigh it.
MAX_WEIGHT = 12
# Degrees of freedom of a spread from history. However long the history, it comes from other days:
# the test never gets closer to the normal than this.
MAX_DEGREES = 25
# Values are clipped at this many standard deviations from the median: single spikes are no spread.
# The deviation is the larger of the estimates from the median absolute deviation and from the outer
# tenths. The first alone would clip a second state with fewer than half of the runs and make the
# series look quiet: a quarter of single pairs were then called different without cause.
CLIP = 6.0
MAD_TO_SD = 1.4826  # of a normal's median absolute deviation
OUTER = 0.1  # share of the values beyond the tenth at either end
OUTER_TO_SD = 1 / (2 * 1.2816)  # of the distance between the outer tenths of a normal
# With fewer values a spread is too uncertain.
MIN_VALUES = 5
# Most pairs of earlier checks that give the spread. The newest pairs of earlier checks: 200 give
# the spread to 5 %, and older ones come from an older state of the machine.
MAX_VALUES = 200
# Differences of logs that agree to this are equal up to rounding.
ROUNDING = 1e-12
# With one pair nothing shows whether it is a spike. What this share of pairs does without cause
# must therefore not look like a change: see `_variance_of_tails`.
RARE = 0.02
# Fewest pairs of which most may agree to the last bit. If most pairs agree to the last bit, as with
# coarse readings, t cannot model how often they do not: there must be enough pairs to show that
# share.
MIN_COARSE = 50


class PriorSource(StrEnum):
    """What a spread was learnt from."""

    PAIRS = "pairs"  # differences of earlier pairs
    RUNS = "runs"  # single runs of earlier sessions, which differ by more than pairs do


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadPrior:
    """The variance of a pair's difference of logs, and its degrees of freedom."""

    variance: float
    degrees: float
    source: PriorSource
    values: int  # pairs or runs it was learnt from


# Workload and metric's name → the spread of its pairs.
Priors = Mapping[tuple[str, str], SpreadPrior]


class PriorError(ValueError):
    """An error for a history from which no spread can be learnt."""


def prior_from_pairs(differences: Sequence[float]) -> SpreadPrior:
    """Learn from earlier pairs' differences of logs, each minus the mean of its check.

    Raises PriorError for fewer than five, or for one that is not a number.
    """
    values = _clip(_checked_values(differences))
    return SpreadPrior(
        variance=float(values.var(ddof=1)),
        degrees=_degrees(values),
        source=PriorSource.PAIRS,
        values=len(values),
    )


def prior_from_checks(checks: Iterable[Sequence[float]]) -> SpreadPrior:
    """Learn from the pairs' differences of logs of earlier checks, the newest check first.

    The mean of each check is subtracted: a change that the check found is not spread. The residuals
    of k pairs have (k - 1) / k of the variance and are scaled accordingly; a single pair has no
    residual. Checks are used until there are MAX_VALUES. Raises PriorError for fewer than five
    values, for fewer than MIN_COARSE of which most are the same, or for one that is not a
    number.
    """
    parts: list[FloatArray] = []
    count = 0
    for differences in checks:
        if count >= MAX_VALUES:
            break
        if len(differences) > 1:
            part = np.asarray(differences, dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # rejected by _checked_values
                parts.append((part - part.mean()) * math.sqrt(len(part) / (len(part) - 1)))
            count += len(part)
    values = _checked_values(np.concatenate(parts) if parts else ())
    equal = np.count_nonzero(np.abs(values) <= ROUNDING)
    if 2 * equal > len(values) and len(values) < MIN_COARSE:
        msg = (
            f"{equal} of {len(values)} earlier values agree to the last bit: a spread needs "
            f"{MIN_COARSE} values then"
        )
        raise PriorError(msg)
    core = _clip(values)
    degrees = _degrees(core, lost=len(parts) - 1)
    variance = _variance_of_tails(values, degrees=degrees)
    return SpreadPrior(
        variance=max(float(core.var(ddof=1)), variance),
        degrees=degrees,
        source=PriorSource.PAIRS,
        values=len(values),
    )


def moderate(
    variance: FloatArray, degrees: FloatArray, *, squares: FloatArray, own_degrees: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the moderated variance of history and present pairs, and its degrees of freedom.

    With w the history's weight, v0 its `variance` and s^2 the present `squares` / `own_degrees`:

        (w v0 + own_degrees s^2) / (w + own_degrees)

    The degrees are those of a sum of two variances (Satterthwaite, "An approximate distribution of
    estimates of variance components", Biometrics Bulletin 2, 1946). So a history of 30 gives a
    single pair 25 degrees though it weighs as 12, and next to none where the present pairs are far
    noisier.
    """
    weight = np.minimum(degrees, MAX_WEIGHT)
    total, count = weight * variance + squares, np.maximum(weight + own_degrees, 1)
    prior_share = np.divide(weight * variance, total, out=weight / count, where=total > 0)
    moderated: FloatArray = total / count
    variance_of_degrees = prior_share**2 / np.maximum(degrees, 1) + (
        1 - prior_share
    ) ** 2 / np.maximum(own_degrees, 1)
    return moderated, 1 / variance_of_degrees


def priors_of_plan(plan: Plan) -> dict[tuple[str, str], SpreadPrior]:
    """Return the spreads that a check's stopping rule used."""
    return {
        (spread.workload, spread.metric): SpreadPrior(
            variance=spread.variance,
            degrees=spread.degrees,
            source=PriorSource.PAIRS,
            values=spread.pairs,
        )
        for spread in plan.spreads
    }


def prior_from_runs(values: Sequence[float], *, changes: Sequence[int] = ()) -> SpreadPrior:
    """Learn from one positive value per run, of earlier sessions in their order.

    `changes` are the places where the series is known to have moved: the level of each stretch is
    subtracted. Two runs of one session share its state and differ by less than two runs of
    different ones: this prior is too wide rather than too narrow, and present pairs correct it
    (`paired_t_tests`). Raises PriorError for fewer than five values, or for one that is not
    positive.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # rejected by _checked_values
        logs = _checked_values(np.log(np.asarray(values, dtype=np.float64)))
    parts = np.split(logs, sorted(changes))
    residuals = _clip(
        np.concatenate([part - medians(part[np.newaxis, :]) for part in parts if len(part)])
    )
    return SpreadPrior(
        variance=2 * float(residuals.var(ddof=1)),
        degrees=_degrees(residuals, lost=len(parts) - 1),
        source=PriorSource.RUNS,
        values=len(residuals),
    )


def _checked_values(values: Sequence[float] | FloatArray) -> FloatArray:
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < MIN_VALUES or not np.isfinite(numbers).all():
        usable = np.count_nonzero(np.isfinite(numbers))
        msg = (
            f"{len(numbers)} earlier values, of which {usable} are usable: a spread needs "
            f"{MIN_VALUES} positive numbers, and no other values"
        )
        raise PriorError(msg)
    return numbers


def _clip(values: FloatArray) -> FloatArray:
    ordered = np.sort(values)
    center = medians(ordered[np.newaxis, :])[0]
    outer = int(OUTER * len(ordered))
    width = ordered[-1 - outer] - ordered[outer]
    deviation = medians(np.abs(ordered - center)[np.newaxis, :])[0]
    reach = CLIP * max(MAD_TO_SD * deviation, OUTER_TO_SD * width)
    if reach > ROUNDING:  # where nearly all agree, the few others are the only spread
        ordered = ordered.clip(center - reach, center + reach)
    return ordered


def _variance_of_tails(values: FloatArray, *, degrees: float) -> float:
    """Return the variance with which a t test of one value calls RARE of these values a change.

    Spikes in a few of a hundred pairs hardly change the variance, and so single pairs with a spike
    were called changed. This variance equates the RARE quantile of the values with that of t; for
    normal values it is smaller than their own.
    """
    quantile = float(np.quantile(np.abs(values), 1 - RARE))
    return (quantile / -float(stdtrit(degrees, RARE / 2))) ** 2


def _degrees(values: FloatArray, *, lost: int = 0) -> float:
    """Return the degrees of freedom of the values' variance; `lost` went to the means removed.

    The variance of values that are not normal scatters with their kurtosis: it is as precise as
    that of 2 n / (kurtosis - 1) normal values (Box, "Non-normality and tests on variances",
    Biometrika 40, 1953).
    """
    most: float = min(MAX_DEGREES, len(values) - 1 - lost)
    squares = (values - values.mean()) ** 2
    if squares.mean() > ROUNDING**2:
        excess = float((squares**2).mean() / squares.mean() ** 2) - 1  # 2 for normal values
        most = min(most, 2 * len(values) / max(excess, 1.0))
    return float(max(1, most))
