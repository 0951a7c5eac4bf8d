"""Warns of steps that are slow so rarely that a typical step does not show it."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean

import numpy as np
from scipy.special import stdtrit

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Run, Side
from perfledger.rounding import percentage
from perfledger_baselines.judging.leftover_work import Pairs
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.work_evidence import pairs_of_workloads

# Share of checks without a change: a warning accuses, too.
MAX_FALSE_WARNINGS = 0.01
# Two differences are too few to estimate a spread.
MIN_PAIRS = 3
GREEN = frozenset({Outcome.UNCHANGED, Outcome.IMPROVED})


def slow_step_warnings(bundle: Bundle, verdicts: Iterable[Verdict]) -> tuple[str, ...]:
    """Return a warning for each workload whose mean step is worse than its typical step shows.

    Either the mean is slower by more than the margin, for example because one step in a hundred
    waits for a file or cleans up; or it gains less than half of what the typical step does, because
    other steps do its work.
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
        least = _lower_bound(growths, MAX_FALSE_WARNINGS / len(judged))
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


def mean_growths(pairs: Pairs) -> tuple[float, ...]:
    """Return log(head / base) of the mean step time of each pair, where both are known."""
    means = (
        (_mean_s(sides[Side.BASE]), _mean_s(sides[Side.HEAD]))
        for sides in pairs.values()
        if all(side in sides for side in Side)
    )
    return tuple(math.log(head / base) for base, head in means if base > 0 and head > 0)


def _mean_s(run: Run) -> float:
    """Return the mean of all steps, without any recorded wait for a core; 0 if unreadable.

    The wait is caused by other programs, and hits the sides at random.
    """
    times, samples, weights = run.core_times, run.samples.get(STEP_TIME.name, ()), run.turns or (1,)
    if len(times.elapsed_s) == len(weights):
        readings = zip(weights, times.elapsed_s, times.queued_s, strict=True)
        mean = sum(steps * (wall - queued) for steps, wall, queued in readings) / sum(weights)
    else:
        mean = fmean(samples) if samples else 0.0
    return mean if math.isfinite(mean) else 0.0


def _lower_bound(values: Sequence[float], level: float) -> float:
    """Return the one-sided Student's t bound of the mean; minus infinity for too few values."""
    if len(values) < MIN_PAIRS:
        return -math.inf
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return fmean(values) + float(stdtrit(len(values) - 1, level)) * error
