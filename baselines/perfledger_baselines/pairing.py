"""A check's runs in, for each metric of each workload the two sides' values pair by pair out."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from perfledger.bundle import Bundle
from perfledger.metrics import STEP_TIME, Kind, Metric, Scale
from perfledger.records import Run, Side
from perfledger_baselines.clocks import clock_difference, follows_clocks, in_usual_clocks
from perfledger_baselines.location import located
from perfledger_baselines.shares import share_levels
from perfledger_baselines.tails import QUANTILES
from perfledger_baselines.turns import difference_in_turns, spread_evenly


@dataclass(frozen=True, slots=True)
class Pair:
    """A base run and a head run made back to back: their locations by metric name.

    `clock_difference` is that of the logs of the device's clocks; None where they were not read.
    """

    base: Mapping[str, float]
    head: Mapping[str, float]
    clock_difference: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """One test to be judged: a metric of a workload, one location a side and pair.

    `base` and `head` are as long as the workload has complete pairs that compare; None where the
    run did not read this metric. `numbers` are these pairs' places, from 1, among all complete ones
    of the workload; `other_clocks` of those do not compare: see `clocks`.
    """

    workload: str
    metric: Metric
    base: tuple[float | None, ...]
    head: tuple[float | None, ...]
    numbers: tuple[int, ...]
    other_clocks: int = 0

    @property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Return base and head of the pairs that have this metric on both sides."""
        return tuple(
            (base, head)
            for base, head in zip(self.base, self.head, strict=True)
            if base is not None and head is not None
        )

    @property
    def is_exact(self) -> bool:
        """Whether this is a deterministic count: declared so, and the same in every process."""
        if self.metric.scale is not Scale.EXACT:
            return False
        return all(len(set(side) - {None}) == 1 for side in (self.base, self.head))

    @property
    def is_noisy(self) -> bool:
        """Whether this is decided by a p-value, and so is one of the family."""
        return not self.flaw and not self.is_exact

    @property
    def flaw(self) -> str:
        """Return why this can never be judged, or nothing.

        A reading that is no number or is zero has no ratio to anything; "0 % change" would be a
        lie, and so would the verdict of the pairs that are left. Nor are the processes that made
        enough steps for a tail the ones to tell it by: they are the faster ones.
        """
        name = self.metric.name
        if not self.base:
            return "no pair of runs with both sides"
        tail = QUANTILES.get(name)
        for side, values in ((Side.BASE, self.base), (Side.HEAD, self.head)):
            known = [value for value in values if value is not None]
            if tail is not None and len(known) < len(values):
                return f"{name} needs {tail.fewest_steps} steps of each process: {side} made fewer"
            if not known:
                is_start = self.metric.kind is Kind.START
                why = ": no process's first step was longer than the others" if is_start else ""
                return f"{name} was not read on {side}{why}"
            if not all(math.isfinite(value) and value >= 0 for value in known):
                return f"{name} on {side} has a reading that is negative or no number"
            if 0 in known:
                return f"{name} reads zero on {side}: there is no ratio to zero"
        return "" if self.pairs else f"{name} was never read on both sides of a pair"


def paired_tests(bundle: Bundle, *, most: int | None = None) -> dict[str, tuple[PairedTest, ...]]:
    """Return the tests of every workload that the bundle speaks of, the registered ones first.

    Pairs beyond the first `most` are left alone.
    """
    metrics = judged_metrics(bundle.metrics)
    matched = match_runs(bundle.runs)
    registered = [spec.id for spec in bundle.workloads]
    failed = [failure.workload for failure in bundle.failures]
    workloads = tuple(dict.fromkeys([*registered, *failed, *sorted(matched)]))
    found = [(name, runs) for name in workloads for runs in matched.get(name, ())]
    pairs: defaultdict[str, list[Pair]] = defaultdict(list)
    for (name, _), pair in zip(
        found, locate_pairs([runs for _, runs in found], metrics), strict=True
    ):
        pairs[name].append(pair)
    return {name: tests_of(name, pairs[name][:most], metrics) for name in workloads}


def differences_of(tests: Sequence[PairedTest]) -> NDArray[np.float64]:
    """Return log head - log base of each pair, (tests, pairs); NaN where a side was not read.

    Of utilization near 1 it is the difference of the levels that `share_levels` gives. The tests
    have equally many pairs, and no flaw.
    """
    base = np.array([test.base for test in tests], dtype=np.float64)
    head = np.array([test.head for test in tests], dtype=np.float64)
    differences: NDArray[np.float64] = np.log(head) - np.log(base)
    for row, test in enumerate(tests):
        if test.metric.kind is Kind.UTILIZATION:
            before, after = share_levels(base[row], head[row])
            differences[row] = after - before
    return differences


def judged_metrics(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that get verdicts: step time always, counts of work never.

    More work in a step is evidence for why it got slower, and none that it did.
    """
    by_name = {metric.name: metric for metric in metrics if metric.kind is not Kind.WORK}
    if STEP_TIME.name not in by_name:
        by_name = {STEP_TIME.name: STEP_TIME, **by_name}
    return tuple(by_name.values())


def match_runs(runs: Iterable[Run]) -> dict[str, tuple[tuple[Run, Run], ...]]:
    """Return each workload's complete pairs (base, head), in the order of their numbers.

    A pair with a side missing does not count. Of a run that was repeated the latest process stands.
    """
    sides: defaultdict[str, dict[tuple[int, Side], Run]] = defaultdict(dict)
    for run in sorted(runs, key=lambda run: (run.process, run.started_at)):
        sides[run.workload][run.pair, run.side] = run
    return {
        workload: tuple(
            (found[pair, Side.BASE], found[pair, Side.HEAD])
            for pair in sorted({pair for pair, _ in found})
            if (pair, Side.BASE) in found and (pair, Side.HEAD) in found
        )
        for workload, found in sides.items()
    }


def locate_pairs(pairs: Sequence[tuple[Run, Run]], metrics: Sequence[Metric]) -> tuple[Pair, ...]:
    """Reduce every run to one location a metric; quickest for many pairs at once.

    Runs that took turns have step times whose ratio is that of their turns (see `turns`).
    """
    runs = [run for pair in pairs for run in pair]
    told: list[dict[str, float]] = [{} for _ in runs]
    for metric in metrics:
        for each, value in zip(told, located(runs, metric), strict=True):
            if value is not None:
                each[metric.name] = value
    sides = tuple(zip(told[::2], told[1::2], strict=True))
    for (base, head), (before, after) in zip(pairs, sides, strict=True):
        difference = difference_in_turns(base, head)
        if difference is not None:
            before[STEP_TIME.name], after[STEP_TIME.name] = spread_evenly(
                before[STEP_TIME.name], after[STEP_TIME.name], difference=difference
            )
    return tuple(
        Pair(*side, clock_difference(*runs)) for side, runs in zip(sides, pairs, strict=True)
    )


def tests_of(
    workload: str, pairs: Sequence[Pair], metrics: Sequence[Metric]
) -> tuple[PairedTest, ...]:
    """Return a test for each metric that a pair has on both sides, and one for step time always.

    What somebody asked for is a test as well. Any other metric may be silent: a process's
    memory peak says nothing of a workload that stays below the one before it. What one side did not
    read is no test, and no failure. Pairs whose sides found the device in different clock states
    are left out of what follows the clocks.
    """
    usual = in_usual_clocks([pair.clock_difference for pair in pairs])
    numbered = tuple(enumerate(pairs, start=1))
    kept = tuple(compress(numbered, usual))
    tests = (
        _test(workload, metric, kept if follows_clocks(metric) else numbered, of=len(pairs))
        for metric in metrics
    )
    return tuple(
        test
        for test in tests
        if test.pairs or test.metric.name == STEP_TIME.name or test.metric.is_asked
    )


def _test(
    workload: str, metric: Metric, kept: Sequence[tuple[int, Pair]], *, of: int
) -> PairedTest:
    return PairedTest(
        workload=workload,
        metric=metric,
        base=tuple(pair.base.get(metric.name) for _, pair in kept),
        head=tuple(pair.head.get(metric.name) for _, pair in kept),
        numbers=tuple(number for number, _ in kept),
        other_clocks=of - len(kept),
    )
