"""One side's runs in, what a metric typically is there out, with its interval."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from perfledger.metrics import Metric
from perfledger.records import Run
from perfledger_baselines.location import located

CONFIDENCE = 0.95


def typical_range(runs: Sequence[Run], *, metric: Metric) -> tuple[float, float, float] | None:
    """Return (low, typical, high) of a metric over processes, in its unit; None if not measured.

    The geometric mean of the processes' locations with Student's 95 % interval on the log scale:
    processes are the unit, never the samples inside one. Fewer than two processes, or a location
    that is not positive, give None: there is no honest interval.
    """
    told = [value for value in located(runs, metric) if value is not None]
    if len(told) < 2:  # noqa: PLR2004 - a spread needs two
        return None
    values = np.array(told)
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
