"""Stops measuring a workload once its tests are decided: a group-sequential stopping rule."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from perfledger.kernel_times import WorkloadKernels
from perfledger.metrics import CPU_TIME, Metric
from perfledger.records import Device, Run, Side
from perfledger_baselines.estimation.pairing import (
    Pair,
    PairedTest,
    chosen_metrics,
    estimate_pairs,
    judged_metrics,
    tests_of,
)
from perfledger_baselines.estimation.tail_quantiles import fewest_steps
from perfledger_baselines.judging.decision import Decision
from perfledger_baselines.judging.judge import decide_tests
from perfledger_baselines.judging.kernel_verdicts import judge_windows
from perfledger_baselines.judging.verdict import Outcome, Verdict
from perfledger_baselines.judging.wording import paired_verdicts
from perfledger_baselines.planning.futility import MIN_CHANCE, chance_to_settle
from perfledger_baselines.planning.pair_length import TurnTimes, pair_length, turn_times
from perfledger_baselines.significance.decision_rule import CheckPlanError, DecisionRule
from perfledger_baselines.significance.foreign_waits import LOADED_SHARE
from perfledger_baselines.significance.interim_looks import (
    MIN_PAIRS,
    MIN_PAIRS_WITH_HISTORY,
    fewest_pairs,
)
from perfledger_baselines.significance.kernel_tests import planned_kernel_looks
from perfledger_baselines.significance.spread_prior import Priors


class _Judgement(NamedTuple):
    tests: tuple[PairedTest, ...]
    decisions: tuple[Decision, ...]  # of these tests
    verdicts: tuple[Verdict, ...]


class GroupSequentialStopping:
    """A rule that ends a workload at the first planned look without an undecided test.

    Implements perfledger.stopping_rule.StoppingRule, and judges as `judge_bundle` does. The family
    is all planned tests: a workload that has not reached its first look counts with every metric,
    so that no decision is revoked later. Between looks the rule asks for another pair without
    testing: each unplanned look would be one more chance of a false alarm. The caller leaves out a
    workload that failed; in the family it stays. `kernel_pairs` is the most pairs with kernel
    windows, and `kernel_alpha` the kernels' part of alpha: a workload goes on until its kernels are
    settled at a planned look, even if its tests are decided, unless one of them regressed.
    `margins` and `chosen` are for the workloads that have a margin, or names of judging metrics, of
    their own.
    """

    def __init__(
        self,
        *,
        looks: Sequence[int],
        alpha: float,
        margin: float,
        floor: float,
        metrics: Iterable[Metric],
        priors: Priors = MappingProxyType({}),
        margins: Mapping[str, float] = MappingProxyType({}),
        chosen: Mapping[str, Collection[str]] = MappingProxyType({}),
        kernel_pairs: int = 0,
        kernel_alpha: float = 0.0,
        device: Device = Device.CPU,
    ) -> None:
        self._rule = DecisionRule(
            looks=tuple(looks), alpha=alpha, margin=margin, floor=floor, margins=margins
        )
        fewest = MIN_PAIRS_WITH_HISTORY if priors else MIN_PAIRS
        if not looks or looks[-1] < fewest:
            msg = f"looks {tuple(looks)} end before {fewest} pairs: plan more"
            raise CheckPlanError(msg)
        self._metrics = judged_metrics(metrics)
        self._chosen = chosen
        self._kernel_pairs = kernel_pairs
        self._kernel_alpha = kernel_alpha
        self._device = device
        self._priors = priors
        self._pairs: dict[str, list[Pair]] = {}
        self._turns: dict[str, list[TurnTimes]] = {}
        self._runs: dict[str, list[tuple[Run, Run]]] = {}
        self._settled_kernels: set[str] = set()
        self._pairs_at_look: dict[str, int] = {}  # at the last look at its kernels
        self._finished: set[str] = set()
        self._latest: _Judgement | None = None  # until the next pair

    def start(self, workloads: Sequence[str]) -> None:
        """Start with the ids of these workloads."""
        self._pairs = {workload: [] for workload in workloads}
        self._turns = {workload: [] for workload in workloads}
        self._runs = {workload: [] for workload in workloads}
        self._settled_kernels = set()
        self._pairs_at_look = {}
        self._finished = set()
        self._latest = None

    def add(self, base: Run, head: Run) -> None:
        """Add a pair; raise ValueError unless it belongs to a workload that was started."""
        is_pair = (base.side, head.side) == (Side.BASE, Side.HEAD)
        if not is_pair or base.workload != head.workload or base.workload not in self._pairs:
            msg = (
                f"{base.side} run of {base.workload!r} and {head.side} run of {head.workload!r} "
                "are not a pair: give a base run and a head run of one of the started workloads"
            )
            raise ValueError(msg)
        self._pairs[base.workload] += estimate_pairs([(base, head)], self._metrics)
        self._latest = None
        if turns := turn_times(base, head):
            self._turns[base.workload].append(turns)
        if len(self._pairs[base.workload]) <= self._kernel_pairs:
            self._runs[base.workload].append((base, head))

    def fewest_pairs(self) -> int:
        """Return how many pairs a workload has at its first planned look."""
        return self._rule.looks[0]

    def due_kernels(self) -> frozenset[str]:
        """Return the workloads that are at a planned look at their kernels, until settled."""
        looks = planned_kernel_looks(self._kernel_pairs)
        return frozenset(
            workload
            for workload, pairs in self._pairs.items()
            if len(pairs) in looks
            and self._pairs_at_look.get(workload) != len(pairs)
            and not self._has_kernels(workload)
        )

    def look_at_kernels(self, windows: Sequence[WorkloadKernels]) -> frozenset[str]:
        """Return the workloads that need no more windows, by all windows of all workloads so far.

        They are judged as the bundle will be; only workloads that are due become settled.
        """
        judgements = judge_windows(
            windows,
            self._runs,
            level=self._kernel_alpha,
            rule=self._rule,
            kernel_pairs=self._kernel_pairs,
            device=self._device,
        )
        due = self.due_kernels()
        self._settled_kernels |= due & {each.workload for each in judgements if each.is_settled}
        self._pairs_at_look |= {workload: len(self._pairs[workload]) for workload in due}
        return frozenset(self._settled_kernels)

    def unfinished(self) -> frozenset[str]:
        """Return the workloads that need another pair; empty once all are decided."""
        due = {
            workload
            for workload, pairs in self._pairs.items()
            if workload not in self._finished and len(pairs) in self._rule.looks
        }
        if due:
            verdicts = self._verdicts()
            undecided = {v.workload for v in verdicts if v.outcome is Outcome.UNDECIDED}
            regressed = {v.workload for v in verdicts if v.is_regression}
            has_kernels = {workload for workload in due if self._has_kernels(workload)}
            self._finished |= (due - undecided) & (has_kernels | regressed)
        self._finished |= {
            workload
            for workload, pairs in self._pairs.items()
            if len(pairs) >= self._rule.looks[-1]
        }
        return frozenset(self._pairs.keys() - self._finished)

    def next_pair(self, seconds: Mapping[str, float]) -> str | None:
        """Return the workload whose next pair is worth most; None once all are decided.

        It is the one with the widest undecided interval per second that a pair of it takes
        (`seconds` of the device, by workload). One without an interval yet goes first: one without
        any pair, else the cheapest of those that need the fewest more for a first look, because one
        result says more than many workloads that each lack a pair. One that is decided but has too
        few pairs with kernel windows goes last. A workload without an entry in `seconds` is never
        returned.
        """
        widths = {
            workload: math.inf
            for workload, pairs in self._pairs.items()
            if len(pairs) < self._rule.looks[0]
        }
        for verdict in self._verdicts():
            if verdict.outcome is Outcome.UNDECIDED:
                before = widths.get(verdict.workload, 0.0)
                widths[verdict.workload] = max(before, _width(verdict))
        for workload in self._pairs:
            if not self._has_kernels(workload):
                widths.setdefault(workload, 0.0)  # decided, but short of kernel windows
        # A workload without a width was decided between its looks, by Holm's share.
        waiting = self.unfinished() & seconds.keys() & widths.keys()
        unseen = [each for each in waiting if math.isinf(widths[each])]
        if unseen:
            return min(unseen, key=lambda each: (*self._place(each), seconds[each], each))
        return max(
            waiting,
            key=lambda workload: (widths[workload] / seconds[workload], workload),
            default=None,
        )

    def _place(self, workload: str) -> tuple[int, int]:
        """Return the place of a workload without an interval in the order of next pairs."""
        pairs, needed = len(self._pairs[workload]), self._rule.looks[0]
        return (1, needed - pairs) if 0 < pairs < needed else (2 * (pairs > 0), pairs)

    def changes(self) -> frozenset[str]:
        """Return the workloads with a regression or a faster step at their last look."""
        return frozenset(
            verdict.workload
            for verdict in self._verdicts()
            if verdict.is_regression or verdict.is_faster
        )

    def pair_lengths(self, seconds: Mapping[str, float]) -> dict[str, int]:
        """Return the most turns of each side of a workload's next pair.

        Those measured without turns keep their usual time, as does every one if tails need steps.
        """
        if fewest_steps(self._metrics) > 1:
            return {}
        return {
            workload: pair_length(turns, pair_s=seconds[workload])
            for workload, turns in self._turns.items()
            if turns and workload in seconds
        }

    def futile(self, most_pairs: Mapping[str, int]) -> frozenset[str]:
        """Return the workloads that this many pairs in total will hardly settle.

        That is, none of their undecided tests has MIN_CHANCE of being decided, or there will be too
        few pairs for a test. It may be called at any time: no test level depends on the answer.
        """
        tests, decisions, _ = self._judge()
        chances: dict[str, float] = {}
        cpu_times = {
            test.workload: self._chance(test, decision, most_pairs)
            for test, decision in zip(tests, decisions, strict=True)
            if test.metric.name == CPU_TIME.name
        }
        for test, decision in zip(tests, decisions, strict=True):
            chance = self._chance(test, decision, most_pairs)
            if test.step_unqueued and not decision.is_less_parallel:
                is_loaded = test.queued_share >= LOADED_SHARE
                chance = max(chance, cpu_times.get(test.workload, 0.0) if is_loaded else 0.0)
            if decision.outcome is Outcome.UNDECIDED:
                chances[test.workload] = max(chance, chances.get(test.workload, 0.0))
        tested = {test.workload for test in tests}
        too_few = {
            workload
            for workload in most_pairs.keys() - tested
            if most_pairs[workload] < self._fewest_pairs(workload)
        }
        return frozenset(
            too_few | {each for each in most_pairs.keys() & chances if chances[each] < MIN_CHANCE}
        )

    def _has_kernels(self, workload: str) -> bool:
        """Return whether its kernels are settled, or have all planned windows."""
        is_complete = len(self._pairs[workload]) >= self._kernel_pairs
        return is_complete or workload in self._settled_kernels

    def _chance(self, test: PairedTest, decision: Decision, most_pairs: Mapping[str, int]) -> float:
        """Return the chance that a test is decided after this many pairs; 1 if it already is."""
        if decision.outcome is not Outcome.UNDECIDED:
            return 1.0
        if decision.is_less_parallel:
            return 0.0  # whatever its pairs show, as long as other programs use the cores
        adjusted = decision.adjusted
        if adjusted is None or not adjusted.result.is_enough:
            return 1.0  # its spread is unknown
        most = min(most_pairs.get(test.workload, 0), self._rule.looks[-1])
        rule = self._rule.of(test.workload)
        return chance_to_settle(adjusted, pairs=most, rule=rule, floor=decision.floor)

    def _fewest_pairs(self, workload: str) -> int:
        has_history = any(name == workload for name, _ in self._priors)
        return fewest_pairs(self._rule.looks, has_history=has_history)

    def _verdicts(self) -> tuple[Verdict, ...]:
        return self._judge().verdicts

    def _judge(self) -> "_Judgement":
        """Judge every test at its workload's last look, once between two pairs."""
        if self._latest is None:
            tests, untested = self._tests()
            decisions = decide_tests(tests, rule=self._rule, untested=untested, priors=self._priors)
            verdicts = paired_verdicts(zip(tests, decisions, strict=True), rule=self._rule)
            self._latest = _Judgement(tests, decisions, verdicts)
        return self._latest

    def _tests(self) -> tuple[tuple[PairedTest, ...], int]:
        """Return the tests at each workload's last look, and the number of those before one."""
        tests: list[PairedTest] = []
        untested = 0
        for workload, pairs in self._pairs.items():
            last_look = max((look for look in self._rule.looks if look <= len(pairs)), default=0)
            judged = pairs[:last_look]
            metrics = chosen_metrics(self._metrics, self._chosen.get(workload, ()), judged)
            if last_look:
                tests += tests_of(workload, judged, metrics)
            else:
                untested += len(metrics)
        return tuple(tests), untested


def _width(verdict: Verdict) -> float:
    if verdict.estimate is None:
        return math.inf
    return verdict.estimate.high - verdict.estimate.low
