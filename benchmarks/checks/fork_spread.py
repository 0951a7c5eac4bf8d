"""Compares A/A pairs of workloads that run in forks with those of processes of their own.

python benchmarks/checks/fork_spread.py [--pairs 20] [--seconds 0.75] [--only FRAMEWORK]

Each round measures unchanged code once in forks of one process a side, as a check on a CPU does,
and once in a process for each workload, in an order that alternates. A row has the spread of the
pairs (standard deviation of the log ratio of head and base, as the judge reads a pair) in both, and
their quotient with a 95 % interval by bootstrap; then how the level differs: step time, CPU time or
peak memory in forks over that in processes of their own. Above the table stands the load.
"""

import argparse
import math
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from perfledger.metrics import CPU_TIME, PEAK_MEMORY, STEP_TIME, Metric
from perfledger.protocol import ChildRequest, Command
from perfledger.records import Device, Framework, Run, Side
from perfledger.rounding import decimals, integer
from perfledger_baselines.estimation.interleaving import interleaved_difference, unsettled_turns
from perfledger_runners.children.harness import prepare_harness
from perfledger_runners.children.interpreter import find_python
from perfledger_runners.machine.telemetry import NoTelemetry
from perfledger_runners.measuring.measured_pair import MeasuredPair, PairMeasurement
from perfledger_runners.measuring.rounds.progress import NoProgress
from perfledger_service.usecases.check.child_requests import requests_for_device

WORKLOADS = {
    Framework.HOST: """
import perfledger

@perfledger.workload
def loops():
    return lambda: sum(number * number for number in range(40_000))

@perfledger.workload
def objects():
    return lambda: len({str(number): [number] for number in range(10_000)})
""",
    Framework.TORCH: """
import perfledger, torch

@perfledger.workload
def layers():
    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(torch.nn.Linear(256, 256) for _ in range(4)))
    rows = torch.randn(64, 256)
    return lambda: model(rows).sum().backward()

@perfledger.workload
def products():
    rows = torch.randn(400, 400)
    return lambda: rows @ rows
""",
    Framework.JAX: """
import perfledger, jax, jax.numpy as jnp

@perfledger.workload
def program():
    step = jax.jit(lambda rows: jnp.tanh(rows @ rows).sum())
    rows = jnp.ones((300, 300))
    return lambda: step(rows)
""",
}
NAMES = {
    Framework.HOST: ("loops", "objects"),
    Framework.TORCH: ("layers", "products"),
    Framework.JAX: ("program",),
}
DRAWS = 4000
Values = defaultdict[tuple[str, str], list[float]]  # workload and metric → of each pair or run


def requests_below(folder: Path, framework: Framework, seconds: float) -> dict[Side, ChildRequest]:
    """Write the same code for both sides and return the requests of a check on a CPU."""
    requests: dict[Side, ChildRequest] = {}
    for side in Side:
        root = folder / framework / side
        (root / "benchmarks").mkdir(parents=True)
        (root / "benchmarks/w.py").write_text(WORKLOADS[framework], encoding="utf-8")
        requests[side] = ChildRequest(
            command=Command.LIST, root=str(root), repository=str(root), device="cpu"
        )
    return {
        side: replace(request, effort=replace(request.effort, max_seconds=seconds))
        for side, request in requests_for_device(requests, Device.CPU).items()
    }


def measure(
    measurement: PairMeasurement, names: Sequence[str], pair: int, *, in_forks: bool
) -> list[MeasuredPair]:
    """Measure one pair of each workload, in forks of one process a side or in one process each."""
    groups = [tuple(names)] if in_forks else [(name,) for name in names]
    first = Side.BASE if pair % 2 else Side.HEAD
    return [
        measurement.measure(group, pair=pair, first=first, process=0, in_forks=in_forks)
        for group in groups
    ]


def keep(pairs: Sequence[MeasuredPair], differences: Values, levels: Values) -> None:
    """Add the differences and the levels of measured pairs."""
    for pair in pairs:
        for failure in pair.failures:
            msg = f"{failure.workload}: {failure.detail}"
            raise SystemExit(msg)
        for base, head in pair.complete():
            for metric in (STEP_TIME, CPU_TIME, PEAK_MEMORY):
                difference = difference_of(base, head, metric)
                if difference is not None:
                    key = base.workload, metric.name
                    differences[key].append(difference)
                    levels[key] += (level(base, metric), level(head, metric))


def difference_of(base: Run, head: Run, metric: Metric) -> float | None:
    """Return log(head / base) as the judge reads it; None where it was not measured."""
    if metric in {STEP_TIME, CPU_TIME}:
        left_out, _ = unsettled_turns(base, head)
        return interleaved_difference(base, head, metric, left_out=left_out)
    if not (base.samples.get(metric.name) and head.samples.get(metric.name)):
        return None
    return math.log(level(head, metric)) - math.log(level(base, metric))


def level(run: Run, metric: Metric) -> float:
    """Return the median of a run's readings."""
    return float(np.median(run.samples[metric.name]))


def quotient(forks: Sequence[float], own: Sequence[float]) -> tuple[float, float, float]:
    """Return the quotient of the spreads, and its interval by bootstrap."""
    draw = np.random.default_rng(1)
    pools = [np.array(forks), np.array(own)]
    spreads = [
        np.std(pool[draw.integers(len(pool), size=(DRAWS, len(pool)))], axis=1, ddof=1)
        for pool in pools
    ]
    quotients = spreads[0] / np.maximum(spreads[1], 1e-12)
    low, high = np.quantile(quotients, [0.025, 0.975])
    return float(np.std(pools[0], ddof=1) / max(np.std(pools[1], ddof=1), 1e-12)), low, high


def main() -> None:
    """Measure the pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.75)
    parser.add_argument("--only", choices=[*Framework], action="append")
    options = parser.parse_args()
    differences, levels = ({each: _empty() for each in (True, False)} for _ in range(2))
    seconds = {True: 0.0, False: 0.0}
    loads = [os.getloadavg()[0]]
    with tempfile.TemporaryDirectory(prefix="forks-") as name:
        folder = Path(name)
        with prepare_harness(find_python(folder), environment=os.environ) as harness:
            for framework in map(Framework, options.only or Framework):
                measurement = PairMeasurement(
                    harness=harness,
                    requests=requests_below(folder, framework, options.seconds),
                    telemetry=NoTelemetry(),
                    progress=NoProgress(),
                    check_run=lambda _: None,
                )
                names = [f"benchmarks.w:{each}" for each in NAMES[framework]]
                for pair in range(options.pairs):
                    for in_forks in ((True, False), (False, True))[pair // 2 % 2]:
                        began = time.monotonic()
                        pairs = measure(measurement, names, pair, in_forks=in_forks)
                        seconds[in_forks] += time.monotonic() - began
                        keep(pairs, differences[in_forks], levels[in_forks])
                    loads.append(os.getloadavg()[0])
    print_table(differences, levels, seconds=seconds, loads=loads)


def _empty() -> Values:
    return defaultdict(list)


def print_table(
    differences: dict[bool, Values],
    levels: dict[bool, Values],
    *,
    seconds: dict[bool, float],
    loads: Sequence[float],
) -> None:
    """Print a row for each workload and metric."""
    print(
        f"load {decimals(min(loads), 1)} to {decimals(max(loads), 1)} on {os.cpu_count()} cores; "
        f"{integer(seconds[True])} s in forks, {integer(seconds[False])} s in processes "
        "of their own"
    )
    print("| workload, metric | pairs | forks, % | own, % | quotient (95 %) | level |")
    print("|---|---|---|---|---|---|")
    for key in sorted(differences[True]):
        forks, own = differences[True][key], differences[False][key]
        ratio, low, high = quotient(forks, own)
        shift = np.median(levels[True][key]) / np.median(levels[False][key])
        workload = key[0].partition(":")[2]
        print(
            f"| {workload}, {key[1]} | {len(forks)} "
            f"| {decimals(float(100 * np.std(forks, ddof=1)), 2)} "
            f"| {decimals(float(100 * np.std(own, ddof=1)), 2)} | {decimals(ratio, 2)} "
            f"({decimals(low, 2)} to {decimals(high, 2)}) "
            f"| {decimals(shift, 3)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
