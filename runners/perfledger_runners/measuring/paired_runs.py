"""Measures workloads of two checkouts in pairs until a stopping rule ends it."""

import random
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Protocol

from perfledger.protocol import ChildRequest, Command
from perfledger.records import Failure, FailureReason, Framework, Run, Side, WorkloadSpec
from perfledger.stopping_rule import StoppingRule
from perfledger_runners.children.child_process import (
    Child,
    ChildContinuation,
    ChildExit,
    run_request,
    start_early,
)
from perfledger_runners.children.harness import Harness
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    DoneMessage,
    FailedMessage,
    RunMessage,
    SamplingMessage,
    StartedMessage,
)
from perfledger_runners.machine.telemetry import (
    NoTelemetry,
    Telemetry,
    throttling_failure,
    with_telemetry,
)
from perfledger_runners.measuring.interleaving import run_interleaved, stop_point

SIDES = (Side.BASE, Side.HEAD)
# Log of a child without failures: enough to show its warnings.
MAX_LOG_CHARACTERS = 2000

# Returns why a run measured something else than it should have.
RunCheck = Callable[[Run], Failure | None]


class MeasuringProgress(Protocol):
    """A listener to the progress of a check."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Report that a workload starts."""
        ...

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Report the finished pairs, the workloads that need more, and the time left at most."""
        ...


class NoProgress:
    """A listener that ignores the progress."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Do nothing."""

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRuns:
    """The runs of all pairs; `order[i]` is the side that ran first in pair i."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
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
    run, is not measured again and does not affect the others. A running pair is finished even if it
    exceeds the budget. The rest of the budget, too short for a pair of each, goes to the workloads
    that the rule learns most from.
    """
    check = _Check(
        harness=harness,
        requests=requests,
        order=pair_order(seed, max_pairs),
        telemetry=telemetry or NoTelemetry(),
        progress=progress or NoProgress(),
        check_run=check_run,
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
                check.measure_group([each for each in group if each in waiting], pairs, rule)
        pairs += 1
        waiting = rule.decision() - check.failures.keys()
        left_s = _seconds_left(clock() - began, pairs, max_pairs=max_pairs, budget_s=budget_s)
        check.progress.pair_done(pairs=pairs, waiting=len(waiting), seconds_left=left_s)
    done = {spec.id: pairs for spec in workloads}
    pairs = check.spend_rest(rule, done, left=lambda: budget_s - (clock() - began))
    return check.measured(workloads, pairs, budget_s=budget_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A child's place in the check."""

    side: Side
    pair: int
    position: int


@dataclass(slots=True, kw_only=True)
class _Stopwatch:
    """A stopwatch that charges all time, once, to the workload that started last.

    Concurrent work of two sides is not counted twice, and a set-up counts for its own workload.
    The key "" has the time that any pair needs: processes that start, import and end.
    """

    clock: Callable[[], float]
    since: float
    at: str = ""
    seconds: dict[str, float] = field(default_factory=lambda: {"": 0.0})

    def heard(
        self, message: AnyMessage | ChildContinuation | ChildExit
    ) -> AnyMessage | ChildContinuation | ChildExit:
        """Charge the time passed if a message starts another activity; return the message."""
        match message:
            case StartedMessage():
                self._turn_to(message.workload)
            case DoneMessage() | ChildExit():
                self._turn_to("")
            case _:
                pass
        return message

    def alone(self) -> dict[str, float]:
        """Return the time of a pair of each workload alone."""
        self._turn_to("")
        shared = self.seconds[""]
        return {each: shared + own for each, own in self.seconds.items() if each}

    def _turn_to(self, workload: str) -> None:
        now = self.clock()
        self.seconds[self.at] = self.seconds.get(self.at, 0.0) + now - self.since
        self.at, self.since = workload, now


@dataclass(slots=True, kw_only=True)
class _Check:
    """The measurements so far."""

    harness: Harness
    requests: Mapping[Side, ChildRequest]
    order: tuple[Side, ...]
    telemetry: Telemetry
    progress: MeasuringProgress
    check_run: RunCheck
    runs: list[Run] = field(default_factory=list[Run])
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])
    logs: dict[str, str] = field(default_factory=dict[str, str])
    processes: int = 0
    paired: set[str] = field(default_factory=set[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # of a pair alone

    def measure_group(self, workloads: Sequence[str], pair: int, rule: StoppingRule) -> None:
        """Run one pair of children for workloads of one framework, and update the rule."""
        alive = tuple(each for each in workloads if each not in self.failures)
        if not alive:
            return
        order = sorted(SIDES, key=lambda each: each is not self.order[pair])
        sides = tuple(
            _Place(side=side, pair=pair, position=position) for position, side in enumerate(order)
        )
        runs: dict[Side, dict[str, Run]] = {side: {} for side in SIDES}
        watch = _Stopwatch(clock=self.harness.clock, since=self.harness.clock())
        with ExitStack() as stack:
            children = [
                start_early(self.harness, self._request(alive, place), stack) for place in sides
            ]
            first, second = (
                stack.enter_context(
                    closing(self._measure_side(alive, place, runs[place.side], child, watch))
                )
                for place, child in zip(sides, children, strict=True)
            )
            run_interleaved(first, second, alive)
        for each in workloads:
            base, head = runs[Side.BASE].get(each), runs[Side.HEAD].get(each)
            if each not in self.failures and base is not None and head is not None:
                self.paired.add(each)
                rule.add(base, head)
        self.seconds |= watch.alone()

    def spend_rest(
        self, rule: StoppingRule, done: dict[str, int], *, left: Callable[[], float]
    ) -> int:
        """Measure one workload at a time, where the rule learns most, while time is left.

        `done` counts each workload's pairs and is updated. Return the largest count.
        """
        while chosen := rule.next_pair(self._affordable(done, left())):
            self.measure_group([chosen], done[chosen], rule)
            done[chosen] += 1
            self.progress.pair_done(
                pairs=max(done.values()),
                waiting=len(rule.decision() - self.failures.keys()),
                seconds_left=max(0.0, left()),
            )
        return max(done.values(), default=0)

    def _affordable(self, done: Mapping[str, int], left_s: float) -> dict[str, float]:
        """Return the cost of a pair of each workload that still fits time and order."""
        return {
            each: seconds
            for each, seconds in self.seconds.items()
            if seconds <= left_s and done[each] < len(self.order) and each not in self.failures
        }

    def measured(
        self, workloads: Sequence[WorkloadSpec], pairs: int, *, budget_s: float
    ) -> PairedRuns:
        """Return all runs, with a failure for each workload that the budget did not reach."""
        for spec in workloads:
            if spec.id not in self.paired and spec.id not in self.failures:
                detail = f"the budget of {budget_s:g} s was spent before its first pair: raise it"
                self.failures[spec.id] = Failure(
                    workload=spec.id, side=Side.HEAD, why=FailureReason.BUDGET, detail=detail
                )
        return PairedRuns(
            runs=tuple(self.runs),
            failures=tuple(self.failures.values()),
            logs=self.logs,
            order=self.order[:pairs],
        )

    def _request(self, workloads: tuple[str, ...], place: _Place) -> ChildRequest:
        return replace(self.requests[place.side], command=Command.MEASURE, workloads=workloads)

    def _measure_side(  # noqa: C901 - one case for each kind of message
        self,
        workloads: tuple[str, ...],
        place: _Place,
        runs: dict[str, Run],
        child: Child | None,
        watch: _Stopwatch,
    ) -> Generator[str]:
        """Measure the workloads on one side, in as many children as needed, into `runs`.

        Yield the stop each time that it waits for its turn. `child` was started with all of the
        workloads; without it those that already failed on the other side are left out.
        """
        if child is None:
            workloads = tuple(each for each in workloads if each not in self.failures)
        if not workloads:
            return
        request = self._request(workloads, place)
        failed: list[FailedMessage] = []
        process: int | None = None
        try:
            for message in map(watch.heard, run_request(self.harness, request, first=child)):
                if stop := stop_point(message):
                    yield stop
                if process is None:
                    process = self.processes
                    self.processes += 1
                match message:
                    case StartedMessage():
                        self.progress.measuring(message.workload, place.side, place.pair)
                    case SamplingMessage():
                        self.telemetry.start()
                    case RunMessage():
                        runs[message.workload] = self._keep(message, place, process)
                    case FailedMessage():
                        failed.append(message)
                    case ChildExit():
                        self._end(failed, message, place, process)
                        failed, process = [], None
                    case _:
                        pass
        finally:
            self.telemetry.stop()

    def _keep(self, message: RunMessage, place: _Place, process: int) -> Run:
        readings = self.telemetry.stop()
        run = Run(
            workload=message.workload,
            side=place.side,
            pair=place.pair,
            position=place.position,
            process=process,
            started_at=message.started_at,
            samples=message.samples,
            warmups_s=message.warmups_s,
            left_out=message.left_out,
            device=message.device,
            devices=message.devices,
            turns=message.turns,
            core_times=message.core_times,
            packages=tuple(each.package() for each in message.packages),
            evidence=message.evidence.step_evidence(),
        )
        failure = self.check_run(run) or throttling_failure(
            run, readings, settling_s=message.settling_s
        )
        if failure is not None:
            self.failures.setdefault(run.workload, failure)
        run = with_telemetry(run, readings, settling_s=message.settling_s)
        self.runs.append(run)
        return run

    def _end(
        self, failed: Sequence[FailedMessage], ended: ChildExit, place: _Place, process: int
    ) -> None:
        """Record the failures of an exited child, with their own output where possible."""
        log_tail = ended.log_tail
        for message in failed:
            failure = Failure(
                workload=message.workload,
                side=place.side,
                why=message.reason,
                detail=message.detail,
                pair=place.pair,
                log_tail=ended.own_tails.get(message.workload, log_tail),
            )
            self.failures.setdefault(message.workload, failure)
        if log_tail:
            self.logs[str(process)] = log_tail if failed else log_tail[-MAX_LOG_CHARACTERS:]


def _groups(workloads: Sequence[WorkloadSpec]) -> tuple[tuple[str, ...], ...]:
    """Return the ids by framework: a process imports one framework."""
    return tuple(
        tuple(spec.id for spec in workloads if spec.framework is framework)
        for framework in Framework
    )


def _seconds_left(spent_s: float, pairs: int, *, max_pairs: int, budget_s: float) -> float:
    """Return the time left at most, estimated from the finished pairs."""
    return max(0.0, min(budget_s - spent_s, spent_s / pairs * (max_pairs - pairs)))
