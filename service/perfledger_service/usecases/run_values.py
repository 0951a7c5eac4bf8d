"""A bundle's runs in, by workload, and the value that stands for each of them in a metric out."""

import math
from collections.abc import Sequence

from perfledger.bundle import Bundle
from perfledger.metrics import Kind, Metric
from perfledger.records import Run, Side
from perfledger_baselines.location import located


def runs_of(bundle: Bundle, side: Side) -> dict[str, tuple[Run, ...]]:
    """Return one side's runs by workload, in the order in which they were made."""
    found: dict[str, list[Run]] = {}
    for run in sorted(bundle.runs, key=lambda run: (run.started_at, run.process)):
        if run.side is side:
            found.setdefault(run.workload, []).append(run)
    return {workload: tuple(runs) for workload, runs in found.items()}


def run_values(runs: Sequence[Run], metric: Metric) -> tuple[float, ...]:
    """Return a metric's location in each run that tells it; none if one of them has no logarithm.

    None, too, if one of the runs has too few steps for a tail.
    """
    found = located(runs, metric)
    if metric.kind is Kind.TAIL and None in found:
        return ()
    known = tuple(value for value in found if value is not None)
    return known if all(math.isfinite(value) and value > 0 for value in known) else ()
