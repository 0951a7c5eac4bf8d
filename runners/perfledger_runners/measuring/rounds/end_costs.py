"""Finds workloads whose head does more than base after its steps, and compares few steps with many.

What a process does after its last step may be of a fixed size, or left by each step. A process of
few steps shows which: only in the second case does it do much less.
"""

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.protocol import MeasuringEffort
from perfledger.records import Run, Side
from perfledger.step_evidence import EndCost

# Share of the time of head's steps. The judge doubts heads from 5 % on.
MIN_MORE = 0.02
# What unchanged exit functions differ by, in seconds.
MIN_MORE_S = 0.005
# Threads and processes per step that have not ended. A pool has a few in all.
MIN_TASKS = 0.1
FEW_STEPS = MeasuringEffort(
    min_steps=1, max_steps=1, min_seconds=0.0, max_seconds=0.0, max_turns=1, max_warmups=3
)


def names_to_compare(
    run_pairs: Iterable[tuple[Run, Run]], earlier_runs: Iterable[Run]
) -> tuple[str, ...]:
    """Return the workloads of pairs that are to be compared after few steps, once in a check."""
    done = {run.workload for run in earlier_runs if run.evidence.short_end_cost is not None}
    pairs = ((base, head) for base, head in run_pairs if base.workload not in done)
    return tuple(base.workload for base, head in pairs if _may_leave_work(base, head))


def with_end_cost(runs: Iterable[Run], workload: str, side: Side, cost: EndCost) -> list[Run]:
    """Return runs, of which that of a workload's side has the end cost of its process."""
    return [
        replace(run, evidence=replace(run.evidence, end_cost=cost))
        if (run.workload, run.side) == (workload, side)
        else run
        for run in runs
    ]


def with_short_end_costs(runs: Iterable[Run], short_runs: Iterable[Run]) -> tuple[Run, ...]:
    """Return runs with the end costs of the processes of few steps, by workload and side."""
    costs = {(run.workload, run.side): run.evidence.end_cost for run in short_runs}
    return tuple(
        replace(run, evidence=replace(run.evidence, short_end_cost=cost))
        if (cost := costs.get((run.workload, run.side))) is not None
        else run
        for run in runs
    )


def _may_leave_work(base: Run, head: Run) -> bool:
    """Return whether head's process does much more at its end than base's; False if unknown."""
    before, after, times = base.evidence.end_cost, head.evidence.end_cost, _step_times(head)
    if before is None or after is None or not times:
        return False
    has_more_tasks = after.tasks - before.tasks >= MIN_TASKS * after.steps
    more_s = after.cpu_s - before.cpu_s
    return has_more_tasks or more_s >= max(MIN_MORE_S, MIN_MORE * after.steps * median(times))


def _step_times(run: Run) -> tuple[float, ...]:
    return run.samples.get(STEP_TIME.name, ())
