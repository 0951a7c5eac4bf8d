"""Counts the steps that processes measured, and computes the best number of steps."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime
from statistics import median

import numpy as np

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Run
from perfledger_baselines.estimation.pairing import RunPairs
from perfledger_baselines.significance.power import steps_per_process
from perfledger_service.usecases.inputs.run_values import run_values, usable_values
from perfledger_service.values.report import ProcessSteps

# Fewest steps for a spread within a process, and fewest processes for one between them.
_MIN_STEPS, _MIN_PROCESSES = 5, 5


def process_steps(runs: RunPairs, starts: Sequence[float]) -> tuple[ProcessSteps, ...]:
    """Return how many steps each workload's processes measured, and the best number.

    `starts` are the times at which the check's runs began, in order.
    """
    counts: list[ProcessSteps] = []
    for workload, pairs in runs.items():
        steps = [len(run.samples.get(STEP_TIME.name, ())) for pair in pairs for run in pair]
        if any(steps):
            best, _ = best_steps(pairs, starts)
            fewest = min(filter(None, steps))
            counts.append(
                ProcessSteps(workload=workload, fewest=fewest, most=max(steps), best=best)
            )
    return tuple(counts)


def beginnings(bundle: Bundle) -> tuple[float, ...]:
    """Return the start times of a check's runs, in order."""
    return tuple(sorted(_moment(run) for run in bundle.runs))


def best_steps(pairs: Sequence[tuple[Run, Run]], starts: Sequence[float]) -> tuple[int | None, str]:
    """Return how many steps a process should measure, or None and the reason.

    The start-up cost of a process is the time from one run's start to the next one of `starts`,
    less its measured steps: warm-up and everything else before the next run. If several workloads
    share a process, it is this workload's part. Interleaved runs overlap, so they have none.
    """
    runs = [run for pair in pairs for run in pair]
    steps = [run.samples.get(STEP_TIME.name, ()) for run in runs]
    if any(run.turns for run in runs):
        return None, "base and head were interleaved, so a run's start-up time is unknown"
    if len(runs) < 2 * _MIN_PROCESSES or min(map(len, steps)) < _MIN_STEPS:
        return (
            None,
            "too few processes or steps to separate the spread within and between processes",
        )
    readings = [usable_values(step_times, STEP_TIME) for step_times in steps]
    sides = [run_values([pair[place] for pair in pairs], STEP_TIME) for place in (0, 1)]
    if any(each.flaw for each in (*readings, *sides)):
        return None, "over a quarter of a process's step times are zero, negative or not a number"
    startup_s = _startup_seconds(starts, runs)
    step_s = median(step for each in readings for step in each.values)
    if not (startup_s > 0 and step_s > 0):
        return None, "the runs' times do not show how long a process takes to start"
    within = float(np.median([np.log(each.values).var(ddof=1) for each in readings]))
    scatter = float(np.mean([np.log(side.values).var(ddof=1) for side in sides]))
    explained = within / median(map(len, steps))
    between = math.sqrt(max(0.0, scatter - explained))
    best = steps_per_process(
        startup_s=startup_s, step_s=step_s, within_sd=math.sqrt(within), between_sd=between
    )
    return best, ""


def _startup_seconds(starts: Sequence[float], runs: Sequence[Run]) -> float:
    """Return the median time until the next run began, less the run's steps."""
    startups: list[float] = []
    for run in runs:
        start = _moment(run)
        following = bisect_right(starts, start)
        if following < len(starts):
            steps_s = run.evidence.seconds_of(run.samples[STEP_TIME.name])
            if math.isfinite(steps_s):
                startups.append(starts[following] - start - steps_s)
    return median(startups) if startups else 0.0


def _moment(run: Run) -> float:
    return datetime.fromisoformat(run.started_at).timestamp()
