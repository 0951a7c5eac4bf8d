"""Measures how often the judge is wrong about each kind of metric, on made-up pairs.

python benchmarks/baselines/judge_kinds.py [--checks 1000] [--only KIND] [--seed N]

Checks of one workload with 5, 10 and 20 pairs, judged as a bundle is, without a history and with
one look at all pairs.
"False" is red or green without a change. A change makes step times and memory so much larger, and
shares so much smaller, relatively. With each change a third as many checks are made as without.
"""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from judge_error_rates import share
from numpy.typing import NDArray
from scipy.special import expit, logit

from perfledger.bundle import Bundle, Plan
from perfledger.metrics import (
    PEAK_MEMORY,
    SM_ACTIVE,
    STEP_TIME,
    STEP_TIME_P95,
    STEP_TIME_P99,
    Metric,
    MetricKind,
    MetricScale,
    WorseDirection,
)
from perfledger.records import Device, Machine, Revision, Run, Side, WorkloadSpec
from perfledger.rounding import integer, typed
from perfledger_baselines.judging.judge import judge_bundle
from perfledger_baselines.judging.verdict import Outcome, Verdict

PAIRS = (5, 10, 20)
CHANGES = (0.01, 0.02, 0.05)
STEPS = 30
STEPS_FOR_P99 = 120
READINGS = 8  # of the telemetry, in a process
WORKLOAD = "made_up:step"
RED = {Outcome.REGRESSED, Outcome.IMPROVED}
LAUNCHES = Metric(
    name="launches",
    unit="",
    worse=WorseDirection.HIGHER,
    kind=MetricKind.MEMORY,
    scale=MetricScale.EXACT,
)

Draws = NDArray[np.float64]
Samples = Mapping[str, Draws]  # metric → (processes, samples)


@dataclass(frozen=True)
class Row:
    """Made-up readings of some metrics, and the metric whose verdict counts; None: any of them."""

    name: str
    metrics: tuple[Metric, ...]
    draw: Callable[[np.random.Generator, int], Samples]
    counted: Metric | None


def step_times(rng: np.random.Generator, processes: int, *, steps: int = STEPS) -> Samples:
    """Draw levels 1 % apart; one step in ten is slower, by 4 % on average."""
    level = 0.01 * rng.standard_normal((processes, 1))
    spikes = rng.exponential(0.04, (processes, steps)) * (rng.random((processes, steps)) < 0.1)
    noise = 0.005 * rng.standard_normal((processes, steps))
    times: Draws = 0.1 * np.exp(level + noise + spikes)
    return {STEP_TIME.name: times}


def many_step_times(rng: np.random.Generator, processes: int) -> Samples:
    return step_times(rng, processes, steps=STEPS_FOR_P99)


def shares(level: float) -> Callable[[np.random.Generator, int], Samples]:
    """Return how to draw shares: log-odds 0.04 apart by process, and 0.15 by reading."""

    def draw(rng: np.random.Generator, processes: int) -> Samples:
        places = logit(level) + 0.04 * rng.standard_normal((processes, 1))
        readings: Draws = expit(places + 0.15 * rng.standard_normal((processes, READINGS)))
        return {SM_ACTIVE.name: readings}

    return draw


def same_memory(rng: np.random.Generator, processes: int) -> Samples:
    del rng
    return {PEAK_MEMORY.name: np.full((processes, 1), 1e9)}


def block_memory(rng: np.random.Generator, processes: int) -> Samples:
    """Draw a gigabyte and up to three blocks of two megabytes."""
    memory: Draws = 1e9 + 2.0**21 * np.floor(4 * rng.random((processes, 1)))
    return {PEAK_MEMORY.name: memory}


def launches(rng: np.random.Generator, processes: int) -> Samples:
    del rng
    return {LAUNCHES.name: np.full((processes, 1), 1000.0)}


TAILED = (STEP_TIME, STEP_TIME_P95, STEP_TIME_P99)
ROWS = (
    Row("speed: step time p50", (STEP_TIME,), step_times, STEP_TIME),
    Row("tail: p95 beside p50", TAILED[:2], step_times, STEP_TIME_P95),
    Row("tail: p99 beside p50", (STEP_TIME, STEP_TIME_P99), many_step_times, STEP_TIME_P99),
    Row("p50, p95 and p99: any", TAILED, many_step_times, None),
    *(
        Row(f"utilization near {typed(level)}, read to 1 %", (SM_ACTIVE,), shares(level), SM_ACTIVE)
        for level in (0.3, 0.6, 0.95)
    ),
    Row("memory, always the same", (PEAK_MEMORY,), same_memory, PEAK_MEMORY),
    Row("memory, up to three blocks more", (PEAK_MEMORY,), block_memory, PEAK_MEMORY),
    Row("a count (exact)", (LAUNCHES,), launches, LAUNCHES),
)


def is_called(row: Row, pairs: int, change: float, rng: np.random.Generator) -> bool:
    """Return whether one check calls a change; a true one only in its direction."""
    verdicts = [
        verdict
        for verdict in judge_bundle(bundle_of(row, pairs, change, rng))
        if verdict.metric in row.metrics and row.counted in {None, verdict.metric}
    ]
    return any(is_right(verdict, change) for verdict in verdicts)


def is_right(verdict: Verdict, change: float) -> bool:
    return verdict.outcome in RED if change == 0 else verdict.is_regression


def bundle_of(row: Row, pairs: int, change: float, rng: np.random.Generator) -> Bundle:
    """Draw a check whose head is worse by so much."""
    draws = row.draw(rng, 2 * pairs)
    readings = {
        metric.name: changed_draws(draws[metric.name], metric, change)
        for metric in row.metrics
        if metric.name in draws
    }
    return Bundle(
        id="0" * 32,
        created_at="",
        base=Revision(sha="a" * 40),
        head=Revision(sha="b" * 40),
        machine=Machine(device=Device.CUDA, model="made up"),
        plan=Plan(seed=0, order=(), looks=(pairs,)),
        workloads=(WorkloadSpec(id=WORKLOAD, module="made_up", function="step"),),
        metrics=row.metrics,
        runs=runs_of(readings, pairs),
    )


def changed_draws(draws: Draws, metric: Metric, change: float) -> Draws:
    """Make head's readings (odd rows) worse, and read shares to 1 %."""
    is_worse_higher = metric.worse is WorseDirection.HIGHER
    worse = draws.copy()
    worse[1::2] *= 1 + change if is_worse_higher else 1 - change
    if metric.kind is not MetricKind.UTILIZATION:
        return worse
    read: Draws = np.rint(100 * worse.clip(0, 1)) / 100
    return read


def runs_of(readings: Mapping[str, Draws], pairs: int) -> tuple[Run, ...]:
    sides: Sequence[Side] = (Side.BASE, Side.HEAD)
    return tuple(
        Run(
            workload=WORKLOAD,
            side=side,
            pair=pair,
            position=index,
            process=2 * pair + index,
            started_at="",
            samples={
                name: tuple(rows[2 * pair + index].tolist()) for name, rows in readings.items()
            },
        )
        for pair in range(pairs)
        for index, side in enumerate(sides)
    )


def line_of(row: Row, *, checks: int, seed: Sequence[int]) -> str:
    """Return one line of the table."""
    cells = [row.name]
    for change in (0.0, *CHANGES):
        rates: list[str] = []
        for pairs in PAIRS:
            rng = np.random.default_rng([*seed, pairs, int(1000 * change)])
            count = checks if change == 0 else checks // 3
            called = sum(is_called(row, pairs, change, rng) for _ in range(count))
            rates.append(share(called, count))
        cells.append(" / ".join(rates))
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--only", default="", help="a part of the row's name")
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    began = time.perf_counter()
    print("| kind, at 5 / 10 / 20 pairs | false | found at 1 % | at 2 % | at 5 % |")
    print("|---|---|---|---|---|")
    for number, row in enumerate(ROWS):
        if arguments.only in row.name:
            print(line_of(row, checks=arguments.checks, seed=[arguments.seed, number]), flush=True)
    print(
        f"\n{arguments.checks} checks without a change, {arguments.checks // 3} with each; "
        f"seed {arguments.seed}; {integer(time.perf_counter() - began)} s"
    )


if __name__ == "__main__":
    main()
