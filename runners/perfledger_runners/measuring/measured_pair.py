"""Measures one pair: a child for each side, with workloads of one framework."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

from perfledger.protocol import ChildRequest, Command, MeasuringEffort
from perfledger.records import Failure, FailureReason, Run, Side
from perfledger_runners.children.child import Child
from perfledger_runners.children.child_process import (
    ChildContinuation,
    ChildExit,
    run_request,
    start_early,
)
from perfledger_runners.children.harness import Harness, LastCore
from perfledger_runners.children.protocol_parser import (
    AnyMessage,
    EndedMessage,
    FailedMessage,
    NoForkMessage,
    RunMessage,
    SamplingMessage,
    StartedMessage,
    WindowsMessage,
)
from perfledger_runners.machine.telemetry import Telemetry, throttling_failure, with_telemetry
from perfledger_runners.measuring.interleaving import run_interleaved, stop_point
from perfledger_runners.measuring.kernel_windows import RunWindows, read_pair_windows
from perfledger_runners.measuring.pair_devices import other_device_failures
from perfledger_runners.measuring.pair_stopwatch import PairStopwatch
from perfledger_runners.measuring.profile_runs import trace_folder
from perfledger_runners.measuring.rounds.end_costs import (
    with_end_cost,
    with_short_end_costs,
    with_unheard_ends,
)
from perfledger_runners.measuring.rounds.progress import MeasuringProgress
from perfledger_runners.safe_text import MAX_DETAIL, clean_text

SIDES = (Side.BASE, Side.HEAD)
# Log of a child without failures: enough to show its warnings.
MAX_LOG_CHARACTERS = 2000
# After one of these, the other side would meet the same hot device.
BOTH_SIDES = frozenset({FailureReason.THROTTLED})

# Profiled windows of kernels per side and pair. Beside two to four tasks per core, operators of 2
# to 5 % of the step that became 5 % slower were found in all checks with three, and in two checks
# of three with two.
KERNEL_WINDOWS = 3

# Returns why a run did not measure what it should have.
RunCheck = Callable[[Run], Failure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredPair:
    """The results of one pair of children; `workloads` are those that it had to measure.

    `refused` were not measured, because forks of either side's process would not run them
    independently, and why: a fork and a process of its own are not alike enough to be compared. The
    sides of those `in_turn` ran one after the other, and why.
    """

    pair: int
    workloads: tuple[str, ...]
    runs: tuple[Run, ...] = ()
    failures: tuple[Failure, ...] = ()  # the first of each workload and side
    logs: Mapping[str, str] = field(default_factory=dict[str, str])  # process → its log's end
    seconds: Mapping[str, float] = field(
        default_factory=dict[str, float]
    )  # of a pair of each alone
    processes: int = 0  # started for it
    windows: tuple[RunWindows, ...] = ()  # of kernels
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    in_turn: Mapping[str, str] = field(default_factory=dict[str, str])

    def without(self, workloads: Collection[str]) -> Self:
        """Return the pair without the runs, windows and times of some workloads."""
        return replace(
            self,
            workloads=tuple(each for each in self.workloads if each not in workloads),
            runs=tuple(run for run in self.runs if run.workload not in workloads),
            windows=tuple(each for each in self.windows if each.workload not in workloads),
            seconds={each: s for each, s in self.seconds.items() if each not in workloads},
        )

    def with_few_steps(self, short: Self) -> Self:
        """Return the pair with what its processes do at their end after the few steps of others."""
        runs, processes = with_short_end_costs(self.runs, short.runs), short.processes
        return replace(self, runs=runs, processes=self.processes + processes)

    def complete(self) -> tuple[tuple[Run, Run], ...]:
        """Return base and head of each workload that was measured on both sides."""
        failed = {failure.workload for failure in self.failures}
        runs = {(run.workload, run.side): run for run in self.runs}
        return tuple(
            (runs[name, Side.BASE], runs[name, Side.HEAD])
            for name in self.workloads
            if name not in failed and all((name, side) in runs for side in SIDES)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMeasurement:
    """How pairs are measured: the children of both sides, and their observers."""

    harness: Harness
    requests: Mapping[Side, ChildRequest]
    telemetry: Telemetry
    progress: MeasuringProgress
    check_run: RunCheck
    kernel_pairs: int = 0  # the first ones, which may have profiled windows of kernels

    def measure(
        self,
        workloads: Sequence[str],
        *,
        pair: int,
        first: Side,
        process: int,
        unprofiled: Collection[str] = (),
        turns: Mapping[str, int] | None = None,
        in_forks: bool = True,
        at_once: bool = True,
        effort: MeasuringEffort | None = None,
        budget_share: float = 1.0,
    ) -> MeasuredPair:
        """Run one pair of children; `first` is the side that begins.

        `process` is the number of the first child; workloads of `unprofiled` have no windows, and
        those of `turns` take no more than so many.
        Requests that fork do so unless `in_forks` is False, and the sides of interleaved requests
        run at once unless `at_once` is False. Without an `effort` it is that of the requests. A
        side of a workload takes at most `budget_share` of the rest of the budget.
        """
        places = tuple(
            _Place(side=side, pair=pair, position=position)
            for position, side in enumerate(sorted(SIDES, key=lambda each: each is not first))
        )
        clock = self.harness.clock
        children = _PairOfChildren(
            measurement=self,
            watch=PairStopwatch(
                clock=clock, since=clock(), file_of=self.requests[Side.HEAD].file_of
            ),
            processes=process,
            unprofiled=tuple(name for name in workloads if name in unprofiled),
            turns=turns or {},
            in_forks=in_forks,
            at_once=at_once,
            effort=effort,
            budget_share=budget_share,
        )
        children.run(tuple(workloads), places)
        refused = children.refused
        windows = read_pair_windows(
            self.harness,
            [each for each in children.windows if each[1].workload not in refused],
            pair=pair,
        )
        failures = children.failures.values()
        measured = MeasuredPair(
            pair=pair,
            workloads=tuple(each for each in workloads if each not in refused),
            runs=tuple(run for run in children.runs if run.workload not in refused),
            failures=tuple(each for each in failures if each.workload not in refused),
            logs=children.logs,
            seconds=children.watch.alone(),
            processes=children.processes - process,
            windows=windows,
            refused=refused,
        )
        other_devices = other_device_failures(measured.complete())
        return replace(measured, failures=(*measured.failures, *other_devices))


def run_of(message: RunMessage, *, side: Side, pair: int, position: int, process: int) -> Run:
    """Return the run that a child reports, at its place in the check."""
    return Run(
        workload=message.workload,
        side=side,
        pair=pair,
        position=position,
        process=process,
        started_at=message.started_at,
        samples=message.samples,
        warmups_s=message.warmups_s,
        left_out=message.left_out,
        device=message.device,
        devices=message.devices,
        device_places=message.device_places,
        turns=message.turns,
        rank_times_s=message.rank_times_s,
        core_times=message.core_times,
        packages=tuple(each.package() for each in message.packages),
        evidence=message.evidence.step_evidence(),
        memory=message.memory,
        compiled=None if message.compiled is None else message.compiled.record(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A child's place in the check."""

    side: Side
    pair: int
    position: int


@dataclass(slots=True, kw_only=True)
class _PairOfChildren:
    """The children of one pair, and what they have measured so far."""

    measurement: PairMeasurement
    watch: PairStopwatch
    processes: int  # the number of the next one
    unprofiled: tuple[str, ...]
    turns: Mapping[str, int]  # of a workload, at most
    in_forks: bool
    at_once: bool
    effort: MeasuringEffort | None
    budget_share: float
    refused: dict[str, str] = field(default_factory=dict[str, str])  # by either side → why
    runs: list[Run] = field(default_factory=list[Run])
    failures: dict[tuple[str, Side], Failure] = field(
        default_factory=dict[tuple[str, Side], Failure]
    )
    logs: dict[str, str] = field(default_factory=dict[str, str])
    children: dict[Side, Child | None] = field(
        default_factory=dict[Side, Child | None]
    )  # the first
    ended: set[Side] = field(default_factory=set[Side])
    failing: set[tuple[str, Side]] = field(default_factory=set[tuple[str, Side]])
    last_core: LastCore = field(default_factory=LastCore)
    windows: list[tuple[Side, WindowsMessage]] = field(
        default_factory=list[tuple[Side, WindowsMessage]]
    )

    def run(self, workloads: tuple[str, ...], places: Sequence[_Place]) -> None:
        """Measure the workloads on both sides."""
        harness = self.measurement.harness
        with ExitStack() as stack:
            for place in places:
                request = self._request(workloads, place)
                self.children[place.side] = start_early(harness, request, stack)
            first, second = (
                stack.enter_context(
                    closing(self._measure_side(workloads, place, self.children[place.side]))
                )
                for place in places
            )
            run_interleaved(first, second, workloads)

    def _request(self, workloads: tuple[str, ...], place: _Place) -> ChildRequest:
        measurement = self.measurement
        request = measurement.requests[place.side]
        request = replace(
            request,
            command=Command.MEASURE,
            workloads=workloads,
            turns=self.turns,
            effort=self.effort or request.effort,
            is_forking=request.is_forking and self.in_forks,
            is_interleaved=request.is_interleaved and self.at_once,
        )
        if place.pair >= measurement.kernel_pairs:
            return request
        folder = trace_folder(measurement.harness, place.side)
        return replace(
            request,
            windows=KERNEL_WINDOWS,
            unprofiled=self.unprofiled,
            trace_folder=str(folder),
        )

    def _measure_side(  # noqa: C901 - one case for each kind of message
        self, workloads: tuple[str, ...], place: _Place, child: Child | None
    ) -> Generator[str]:
        """Measure the workloads on one side, in as many children as needed.

        Yield the stop each time that it waits for its turn. `child` was started with all of the
        workloads; without it, workloads whose failure on the other side counts for both are left
        out.
        """
        if child is None:
            workloads = tuple(each for each in workloads if not self._fails_both_sides(each))
        if not workloads or self.refused.keys() >= set(workloads):
            return
        request, telemetry = self._request(workloads, place), self.measurement.telemetry
        failed: list[FailedMessage] = []
        process: int | None = None
        try:
            for message in self._messages(request, place.side, child):
                if stop := stop_point(message):
                    yield stop
                if process is None:
                    process = self.processes
                    self.processes += 1
                self._follow(message, place)
                match message:
                    case RunMessage():
                        self._keep(message, place, process)
                    case WindowsMessage():
                        self.windows.append((place.side, message))
                    case FailedMessage():
                        failed.append(message)
                    case ChildExit():
                        self._end(failed, message, place, process)
                        failed, process = [], None
                    case _:
                        pass
        finally:
            telemetry.stop()
            self.ended.add(place.side)

    def _messages(
        self, request: ChildRequest, side: Side, child: Child | None
    ) -> Iterator[AnyMessage | ChildContinuation | ChildExit]:
        """Yield the messages of one side until the sides refuse to fork for all workloads."""
        harness = self.measurement.harness
        share = self.budget_share
        limits = replace(harness.limits, workload_share=share, startup_share=share)
        harness = replace(harness, limits=limits)
        if request.is_interleaved:
            harness = replace(
                harness, is_awaited=partial(self._is_awaited, side), last_core=self.last_core
            )
        for message in run_request(harness, request, first=child, is_repeating=False):
            if isinstance(message, NoForkMessage):
                reason = clean_text(message.reason)[:MAX_DETAIL]
                self.refused |= dict.fromkeys(message.workloads, reason)
            if self.refused.keys() >= set(request.workloads):
                return
            yield self.watch.heard(message)

    def _is_awaited(self, side: Side, workload: str) -> bool:
        """Return whether the other side waits until this one is as far with a workload.

        It is not known of later children than its first one: they may wait.
        """
        if side.facing in self.ended or (workload, side.facing) in self.failing:
            return False
        facing_child = self.children[side.facing]
        return facing_child is None or not facing_child.is_open or facing_child.is_waiting()

    def _follow(self, message: AnyMessage | ChildContinuation | ChildExit, place: _Place) -> None:
        """Report a workload's start, read telemetry in its steps, note its failure or its end."""
        match message:
            case StartedMessage():
                self.measurement.progress.measuring(message.workload, place.side, place.pair)
            case SamplingMessage():
                self.measurement.telemetry.start()
            case FailedMessage():
                self.failing.add((message.workload, place.side))
            case EndedMessage():
                cost = message.end_cost.end_cost()
                self.runs = with_end_cost(self.runs, message.workload, place.side, cost)
            case _:
                pass

    def _fails_both_sides(self, workload: str) -> bool:
        """Return whether a workload failed in such a way that the other side need not be tried."""
        failures = (self.failures.get((workload, side)) for side in SIDES)
        return any(each is not None and each.why in BOTH_SIDES for each in failures)

    def _keep(self, message: RunMessage, place: _Place, process: int) -> None:
        measurement = self.measurement
        readings = measurement.telemetry.stop()
        run = run_of(
            message, side=place.side, pair=place.pair, position=place.position, process=process
        )
        failure = measurement.check_run(run) or throttling_failure(
            run, readings, spans_s=message.spans_s
        )
        if failure is not None:
            self.failures.setdefault((run.workload, run.side), failure)
        self.runs.append(with_telemetry(run, readings, spans_s=message.spans_s))

    def _end(
        self, failed: Sequence[FailedMessage], ended: ChildExit, place: _Place, process: int
    ) -> None:
        """Record the failures of an exited child, with their own output where possible."""
        self.runs = with_unheard_ends(self.runs, process)
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
            self.failures.setdefault((message.workload, place.side), failure)
        if log_tail:
            self.logs[str(process)] = log_tail if failed else log_tail[-MAX_LOG_CHARACTERS:]
