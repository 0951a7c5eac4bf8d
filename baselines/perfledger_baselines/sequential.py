"""Pairs in as they are measured, the workloads that need another one out."""

from collections.abc import Iterable, Sequence

from perfledger.metrics import Metric
from perfledger.records import Run, Side
from perfledger_baselines.looks import FEWEST_PAIRS
from perfledger_baselines.pairing import Pair, PairedTest, judged_metrics, locate_pairs, tests_of
from perfledger_baselines.rule import PlanError, Rule
from perfledger_baselines.ruling import judge_tests
from perfledger_baselines.verdict import Outcome


class PairedLooks:
    """Ends a workload at the first planned look at which none of its tests is undecided.

    Fills perfledger.stopping.StoppingRule, and judges as `judge_bundle` will. The family is all
    tests planned: a workload that has not reached its first look counts with every metric, so that
    no decision is taken back for it later. Between looks it asks for another pair without looking:
    each unplanned look would be one more chance to find what is not there. A workload that failed
    is the caller's to leave out; here it goes on counting.
    """

    def __init__(
        self,
        *,
        looks: Sequence[int],
        alpha: float,
        margin: float,
        floor: float,
        metrics: Iterable[Metric],
    ) -> None:
        self._rule = Rule(looks=tuple(looks), alpha=alpha, margin=margin, floor=floor)
        if not looks or looks[-1] < FEWEST_PAIRS:
            msg = f"looks {tuple(looks)} never see {FEWEST_PAIRS} pairs: plan more"
            raise PlanError(msg)
        self._metrics = judged_metrics(metrics)
        self._pairs: dict[str, list[Pair]] = {}
        self._finished: set[str] = set()

    def start(self, workloads: Sequence[str]) -> None:
        """Begin with these workloads' ids."""
        self._pairs = {workload: [] for workload in workloads}
        self._finished = set()

    def add(self, base: Run, head: Run) -> None:
        """Take in one more pair; raise ValueError unless it is one of a workload begun with."""
        is_pair = (base.side, head.side) == (Side.BASE, Side.HEAD)
        if not is_pair or base.workload != head.workload or base.workload not in self._pairs:
            msg = (
                f"{base.side} run of {base.workload!r} and {head.side} run of {head.workload!r} "
                "are no pair: give the base's run and the head's of one of the started workloads"
            )
            raise ValueError(msg)
        self._pairs[base.workload] += locate_pairs([(base, head)], self._metrics)

    def decision(self) -> frozenset[str]:
        """Return the workloads that need another pair; empty when all is known."""
        due = {
            workload
            for workload, pairs in self._pairs.items()
            if workload not in self._finished and len(pairs) in self._rule.looks
        }
        if due:
            self._finished |= due - self._undecided()
        self._finished |= {
            workload
            for workload, pairs in self._pairs.items()
            if len(pairs) >= self._rule.looks[-1]
        }
        return frozenset(self._pairs.keys() - self._finished)

    def _undecided(self) -> set[str]:
        """Judge everything as of each workload's last look."""
        tests: list[PairedTest] = []
        others = 0
        for workload, pairs in self._pairs.items():
            seen = max((look for look in self._rule.looks if look <= len(pairs)), default=0)
            if seen:
                tests += tests_of(workload, pairs[:seen], self._metrics)
            else:
                others += len(self._metrics)
        verdicts = judge_tests(tests, rule=self._rule, others=others)
        return {v.workload for v in verdicts if v.outcome is Outcome.UNDECIDED}
