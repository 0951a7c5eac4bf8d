"""Fits how fast the smallest change that a gate can detect grows or shrinks."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray

# A line through fewer checks proves nothing.
MIN_CHECKS = 10
# The newest checks: a machine's state a year ago says nothing about today's trend.
MAX_CHECKS = 60
# A trend is stated over this many checks: the change over a single one is too small to read.
PER_CHECKS = 10
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectabilityTrend:
    """The relative change of the smallest detectable change over PER_CHECKS checks.

    `low` and `high` are its interval at CONFIDENCE, and `checks` those it is based on.
    """

    change: float
    low: float
    high: float
    checks: int

    @property
    def is_shown(self) -> bool:
        """Return whether the interval shows the direction of the trend."""
        return self.low > 0 or self.high < 0


def detectability_trend(checks: Sequence[Mapping[str, float]]) -> DetectabilityTrend | None:
    """Return the trend of checks, the newest first; None if too few of them found any.

    Each check has the smallest detectable change by workload, relative. A workload counts relative
    to its own median, so that a different choice of workloads is no trend. The line through the
    logs is the Theil-Sen estimator, which single noisy checks do not tilt, with the interval of
    Sen, "Estimates of the regression coefficient based on Kendall's tau", JASA 63 (1968). It treats
    checks as independent: a machine that is noisy for some consecutive checks may look like a
    trend.
    """
    logs = [
        {workload: math.log(change) for workload, change in check.items() if change > 0}
        for check in checks[:MAX_CHECKS]
    ]
    by_workload: defaultdict[str, list[float]] = defaultdict(list)
    for check in logs:
        for workload, value in check.items():
            by_workload[workload].append(value)
    levels = {workload: median(values) for workload, values in by_workload.items()}
    points = [
        (-index, median(value - levels[workload] for workload, value in check.items()))
        for index, check in enumerate(logs)
        if check
    ]
    if len(points) < MIN_CHECKS:
        return None
    places, values = np.array(points, dtype=np.float64).T
    change, low, high = np.expm1(PER_CHECKS * _slope_with_interval(places, values)).tolist()
    return DetectabilityTrend(change=change, low=low, high=high, checks=len(points))


def _slope_with_interval(places: FloatArray, values: FloatArray) -> FloatArray:
    """Return the Theil-Sen slope, with its lower and upper bounds.

    Equally many slopes lie beyond each bound.
    """
    first, second = np.triu_indices(len(places), 1)
    slopes: FloatArray = np.sort(
        (values[second] - values[first]) / (places[second] - places[first])
    )
    count = len(places)
    sd = math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    reach = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * sd
    beyond = max(0, math.floor((len(slopes) - reach) / 2) - 1)
    return np.array([np.median(slopes), slopes[beyond], slopes[len(slopes) - 1 - beyond]])
