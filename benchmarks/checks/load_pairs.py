"""Measures on recorded pairs how often load alone makes a check red, and what it still finds.

python benchmarks/checks/load_pairs.py [--loops 8 16] [--step-ms 1 3 10] [--pairs 20] [--case NAME]
                                [--checks 1000] [--max-pairs 8]

A pair is two forked processes that the product's harness measures in turns, as a check does, beside
busy loops: real readings without the imports of a check, which take most of its time on a busy
machine. The head is unchanged, works 10 % more, or sleeps for 10 % of the base's work. Each row
counts the outcomes of made-up checks: their pairs are drawn from the recorded ones with
replacement, and they end at the first planned look without an undecided test, or with --max-pairs.
Sides of unchanged code are exchanged at random, or a few pairs would make up a change that all
checks find. "Before" is the rule without what is known of the load: a changed wall time counts.
"""

import argparse
import os
import pickle
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

from scratch_repository import busy_loops

from perfledger.measuring.step_samples import StepSamples, measure
from perfledger.measuring.turn_core import current_core, move_to_core
from perfledger.meters.clock import HostClock
from perfledger.metrics import CPU_TIME, STEP_TIME
from perfledger.process.message_channel import MAX_TURN_BYTES
from perfledger.protocol import MeasuringEffort
from perfledger.records import Run, Side
from perfledger_baselines.estimation.pairing import Pair, PairedTest, estimate_pairs, tests_of
from perfledger_baselines.judging.judge import is_trade, judge_tests
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import planned_looks

ROUNDS_PER_MS = 16_700
METRICS = (STEP_TIME, CPU_TIME)
WORKLOAD = "work"
EFFORT = MeasuringEffort(max_seconds=0.75)  # as in a check
UNCHANGED = "unchanged"
# name: the head's work, and what its step sleeps, as shares of the base's work.
CASES = {UNCHANGED: (1.0, 0.0), "10 % more work": (1.1, 0.0), "10 % asleep": (1.0, 0.1)}
OUTCOMES = (Outcome.REGRESSED, Outcome.IMPROVED, Outcome.UNCHANGED, Outcome.UNDECIDED)


def step_of(work: float, asleep: float, *, step_ms: float) -> Callable[[], int]:
    """Return a step that works and sleeps for shares of `step_ms`."""
    rounds, asleep_s = round(work * step_ms * ROUNDS_PER_MS), asleep * step_ms / 1000

    def step() -> int:
        total = 0
        for number in range(rounds):
            total += number * number
        if asleep_s:
            time.sleep(asleep_s)
        return total

    return step


class MeasuredSide:
    """A forked process that measures a step in turns."""

    def __init__(self, step: Callable[[], int]) -> None:
        self._socket, theirs = socket.socketpair()
        self._process = os.fork()
        if self._process == 0:
            self._socket.close()
            _measure(step, theirs)
        theirs.close()
        self.result: StepSamples | None = None
        self.core = 0  # where it ran last
        self._file = self._socket.makefile("rb")

    def run_until_stop(self) -> bool:
        """Return True once it waits for its next turn; False if it has ended, with its result."""
        is_stopped = self._file.read(1) == b"t"
        if is_stopped:
            self.core = int(self._file.readline())
        else:
            self.result = pickle.load(self._file)
            os.waitpid(self._process, 0)
            self._file.close()
            self._socket.close()
        return is_stopped

    def start_turn(self, core: int) -> None:
        """Let it run its next turn on this core."""
        self._socket.sendall(b"%d\n" % core)


def _measure(step: Callable[[], int], channel: socket.socket) -> None:
    def turn() -> None:
        channel.sendall(b"t%d\n" % (current_core() or 0))
        move_to_core(int(channel.recv(MAX_TURN_BYTES)))

    samples = measure(lambda: step, HostClock(), effort=EFFORT, turn=turn)
    channel.sendall(b"r" + pickle.dumps(samples))
    os._exit(0)


def recorded_pair(steps: Sequence[Callable[[], int]], *, first: int) -> Pair:
    """Measure base and head in turns first, second, second, first; return their estimates."""
    order = (first, 1 - first, 1 - first, first)
    sides = [MeasuredSide(step) for step in steps]
    is_open = [side.run_until_stop() for side in sides]
    turn, core = 0, sides[first].core
    while any(is_open):
        mine = order[turn % 4]
        mine = mine if is_open[mine] else 1 - mine
        sides[mine].start_turn(core)
        is_open[mine] = sides[mine].run_until_stop()
        core = sides[mine].core
        turn += 1
    runs = [run_of(each.result, side) for each, side in zip(sides, Side, strict=True)]
    (pair,) = estimate_pairs([(runs[0], runs[1])], METRICS)
    return pair


def run_of(sampled: StepSamples | None, side: Side) -> Run:
    """Return a side's samples as a run."""
    if sampled is None:
        msg = f"{side} ended without a result"
        raise SystemExit(msg)
    cpu_time = {CPU_TIME.name: sampled.cores.cpu_time_s} if sampled.cores.cpu_time_s else {}
    return Run(
        workload=WORKLOAD,
        side=side,
        pair=0,
        position=0,
        process=0,
        started_at="",
        samples={STEP_TIME.name: sampled.steps_s, **cpu_time},
        turns=sampled.turns,
        core_times=sampled.cores.times,
    )


def exchanged(pair: Pair) -> Pair:
    """Return a pair with its sides exchanged."""
    unqueued = None if pair.unqueued is None else pair.unqueued.exchanged()
    return replace(
        pair,
        base=pair.head,
        head=pair.base,
        unqueued=unqueued,
        unsettled=pair.unsettled and pair.unsettled.facing,
        with_all_turns=pair.with_all_turns and exchanged(pair.with_all_turns),
    )


def made_up_check(
    pairs: Sequence[Pair], draw: random.Random, rule: DecisionRule, *, is_same_code: bool
) -> dict[bool, tuple[Verdict, ...]]:
    """Return the verdicts of a check with and without the rule for load."""
    sample = [draw.choice(pairs) for _ in range(rule.looks[-1])]
    if is_same_code:
        sample = [exchanged(each) if draw.random() < 0.5 else each for each in sample]
    verdicts: dict[bool, tuple[Verdict, ...]] = {}
    for knows_load in (False, True):
        for look in rule.looks:
            tests = tests_of(WORKLOAD, sample[:look], METRICS)
            if not knows_load:
                tests = tuple(map(without_load, tests))
            verdicts[knows_load] = judge_tests(tests, rule=rule)
            if all(each.outcome is not Outcome.UNDECIDED for each in verdicts[knows_load]):
                break
    return verdicts


def without_load(test: PairedTest) -> PairedTest:
    """Return a test of which it is not known that steps waited for other programs."""
    unqueued = (each and replace(each, foreign_share=0.0) for each in test.unqueued)
    return replace(test, unqueued=tuple(unqueued))


def outcome_of(verdicts: Sequence[Verdict], metric: str = "") -> Outcome:
    """Return the outcome of a metric, or the worst of a check; trades count as unchanged."""
    outcomes = {
        each.outcome
        for each in verdicts
        if metric in {"", each.metric.name} and (metric or not is_trade(each, verdicts))
    }
    ranked = (Outcome.REGRESSED, Outcome.UNDECIDED, Outcome.IMPROVED)
    return next((each for each in ranked if each in outcomes), Outcome.UNCHANGED)


def print_rows(title: str, checks: Sequence[dict[bool, tuple[Verdict, ...]]]) -> None:
    """Print how often each outcome came, before and now."""
    for knows_load, name in ((False, "before"), (True, "now")):
        for metric, of in (("", "check"), (STEP_TIME.name, "step time"), (CPU_TIME.name, "CPU")):
            counts = Counter(outcome_of(each[knows_load], metric) for each in checks)
            cells = " | ".join(str(counts[each]) for each in OUTCOMES)
            print(f"| {title}: {of}, {name} | {cells} |", flush=True)


def main() -> None:
    """Record pairs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loops", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--step-ms", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--checks", type=int, default=1000)
    parser.add_argument("--max-pairs", type=int, default=8)
    options = parser.parse_args()
    rule = DecisionRule(
        looks=planned_looks(options.max_pairs), alpha=0.05, margin=0.05, floor=0.003
    )
    print("| head, step, loops: judged | regressed | improved | unchanged | undecided |")
    print("|---|---|---|---|---|")
    for case, step_ms, loops in product(options.case or CASES, options.step_ms, options.loops):
        steps = [step_of(*CASES[name], step_ms=step_ms) for name in (UNCHANGED, case)]
        with busy_loops(loops):
            pairs = [recorded_pair(steps, first=number % 2) for number in range(options.pairs)]
        shares = [each.unqueued.foreign_share for each in pairs if each.unqueued is not None]
        waited = f"{len(shares)} of {len(pairs)} pairs tell a wait"
        if shares:
            waited += f", of {100 * sum(shares) / len(shares):.0f} %"
        print(f"| {case}, {step_ms:g} ms, {loops} loops: {waited} | | | | |", flush=True)
        draw = random.Random(f"{case} {step_ms} {loops}")
        checks = [
            made_up_check(pairs, draw, rule, is_same_code=case == UNCHANGED)
            for _ in range(options.checks)
        ]
        print_rows(f"{case}, {step_ms:g} ms, {loops} loops", checks)


if __name__ == "__main__":
    main()
