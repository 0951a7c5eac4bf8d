"""Judges by its canaries whether a device drifts: is slower than it was, or than its siblings.

A canary's rate is one new value; the rates of earlier days or of sibling devices are k others, all
on the log scale. If all come from one normal distribution, the new value's distance from the mean
of the others, divided by s * sqrt(1 + 1 / k), has Student's distribution with k - 1 degrees of
freedom: the prediction interval (Hahn & Meeker, "Statistical Intervals", 1991, section 4.7). All
comparisons of one run of canaries are a family, corrected by Holm's procedure: on a device that did
not change, at most ALPHA of the runs call a canary slower. A device drifts if a second run in a row
calls the same canary slower, so that one disturbed run does no harm.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import stdtr, stdtrit

from perfledger_baselines.significance.multiple_testing import adjust_family
from perfledger_baselines.significance.paired_t_tests import MIN_SPREAD, TTestResult
from perfledger_baselines.significance.power import relative, smallest_detectable_change

# Share of runs of canaries on an unchanged device that may be suspected: with one run a day, four
# suspicions a year, nearly all of which the next run refutes.
ALPHA = 0.01
# A smaller loss is no reason to stop using a device: both sides of a pair run on it, so the loss
# cancels.
MIN_DRIFT = 0.02
# With fewer values, one of 20 canaries reaches its level only for changes of 20 standard
# deviations.
MIN_EARLIER = 5
MIN_SIBLINGS = 4


class DriftReference(StrEnum):
    """What a device's canary is compared with."""

    OWN_HISTORY = "own history"
    SIBLINGS = "siblings"

    @property
    def fewest(self) -> int:
        """Return how many values a comparison needs."""
        return MIN_EARLIER if self is DriftReference.OWN_HISTORY else MIN_SIBLINGS


class DriftState(StrEnum):
    """What a run of canaries shows about its device."""

    STEADY = "steady"
    SUSPECTED = "suspected"  # slower once: the next run confirms or refutes it
    DRIFTING = "drifting"
    UNKNOWN = "unknown"  # too few values to compare with


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryComparison:
    """A canary's rate, and the rates of earlier runs or of siblings; all are positive."""

    canary: str
    reference: DriftReference
    rate: float
    reference_rates: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryDrift:
    """How a canary compares; the figures are None with too few other values.

    `change` is rate / typical other rate - 1, and `smallest_detectable` the share of its rate that
    a device must lose to be called slower with 80 % probability.
    """

    comparison: CanaryComparison
    change: float | None = None
    smallest_detectable: float | None = None
    is_slower: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDrift:
    """What one run of canaries shows about its device, with each comparison."""

    state: DriftState
    canaries: tuple[CanaryDrift, ...]

    @property
    def slower(self) -> tuple[CanaryDrift, ...]:
        """Return the comparisons in which the device is slower."""
        return tuple(each for each in self.canaries if each.is_slower)


def judge_drift(
    comparisons: Sequence[CanaryComparison], *, suspected: Collection[str] = ()
) -> DeviceDrift:
    """Judge all comparisons of one run; `suspected` are the canaries called slower in the last."""
    results = [_prediction_test(each) for each in comparisons]
    adjusted = adjust_family(results, alpha=ALPHA)
    family = sum(result is not None for result in results)
    canaries = list[CanaryDrift]()
    for comparison, each in zip(comparisons, adjusted, strict=True):
        if each is None:
            canaries.append(CanaryDrift(comparison=comparison))
            continue
        change = relative(each.result.mean)
        canaries.append(
            CanaryDrift(
                comparison=comparison,
                change=change,
                smallest_detectable=_smallest_detectable(each.result, level=ALPHA / family),
                is_slower=each.holm < ALPHA and change <= -MIN_DRIFT,
            )
        )
    slower = {each.comparison.canary for each in canaries if each.is_slower}
    return DeviceDrift(
        state=_state(slower, suspected=suspected, is_judged=family > 0), canaries=tuple(canaries)
    )


def _state(slower: Collection[str], *, suspected: Collection[str], is_judged: bool) -> DriftState:
    if not slower:
        return DriftState.STEADY if is_judged else DriftState.UNKNOWN
    is_confirmed = any(name in suspected for name in slower)
    return DriftState.DRIFTING if is_confirmed else DriftState.SUSPECTED


def _prediction_test(comparison: CanaryComparison) -> TTestResult | None:
    """Test whether a rate comes from the distribution of the others; None with too few of them."""
    count = len(comparison.reference_rates)
    if count < comparison.reference.fewest:
        return None
    logs = np.log(np.asarray(comparison.reference_rates, dtype=np.float64))
    spread = max(float(logs.std(ddof=1)), MIN_SPREAD)
    error = spread * math.sqrt(1 + 1 / count)
    difference = math.log(comparison.rate) - float(logs.mean())
    wide, narrow = (-float(stdtrit(count - 1, level)) * error for level in (ALPHA / 2, ALPHA))
    return TTestResult(
        pairs=1,
        mean=difference,
        sd=error,
        degrees=count - 1,
        share=1.0,
        half_width=wide,
        narrow_half_width=narrow,
        p_value=2 * float(stdtr(count - 1, -abs(difference) / error)),
    )


def _smallest_detectable(result: TTestResult, *, level: float) -> float:
    """Return the smallest detectable loss as a share of the rate, by a downward log change."""
    log_change = math.log1p(
        smallest_detectable_change(
            result.sd, 1, alpha=level, floor=MIN_DRIFT, degrees=result.degrees
        )
    )
    return -relative(-log_change)
