"""Estimates the typical value of a metric over the runs of one side, with its interval."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from perfledger.metrics import Metric
from perfledger.records import Run
from perfledger_baselines.estimation.estimators import point_estimates

CONFIDENCE = 0.95


def typical_range(runs: Sequence[Run], *, metric: Metric) -> tuple[float, float, float] | None:
    """Return (low, typical, high) of a metric over processes, in its unit; None if not measured."""
    estimates = point_estimates(runs, metric)
    return range_of_values([value for value in estimates if value is not None])


def range_of_values(estimates: Sequence[float]) -> tuple[float, float, float] | None:
    """Return (low, typical, high) of the processes' values of a metric, in its unit.

    The geometric mean of the processes' values with Student's 95 % interval on the log scale: the
    process is the unit, never the samples inside one. None for fewer than two processes or a value
    that is not positive: there is no valid interval.
    """
    if len(estimates) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    values = np.array(estimates)
    if not (np.isfinite(values) & (values > 0)).all():
        return None
    logs = np.log(values)
    error = float(logs.std(ddof=1)) / len(logs) ** 0.5
    half_width = float(stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2)) * error
    mean = float(logs.mean())
    low, typical, high = (
        float(np.exp(value)) for value in (mean - half_width, mean, mean + half_width)
    )
    return low, typical, high
