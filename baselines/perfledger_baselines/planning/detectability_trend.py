"""Fits how fast the smallest change that a gate finds becomes larger or smaller."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray

# A line through fewer checks is an anecdote.
FEWEST_CHECKS = 10
# The newest: a machine of a year ago says nothing of today's trend.
MOST_CHECKS = 60
# A trend is told for so many checks: that of one is too small to read.
PER_CHECKS = 10
CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectabilityTrend:
    """The relative change of the smallest detectable change over PER_CHECKS checks.

    `low` and `high` are its interval at CONFIDENCE, and `checks` those that it rests on.
    """

    change: float
    low: float
    high: float
    checks: int

    @property
    def is_shown(self) -> bool:
        """Return whether the interval says in which direction it goes."""
        return self.low > 0 or self.high < 0


def detectability_trend(checks: Sequence[Mapping[str, float]]) -> DetectabilityTrend | None:
    """Return the trend of checks, the newest first; None of too few that found any.

    Each has the smallest detectable change by workload, relative. A workload counts relative to its
    own median, so that a check of others is no trend. The line through the logs is that of Theil
    and Sen, which single loud checks do not tilt, with the interval of Sen, "Estimates of the
    regression coefficient based on Kendall's tau", JASA 63 (1968). It takes checks for independent:
    a machine that is loud for some of them in a row may look like a trend.
    """
    logs = [
        {workload: math.log(change) for workload, change in check.items() if change > 0}
        for check in checks[:MOST_CHECKS]
    ]
    by_workload: defaultdict[str, list[float]] = defaultdict(list)
    for check in logs:
        for workload, value in check.items():
            by_workload[workload].append(value)
    levels = {workload: median(values) for workload, values in by_workload.items()}
    points = [
        (-place, median(value - levels[workload] for workload, value in check.items()))
        for place, check in enumerate(logs)
        if check
    ]
    if len(points) < FEWEST_CHECKS:
        return None
    places, values = np.array(points, dtype=np.float64).T
    change, low, high = np.expm1(PER_CHECKS * _slope_with_interval(places, values)).tolist()
    return DetectabilityTrend(change=change, low=low, high=high, checks=len(points))


def _slope_with_interval(places: FloatArray, values: FloatArray) -> FloatArray:
    """Return Theil's and Sen's slope, and the lower and the upper bound of it.

    The bounds have as many slopes beyond them on either side.
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
