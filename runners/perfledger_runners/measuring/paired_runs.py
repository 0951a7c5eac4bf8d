"""Measures workloads of two checkouts in pairs until a stopping rule ends it."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain

from perfledger.protocol import ChildRequest, MeasuringEffort
from perfledger.records import Failure, FailureReason, Run, Side, WorkloadSpec
from perfledger.stopping_rule import StoppingRule
from perfledger_runners.children.harness import Harness
from perfledger_runners.machine.telemetry import NoTelemetry, Telemetry
from perfledger_runners.measuring.kernel_windows import RunWindows, match_kernels
from perfledger_runners.measuring.measured_pair import (
    MeasuredPair,
    PairMeasurement,
    RunCheck,
)
from perfledger_runners.measuring.pair_journal import PairJournal, SavedPair
from perfledger_runners.measuring.process_groups import SHARED, Separation, process_groups
from perfledger_runners.measuring.rounds.admission import Admission, least_pair_s
from perfledger_runners.measuring.rounds.changed_calls import NO_CALLS, ChangedCalls
from perfledger_runners.measuring.rounds.end_costs import FEW_STEPS, names_to_compare
from perfledger_runners.measuring.rounds.pair_order import pair_order
from perfledger_runners.measuring.rounds.progress import MeasuringProgress, NoProgress
from perfledger_runners.measuring.rounds.unmeasured import (
    FIRST_PAIR_SHARE,
    FIRST_PAIR_SHARE_ALONE,
    FutileWorkload,
    cut_off_failures,
    skipped_on_both,
    unreached_failures,
)
from perfledger_runners.measuring.sides_in_turn import measured_in_turn
from perfledger_runners.measuring.throttled_pairs import CoolingTime, measured_when_cool

# Pairs may become this much cheaper than the last one, as the first reads cold files and other load
# ends. No workload is called futile for lack of time that it may not need.
COST_SHARE = 0.5
# Pairs whose time is kept for the profile of a changed workload, which takes about as long.
PROFILE_PAIRS = 2
# Lost profiled windows after which a workload gets no more. Hanging ones would take the whole
# budget, and after a crash the other workloads need a new process.
MAX_LOST_WINDOWS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedRuns:
    """The runs of all pairs; `order[i]` is the side that ran first in pair i."""

    runs: tuple[Run, ...]
    failures: tuple[Failure, ...]
    skipped: Mapping[str, str]  # workloads that skipped themselves on both sides → why
    logs: Mapping[str, str]  # a process's number → the end of its log
    order: tuple[Side, ...]
    futile: Mapping[str, FutileWorkload] = field(default_factory=dict[str, FutileWorkload])
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])  # of a pair of each
    spent_s: float = 0.0  # of the budget
    windows: tuple[RunWindows, ...] = ()  # of kernels, in the first pairs
    separation: Separation = SHARED
    calls: ChangedCalls = NO_CALLS  # of changed functions: their workloads began first


def measure_pairs(
    harness: Harness,
    requests: Mapping[Side, ChildRequest],
    workloads: Sequence[WorkloadSpec],
    rule: StoppingRule,
    *,
    seed: int,
    max_pairs: int,
    budget_s: float,
    spent_s: float = 0.0,
    telemetry: Telemetry | None = None,
    progress: MeasuringProgress | None = None,
    check_run: RunCheck = lambda _: None,
    journal: PairJournal | None = None,
    kernel_pairs: int = 0,
    calls: ChangedCalls = NO_CALLS,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], None] = time.sleep,
) -> PairedRuns:
    """Measure the workloads in pairs until the rule, the pairs or the budget end it.

    `requests` name the two checkouts; their command and workloads are ignored. Each pair is two new
    children: per framework if the workloads run in forks of them, else per file or workload. A
    workload that fails on one side, or one of whose runs `check_run` rejects, is not measured again
    and does not affect the others; one whose device throttled is measured again after a pause. One
    that the rest of the budget will hardly settle is futile. If there is hardly time for all, they
    begin in waves, those of `calls` before the others. When the rest is too short for a test of
    each, it goes to those from which the rule learns most. `spent_s` of the budget are spent; the
    harness ends children that exceed it. Pairs in `journal` are not measured again, and new ones
    are saved there. The first `kernel_pairs` have windows of kernels, until the rule has enough.
    """
    began = clock()
    check = _Check(
        measurement=PairMeasurement(
            harness=harness,
            requests=requests,
            telemetry=telemetry or NoTelemetry(),
            progress=progress or NoProgress(),
            check_run=check_run,
            kernel_pairs=kernel_pairs,
        ),
        rule=rule,
        order=pair_order(seed, max_pairs),
        specs=tuple(workloads),
        is_forking=requests[Side.HEAD].is_forking,
        budget_s=budget_s,
        spent=lambda: spent_s + clock() - began,
        journal=journal,
        wait=wait,
    )
    names = [spec.id for spec in workloads]
    rule.start(names)
    check.admission = Admission.begin(
        names,
        fewest=rule.fewest_pairs(),
        least_pair_s=least_pair_s(requests[Side.HEAD]),
        seconds_left=budget_s - spent_s,
        first=calls.first,
        last=calls.slow,
    )
    check.run()
    return replace(check.measured(), calls=calls)


@dataclass(slots=True, kw_only=True)
class _Check:
    """The measurements so far.

    Each round measures one pair of every admitted workload that needs one; if workloads wait to be
    admitted, those that were go on until their first test. When there is no time for the rounds up
    to a test, each further pair is of one workload.
    """

    measurement: PairMeasurement
    rule: StoppingRule
    order: tuple[Side, ...]
    specs: tuple[WorkloadSpec, ...]
    is_forking: bool
    budget_s: float
    spent: Callable[[], float]
    journal: PairJournal | None
    wait: Callable[[float], None]  # while a throttled device cools
    admission: Admission = field(default_factory=lambda: Admission(fewest=1, waiting=()))
    waiting: frozenset[str] = frozenset()
    round: int = 0  # the number of its pair
    remaining: tuple[tuple[str, ...], ...] = ()  # of the round that has begun
    runs: list[Run] = field(default_factory=list[Run])
    windows: list[RunWindows] = field(default_factory=list[RunWindows])
    settled_kernels: frozenset[str] = frozenset()
    failures: list[Failure] = field(default_factory=list[Failure])
    logs: dict[str, str] = field(default_factory=dict[str, str])
    processes: int = 0
    done: dict[str, int] = field(default_factory=dict[str, int])  # pairs of each workload
    seconds: dict[str, float] = field(default_factory=dict[str, float])  # of a pair alone
    rounds: int = 0
    rounds_s: float = 0.0
    profiles_s: float = 0.0
    futile: dict[str, FutileWorkload] = field(default_factory=dict[str, FutileWorkload])
    separation: Separation = SHARED

    def run(self) -> None:
        """Take the saved pairs, and measure more."""
        self.waiting = frozenset(spec.id for spec in self.specs)
        self.done = dict.fromkeys(self.waiting, 0)
        for saved in self.journal.saved if self.journal else ():
            for run in saved.measured.runs:
                self.measurement.check_run(run)  # it compares later runs with these
            self._take(saved)
        while groups := self.remaining or self._next_round():
            if self._seconds_left() <= 0:
                return
            self._measure(groups[0], pair=self.round, remaining=groups[1:])
        while chosen := self.rule.next_pair(self._affordable()):
            self._measure((chosen,), pair=self.done[chosen], remaining=())

    @property
    def failed_workloads(self) -> frozenset[str]:
        """Return the workloads that failed on either side."""
        return frozenset(failure.workload for failure in self.failures)

    def measured(self) -> PairedRuns:
        """Return all runs, with a failure for each workload that the budget did not reach."""
        unreached = unreached_failures(
            (name for name in self.done if name not in self.failed_workloads),
            self.done,
            admission=self.admission,
            budget_s=self.budget_s,
        )
        skipped = skipped_on_both(self.failures)
        return PairedRuns(
            runs=tuple(self.runs),
            failures=tuple(
                each for each in (*self.failures, *unreached) if each.workload not in skipped
            ),
            skipped=skipped,
            logs=self.logs,
            order=self.order[: max(self.done.values(), default=0)],
            futile=self.futile,
            seconds=self.seconds,
            spent_s=self.spent(),
            windows=tuple(self.windows),
            separation=self.separation,
        )

    def _measure(
        self, workloads: tuple[str, ...], *, pair: int, remaining: tuple[tuple[str, ...], ...]
    ) -> None:
        """Measure and save one pair of workloads of one framework."""
        before_s, again = self.spent(), partial(self._pair_of_children, pair)
        first_try = again(workloads, 0)
        remaining = (*self._separated(first_try.refused), *remaining)
        if first_try.refused.keys() >= set(workloads):
            self.remaining = remaining
            return
        cooling = CoolingTime(seconds_left=self._seconds_left, wait=self.wait)
        measured = measured_when_cool(first_try, again, cooling)
        is_interleaved = self.measurement.requests[Side.HEAD].is_interleaved
        if is_interleaved and self.separation.is_at_once(workloads):
            in_turn = partial(self._pair_of_children, pair, at_once=False)
            measured = measured_in_turn(measured, in_turn, seconds_left=self._seconds_left())
        measured = self._with_few_steps(self._without_cut(measured))
        spent_s = self.spent()
        saved = SavedPair(
            measured=measured, remaining=remaining, wall_s=spent_s - before_s, spent_s=spent_s
        )
        if self.journal is not None and measured.workloads:
            self.journal.append(saved)
        self._take(saved)

    def _with_few_steps(self, measured: MeasuredPair) -> MeasuredPair:
        """Return a pair whose heads that do more at their end were compared after few steps."""
        names = names_to_compare(measured.complete(), self.runs)
        if not names or self._seconds_left() <= 0:
            return measured
        short = self._pair_of_children(measured.pair, names, measured.processes, effort=FEW_STEPS)
        return measured.with_few_steps(short)

    def _pair_of_children(
        self,
        pair: int,
        workloads: tuple[str, ...],
        processes: int,
        *,
        at_once: bool = True,
        effort: MeasuringEffort | None = None,
    ) -> MeasuredPair:
        """Measure one pair; `processes` were started for it before."""
        return self.measurement.measure(
            workloads,
            pair=pair,
            first=self.order[pair],
            process=self.processes + processes,
            unprofiled=self._unprofiled() if effort is None else workloads,
            turns=self.rule.pair_lengths(self.seconds) if effort is None else None,
            effort=effort,
            in_forks=not self.separation.workloads.keys() >= set(workloads),
            at_once=at_once and self.separation.is_at_once(workloads),
            budget_share=self._budget_share(workloads),
        )

    def _budget_share(self, workloads: tuple[str, ...]) -> float:
        """Return the share of the rest of the budget that a side of a workload may take."""
        if all(self.done[each] for each in workloads):
            return 1.0
        return FIRST_PAIR_SHARE if len(self.specs) > 1 else FIRST_PAIR_SHARE_ALONE

    def _groups(self) -> tuple[tuple[str, ...], ...]:
        return process_groups(
            self.specs,
            is_forking=self.is_forking,
            separation=self.separation,
            file_of=self.measurement.requests[Side.HEAD].file_of,
        )

    def _separated(self, refused: Mapping[str, str]) -> tuple[tuple[str, ...], ...]:
        """Separate the workloads from others from now on; return those of this pair, in groups."""
        for group in self._groups():
            self.separation = self.separation.without_forks(
                group, refused, file_of=self.measurement.requests[Side.HEAD].file_of
            )
        groups = (tuple(filter(refused.__contains__, group)) for group in self._groups())
        return tuple(group for group in groups if group)

    def _unprofiled(self) -> frozenset[str]:
        """Return the workloads whose windows are no longer profiled."""
        lost = Counter(each.workload for each in self.windows if each.failure)
        given_up = (name for name, count in lost.items() if count >= MAX_LOST_WINDOWS)
        return self.settled_kernels.union(given_up)

    def _without_cut(self, measured: MeasuredPair) -> MeasuredPair:
        """Return a pair without the workloads that the end of the budget cut off.

        One without any pair has failed, and so has one that took far longer than before: it hangs.
        """
        other_failures = [
            each for each in measured.failures if each.why is not FailureReason.BUDGET
        ]
        failed = {failure.workload for failure in other_failures}
        cut = {each.workload for each in measured.failures} - failed
        self.failures += cut_off_failures(
            [each for each in measured.failures if each.workload in cut - self.failed_workloads],
            measured.seconds,
            earlier_seconds={name: self.seconds[name] for name in cut if self.done[name]},
        )
        return replace(measured.without(cut), failures=tuple(other_failures))

    def _take(self, saved: SavedPair) -> None:
        """Add a pair to the measurements and the rule's data; apply the rule after a round."""
        measured = saved.measured
        self.runs += measured.runs
        self.windows += measured.windows
        self.failures += measured.failures
        self.logs |= measured.logs
        self.processes += measured.processes
        self.round = measured.pair
        self.admission.admit(chain(measured.workloads, *saved.remaining))
        self.seconds |= measured.seconds
        for workload in measured.workloads:
            self.done[workload] = measured.pair + 1
        in_turn = {**self.separation.in_turn, **measured.in_turn}
        self.separation = replace(self.separation, in_turn=in_turn)
        for base, head in measured.complete():
            self.rule.add(base, head)
        self.remaining = saved.remaining
        self.rounds_s += saved.wall_s
        if not saved.remaining:
            self._end_round()

    def _end_round(self) -> None:
        self.rounds += 1
        if self.measurement.kernel_pairs and self.rule.due_kernels():
            kernels = match_kernels((spec.id for spec in self.specs), self.windows)
            self.settled_kernels = self.rule.look_at_kernels(kernels)
        self.waiting = self.rule.unfinished() - self.failed_workloads
        self.profiles_s = PROFILE_PAIRS * sum(self.seconds[each] for each in self.rule.changes())
        self.measurement.progress.pair_done(
            pairs=max(self.done.values()),
            waiting=len(self.waiting),
            seconds_left=max(0.0, self._longest_s()),
        )

    def _next_round(self) -> tuple[tuple[str, ...], ...]:
        """Return the groups of the next round; none if its workloads' tests would not fit."""
        names = self.waiting & self.admission.admitted
        admitted = {each for each in names if self.done[each] < len(self.order)}
        chosen = self.admission.next_round(
            admitted - self._futile_workloads(admitted),
            self.done,
            seconds=self.seconds,
            pair_s=self.rounds_s / max(sum(self.done.values()), 1),
            seconds_left=self._seconds_left(),
        )
        self.round = self.done[next(iter(chosen))] if chosen else self.round
        groups = (tuple(filter(chosen.__contains__, each)) for each in self._groups())
        return tuple(group for group in groups if group)

    def _affordable(self) -> dict[str, float]:
        """Return the cost of a pair of each workload that still fits time and order."""
        left_s = self._seconds_left()
        affordable = {
            each: self.seconds[each]
            for each in self.waiting & self.seconds.keys()
            if self.seconds[each] <= left_s and self.done[each] < len(self.order)
        }
        futile = self._futile_workloads(affordable.keys())
        return {each: cost for each, cost in affordable.items() if each not in futile}

    def _futile_workloads(self, workloads: Collection[str]) -> frozenset[str]:
        """Return the workloads that the whole remaining budget would hardly settle; record when."""
        left_s = self._seconds_left()
        most_pairs = {
            each: min(
                len(self.order),
                self.done[each] + int(left_s / (COST_SHARE * self.seconds[each])),
            )
            for each in workloads
            if self.seconds.get(each)
        }
        futile = self.rule.futile(most_pairs)
        for each in futile - self.futile.keys() if left_s > 0 else ():
            self.futile[each] = FutileWorkload(
                pairs=self.done[each], seconds_left=left_s, seconds_per_pair=self.seconds[each]
            )
        for each in frozenset(workloads) - futile:
            self.futile.pop(each, None)
        return futile

    def _seconds_left(self) -> float:
        """Return the time left for pairs, without the time for profiles of changes."""
        return self.budget_s - self.spent() - self.profiles_s

    def _longest_s(self) -> float:
        """Return the most time left, estimated from the finished rounds."""
        rounds_left = len(self.order) - self.rounds
        return min(self.budget_s - self.spent(), self.rounds_s / self.rounds * rounds_left)
