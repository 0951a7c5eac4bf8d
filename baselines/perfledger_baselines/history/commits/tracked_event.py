"""Holds events that are followed from one search of a history to the next, with their states."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from math import isfinite
from typing import Self

from perfledger.metrics import FAMILY_PREFIX, KERNELS
from perfledger_baselines.history.commits.attribution import AttributedChange, Harm
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import ChangeEvent, EnvironmentChange

SeriesKey = tuple[str, str, str]  # workload, metric, machine class


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSeries:
    """A series of an event, with its levels before and after and the change between them."""

    workload: str
    metric: str
    machine_class: str
    before: float
    after: float
    change: float
    low: float
    high: float

    @classmethod
    def from_attributed(cls, attributed: AttributedChange) -> Self:
        """Return the series of a change point."""
        workload, metric, machine_class = attributed.series.key
        point = attributed.change
        return cls(
            workload=workload,
            metric=metric,
            machine_class=machine_class,
            before=point.before,
            after=point.after,
            change=point.change,
            low=point.low,
            high=point.high,
        )

    @property
    def key(self) -> SeriesKey:
        """Return the key that identifies the series."""
        return (self.workload, self.metric, self.machine_class)

    @property
    def is_family(self) -> bool:
        """Return whether it is a kernel family of the workload, not one of its metrics."""
        return self.metric.startswith(FAMILY_PREFIX)

    def remaining_share(self, level: float) -> float:
        """Return how much of the change remains at a level: 1 all of it, 0 or less none."""
        size = self.after - self.before
        return (level - self.before) / size if size else 1.0

    def covers(self, change: float) -> bool:
        """Return whether a change is no larger than this one: its size plus its interval."""
        is_up = self.after > self.before
        end = self.high if is_up else self.low
        end = end if isfinite(end) else self.change
        return change <= end if is_up else change >= end

    def exceeds(self, accepted: Self) -> bool:
        """Return whether it is surely larger than an accepted change.

        A change without an interval counts by its size; one without a size counts as no larger.
        """
        nearest = self.low if accepted.after > accepted.before else self.high
        nearest = nearest if isfinite(nearest) else self.change
        return isfinite(nearest) and not accepted.covers(nearest)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventOccurrence:
    """Commits at which an event happened or came back: after one, up to another.

    `after_sha` is "" if only the last one is known: the commit that a pull request became.
    """

    after_sha: str
    last_sha: str
    series: tuple[ChangedSeries, ...]

    @property
    def keys(self) -> frozenset[SeriesKey]:
        """Return the keys of its series."""
        return frozenset(one.key for one in self.series)

    def shares_kernels(self, occurrence: Self) -> bool:
        """Return whether one has the kernels of a workload as a whole, the other a family of them.

        A pull request's pairs are judged as a whole; the history has a series for each family.
        """
        is_family_here = bool(occurrence._whole_kernels & self._families)
        return is_family_here or bool(self._whole_kernels & occurrence._families)

    @property
    def _whole_kernels(self) -> frozenset[tuple[str, str]]:
        return frozenset(
            (one.workload, one.machine_class) for one in self.series if one.metric == KERNELS.name
        )

    @property
    def _families(self) -> frozenset[tuple[str, str]]:
        return frozenset((one.workload, one.machine_class) for one in self.series if one.is_family)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedEvent:
    """Related series that became worse, or better, with a state.

    `set_by` is who set the state, "" for the measurements; `expected_series` are the changes it had
    when it was marked as expected. `occurrences` are its places in the history, the newest last; an
    event of an unmerged pull request has none, and its series are `measured_series`. `fixed_sha` is
    the last of the commits that undid it. If `is_detected` is false, the newest search of the
    history no longer finds it.
    """

    harm: Harm
    id: int = 0  # 0 until it is stored
    state: EventState = EventState.OPEN
    set_by: str = ""
    reason: str = ""
    owner: str = ""
    until: date | None = None
    pull_request: int | None = None
    merged_sha: str = ""
    fixed_sha: str = ""
    is_detected: bool = True
    measured_series: tuple[ChangedSeries, ...] = ()
    expected_series: tuple[ChangedSeries, ...] = ()
    occurrences: tuple[EventOccurrence, ...] = ()

    @property
    def series(self) -> tuple[ChangedSeries, ...]:
        """Return the changed series: as the history shows them, else as the pull request does."""
        return self.occurrences[-1].series if self.occurrences else self.measured_series

    @property
    def decisive_series(self) -> tuple[ChangedSeries, ...]:
        """Return the series that decide whether the event was undone, or is back."""
        return decisive(self.series)

    @property
    def beyond_expected(self) -> str:
        """Return a workload that changed by more than was expected; "" if there is none.

        Another metric of an expected workload is part of it; another workload is not.
        """
        changes = {one.key: one for one in self.expected_series}
        workloads = {one.workload for one in self.expected_series}
        for series in self.series:
            accepted_series = changes.get(series.key)
            if series.workload not in workloads or (
                accepted_series and series.exceeds(accepted_series)
            ):
                return series.workload
        return ""

    def with_state(
        self,
        state: EventState,
        *,
        set_by: str = "",
        reason: str = "",
        owner: str = "",
        until: date | None = None,
    ) -> Self:
        """Return the event in another state, with only these remarks on it."""
        return replace(
            self,
            state=state,
            set_by=set_by,
            reason=reason,
            owner=owner,
            until=until,
            fixed_sha=self.fixed_sha if state is EventState.FIXED else "",
            expected_series=self.series if state is EventState.EXPECTED else (),
        )


@dataclass(frozen=True, slots=True)
class EventUpdate:
    """An event that is new or changed, and why; the reason is "" if its state did not change."""

    event: TrackedEvent
    note: str = ""


def decisive(series: Sequence[ChangedSeries]) -> tuple[ChangedSeries, ...]:
    """Return the changed metrics, or the kernel families if only these changed.

    A family that stays slower after the step recovered keeps no event open, and one that becomes
    slower later opens none again.
    """
    return tuple(one for one in series if not one.is_family) or tuple(series)


def changed_series(change: ChangeEvent | EnvironmentChange) -> tuple[ChangedSeries, ...]:
    """Return the significant series of a grouped change, the largest first."""
    return tuple(
        ChangedSeries.from_attributed(member.change)
        for member in change.members
        if member.is_significant
    )


def harm_of_change(change: ChangeEvent | EnvironmentChange) -> Harm:
    """Return whether a grouped change is for the worse; a machine change is if any series is."""
    if isinstance(change, ChangeEvent):
        return change.harm
    harms = {member.change.harm for member in change.members if member.is_significant}
    return Harm.WORSE if Harm.WORSE in harms else Harm.BETTER
