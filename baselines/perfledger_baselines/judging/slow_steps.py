"""Warns of steps that are slow so rarely that a typical step does not show it."""

import math
from collections.abc import Iterable
from statistics import fmean

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.rounding import percentage
from perfledger_baselines.judging.gain_doubts.mean_steps import (
    MAX_FALSE_WARNINGS,
    lower_bound,
    mean_growths,
)
from perfledger_baselines.judging.gain_doubts.workload_pairs import pairs_of_workloads
from perfledger_baselines.judging.verdict import Outcome, Verdict

GREEN = frozenset({Outcome.UNCHANGED, Outcome.IMPROVED})


def slow_step_warnings(bundle: Bundle, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return a warning for each workload whose mean step is worse than its typical step shows.

    Either the mean is slower by more than the margin, for example because one step in a hundred
    waits for a file or cleans up; or it gains less than half of what the typical step does, because
    other steps do its work. A gain of that kind above the margin is not measured (`mean_steps`).
    """
    judged = [
        verdict
        for verdict in verdicts
        if verdict.metric.name == STEP_TIME.name and verdict.outcome in GREEN
    ]
    pairs = pairs_of_workloads(bundle)
    warnings: list[str] = []
    for verdict in judged:
        name = verdict.workload
        growths = mean_growths(pairs.get(name, {}))
        least = lower_bound(growths, MAX_FALSE_WARNINGS / len(judged))
        margin = bundle.plan.margins.get(name, bundle.plan.margin)
        if least > math.log1p(margin):
            longer = percentage(math.expm1(fmean(growths)))
            warnings.append(
                f"{name}: the mean of all steps is {longer} longer on head, though a typical "
                "step is not: a few steps are much slower, which `metrics` with step_time_p95 or "
                "step_time_p99 judges"
            )
        elif least > _half_of_gain(verdict):
            warnings.append(
                f"{name}: a typical step is {percentage(-_change(verdict))} faster, but the mean "
                "of all steps gains less than half of it: some steps do the work of others"
            )
    return tuple(warnings)


def _change(verdict: Verdict) -> float:
    return 0.0 if verdict.estimate is None else verdict.estimate.change


def _half_of_gain(verdict: Verdict) -> float:
    """Return half of the log of an improvement; infinity for any other outcome."""
    is_gain = verdict.outcome is Outcome.IMPROVED and -1 < _change(verdict) < 0
    return math.log1p(_change(verdict)) / 2 if is_gain else math.inf
