"""Groups a bundle's runs by workload, and estimates each run's value of a metric."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.bundle import Bundle
from perfledger.metrics import MAX_LEFT_OUT, Metric, MetricKind, MetricScale
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
    """Return the values of imported runs: the medians of their samples."""
    samples = (run.samples.get(metric.name) for run in runs)
    return tuple(None if values is None else float(np.median(values)) for values in samples)


@dataclass(frozen=True, slots=True)
class UsableValues:
    """The comparable values of a side's runs, and how many are not comparable.

    A value that is zero, negative or not a number has no ratio to another one. At most a quarter of
    the values may be left out: beyond that, the remaining ones may just be the better runs.
    """

    values: tuple[float, ...]
    left_out: int = 0

    @property
    def comparable(self) -> tuple[float, ...]:
        """Return the values; () if too many are left out."""
        return () if self.flaw else self.values

    @property
    def flaw(self) -> str:
        """Return why too many values are left out for a comparison; "" if few enough are.

        The limit is the same as for a process's samples.
        """
        runs = len(self.values) + self.left_out
        if runs and self.left_out <= MAX_LEFT_OUT * runs:
            return ""
        if not runs:
            return "a reading is missing, so there is no ratio"
        share = f"over a quarter of the runs ({self.left_out} of {runs})"
        return f"{share} are zero, negative or not a number"


def run_estimates(
    runs: Sequence[Run], metric: Metric, *, is_imported: bool = False
) -> tuple[float, ...]:
    """Return a metric's estimate in each run that has it; () if one is too short for a tail."""
    estimates = medians(runs, metric) if is_imported else point_estimates(runs, metric)
    if metric.kind is MetricKind.TAIL and None in estimates:
        return ()
    return tuple(value for value in estimates if value is not None)


def run_values(runs: Sequence[Run], metric: Metric, *, is_imported: bool = False) -> UsableValues:
    """Return the comparable estimates of a metric in the runs that have it."""
    return usable_values(run_estimates(runs, metric, is_imported=is_imported), metric)


def usable_values(estimates: Sequence[float], metric: Metric) -> UsableValues:
    """Return the comparable values; all or none of a count, for which zero is a valid value."""
    usable = tuple(value for value in estimates if is_usable(value))
    if metric.scale is MetricScale.EXACT and len(usable) < len(estimates):
        return UsableValues((), len(estimates))
    return UsableValues(usable, len(estimates) - len(usable))


def left_out_text(groups: Sequence[UsableValues], name: str) -> str:
    """Return how many runs have no comparable value, and how many groups have too many of these.

    "" if there are none. `name` is what the groups are: "points".
    """
    left_out = sum(group.left_out for group in groups)
    if not left_out:
        return ""
    runs = left_out + sum(len(group.values) for group in groups)
    text = f"{left_out:,} of {runs:,} runs (zero, negative or not a number)"
    flawed = sum(bool(group.flaw) for group in groups)
    if not flawed:
        return text
    return f"{text}, and {flawed:,} of {len(groups):,} {name} with over a quarter of such runs"


def is_usable(value: float) -> bool:
    """Return whether a value has a ratio to another one."""
    return math.isfinite(value) and value > 0
