"""The measuring loop and a bare timing loop, by turns, become the harness's cost per step.

`python benchmarks/harness_overhead.py [--repeats N]`. Both loops run the same step, which notes how
long it was itself; what else the loop took is its overhead, looks at the samples included. So the
step's own noise cancels, and both figures come from one run. No gate: the goals stand beside them.
"""

import argparse
import os
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

from perfledger.channel import Channel
from perfledger.clock import HostClock
from perfledger.measure import sample
from perfledger.protocol import Effort

GOAL_US = 2.0  # per step, more than the bare loop
GOAL_SHARE = 0.001  # of a step of 10 ms
LONG_STEP_S = 0.010

# 0.5 s are never full, so an empty step is taken as often as it may be, with all the looks.
EMPTY_EFFORT = Effort(min_seconds=0.5)
LONG_EFFORT = Effort(min_steps=10, max_steps=20, min_seconds=0.0)


class Step:
    """A step of `seconds` of spinning, which adds up how long it was inside."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.inside_s = 0.0

    def __call__(self) -> None:
        start = now = perf_counter()
        while now - start < self._seconds:
            now = perf_counter()
        self.inside_s += perf_counter() - start


@dataclass(frozen=True, slots=True)
class Overhead:
    """What a loop takes besides its steps, in seconds per step."""

    harness_s: float
    bare_s: float

    @property
    def extra_us(self) -> float:
        """How much longer the harness takes than the bare loop, in microseconds per step."""
        return (self.harness_s - self.bare_s) * 1e6


def by_turns(seconds: float, effort: Effort, after_step: Callable[[], None]) -> Overhead:
    """Run the harness's loop and then a bare one of as many steps."""
    step = Step(seconds)
    start = perf_counter()
    samples = sample(step, HostClock(), effort=effort, after_step=after_step)
    harness_s = (perf_counter() - start - step.inside_s) / len(samples)
    step = Step(seconds)
    kept: list[float] = []
    start = perf_counter()
    for _ in range(len(samples)):
        before = perf_counter()
        step()
        kept.append(perf_counter() - before)
    bare_s = (perf_counter() - start - step.inside_s) / len(kept)
    return Overhead(harness_s, bare_s)


def main() -> None:
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15, help="of both loops, by turns")
    repeats: int = parser.parse_args().repeats
    reader, writer = os.pipe()
    check = Channel(writer).leave_if_forked  # as in a real run, after every step
    print(f"{'step':>8} {'bare loop':>12} {'harness':>12} {'more':>10} {'of 10 ms':>9}")
    for name, seconds, effort in (
        ("empty", 0.0, EMPTY_EFFORT),
        ("10 ms", LONG_STEP_S, LONG_EFFORT),
    ):
        turns = [by_turns(seconds, effort, check) for _ in range(repeats)]
        bare_us = statistics.median(turn.bare_s for turn in turns) * 1e6
        harness_us = statistics.median(turn.harness_s for turn in turns) * 1e6
        extra_us = statistics.median(turn.extra_us for turn in turns)
        share = extra_us / 1e6 / LONG_STEP_S
        print(
            f"{name:>8} {bare_us:>9.2f} µs {harness_us:>9.2f} µs {extra_us:>7.2f} µs {share:>9.4%}"
        )
    print(f"    goal: less than {GOAL_US} µs more per step, less than {GOAL_SHARE:.1%} of 10 ms")
    os.close(reader)


if __name__ == "__main__":
    main()
