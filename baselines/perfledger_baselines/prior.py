"""Earlier measurements of a series in, what spread its pairs' differences will have out."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.location import medians

# What a spread from history is worth, in degrees of freedom: enough to make one pair a test, few
# enough for a dozen pairs of today to overrule it (moderated variance: Smyth 2004).
PRIOR_DEGREES = 12
# Spreads of runs scatter more than theory says (states, tails): however many pairs agree with the
# history, the bounds never come closer to the normal's than this.
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


class PriorSource(StrEnum):
    """Where a spread was learnt."""

    PAIRS = "pairs"  # differences of earlier pairs that were not different
    RUNS = "runs"  # single runs of earlier sessions: more than a pair differs by, never less


@dataclass(frozen=True, slots=True)
class SpreadPrior:
    """The variance of a pair's difference of logs, and the degrees of freedom it is worth."""

    variance: float
    degrees: float
    source: PriorSource


class PriorError(ValueError):
    """The history has no spread that could be learnt."""


def prior_from_pairs(differences: Sequence[float]) -> SpreadPrior:
    """Learn from earlier pairs' differences of logs, each less the mean of its check.

    Raises PriorError for fewer than five, or for one that is no number.
    """
    values = _checked(differences)
    return SpreadPrior(_clipped_variance(values), _degrees(values), PriorSource.PAIRS)


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
    residuals = np.concatenate([part - medians(part[np.newaxis, :]) for part in parts if len(part)])
    lost = len(parts) - 1
    return SpreadPrior(
        2 * _clipped_variance(residuals), _degrees(residuals, lost=lost), PriorSource.RUNS
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


def _clipped_variance(values: NDArray[np.float64]) -> float:
    ordered = np.sort(values)
    center = medians(ordered[np.newaxis, :])[0]
    outer = int(OUTER * len(ordered))
    width = ordered[-1 - outer] - ordered[outer]
    deviation = medians(np.abs(ordered - center)[np.newaxis, :])[0]
    reach = CLIP * max(MAD_TO_SD * deviation, OUTER_TO_SD * width)
    return float(ordered.clip(center - reach, center + reach).var(ddof=1))


def _degrees(values: NDArray[np.float64], *, lost: int = 0) -> float:
    return float(max(1, min(PRIOR_DEGREES, len(values) - 1 - lost)))
