"""Groups the changes of many series into events: one per commit that explains them.

One commit that makes everything slower is one event, not two hundred. Changes belong together when
their ranges share a commit, or are no further apart than the uncertainty of places. Every change is
compared with all others of its event, not only with the nearest: a chain of pairwise overlapping
ranges becomes as many events as commits are needed to explain it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from perfledger_baselines.history.commits.attribution import (
    PLACE_ERROR_COMMITS,
    AttributedChange,
    AttributionError,
    CommitRange,
    Harm,
    ObservedSeries,
    Series,
    attributed_changes,
    has_new_environment,
    observations_around,
)
from perfledger_baselines.history.commits.clusters import cluster_changes
from perfledger_baselines.significance.multiple_testing import benjamini_hochberg

# Most commits between two changes that are taken for one. If two unrelated workloads changed within
# this few commits, probably one commit changed both; among more, each may have its own, and one
# alert for both would hide the second.
FEW_COMMITS = 5
# The share of significant changes that may be false.
FALSE_DISCOVERY_RATE = 0.05
# If a driver slows down half of the workloads, the machines changed. If fewer changed, a commit did
# it.
MAX_WORKLOADS = 0.5
# With a single workload, "all of them changed" says nothing more.
MIN_WORKLOADS = 2
# A 5 % step shows by its third observation: with fewer, "no change" only means "not yet".
MIN_OBSERVATIONS = 3


class OtherClasses(StrEnum):
    """What the same workloads did at the same commits on other machine classes."""

    CONFIRMED = "confirmed"  # they changed as well, everywhere
    CONTRADICTED = "contradicted"  # they changed nowhere
    MIXED = "mixed"
    UNKNOWN = "unknown"  # not measured elsewhere, or not often enough


@dataclass(frozen=True, slots=True)
class EventMember:
    """A change in an event, and whether it is significant among all observed series."""

    change: AttributedChange
    adjusted_p: float  # Benjamini & Hochberg's
    is_significant: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEvent:
    """Commits at which related series became worse, or better.

    `commits` are those that all significant members have in common; if ranges are a commit or two
    apart, those between them. `members` are sorted by size, largest first.
    """

    commits: CommitRange
    harm: Harm
    members: tuple[EventMember, ...]
    observed_series: int  # series that were observed on both sides of these commits
    changed_elsewhere: tuple[Series, ...]  # same workload and metric, another class: changed too
    unchanged_elsewhere: tuple[Series, ...]  # ... and did not, though observed often enough
    has_new_environment: bool  # a member's machine changed there too: measure again to be sure

    @property
    def is_significant(self) -> bool:
        """Return whether any member is significant."""
        return any(member.is_significant for member in self.members)

    @property
    def first_change(self) -> AttributedChange:
        """Return the change that was complete first; of several, the most precisely placed."""
        changes = [member.change for member in self.members]
        return min(_significant_changes(self.members) or changes, key=_seniority)

    @property
    def other_classes(self) -> OtherClasses:
        """Return whether other machine classes confirm the event."""
        match (bool(self.changed_elsewhere), bool(self.unchanged_elsewhere)):
            case (True, False):
                return OtherClasses.CONFIRMED
            case (False, True):
                return OtherClasses.CONTRADICTED
            case (True, True):
                return OtherClasses.MIXED
            case _:
                return OtherClasses.UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentChange:
    """Commits at which a machine class itself changed, and with it most workloads.

    Not a regression of any commit.
    """

    machine_class: str
    commits: CommitRange
    members: tuple[EventMember, ...]
    changed_workloads: int
    watched_workloads: int  # Workloads that were measured before the machine changed and after.


@dataclass(frozen=True, slots=True)
class GroupedChanges:
    """A repository's changes grouped by cause, each change once, oldest first."""

    events: tuple[ChangeEvent, ...]
    environment_changes: tuple[EnvironmentChange, ...]


def group_changes(all_series: Sequence[ObservedSeries]) -> GroupedChanges:
    """Group the changes of all series by their cause, whatever the order of the series.

    Pass the series without changes too: significance depends on how many were observed, and those
    on other machine classes confirm or contradict. Raises AttributionError if a series is passed
    twice.
    """
    index = _AllSeries(all_series)
    environment_changes = _machine_changes(index)
    explained = {member.change for change in environment_changes for member in change.members}
    rest = [change for change in index.changes if change not in explained]
    events = [
        _event(group, harm, index)
        for harm in Harm
        for group in cluster_changes([m for m in rest if m.harm is harm], belongs=is_related)
    ]
    return GroupedChanges(events=in_order(events), environment_changes=environment_changes)


def events_of_members(
    members: Iterable[EventMember], harm: Harm, all_series: Sequence[ObservedSeries]
) -> tuple[ChangeEvent, ...]:
    """Group changes in one direction whose significance is known; `all_series` were observed."""
    index = _AllSeries(all_series)
    by_change = {member.change: member for member in members}
    groups = cluster_changes(by_change, belongs=is_related)
    return tuple(
        _event_of_members([by_change[change] for change in group], harm, index) for group in groups
    )


def in_order(events: Iterable[ChangeEvent]) -> tuple[ChangeEvent, ...]:
    """Return events, the oldest first."""
    return tuple(sorted(events, key=lambda e: (e.commits, e.harm, e.first_change.series.key)))


def significant_changes(all_series: Sequence[ObservedSeries]) -> frozenset[AttributedChange]:
    """Return the changes of the series that are significant among all of them."""
    return frozenset(
        member.change
        for event in group_changes(all_series).events
        for member in event.members
        if member.is_significant
    )


class _AllSeries:
    """All series and their changes, indexed for comparison between machine classes."""

    def __init__(self, all_series: Sequence[ObservedSeries]) -> None:
        self.all_series = tuple(all_series)
        times = Counter(observed.series.key for observed in all_series)
        if twice := [key for key, count in times.items() if count > 1]:
            msg = f"series passed twice: {sorted(twice)}: join the observations of each"
            raise AttributionError(msg)
        self.changes = [
            change for observed in self.all_series for change in attributed_changes(observed)
        ]
        ends = [(observed.commits[0], observed.commits[-1]) for observed in self.all_series]
        self._begun, self._ended = np.array(ends, dtype=np.int64).reshape(len(ends), 2).T
        self._alike: defaultdict[tuple[str, str], list[ObservedSeries]] = defaultdict(list)
        for observed in self.all_series:
            self._alike[_series_key(observed.series)].append(observed)

    def count(self, commits: CommitRange) -> int:
        """Return how many series were observed on both sides of these commits."""
        return int(((self._begun < commits.first) & (self._ended >= commits.last)).sum())

    def on_other_classes(
        self, changes: Sequence[AttributedChange], commits: CommitRange
    ) -> tuple[tuple[Series, ...], tuple[Series, ...]]:
        """Return the same series on other classes: those that changed the same way, and the rest.

        Machines that changed meanwhile and series with few observations are left out.
        """
        changed: set[Series] = set()
        unchanged: set[Series] = set()
        for change in changes:
            for observed in self._alike[_series_key(change.series)]:
                is_same_class = observed.series.machine_class == change.series.machine_class
                if is_same_class or has_new_environment(observed, commits):
                    continue
                if any(
                    _is_near(m, commits) and m.harm is change.harm
                    for m in attributed_changes(observed)
                ):
                    changed.add(observed.series)
                elif min(observations_around(observed, commits)) >= MIN_OBSERVATIONS:
                    unchanged.add(observed.series)
        return _sorted_series(changed), _sorted_series(unchanged)


def _machine_changes(index: _AllSeries) -> tuple[EnvironmentChange, ...]:
    by_class: defaultdict[str, list[AttributedChange]] = defaultdict(list)
    for change in index.changes:
        if change.has_new_environment:
            by_class[change.series.machine_class].append(change)
    machine_changes = [
        machine_change
        for machine_class in by_class
        for group in cluster_changes(by_class[machine_class], belongs=lambda _a, _b: True)
        if (machine_change := _machine_change(group, machine_class, index)) is not None
    ]
    return tuple(sorted(machine_changes, key=lambda change: (change.commits, change.machine_class)))


def _machine_change(
    group: Sequence[AttributedChange], machine_class: str, index: _AllSeries
) -> EnvironmentChange | None:
    """Return the machine change that explains these changes; None if a commit made them."""
    reach = _common_commits(group)
    watched = {
        observed.series
        for observed in index.all_series
        if observed.series.machine_class == machine_class and has_new_environment(observed, reach)
    } | {change.series for change in group}
    members = _members(group, watched=len(watched))
    significant = _significant_changes(members)
    changed_workloads = len({change.series.workload for change in significant})
    watched_workloads = len({series.workload for series in watched})
    commits = _common_commits(significant or group)
    changed, unchanged = index.on_other_classes(significant, commits)
    is_most = changed_workloads >= max(MIN_WORKLOADS, MAX_WORKLOADS * watched_workloads)
    # A change that also appears on machines that stayed the same was not made by a machine.
    if not is_most or len(changed) > len(unchanged):
        return None
    return EnvironmentChange(
        machine_class=machine_class,
        commits=commits,
        members=members,
        changed_workloads=changed_workloads,
        watched_workloads=watched_workloads,
    )


def _event(group: Sequence[AttributedChange], harm: Harm, index: _AllSeries) -> ChangeEvent:
    members = _members(group, watched=max(index.count(_common_commits(group)), len(group)))
    return _event_of_members(members, harm, index)


def _event_of_members(members: Sequence[EventMember], harm: Harm, index: _AllSeries) -> ChangeEvent:
    changes = [member.change for member in members]
    decisive = _significant_changes(members) or changes
    commits = _common_commits(decisive)
    changed, unchanged = index.on_other_classes(decisive, commits)
    return ChangeEvent(
        commits=commits,
        harm=harm,
        members=_largest_first(members),
        observed_series=max(index.count(_common_commits(changes)), len(changes)),
        changed_elsewhere=changed,
        unchanged_elsewhere=unchanged,
        has_new_environment=any(change.has_new_environment for change in decisive),
    )


def _members(group: Sequence[AttributedChange], *, watched: int) -> tuple[EventMember, ...]:
    """Return the changes with their significance among all observed series, largest first.

    An observed series without a change counts as p = 1, and so does one that changed the other way:
    the family is then no smaller than the one that was searched.
    """
    p_values = np.ones(watched)
    p_values[: len(group)] = [change.p_value for change in group]
    members = [
        EventMember(change, float(p), bool(p <= FALSE_DISCOVERY_RATE))
        for change, p in zip(group, benjamini_hochberg(p_values)[: len(group)], strict=True)
    ]
    return _largest_first(members)


def _largest_first(members: Iterable[EventMember]) -> tuple[EventMember, ...]:
    return tuple(sorted(members, key=lambda m: (-m.change.size, m.change.series.key)))


def _significant_changes(members: Sequence[EventMember]) -> list[AttributedChange]:
    return [member.change for member in members if member.is_significant]


def _common_commits(changes: Sequence[AttributedChange]) -> CommitRange:
    """Return the commits that all have in common, or those between ranges that do not overlap."""
    ends = (max(m.commits.first for m in changes), min(m.commits.last for m in changes))
    return CommitRange(min(ends), max(ends))


def is_related(change: AttributedChange, candidate: AttributedChange) -> bool:
    """Return whether changes at one place are one event: in one module, or precisely placed."""
    is_exact = max(change.likely.count, candidate.likely.count) <= FEW_COMMITS
    return change.series.module == candidate.series.module or (
        is_exact and change.likely.distance(candidate.likely) == 0
    )


def _is_near(change: AttributedChange, commits: CommitRange) -> bool:
    return change.commits.distance(commits) <= PLACE_ERROR_COMMITS


def _seniority(change: AttributedChange) -> tuple[int, int, float, tuple[str, str, str]]:
    """Return the sort key for the change that was complete first."""
    return (change.commits.last, change.commits.count, -change.size, change.series.key)


def _series_key(series: Series) -> tuple[str, str]:
    """Return the key that identifies a series on any machine class."""
    return (series.workload, series.metric.name)


def _sorted_series(series: Iterable[Series]) -> tuple[Series, ...]:
    return tuple(sorted(series, key=lambda series: series.key))
