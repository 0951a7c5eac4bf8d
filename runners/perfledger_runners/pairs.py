"""Two checkouts and a stopping rule in, pairs of runs of every workload and what failed out."""

import random
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import Protocol

from perfledger.protocol import Command, Request
from perfledger.records import Failure, Framework, Run, Side, Why, WorkloadSpec
from perfledger.stopping import StoppingRule
from perfledger_runners.child import Child, Ended, Going, run_request, start_early
from perfledger_runners.harness import Harness
from perfledger_runners.messages import Answer, Done, Failed, Ran, Ready, Sampling, Started, Turn
from perfledger_runners.telemetry import NoTelemetry, Telemetry, throttled, with_readings

SIDES = (Side.BASE, Side.HEAD)
# Of a child that did well: enough to see what it warned of.
MAX_LOG_KEPT = 2000
BEFORE = "before {}"
END = BEFORE.format("")


class Progress(Protocol):
    """Is told what the agent is doing."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Hear that a workload begins."""
        ...

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Hear how many pairs are done, how many workloads need more, and for how long at most."""
        ...


class Silence:
    """Nobody wants to know."""

    def measuring(self, workload: str, side: Side, pair: int) -> None:
        """Do nothing."""

    def pair_done(self, *, pairs: int, waiting: int, seconds_left: float) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the pairs brought: `order[i]` is the side that ran first in pair i."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    logs: Mapping[str, str]  # a process's number → its log's tail
    order: tuple[Side, ...]


def pair_order(seed: int, pairs: int) -> tuple[Side, ...]:
    """Return which side runs first in each pair: of two pairs, each side is first in one.

    Which of the two comes first is drawn. So a drift of the machine hits both sides alike, and
    neither side's place can be guessed.
    """
    draw = random.Random(seed)  # noqa: S311 - a repeatable order, not a secret
    order: list[Side] = []
    while len(order) < pairs:
        order += draw.sample(SIDES, 2)
    return tuple(order[:pairs])


def measure_pairs(
    harness: Harness,
    requests: Mapping[Side, Request],
    workloads: Sequence[WorkloadSpec],
    rule: StoppingRule,
    *,
    seed: int,
    max_pairs: int,
    budget_s: float,
    telemetry: Telemetry | None = None,
    progress: Progress | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Measure the workloads in pairs until the rule, the pairs or the budget say that it is enough.

    `requests` name the two checkouts; their command and workloads are ignored. Each pair is two
    fresh children for each framework. A workload that fails on one side is not measured again, and
    costs the others nothing. A pair under way is finished even when that exceeds the budget. What
    is left of it when a pair of each no longer fits is for those that the rule learns most from.
    """
    check = _Check(
        harness=harness,
        requests=requests,
        order=pair_order(seed, max_pairs),
        telemetry=telemetry or NoTelemetry(),
        progress=progress or Silence(),
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


def stop_of(message: object) -> str | None:
    """Return the name of the place where a child stops with this message; None if it goes on."""
    match message:
        case Turn():
            return message.workload
        case Ready() | Going():
            return BEFORE.format(message.workload)
        case _:
            return None


def alternate(first: Iterator[str], second: Iterator[str], workloads: Sequence[str]) -> None:
    """Run two sides to their ends, in turns wherever they wait for one.

    Each yields where it stops, as `stop_of` says: before a workload's set-up, at each of its turns,
    and before its end. The side that is behind goes on until both are at the same stop; there they
    go first, second, second, first. Sides that never stop run one after the other.
    """
    stops = (*(stop for name in workloads for stop in (BEFORE.format(name), name)), END)
    places = {name: index for index, name in enumerate(stops)}
    sides = (first, second)
    at = [places.get(next(side, ""), len(places)) for side in sides]
    turns, place = 0, 0
    while min(at) < len(places):
        if at[0] == at[1]:
            turns, place = (turns if at[0] == place else 0), at[0]
            mine = (0, 1, 1, 0)[turns % 4]
            turns += 1
        else:
            mine = at.index(min(at))
        at[mine] = places.get(next(sides[mine], ""), len(places))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where in the check a child stands."""

    side: Side
    pair: int
    position: int


@dataclass(slots=True, kw_only=True)
class _Stopwatch:
    """Charges all the time that passes, once, to the workload that was begun last.

    What two sides do at once is so not counted twice, and a set-up is its own workload's. Under ""
    is what a pair needs for whichever workload: processes that start, import and end.
    """

    clock: Callable[[], float]
    since: float
    at: str = ""
    seconds: dict[str, float] = field(default_factory=lambda: {"": 0.0})

    def heard(self, message: Answer | Going | Ended) -> Answer | Going | Ended:
        """Charge what has passed where a message says that something else begins; pass it on."""
        match message:
            case Started():
                self._turn_to(message.workload)
            case Done() | Ended():
                self._turn_to("")
            case _:
                pass
        return message

    def alone(self) -> dict[str, float]:
        """Return what a pair of each workload would have taken by itself, all having ended."""
        self._turn_to("")
        shared = self.seconds[""]
        return {each: shared + own for each, own in self.seconds.items() if each}

    def _turn_to(self, workload: str) -> None:
        now = self.clock()
        self.seconds[self.at] = self.seconds.get(self.at, 0.0) + now - self.since
        self.at, self.since = workload, now


@dataclass(slots=True, kw_only=True)
class _Check:
    """What has been measured so far."""

    harness: Harness
    requests: Mapping[Side, Request]
    order: tuple[Side, ...]
    telemetry: Telemetry
    progress: Progress
    runs: list[Run] = field(default_factory=list[Run])
    failures: dict[str, Failure] = field(default_factory=dict[str, Failure])
    logs: dict[str, str] = field(default_factory=dict[str, str])
    processes: int = 0
    paired: set[str] = field(default_factory=set[str])
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # of a pair of it alone

    def measure_group(self, workloads: Sequence[str], pair: int, rule: StoppingRule) -> None:
        """Run one pair of children for workloads of one framework, and tell the rule."""
        alive = tuple(each for each in workloads if each not in self.failures)
        if not alive:
            return
        order = sorted(SIDES, key=lambda each: each is not self.order[pair])
        sides = tuple(
            _Place(side=side, pair=pair, position=position) for position, side in enumerate(order)
        )
        found: dict[Side, dict[str, Run]] = {side: {} for side in SIDES}
        watch = _Stopwatch(clock=self.harness.clock, since=self.harness.clock())
        with ExitStack() as stack:
            children = [
                start_early(self.harness, self._request(alive, place), stack) for place in sides
            ]
            first, second = (
                stack.enter_context(
                    closing(self._measure_side(alive, place, found[place.side], child, watch))
                )
                for place, child in zip(sides, children, strict=True)
            )
            alternate(first, second, alive)
        for each in workloads:
            base, head = found[Side.BASE].get(each), found[Side.HEAD].get(each)
            if each not in self.failures and base is not None and head is not None:
                self.paired.add(each)
                rule.add(base, head)
        self.seconds |= watch.alone()

    def spend_rest(
        self, rule: StoppingRule, done: dict[str, int], *, left: Callable[[], float]
    ) -> int:
        """Measure one workload at a time, where the rule learns most, while there is time.

        `done` counts each workload's pairs, and goes on counting. Returns the most of them.
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
        """Return what a pair costs of each workload that there is time and a place for."""
        return {
            each: seconds
            for each, seconds in self.seconds.items()
            if seconds <= left_s and done[each] < len(self.order) and each not in self.failures
        }

    def measured(
        self, workloads: Sequence[WorkloadSpec], pairs: int, *, budget_s: float
    ) -> Measured:
        """Return all of it, with a failure for each workload that time did not reach."""
        for spec in workloads:
            if spec.id not in self.paired and spec.id not in self.failures:
                detail = f"the budget of {budget_s:g} s was spent before its first pair: raise it"
                self.failures[spec.id] = Failure(
                    workload=spec.id, side=Side.HEAD, why=Why.BUDGET, detail=detail
                )
        return Measured(
            runs=tuple(self.runs),
            failures=tuple(self.failures.values()),
            logs=self.logs,
            order=self.order[:pairs],
        )

    def _request(self, workloads: tuple[str, ...], place: _Place) -> Request:
        return replace(self.requests[place.side], command=Command.MEASURE, workloads=workloads)

    def _measure_side(  # noqa: C901 - one case for each kind of message
        self,
        workloads: tuple[str, ...],
        place: _Place,
        found: dict[str, Run],
        child: Child | None,
        watch: _Stopwatch,
    ) -> Generator[str]:
        """Measure the workloads on one side, in as many children as it takes, into `found`.

        Yields where it stops each time that it waits for its turn. `child` was started with
        all of them; else those are left out that the side before it failed.
        """
        if child is None:
            workloads = tuple(each for each in workloads if each not in self.failures)
        if not workloads:
            return
        request = self._request(workloads, place)
        failed: list[Failed] = []
        process: int | None = None
        try:
            for message in map(watch.heard, run_request(self.harness, request, first=child)):
                if stop := stop_of(message):
                    yield stop
                if process is None:
                    process = self.processes
                    self.processes += 1
                match message:
                    case Started():
                        self.progress.measuring(message.workload, place.side, place.pair)
                    case Sampling():
                        self.telemetry.start()
                    case Ran():
                        found[message.workload] = self._keep(message, place, process)
                    case Failed():
                        failed.append(message)
                    case Ended():
                        self._end(failed, message, place, process)
                        failed, process = [], None
                    case _:
                        pass
        finally:
            self.telemetry.stop()

    def _keep(self, message: Ran, place: _Place, process: int) -> Run:
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
        )
        failure = throttled(run, readings, settling_s=message.settling_s)
        if failure is not None:
            self.failures.setdefault(run.workload, failure)
        run = with_readings(run, readings, settling_s=message.settling_s)
        self.runs.append(run)
        return run

    def _end(self, failed: Sequence[Failed], ended: Ended, place: _Place, process: int) -> None:
        """Take leave of a child: each failure gets what was printed last, if it can, its own."""
        log_tail = ended.log_tail
        for message in failed:
            failure = Failure(
                workload=message.workload,
                side=place.side,
                why=message.why,
                detail=message.detail,
                pair=place.pair,
                log_tail=ended.own_tails.get(message.workload, log_tail),
            )
            self.failures.setdefault(message.workload, failure)
        if log_tail:
            self.logs[str(process)] = log_tail if failed else log_tail[-MAX_LOG_KEPT:]


def _groups(workloads: Sequence[WorkloadSpec]) -> tuple[tuple[str, ...], ...]:
    """Return the ids by framework: a process imports one of them and measures all of its own."""
    return tuple(
        tuple(spec.id for spec in workloads if spec.framework is framework)
        for framework in Framework
    )


def _seconds_left(spent_s: float, pairs: int, *, max_pairs: int, budget_s: float) -> float:
    """Return how long it may still take at most, going by the pairs that are done."""
    return max(0.0, min(budget_s - spent_s, spent_s / pairs * (max_pairs - pairs)))
