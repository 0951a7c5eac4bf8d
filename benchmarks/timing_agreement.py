"""Times the same steps with perfledger, torch.utils.benchmark and pyperf, by turns in one process.

    pip install pyperf==2.10.0
    python benchmarks/timing_agreement.py [--rounds N]

A round times the step with each, in a random order; what is compared is the ratio of their medians
in one round, which the machine's drift cancels out of. perfledger's is the loop of every check. No
gate: the goal stands beside the figures.
"""

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from io import StringIO

import pyperf
import torch
from torch.utils.benchmark import Timer

from perfledger.measuring.step_samples import measure
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort

GOAL = 0.01
SECONDS = 0.3  # of each timer in a round
EFFORT = MeasuringEffort(min_seconds=SECONDS, max_seconds=SECONDS)
RESAMPLES = 2_000
Step = Callable[[], object]
Timing = Callable[[Step, float], float]


def matrix_product() -> Step:
    """Return a product of two matrices on one core: about a millisecond."""
    left, right = torch.rand(384, 384), torch.rand(384, 384)
    return lambda: left @ right


def python_loop() -> Step:
    """Return a loop of Python alone: about a millisecond."""
    numbers = list(range(40_000))
    return lambda: sum(number & 1 for number in numbers)


def small_call() -> Step:
    """Return a call of microseconds, of which a reading holds many."""
    numbers = list(range(200))
    return lambda: sum(numbers)


STEPS: Mapping[str, Callable[[], Step]] = {
    "matrix product": matrix_product,
    "Python loop": python_loop,
    "sum of 200": small_call,
}


def with_perfledger(step: Step, _: float) -> float:
    samples = measure(lambda: step, HostClock(), effort=EFFORT, after_step=lambda: None)
    return statistics.median(samples.steps_s)


def with_torch(step: Step, _: float) -> float:
    timer = Timer("step()", globals={"step": step}, num_threads=torch.get_num_threads())
    return float(timer.blocked_autorange(min_run_time=SECONDS).median)


def with_pyperf(step: Step, step_s: float) -> float:
    """Time with pyperf's worker, in this process: ten values of a tenth of the time each."""
    loops = max(1, round(SECONDS / 10 / step_s))
    arguments = ["--worker", "--quiet", f"--loops={loops}", "--values=10", "--warmups=1"]
    sys.argv = [sys.argv[0]]
    runner = pyperf.Runner()
    runner.parse_args(arguments)
    pyperf.Runner._created.clear()  # it allows one runner in a process
    with redirect_stdout(StringIO()):
        bench = runner.bench_func("step", step)
    return float(statistics.median(bench.get_values()))


TIMINGS: Mapping[str, Timing] = {
    "perfledger": with_perfledger,
    "torch": with_torch,
    "pyperf": with_pyperf,
}


def timed_round(step: Step, step_s: float, draw: random.Random) -> dict[str, float]:
    """Return each timer's median, in seconds."""
    names = draw.sample(list(TIMINGS), len(TIMINGS))
    return {name: TIMINGS[name](step, step_s) for name in names}


def interval(values: list[float], draw: random.Random) -> tuple[float, float]:
    """Return the bootstrapped 95 % interval of the median."""
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    rounds: int = parser.parse_args().rounds
    torch.set_num_threads(1)
    draw = random.Random(1)
    print("perfledger's median over the others', in one round: median (95 % interval)")
    print(f"{'step':>15} {'takes':>10} {'over torch':>26} {'over pyperf':>26}")
    for name, make in STEPS.items():
        step = make()
        step_s = with_torch(step, 0.0)
        times = [timed_round(step, step_s, draw) for _ in range(rounds)]
        cells: list[str] = []
        for other in ("torch", "pyperf"):
            ratios = [each["perfledger"] / each[other] - 1 for each in times]
            low, high = interval(ratios, draw)
            cells.append(f"{statistics.median(ratios):+.2%} ({low:+.2%} to {high:+.2%})")
        print(f"{name:>15} {step_s * 1e6:>7.1f} µs {cells[0]:>26} {cells[1]:>26}", flush=True)
    print(f"goal: within {GOAL:.0%}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()}")


if __name__ == "__main__":
    main()
