"""Estimates the typical value of a metric over the runs of one side, with its interval."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from perfledger.metrics import STEP_TIME
from perfledger.records import Run
from perfledger_baselines.estimation.estimators import point_estimates

CONFIDENCE = 0.95

Range = tuple[float, float, float]  # low, typical, high


def typical_step_time_s(runs: Sequence[Run]) -> Range | None:
    """Return (low, typical, high) of the step time over processes; None if not measured."""
    estimates = point_estimates(runs, STEP_TIME)
    return typical_ranges([[value for value in estimates if value is not None]])[0]


def typical_ranges(batch: Sequence[Sequence[float]]) -> tuple[Range | None, ...]:
    """Return (low, typical, high) of the processes' values of each metric, in its unit.

    The geometric mean of the processes' values with Student's 95 % interval on the log scale: the
    process is the unit, never the samples inside one. None for fewer than two processes or a value
    that is not positive: there is no valid interval. Metrics with equally many values are computed
    together.
    """
    ranges: list[Range | None] = [None] * len(batch)
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for index, estimates in enumerate(batch):
        by_length[len(estimates)].append(index)
    for length, indices in by_length.items():
        if length < 2:  # noqa: PLR2004 - a spread needs two
            continue
        values = np.array([batch[index] for index in indices], dtype=np.float64)
        has_range = (np.isfinite(values) & (values > 0)).all(axis=1)
        logs = np.log(values[has_range])
        half_widths = logs.std(ddof=1, axis=1) / length**0.5
        half_widths *= stdtrit(length - 1, (1 + CONFIDENCE) / 2)
        means = logs.mean(axis=1)
        bounds = np.exp([means - half_widths, means, means + half_widths]).T.tolist()
        for index, (low, typical, high) in zip(np.array(indices)[has_range], bounds, strict=True):
            ranges[index] = low, typical, high
    return tuple(ranges)
