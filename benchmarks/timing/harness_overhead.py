"""The measuring loop and a bare timing loop, by turns, become the harness's cost per step.

`python benchmarks/timing/harness_overhead.py [--repeats N]`. Both loops run the same step, which
notes when it was entered and left: what lies between two steps is the loop's own. So the step's
noise cancels, and both figures come from one run. No gate: the goals stand beside the figures.
"""

import argparse
import os
import statistics
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from time import perf_counter

from perfledger.measuring.step_samples import measure
from perfledger.meters.clock import HostClock
from perfledger.process.message_channel import MessageChannel
from perfledger.protocol import MeasuringEffort
from perfledger.rounding import decimals, percentage

GOAL_US = 2.0  # per step, more than the bare loop
GOAL_SHARE = 0.001  # of a step of 10 ms
LONG_STEP_S = 0.010

# 0.5 s are never full, so an empty step is taken as often as it may be, with all the looks.
EMPTY_EFFORT = MeasuringEffort(min_seconds=0.5)
LONG_EFFORT = MeasuringEffort(max_steps=40)  # the usual one, with an end to it


class Step:
    """A step of `seconds` of spinning, which notes when it was entered and left."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._marks: list[tuple[float, float]] = []

    def __call__(self) -> None:
        start = now = perf_counter()
        while now - start < self._seconds:
            now = perf_counter()
        self._marks.append((start, perf_counter()))

    def gaps_us(self) -> list[float]:
        """Return what lies between calls, in microseconds: the loop, its looks at the samples."""
        return [(after[0] - before[1]) * 1e6 for before, after in pairwise(self._marks)]


def harness(seconds: float, effort: MeasuringEffort, after_step: Callable[[], None]) -> list[float]:
    """Return the gaps of the measuring loop."""
    step = Step(seconds)
    alone = replace(effort, min_warmups=0, max_warmups=0)
    measure(lambda: step, HostClock(), effort=alone, after_step=after_step)
    return step.gaps_us()


def bare(seconds: float, steps: int) -> list[float]:
    """Return the gaps of the plainest timing loop."""
    step = Step(seconds)
    samples: list[float] = []
    for _ in range(steps):
        before = perf_counter()
        step()
        samples.append(perf_counter() - before)
    return step.gaps_us()


def by_turns(
    seconds: float, effort: MeasuringEffort, after_step: Callable[[], None], repeats: int
) -> tuple[list[float], list[float]]:
    """Return the gaps of both loops, as many of each, taken by turns."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(repeats):
        gaps = harness(seconds, effort, after_step)
        ours += gaps
        theirs += bare(seconds, len(gaps) + 1)
    return ours, theirs


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="of both loops, by turns")
    repeats: int = parser.parse_args().repeats
    reader, writer = os.pipe()
    check = MessageChannel(writer).leave_if_forked  # as in a real run, after every step
    print("µs between two steps, medians; `mean more` holds the looks, and all that came between")
    print(f"{'step':>6} {'bare':>8} {'harness':>8} {'more':>8} {'of 10 ms':>9} {'mean more':>10}")
    for name, seconds, effort in (
        ("empty", 0.0, EMPTY_EFFORT),
        ("10 ms", LONG_STEP_S, LONG_EFFORT),
    ):
        ours, theirs = by_turns(seconds, effort, check, repeats)
        bare_us, harness_us = statistics.median(theirs), statistics.median(ours)
        more_us = harness_us - bare_us
        mean_us = statistics.fmean(ours) - statistics.fmean(theirs)
        share = more_us / 1e6 / LONG_STEP_S
        print(
            f"{name:>6} {bare_us:>8.2f} {harness_us:>8.2f} {more_us:>8.2f} {share:>9.4%} "
            f"{mean_us:>10.2f}"
        )
    print(
        f"goal: less than {GOAL_US} µs more per step, less than {percentage(GOAL_SHARE)} of 10 ms;"
    )
    print(
        f"load average {decimals(os.getloadavg()[0], 1)} on {os.cpu_count()} cores: "
        "where others run on"
    )
    print("them too, caches are cold after 10 ms, and both loops pay for every line of code")
    os.close(reader)


if __name__ == "__main__":
    main()
