"""A bundle in; how many steps its processes measured, and how many would be best, out."""

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import median

import numpy as np

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME
from perfledger.records import Run
from perfledger_baselines.pairing import match_runs
from perfledger_baselines.power import steps_per_process
from perfledger_service.report import ProcessSteps
from perfledger_service.usecases.run_values import run_values

# Steps of a process that have a spread, and processes that have one beyond their steps'.
_FEWEST_STEPS, _FEWEST_PROCESSES = 5, 5


def process_steps(bundle: Bundle) -> tuple[ProcessSteps, ...]:
    """Return how many steps a process of each workload measured, and how many would be best."""
    found: list[ProcessSteps] = []
    for workload, pairs in match_runs(bundle.runs).items():
        steps = [len(run.samples.get(STEP_TIME.name, ())) for pair in pairs for run in pair]
        if any(steps):
            best, _ = best_steps(bundle, pairs)
            fewest = min(filter(None, steps))
            found.append(ProcessSteps(workload=workload, fewest=fewest, most=max(steps), best=best))
    return tuple(found)


def best_steps(bundle: Bundle, pairs: Sequence[tuple[Run, Run]]) -> tuple[int | None, str]:
    """Return how many steps a process should measure, or None and why that cannot be told.

    What a process costs beside its measured steps is the time from one run's start to the next
    one's in the whole check, less those steps: its own warm-up and what follows until the next can
    begin. Where several workloads share a process, that is what this one adds to it. Only runs that
    followed each other say so; runs that took turns overlap.
    """
    runs = [run for pair in pairs for run in pair]
    steps = [run.samples.get(STEP_TIME.name, ()) for run in runs]
    if any(run.turns for run in runs):
        return None, "base and head took turns, so that a run's own start-up is not known"
    if len(runs) < 2 * _FEWEST_PROCESSES or min(map(len, steps)) < _FEWEST_STEPS:
        return None, "too few processes or steps to tell the spread within from that between"
    startup_s = _startup_seconds(_beginnings(bundle), runs)
    step_s = median(step for made in steps for step in made)
    if not (startup_s > 0 and step_s > 0):
        return None, "the runs' times do not tell how long a process takes to start"
    within = float(np.median([np.log(made).var(ddof=1) for made in steps]))
    sides: Mapping[int, Sequence[float]] = {
        place: run_values([pair[place] for pair in pairs], STEP_TIME) for place in (0, 1)
    }
    scatter = float(np.mean([np.log(values).var(ddof=1) for values in sides.values()]))
    explained = within / median(map(len, steps))
    between = math.sqrt(max(0.0, scatter - explained))
    best = steps_per_process(
        startup_s=startup_s, step_s=step_s, within_sd=math.sqrt(within), between_sd=between
    )
    return best, ""


def _startup_seconds(began: Sequence[float], runs: Sequence[Run]) -> float:
    """Return what of the time until the next run began was none of the run's steps, the median."""
    found: list[float] = []
    for run in runs:
        start = _moment(run)
        following = bisect_right(began, start)
        if following < len(began):
            found.append(began[following] - start - sum(run.samples[STEP_TIME.name]))
    return median(found) if found else 0.0


def _beginnings(bundle: Bundle) -> tuple[float, ...]:
    """Return the moments at which a check's runs began, in their order."""
    return tuple(sorted(_moment(run) for run in bundle.runs))


def _moment(run: Run) -> float:
    return datetime.fromisoformat(run.started_at).timestamp()
