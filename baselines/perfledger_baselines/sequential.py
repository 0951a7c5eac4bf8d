"""Pairs in as they are measured, the workloads that need another one out."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from perfledger.metrics import Metric
from perfledger.records import Run, Side
from perfledger_baselines.looks import FEWEST_PAIRS
from perfledger_baselines.pairing import Pair, PairedTest, judged_metrics, locate_pairs, tests_of
from perfledger_baselines.prior import Priors
from perfledger_baselines.rule import PlanError, Rule
from perfledger_baselines.ruling import judge_tests
from perfledger_baselines.verdict import Outcome, Verdict

# 1: without clocks. A reader accepts every version up to its own.
STATE_VERSION = 2


class StateError(ValueError):
    """A stored state that is none, or of another version."""


@dataclass(frozen=True, slots=True)
class State:
    """What has been measured so far and which workloads are done: all that goes on depends on."""

    pairs: Mapping[str, tuple[Pair, ...]]
    finished: frozenset[str] = frozenset()

    def to_json(self) -> str:
        """Return the state as JSON, for a check that is interrupted."""
        return json.dumps(
            {
                "version": STATE_VERSION,
                "finished": sorted(self.finished),
                "pairs": {
                    workload: [
                        [dict(pair.base), dict(pair.head), pair.clock_difference] for pair in pairs
                    ]
                    for workload, pairs in self.pairs.items()
                },
            }
        )

    @classmethod
    def from_json(cls, text: str) -> "State":
        """Read what `to_json` wrote; raises StateError."""
        try:
            document: dict[str, Any] = json.loads(text)
            if document["version"] not in range(1, STATE_VERSION + 1):
                msg = (
                    f"version {document['version']!r} of a check's state: up to {STATE_VERSION} "
                    "is read"
                )
                raise StateError(msg)
            pairs = {
                str(workload): tuple(_pair(*told) for told in found)
                for workload, found in document["pairs"].items()
            }
            return cls(pairs, frozenset(map(str, document["finished"])))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            if isinstance(error, StateError):
                raise
            msg = f"no state of a check: {error!r}; begin it anew"
            raise StateError(msg) from error


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
        priors: Priors = MappingProxyType({}),
    ) -> None:
        self._rule = Rule(looks=tuple(looks), alpha=alpha, margin=margin, floor=floor)
        fewest = 1 if priors else FEWEST_PAIRS
        if not looks or looks[-1] < fewest:
            msg = f"looks {tuple(looks)} never see {fewest} pairs: plan more"
            raise PlanError(msg)
        self._metrics = judged_metrics(metrics)
        self._priors = priors
        self._pairs: dict[str, list[Pair]] = {}
        self._finished: set[str] = set()

    @property
    def state(self) -> State:
        """Return where the check stands; a rule of the same plan goes on from it."""
        pairs = {workload: tuple(pairs) for workload, pairs in self._pairs.items()}
        return State(pairs, frozenset(self._finished))

    def start(self, workloads: Sequence[str]) -> None:
        """Begin with these workloads' ids."""
        self._pairs = {workload: [] for workload in workloads}
        self._finished = set()

    def resume(self, state: State) -> None:
        """Go on where another check of the same plan was interrupted."""
        self._pairs = {workload: list(pairs) for workload, pairs in state.pairs.items()}
        self._finished = set(state.finished)

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
            undecided = {v.workload for v in self._verdicts() if v.outcome is Outcome.UNDECIDED}
            self._finished |= due - undecided
        self._finished |= {
            workload
            for workload, pairs in self._pairs.items()
            if len(pairs) >= self._rule.looks[-1]
        }
        return frozenset(self._pairs.keys() - self._finished)

    def next_pair(self, seconds: Mapping[str, float]) -> str | None:
        """Return the workload whose next pair tells the most; None when all is known.

        The one with the widest undecided interval per second that a pair of it costs (`seconds`, of
        the device, by workload). One without an interval yet goes first: the cheapest of those with
        the fewest pairs. A workload whose cost is not told is none to choose.
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
        # Without a width is what others' verdicts decided between its looks, by Holm's share.
        waiting = self.decision() & seconds.keys() & widths.keys()
        unseen = [each for each in waiting if math.isinf(widths[each])]
        if unseen:
            return min(unseen, key=lambda each: (len(self._pairs[each]), seconds[each], each))
        return max(waiting, key=lambda each: (widths[each] / seconds[each], each), default=None)

    def _verdicts(self) -> tuple[Verdict, ...]:
        """Judge everything as of each workload's last look."""
        tests: list[PairedTest] = []
        others = 0
        for workload, pairs in self._pairs.items():
            seen = max((look for look in self._rule.looks if look <= len(pairs)), default=0)
            if seen:
                tests += tests_of(workload, pairs[:seen], self._metrics)
            else:
                others += len(self._metrics)
        return judge_tests(tests, rule=self._rule, others=others, priors=self._priors)


def _width(verdict: Verdict) -> float:
    if verdict.estimate is None:
        return math.inf
    return verdict.estimate.high - verdict.estimate.low


def _values(document: Mapping[str, float]) -> dict[str, float]:
    return {str(name): float(value) for name, value in document.items()}


def _pair(
    base: Mapping[str, float], head: Mapping[str, float], clocks: float | None = None
) -> Pair:
    difference = None if clocks is None else float(clocks)
    if difference is not None and not math.isfinite(difference):
        msg = f"{difference} is no difference of clocks"
        raise ValueError(msg)
    return Pair(_values(base), _values(head), difference)
