"""Times the same steps with perfledger, torch.utils.benchmark and pyperf, by turns in one process.

    pip install pyperf==2.10.0
    python benchmarks/timing/timing_agreement.py [--rounds N] [--wall]

A round times the step with each, in a random order; what is compared is the ratio of their medians
in one round, which the machine's drift cancels out of. perfledger's is the loop of every check. All
read as many steps at a time as it does, because other load prolongs more of the longer readings.
For the same reason all read the thread's processor time; `--wall` is the clock of every check, for
a quiet machine. No gate: the goal stands beside the figures.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from unittest.mock import patch

import pyperf
import torch
from torch.utils.benchmark import Timer

from perfledger.measuring.step_samples import StepSamples, measure
from perfledger.meters.clock import HostClock
from perfledger.protocol import MeasuringEffort
from perfledger.rounding import decimals, percentage

GOAL = 0.01
SECONDS = 0.1  # of each timer in a round: a core may change its speed from one to the next
EFFORT = MeasuringEffort(min_seconds=SECONDS, max_seconds=SECONDS)
VALUES = 60  # of pyperf in a round
RESAMPLES = 2_000
# Where perfledger and pyperf read the clock; torch's is an argument.
CLOCKS = (
    "time.perf_counter",
    "perfledger.meters.clock.perf_counter",
    "perfledger.measuring.timed_step.perf_counter",
)
Step = Callable[[], object]
Timing = Callable[[Step, int], float]  # a step and how many make a reading → seconds a step


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


def samples_of(step: Step) -> StepSamples:
    """Return what perfledger's loop measures."""
    return measure(lambda: step, HostClock(), effort=EFFORT, after_step=lambda: None)


def with_perfledger(step: Step, _: int) -> float:
    return statistics.median(samples_of(step).steps_s)


def with_torch(step: Step, number: int) -> float:
    threads = torch.get_num_threads()
    timer = Timer("step()", globals={"step": step}, timer=time.perf_counter, num_threads=threads)
    # timeit() itself warms up each time; blocked_autorange() chooses the number of steps.
    readings = in_seconds(lambda: timer._timeit(number))
    return statistics.median(readings) / number


def with_pyperf(step: Step, number: int) -> float:
    """Time with pyperf's worker, in this process."""
    arguments = ["--worker", "--quiet", f"--loops={number}", f"--values={VALUES}", "--warmups=1"]
    sys.argv = [sys.argv[0]]
    runner = pyperf.Runner()
    runner.parse_args(arguments)
    pyperf.Runner._created.clear()  # it allows one runner in a process
    with redirect_stdout(StringIO()):
        bench = runner.bench_func("step", step)
    return float(statistics.median(bench.get_values()))


def in_seconds(reading: Callable[[], float]) -> list[float]:
    """Return the readings of as many seconds as the other timers take."""
    ends_at = time.monotonic() + SECONDS
    readings: list[float] = []
    while time.monotonic() < ends_at:
        readings.append(reading())
    return readings


TIMINGS: Mapping[str, Timing] = {
    "perfledger": with_perfledger,
    "torch": with_torch,
    "pyperf": with_pyperf,
}


def timed_round(step: Step, number: int, draw: random.Random) -> dict[str, float]:
    """Return each timer's median, in seconds."""
    names = draw.sample(list(TIMINGS), len(TIMINGS))
    return {name: TIMINGS[name](step, number) for name in names}


def interval(values: list[float], draw: random.Random) -> tuple[float, float]:
    """Return the bootstrapped 95 % interval of the median."""
    medians = sorted(
        statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES)
    )
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40]


def main() -> None:
    """Compare by the chosen clock."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--wall", action="store_true", help="on a quiet machine")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with ExitStack() as clocks:
        for place in () if arguments.wall else CLOCKS:
            clocks.enter_context(patch(place, time.thread_time))
        compare(arguments.rounds)
    print(
        f"goal: within {percentage(GOAL)}; load average "
        f"{decimals(os.getloadavg()[0], 1)} on {os.cpu_count()}"
    )


def compare(rounds: int) -> None:
    """Print a line for each step."""
    draw = random.Random(1)
    print("perfledger's median over the others', in one round: median (95 % interval)")
    print(f"{'step':>15} {'takes':>10} {'over torch':>26} {'over pyperf':>26}")
    for name, make in STEPS.items():
        step = make()
        number = samples_of(step).steps_per_reading
        times = [timed_round(step, number, draw) for _ in range(rounds)]
        step_s = statistics.median(each["perfledger"] for each in times)
        cells: list[str] = []
        for other in ("torch", "pyperf"):
            ratios = [each["perfledger"] / each[other] - 1 for each in times]
            low, high = interval(ratios, draw)
            cells.append(f"{statistics.median(ratios):+.2%} ({low:+.2%} to {high:+.2%})")
        print(f"{name:>15} {step_s * 1e6:>7.1f} µs {cells[0]:>26} {cells[1]:>26}", flush=True)


if __name__ == "__main__":
    main()
