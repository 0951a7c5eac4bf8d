"""Groups a bundle's runs by workload, and estimates each run's value of a metric."""

import math
from collections.abc import Sequence

import numpy as np

from perfledger.bundle import Bundle
from perfledger.metrics import Metric, MetricKind
from perfledger.records import Run, Side
from perfledger_baselines.estimation.estimators import point_estimates


def runs_of(bundle: Bundle, side: Side) -> dict[str, tuple[Run, ...]]:
    """Return one side's runs by workload, in order of their start."""
    runs_by_workload: dict[str, list[Run]] = {}
    for run in sorted(bundle.runs, key=lambda run: (run.started_at, run.process)):
        if run.side is side:
            runs_by_workload.setdefault(run.workload, []).append(run)
    return {workload: tuple(runs) for workload, runs in runs_by_workload.items()}


def medians(runs: Sequence[Run], metric: Metric) -> tuple[float | None, ...]:
    """Return the values of imported runs, which are the medians of the samples that they have."""
    samples = (run.samples.get(metric.name) for run in runs)
    return tuple(None if values is None else float(np.median(values)) for values in samples)


def run_values(
    runs: Sequence[Run], metric: Metric, *, is_imported: bool = False
) -> tuple[float, ...]:
    """Return a metric's estimate in each run that has it; none if one is not positive.

    Also none if a run has too few steps for a tail.
    """
    estimates = medians(runs, metric) if is_imported else point_estimates(runs, metric)
    if metric.kind is MetricKind.TAIL and None in estimates:
        return ()
    values = tuple(value for value in estimates if value is not None)
    return values if all(math.isfinite(value) and value > 0 for value in values) else ()
