"""Finds workloads whose head does more than base after its steps, and compares few steps with many.

What a process does after its last step may be of a fixed size, or left by each step. A process of
few steps shows which: only in the second case does it do much less.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from perfledger.metrics import STEP_TIME
from perfledger.protocol import MeasuringEffort
from perfledger.records import Run, Side
from perfledger.step_evidence import MIN_TASKS, EndCost

# Share of the time of head's steps. The judge doubts heads from 5 % on.
MIN_MORE = 0.02
# What unchanged exit functions differ by, in seconds.
MIN_MORE_S = 0.005
# A sleep at the end may be of any length by chance: up to the next look of a thread at its flag.
MAX_COMPARISONS = 3
UNHEARD = "work at the end of the process, which ended before it reported that"
FEW_STEPS = MeasuringEffort(
    min_steps=1, max_steps=1, min_seconds=0.0, max_seconds=0.0, max_turns=1, max_warmups=3
)


def names_to_compare(
    run_pairs: Iterable[tuple[Run, Run]], earlier_runs: Iterable[Run]
) -> tuple[str, ...]:
    """Return the workloads of pairs that are to be compared after few steps, once in a check.

    Those whose head only sleeps longer are compared several times.
    """
    done = Counter(
        run.workload
        for run in earlier_runs
        if run.side is Side.HEAD and run.evidence.short_end_cost is not None
    )
    return tuple(
        base.workload for base, head in run_pairs if done[base.workload] < _comparisons(base, head)
    )


def with_end_cost(runs: Iterable[Run], workload: str, side: Side, cost: EndCost) -> list[Run]:
    """Return runs, of which that of a workload's side has the end cost of its process."""
    return [
        replace(run, evidence=replace(run.evidence, end_cost=cost))
        if (run.workload, run.side) == (workload, side)
        else run
        for run in runs
    ]


def with_unheard_ends(runs: Iterable[Run], process: int) -> list[Run]:
    """Return runs, of which those of an exited process say whether its end is not known."""
    return [
        replace(run, left_out={**run.left_out, UNHEARD: 1})
        if run.process == process and run.evidence.end_cost is None
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


def _comparisons(base: Run, head: Run) -> int:
    """Return how often head is to be compared: 0 unless its process does much more at its end."""
    before, after, times = base.evidence.end_cost, head.evidence.end_cost, _step_times(head)
    if before is None or after is None or not times:
        return 0
    least_s = max(MIN_MORE_S, MIN_MORE * after.steps * median(times))
    has_more_tasks = after.tasks - before.tasks >= MIN_TASKS * after.steps
    if has_more_tasks or after.cpu_s - before.cpu_s >= least_s:
        return 1
    return MAX_COMPARISONS if after.asleep_s - before.asleep_s >= least_s else 0


def _step_times(run: Run) -> tuple[float, ...]:
    return run.samples.get(STEP_TIME.name, ())
