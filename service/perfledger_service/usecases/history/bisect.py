"""Bisects a range of commits for the one that changed a workload."""

import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from perfledger.bundle import Bundle
from perfledger.metrics import METRICS, Metric
from perfledger.records import Revision, Run, short_sha
from perfledger_baselines.estimation.pairing import estimate_pairs
from perfledger_baselines.history.commits.pair_distribution import center_error, likely_center
from perfledger_baselines.history.commits.search import (
    SURE,
    CommitSearch,
    Comparison,
    SearchEnd,
    SearchStatus,
    next_step,
    open_end,
    pairs_needed,
    unexplained_change,
)
from perfledger_baselines.history.segmentation.changepoints import NORMAL_QUANTILE
from perfledger_baselines.significance.decision_rule import DecisionRule
from perfledger_baselines.significance.interim_looks import planned_looks
from perfledger_runners.checkouts.commit_range import commit_range, merged_range
from perfledger_runners.checkouts.repository import Repository
from perfledger_runners.checkouts.workload_overlay import find_workload_source
from perfledger_runners.machine.core_reservation import CoreReservation
from perfledger_runners.machine.device_locks import DeviceLocks
from perfledger_service.errors import UsageError
from perfledger_service.settings.check import CheckSettings
from perfledger_service.usecases.check.checkouts import CheckProgress, open_checkouts
from perfledger_service.usecases.check.revisions import (
    CheckConfiguration,
    RevisionPair,
    configuration_from,
    configuration_of,
)
from perfledger_service.usecases.history.commit_pairs import (
    CommitCheck,
    CommitMeasurements,
    CommitPair,
    SkippedCommit,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.values.check_options import CheckOptions
from perfledger_service.values.commit_bisection import (
    BisectedCommit,
    CommitBisection,
    CommitState,
    FurtherChange,
)
from perfledger_service.values.report import Report

# Share of the budget for the search; the rest is for checking its answer.
SEARCH_SHARE = 0.75
# A check that contradicts the search continues it; a second contradiction ends it.
MAX_CHECKS = 2
OUTSIDE_REASON = "its level is far outside of those of both ends: it does other work"


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectRequest:
    """The range to search, and the change to search for."""

    workload: str
    good: str
    bad: str
    metric: str
    workloads_from: str = ""


class CommitPairs(Protocol):
    """Measurement of the commits of a range, by position; 0 is the good one."""

    def measure(self, base: int, head: int) -> CommitPair | SkippedCommit:
        """Measure a pair of two commits."""
        ...

    def check(self, base: int, head: int, *, budget_s: float) -> CommitCheck | SkippedCommit:
        """Check a commit against its parent."""
        ...


class SearchProgress(Protocol):
    """Receiver of a search's progress."""

    def stage(self, name: str) -> None:
        """Report the next step."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSearch:
    """A search with its answer, the commits checked, why others were skipped, and its cost."""

    search: CommitSearch
    end: SearchEnd
    checked_commits: tuple[int, ...]
    reasons: Mapping[int, str]
    pairs: int
    seconds: float
    is_out_of_budget: bool

    @property
    def is_single(self) -> bool:
        """Return whether one commit was found."""
        return self.end.status is SearchStatus.FOUND


def bisect(
    folder: Path, request: BisectRequest, *, flags: Mapping[str, object], progress: CheckProgress
) -> tuple[CommitBisection, Bundle | None]:
    """Search the first-parent commits from good to bad; return the answer and its check's bundle.

    Raises UsageError for revisions without a range and for a workload that one end lacks,
    SettingsError, and NotMeasuredError if nothing can be measured.
    """
    metric = _metric(request.metric)
    with translate_errors():
        repository = Repository.open(folder)
        commits = commit_range(repository, request.good, request.bad)
        ends = RevisionPair(base=commits[0], head=commits[-1])
        configuration = _configuration(repository, ends, request, folder=folder, flags=flags)
        settings = configuration.settings
        with (
            DeviceLocks(folder=settings.lock_folder, waiting=progress.stage) as locks,
            CoreReservation(settings.core_choice(is_stored=False)) as cores,
            open_checkouts(repository, ends, configuration, progress) as checkouts,
            CommitMeasurements(
                checkouts=checkouts,
                commits=commits,
                workload=request.workload,
                progress=progress,
                locks=locks,
                cores=cores,
                seed=secrets.randbits(32),
            ) as measurements,
        ):
            allowance = measurements.allowance()
            search = new_search(request.workload, metric, len(commits) - 1, settings)
            finished = find_commit(
                search, measurements, budget_s=allowance.seconds, progress=progress
            )
        found_commit = commits[finished.end.first]
        merged = merged_range(repository, found_commit.sha) if finished.is_single else ()
    check = measurements.checks.get(finished.end.first) if finished.is_single else None
    result = _bisection_result(
        finished,
        commits,
        request,
        budget_s=allowance.seconds,
        builds=measurements.builds,
        report=check.report if check else None,
    )
    options = CheckOptions(
        workloads_from=request.workloads_from, settings=configuration.shown_settings()
    )
    notes = (*configuration.notes, *allowance.notes, *unconfirmed_notes(finished, commits))
    result = replace(result, merged=merged, notes=notes, options=options)
    return result, check.bundle if check else None


def new_search(
    workload: str, metric: Metric, commits: int, settings: CheckSettings
) -> CommitSearch:
    """Return a search that has no pairs yet; commit 0 is good and the last one bad."""
    rule = DecisionRule(
        looks=planned_looks(settings.max_pairs),
        alpha=settings.alpha,
        margin=settings.margin,
        floor=settings.floor,
    )
    return CommitSearch(workload=workload, metric=metric, rule=rule, good=0, bad=commits)


def find_commit(
    search: CommitSearch, source: CommitPairs, *, budget_s: float, progress: SearchProgress
) -> FinishedSearch:
    """Measure what the search asks for until it ends, and check the commit that it finds.

    That check's pairs are evidence too: if they contradict the search, it continues. A commit that
    was not checked is never the answer.
    """
    run = _Run(search=search, source=source, progress=progress)
    end = run.search_until(SEARCH_SHARE * budget_s)
    checked_commits: list[int] = []
    while end.status is SearchStatus.FOUND and end.first not in checked_commits:
        if len(checked_commits) == MAX_CHECKS:
            end = _contradicted_end(run.search, (*checked_commits, end.first))
            break
        checked_commits.append(end.first)
        progress.stage(f"checking commit {end.first} against its parent")
        answer = source.check(end.first - 1, end.first, budget_s=max(1.0, budget_s - run.seconds))
        run.take(end.first - 1, end.first, answer)
        end = run.search_until(budget_s)
    return FinishedSearch(
        search=run.search,
        end=end,
        checked_commits=tuple(checked_commits),
        reasons=run.reasons,
        pairs=run.pairs,
        seconds=run.seconds,
        is_out_of_budget=run.is_out_of_budget,
    )


def _contradicted_end(search: CommitSearch, commits: Sequence[int]) -> SearchEnd:
    """Return the range of the commits that the search found one after another."""
    first, last = min(commits), max(commits)
    chance = math.fsum(search.chances.get(commit, 0.0) for commit in range(first, last + 1))
    return SearchEnd(status=SearchStatus.UNDECIDED, first=first, last=last, chance=min(1.0, chance))


@dataclass(slots=True, kw_only=True)
class _Run:
    """A search in progress."""

    search: CommitSearch
    source: CommitPairs
    progress: SearchProgress
    reasons: dict[int, str] = field(default_factory=dict[int, str])
    pairs: int = 0
    seconds: float = 0.0
    is_out_of_budget: bool = False

    def search_until(self, budget_s: float) -> SearchEnd:
        """Measure pairs until the search ends or the next one does not fit the budget."""
        while not isinstance(step := next_step(self.search), SearchEnd):
            if isinstance(step, CommitSearch):
                outside = step.skipped - self.search.skipped
                self.reasons |= dict.fromkeys(outside, OUTSIDE_REASON)
                self.search = step
                continue
            if self.pairs and self.seconds * (1 + 1 / self.pairs) > budget_s:
                self.is_out_of_budget = True
                return open_end(self.search)
            self.progress.stage(_stage(self.search, step))
            self.take(step.base, step.head, self.source.measure(step.base, step.head))
        return step

    def take(self, base: int, head: int, answer: CommitPair | CommitCheck | SkippedCommit) -> None:
        """Add a measurement to the search."""
        match answer:
            case SkippedCommit(commit, reason):
                self.reasons[commit] = reason
                self.search = self.search.without(commit)
            case CommitPair(base_run, head_run, seconds):
                self._add(base, head, ((base_run, head_run),), seconds)
            case CommitCheck(pairs, seconds):
                self._add(base, head, pairs, seconds)

    def _add(self, base: int, head: int, runs: tuple[tuple[Run, Run], ...], seconds: float) -> None:
        pairs = estimate_pairs(runs, (self.search.metric,))
        self.search = self.search.with_pairs(base, head, pairs)
        self.pairs += len(pairs)
        self.seconds += seconds


def _stage(search: CommitSearch, step: Comparison) -> str:
    """Return the next measurement, and the progress of the search."""
    pair = len(search.pairs.get((step.base, step.head), ())) + 1
    what = f"commit {step.head} against {step.base}, pair {pair}"
    if (step.base, step.head) == (search.good, search.bad):
        return f"comparing the ends: {what}"
    left = open_end(search)
    return f"{left.last - left.first + 1} commits left: {what}"


def _metric(name: str) -> Metric:
    metric = METRICS.get(name)
    if metric is None or metric.is_explanatory or metric.is_optional:
        names = [
            each.name for each in METRICS.values() if not (each.is_explanatory or each.is_optional)
        ]
        msg = f"{name!r} is not a metric of a step that is judged: choose one of {', '.join(names)}"
        raise UsageError(msg)
    return metric


def _configuration(
    repository: Repository,
    ends: RevisionPair,
    request: BisectRequest,
    *,
    folder: Path,
    flags: Mapping[str, object],
) -> CheckConfiguration:
    """Return the good commit's configuration, or that of the commit that supplies the workloads."""
    if not request.workloads_from:
        return configuration_of(repository, ends, flags=flags)
    source = find_workload_source(repository, request.workloads_from, folder=folder)
    return configuration_from(repository, source, ends, flags=flags)


def _bisection_result(
    finished: FinishedSearch,
    commits: tuple[Revision, ...],
    request: BisectRequest,
    *,
    budget_s: float,
    builds: int,
    report: Report | None,
) -> CommitBisection:
    search, end = finished.search, finished.end
    needed = pairs_needed(search) if end.status is SearchStatus.UNDECIDED else None
    return CommitBisection(
        workload=request.workload,
        metric=search.metric,
        status=end.status,
        first=end.first,
        last=end.last,
        chance=end.chance,
        commits=bisected_commits(finished, commits),
        ends=replace(search, good=0, bad=len(commits) - 1).verdict(),
        builds=builds,
        pairs=finished.pairs,
        seconds=finished.seconds,
        budget_s=budget_s,
        is_out_of_budget=finished.is_out_of_budget,
        pairs_needed=needed,
        seconds_needed=_seconds_needed(finished, needed),
        further_changes=tuple(
            FurtherChange(change=each.change, good=commits[each.base], bad=commits[each.head])
            for each in search.other_changes
        ),
        unexplained=unexplained_change(search, end.first) if finished.is_single else None,
        report=report,
    )


def unconfirmed_notes(finished: FinishedSearch, commits: Sequence[Revision]) -> Iterator[str]:
    """Yield a note for each commit that the search found but its check did not confirm."""
    for commit in finished.checked_commits:
        if not (finished.is_single and commit == finished.end.first):
            yield (
                f"{short_sha(commits[commit].sha)} seemed to have made the change, but its "
                "check against its parent did not confirm that"
            )


def bisected_commits(
    finished: FinishedSearch, commits: tuple[Revision, ...]
) -> tuple[BisectedCommit, ...]:
    """Return what is known of each commit of the range."""
    search, last = finished.search, len(commits) - 1
    chances = search.chances if finished.end.status is not SearchStatus.UNCHANGED else {}
    spread = search.spread
    rows: list[BisectedCommit] = []
    for position, revision in enumerate(commits):
        differences = search.differences(0, position) if position else ()
        row = BisectedCommit(
            position=position,
            revision=revision,
            state=_state(finished, chances, position, last),
            pairs=sum(len(pairs) for ends, pairs in search.pairs.items() if position in ends),
            chance=chances.get(position, 0.0),
            reason=finished.reasons.get(position, ""),
        )
        if differences:
            change = likely_center(differences, spread)
            error = NORMAL_QUANTILE * center_error(len(differences), spread)
            row = replace(
                row,
                change=math.expm1(change),
                low=math.expm1(change - error),
                high=math.expm1(change + error),
            )
        rows.append(row)
    return tuple(rows)


def _state(
    finished: FinishedSearch, chances: Mapping[int, float], position: int, last: int
) -> CommitState:
    search = finished.search
    if position in {0, last}:
        return CommitState.BAD if position else CommitState.GOOD
    if position in search.skipped:
        return CommitState.SKIPPED
    if not any(position in ends for ends in search.pairs):
        return CommitState.UNTOUCHED
    by_then = math.fsum(chance for commit, chance in chances.items() if commit <= position)
    if by_then >= SURE:
        return CommitState.AFTER
    return CommitState.BEFORE if by_then <= 1 - SURE else CommitState.UNSURE


def _seconds_needed(finished: FinishedSearch, needed: int | None) -> float | None:
    """Return about how long a search would take with this many pairs per measured commit."""
    if needed is None or not finished.pairs:
        return None
    search = finished.search
    halvings = math.ceil(math.log2(max(2, search.bad - search.good)))
    pair_s = finished.seconds / finished.pairs
    return pair_s * needed * (halvings + 2) / SEARCH_SHARE
