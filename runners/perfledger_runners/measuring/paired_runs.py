"""Measures workloads of two checkouts in pairs until a stopping rule ends it."""

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from perfledger.protocol import ChildRequest
from perfledger.records import Failure, FailureReason, Framework, Run, Side, WorkloadSpec
from perfledger.stopping_rule import StoppingRule
from perfledger_runners.children.harness import Harness
from perfledger_runners.machine.telemetry import NoTelemetry, Telemetry
from perfledger_runners.measuring.measured_pair import (
    SIDES,
    MeasuredPair,
    MeasuringProgress,
    NoProgress,
    PairMeasurement,
    RunCheck,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRuns:
    """The runs of all pairs; `order[i]` is the side that ran first in pair i."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    skipped: Mapping[str, str]  # workloads that skipped themselves on both sides → why
    logs: Mapping[str, str]  # a process's number → the end of its log
    order: tuple[Side, ...]


def pair_order(seed: int, pairs: int) -> tuple[Side, ...]:
    """Return which side runs first in each pair; of two pairs, each side is first in one.

    Which of the two comes first is random, so that a drift of the machine affects both sides
    alike and a side's position cannot be predicted.
    """
    draw = random.Random(seed)  # noqa: S311 - a repeatable order, not a secret
    order: list[Side] = []
    while len(order) < pairs:
        order += draw.sample(SIDES, 2)
    return tuple(order[:pairs])


def measure_pairs(
    harness: Harness,
    requests: Mapping[Side, ChildRequest],
    workloads: Sequence[WorkloadSpec],
    rule: StoppingRule,
    *,
    seed: int,
    max_pairs: int,
    budget_s: float,
    telemetry: Telemetry | None = None,
    progress: MeasuringProgress | None = None,
    check_run: RunCheck = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> PairedRuns:
    """Measure the workloads in pairs until the rule, the pairs or the budget end it.

    `requests` name the two checkouts; their command and workloads are ignored. Each pair is two
    new children per framework. A workload that fails on one side, or of which `check_run` rejects a
    run, is still tried on the other side of the pair, so that a failure on both is reported for
    both; then it is not measured again. It does not affect the others. A running pair is finished
    even if it exceeds the budget. The rest of the budget, too short for a pair of each, goes to the
    workloads that the rule learns most from.
    """
    progress = progress or NoProgress()
    check = _Check(
        measurement=PairMeasurement(
            harness=harness,
            requests=requests,
            telemetry=telemetry or NoTelemetry(),
            progress=progress,
            check_run=check_run,
        ),
        rule=rule,
        order=pair_order(seed, max_pairs),
    )
    rule.start([spec.id for spec in workloads])
    waiting = frozenset(spec.id for spec in workloads)
    began, pairs = clock(), 0
    while waiting and pairs < max_pairs:
        spent_s = clock() - began
        if spent_s + spent_s / max(pairs, 1) > budget_s:  # the next one takes as long as they did
            break
        for group in _groups(workloads):
            if pairs > 0 or clock() - began <= budget_s:
                check.measure([each for each in group if each in waiting], pairs)
        pairs += 1
        waiting = rule.decision() - check.failed_workloads
        left_s = _seconds_left(clock() - began, pairs, max_pairs=max_pairs, budget_s=budget_s)
        progress.pair_done(pairs=pairs, waiting=len(waiting), seconds_left=left_s)
    done = {spec.id: pairs for spec in workloads}
    pairs = check.spend_rest(done, left=lambda: budget_s - (clock() - began))
    return check.measured(workloads, pairs, budget_s=budget_s)


@dataclass(slots=True, kw_only=True)
class _Check:
    """The measurements so far."""

    measurement: PairMeasurement
    rule: StoppingRule
    order: tuple[Side, ...]
    runs: list[Run] = field(default_factory=list[Run])
    failures: list[Failure] = field(default_factory=list[Failure])
    logs: dict[str, str] = field(default_factory=dict[str, str])
    processes: int = 0
    paired: set[str] = field(default_factory=set[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # of a pair alone

    @property
    def failed_workloads(self) -> frozenset[str]:
        """Return the workloads that failed on either side."""
        return frozenset(failure.workload for failure in self.failures)

    def measure(self, workloads: Sequence[str], pair: int) -> None:
        """Measure one pair of workloads of one framework."""
        alive = tuple(each for each in workloads if each not in self.failed_workloads)
        if alive:
            first, process = self.order[pair], self.processes
            self._take(self.measurement.measure(alive, pair=pair, first=first, process=process))

    def _take(self, pair: MeasuredPair) -> None:
        """Add a pair to the measurements, and to what the rule knows."""
        self.runs += pair.runs
        self.failures += pair.failures
        self.logs |= pair.logs
        self.processes += pair.processes
        self.seconds |= pair.seconds
        for base, head in pair.complete():
            self.paired.add(base.workload)
            self.rule.add(base, head)

    def spend_rest(self, done: dict[str, int], *, left: Callable[[], float]) -> int:
        """Measure one workload at a time, where the rule learns most, while time is left.

        `done` counts each workload's pairs and is updated. Return the largest count.
        """
        while chosen := self.rule.next_pair(self._affordable(done, left())):
            self.measure([chosen], done[chosen])
            done[chosen] += 1
            self.measurement.progress.pair_done(
                pairs=max(done.values()),
                waiting=len(self.rule.decision() - self.failed_workloads),
                seconds_left=max(0.0, left()),
            )
        return max(done.values(), default=0)

    def _affordable(self, done: Mapping[str, int], left_s: float) -> dict[str, float]:
        """Return the cost of a pair of each workload that still fits time and order."""
        failed = self.failed_workloads
        return {
            each: seconds
            for each, seconds in self.seconds.items()
            if seconds <= left_s and done[each] < len(self.order) and each not in failed
        }

    def measured(
        self, workloads: Sequence[WorkloadSpec], pairs: int, *, budget_s: float
    ) -> PairedRuns:
        """Return all runs, with a failure for each workload that the budget did not reach."""
        detail = f"the budget of {budget_s:g} s was spent before its first pair: raise it"
        unreached = (
            Failure(workload=spec.id, side=Side.HEAD, why=FailureReason.BUDGET, detail=detail)
            for spec in workloads
            if spec.id not in self.paired | self.failed_workloads
        )
        skipped = _skipped_on_both(self.failures)
        return PairedRuns(
            runs=tuple(self.runs),
            failures=tuple(
                each for each in (*self.failures, *unreached) if each.workload not in skipped
            ),
            skipped=skipped,
            logs=self.logs,
            order=self.order[:pairs],
        )


def _skipped_on_both(failures: Iterable[Failure]) -> dict[str, str]:
    """Return the workloads that skipped themselves on both sides; a single side hides a change."""
    sides: dict[str, dict[Side, str]] = {}
    for failure in failures:
        if failure.why is FailureReason.SKIPPED:
            sides.setdefault(failure.workload, {})[failure.side] = failure.detail
    return {name: why[Side.HEAD] for name, why in sides.items() if why.keys() == set(Side)}


def _groups(workloads: Sequence[WorkloadSpec]) -> tuple[tuple[str, ...], ...]:
    """Return the ids by framework: a process imports one framework."""
    return tuple(
        tuple(spec.id for spec in workloads if spec.framework is framework)
        for framework in Framework
    )


def _seconds_left(spent_s: float, pairs: int, *, max_pairs: int, budget_s: float) -> float:
    """Return the time left at most, estimated from the finished pairs."""
    return max(0.0, min(budget_s - spent_s, spent_s / pairs * (max_pairs - pairs)))
