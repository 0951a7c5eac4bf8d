"""Follows events from one search of a history to the next: new, undone, or back again.

A grouped change is matched to the event found at these commits before, if they share a series; else
to the event of the pull request that was merged there; else to an undone event that is back; else
it is a new event. A change that undoes an event is not an event of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from perfledger.records import short_sha
from perfledger_baselines.history.commits.attribution import (
    PLACE_ERROR_COMMITS,
    CommitRange,
    Harm,
    ObservedSeries,
    attributed_changes,
)
from perfledger_baselines.history.commits.confirmation_state import AbCandidate
from perfledger_baselines.history.commits.event_state import EventState
from perfledger_baselines.history.commits.grouping import (
    MIN_OBSERVATIONS,
    ChangeEvent,
    EnvironmentChange,
    GroupedChanges,
)
from perfledger_baselines.history.commits.tracked_event import (
    ChangedSeries,
    EventOccurrence,
    EventUpdate,
    TrackedEvent,
    changed_series,
    decisive,
    harm_of_change,
)

# Levels are estimates: if a fifth of a change remains, that may be their error.
UNDONE_SHARE = 0.2
# If half of the change is back, it is no longer undone. In between the state stays.
RETURNED_SHARE = 0.5
# A suspect's size is known to within twice its standard error in 19 of 20 cases.
CERTAIN_ERRORS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedHistory:
    """A search of a branch: the places of its commits, its grouped changes and its series.

    `places` also has commits that were not measured, at the place of the next measured one.
    `commits` are the measured ones, by their places.
    """

    commits: Sequence[str]
    places: Mapping[str, int]
    changes: GroupedChanges
    series: Sequence[ObservedSeries]


def track_events(
    events: Sequence[TrackedEvent], history: SearchedHistory, *, today: date
) -> tuple[EventUpdate, ...]:
    """Return the events that a search made new or changed, stored ones first."""
    tracking = _Tracking(events, history)
    tracking.match()
    updates = [
        _settle_event(before, event, history, is_matched=is_matched, today=today)
        for before, event, is_matched in zip(
            events, tracking.events, tracking.is_matched, strict=True
        )
    ]
    changed_updates = (
        update
        for update, before in zip(updates, events, strict=True)
        if update.note or update.event != before
    )
    return (*changed_updates, *(EventUpdate(event, "found") for event in tracking.new_events()))


def expire_event(event: TrackedEvent, *, today: date) -> EventUpdate | None:
    """Return an event whose expected state ended before today as an open one."""
    is_over = event.until is not None and event.until < today
    if event.state is not EventState.EXPECTED or not is_over:
        return None
    return EventUpdate(event.with_state(EventState.OPEN), f"was expected only until {event.until}")


def is_expected(candidate: AbCandidate, event: TrackedEvent, places: Mapping[str, int]) -> bool:
    """Return whether a possible change was accepted, and is not surely larger than accepted."""
    if event.state is not EventState.EXPECTED or candidate.harm is not event.harm:
        return False
    expected_series = {one.key: one for one in event.expected_series}.get(candidate.series.key)
    commits = [place_of(one, places) for one in event.occurrences]
    is_there = any(
        one is not None and one.distance(candidate.commits) <= PLACE_ERROR_COMMITS
        for one in commits
    )
    certain_share = max(0.0, 1 - CERTAIN_ERRORS / candidate.strength)
    is_covered = expected_series is not None and expected_series.covers(
        candidate.change * certain_share
    )
    return is_there and is_covered


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """A grouped change of the newest search."""

    commits: CommitRange
    harm: Harm
    is_machine: bool
    occurrence: EventOccurrence

    @property
    def series(self) -> tuple[ChangedSeries, ...]:
        return self.occurrence.series


class _Tracking:
    """The matching of a search's findings to stored events."""

    def __init__(self, events: Sequence[TrackedEvent], history: SearchedHistory) -> None:
        self.events = list(events)
        self.is_matched = [False] * len(events)
        self._history = history
        self._findings = sorted(_findings(history), key=lambda one: (one.commits, one.harm))
        self._unmatched = dict(enumerate(self._findings))

    def match(self) -> None:
        """Match each finding to a stored event, the most similar first."""
        matched_places: set[tuple[int, int]] = set()
        for _, number, place, index in sorted(self._pairs()):
            if (number, place) in matched_places or index not in self._unmatched:
                continue
            matched_places.add((number, place))
            finding = self._unmatched.pop(index)
            occurrences = list(self.events[number].occurrences)
            occurrences[place] = finding.occurrence
            self._store(number, occurrences)
            self.events[number] = _by_machines(self.events[number], finding)
        for index, finding in tuple(self._unmatched.items()):
            returned = self._returned_event(finding)
            if returned is not None:
                del self._unmatched[index]
                self._store(returned, (*self.events[returned].occurrences, finding.occurrence))
                self.events[returned] = self.events[returned].with_state(EventState.OPEN)

    def new_events(self) -> Iterator[TrackedEvent]:
        """Return the events that match no stored one, oldest first."""
        known_events = list(self.events)
        for finding in self._unmatched.values():
            event = TrackedEvent(
                harm=finding.harm,
                state=EventState.ENVIRONMENT if finding.is_machine else EventState.OPEN,
                occurrences=(finding.occurrence,),
            )
            if not self._undoes(finding, known_events):
                known_events.append(event)
                yield _settle_undoing(event, self._history)

    def _store(self, number: int, occurrences: Sequence[EventOccurrence]) -> None:
        self.is_matched[number] = True
        event = replace(self.events[number], occurrences=tuple(occurrences), is_detected=True)
        self.events[number] = event

    def _pairs(self) -> Iterator[tuple[tuple[int, int], int, int, int]]:
        """Return which occurrence of which event a finding may be, and how similar they are."""
        for number, event in enumerate(self.events):
            for place, occurrence in enumerate(event.occurrences):
                commits = place_of(occurrence, self._history.places)
                if commits is None:
                    continue
                for index, finding in self._unmatched.items():
                    distance = finding.commits.distance(commits)
                    shared_keys = occurrence.keys & finding.occurrence.keys
                    is_shared = shared_keys or occurrence.shares_kernels(finding.occurrence)
                    is_machine = finding.is_machine or event.state is EventState.ENVIRONMENT
                    is_alike = is_machine or finding.harm is event.harm
                    if is_shared and is_alike and distance <= PLACE_ERROR_COMMITS:
                        yield (-len(shared_keys), distance), number, place, index

    def _returned_event(self, finding: _Finding) -> int | None:
        """Return the newest undone event that a finding brings back; None if there is none."""
        series = {one.key: one for one in finding.series}
        for number, event in reversed(tuple(enumerate(self.events))):
            if event.state is not EventState.FIXED or event.harm is not finding.harm:
                continue
            is_back = any(
                one.remaining_share(series[one.key].after) >= RETURNED_SHARE
                for one in event.decisive_series
                if one.key in series
            )
            fixed_at = self._history.places.get(event.fixed_sha, -1)
            if is_back and finding.commits.last > fixed_at:
                return number
        return None

    def _undoes(self, finding: _Finding, events: Sequence[TrackedEvent]) -> bool:
        """Return whether a finding does nothing but undo earlier events."""
        earlier = [
            one
            for event in events
            if event.harm is Harm.WORSE
            for occurrence in event.occurrences
            if _is_before(occurrence, finding.commits, self._history.places)
            for one in occurrence.series
        ]
        return finding.harm is Harm.BETTER and all(
            any(
                one.key == series.key and one.remaining_share(series.after) <= UNDONE_SHARE
                for one in earlier
            )
            for series in decisive(finding.series)
        )


def occurrence_of(
    change: ChangeEvent | EnvironmentChange, commits: Sequence[str]
) -> EventOccurrence:
    """Return a grouped change with the hashes of its commits; `commits` are all hashes by place."""
    return EventOccurrence(
        after_sha=commits[change.commits.first - 1],
        last_sha=commits[change.commits.last],
        series=changed_series(change),
    )


def place_of(occurrence: EventOccurrence, places: Mapping[str, int]) -> CommitRange | None:
    """Return the places of an occurrence's commits; None if they are no longer on the branch."""
    last = places.get(occurrence.last_sha)
    if last is None:
        return None
    after = places.get(occurrence.after_sha, last - 1)
    return CommitRange(min(after + 1, last), last)


def _is_before(
    occurrence: EventOccurrence, commits: CommitRange, places: Mapping[str, int]
) -> bool:
    place = place_of(occurrence, places)
    return place is not None and place.first < commits.first


def _findings(history: SearchedHistory) -> Iterator[_Finding]:
    """Return the significant changes of a search."""
    changes: list[ChangeEvent | EnvironmentChange] = [*history.changes.environment_changes]
    changes += (event for event in history.changes.events if event.is_significant)
    for change in changes:
        yield _Finding(
            commits=change.commits,
            harm=harm_of_change(change),
            is_machine=isinstance(change, EnvironmentChange),
            occurrence=occurrence_of(change, history.commits),
        )


def _by_machines(event: TrackedEvent, finding: _Finding) -> TrackedEvent:
    """Return an event as caused by machines or by commits, unless a person set its state."""
    if event.set_by:
        return event
    if finding.is_machine and event.state is EventState.OPEN:
        return event.with_state(EventState.ENVIRONMENT)
    if not finding.is_machine and event.state is EventState.ENVIRONMENT:
        return replace(event.with_state(EventState.OPEN), harm=finding.harm)
    return event


def _settle_event(
    before: TrackedEvent,
    event: TrackedEvent,
    history: SearchedHistory,
    *,
    is_matched: bool,
    today: date,
) -> EventUpdate:
    """Return an event in the state that the newest search and the date give it, and why."""
    settled_event, note = _settle_by_history(before, event, history, is_matched=is_matched)
    return expire_event(settled_event, today=today) or EventUpdate(settled_event, note)


def _settle_by_history(
    before: TrackedEvent, event: TrackedEvent, history: SearchedHistory, *, is_matched: bool
) -> tuple[TrackedEvent, str]:
    """Return an event in the state that the newest search gives it, and why."""
    if not event.occurrences:
        return event, ""
    if not is_matched and _is_missing(event, history):
        return replace(event, is_detected=False), "no longer found" if event.is_detected else ""
    event_now = _settle_undoing(event, history)
    if event_now.state is not before.state:
        return event_now, _state_note(before, event_now)
    if event_now.state is EventState.EXPECTED and (larger := event_now.beyond_expected):
        return event_now.with_state(EventState.OPEN), f"larger than expected: {larger}"
    return event_now, ""


def _state_note(before: TrackedEvent, event: TrackedEvent) -> str:
    match (before.state, event.state):
        case (_, EventState.FIXED):
            return f"undone by {short_sha(event.fixed_sha)}"
        case (EventState.FIXED, _):
            return "is back"
        case (_, EventState.ENVIRONMENT):
            return "the machines changed there"
        case _:
            return "not a change of the machines"


def _is_missing(event: TrackedEvent, history: SearchedHistory) -> bool:
    """Return whether a search that should have found an event did not.

    An event whose commits are older than the search, or no longer on the branch, stays as it is. So
    does one that a pull request's pairs showed: a history may be too noisy to show it.
    """
    if event.pull_request is not None:
        return False
    occurrence = event.occurrences[-1]
    commits = place_of(occurrence, history.places)
    return commits is not None and any(
        observed.commits[0] < commits.first
        and observed.commits[-1] >= commits.last
        and observed.series.key in occurrence.keys
        for observed in history.series
    )


def _settle_undoing(event: TrackedEvent, history: SearchedHistory) -> TrackedEvent:
    """Return an event as fixed if later changes undid all of it, and as open if it is back.

    Series whose last change is older than the search add no information.
    """
    place = place_of(event.occurrences[-1], history.places)
    if event.harm is not Harm.WORSE or place is None:
        return event
    shares: list[float] = []
    later_places: list[int] = []
    by_key = {observed.series.key: observed for observed in history.series}
    for series in event.decisive_series:
        observed = by_key.get(series.key)
        newest = _newest_change(series, observed, place) if observed else None
        if newest is None:
            shares += [] if _is_unknown(observed, place) else [1.0]
            continue
        share, last = newest
        shares.append(share)
        later_places.append(last)
    is_fixed = event.state is EventState.FIXED
    if not is_fixed and later_places and max(shares) <= UNDONE_SHARE:
        fixed_event = event.with_state(EventState.FIXED)
        return replace(fixed_event, fixed_sha=history.commits[max(later_places)])
    if is_fixed and max(shares, default=0.0) >= RETURNED_SHARE:
        return event.with_state(EventState.OPEN)
    return event


def _newest_change(
    series: ChangedSeries, observed: ObservedSeries, place: CommitRange
) -> tuple[float, int] | None:
    """Return the share left by a series' newest change after a place, and its last commit."""
    later = [one for one in attributed_changes(observed) if one.commits.first > place.last]
    if not later:
        return None
    newest = max(later, key=lambda one: one.commits)
    return series.remaining_share(newest.change.after), newest.commits.last


def _is_unknown(observed: ObservedSeries | None, place: CommitRange) -> bool:
    """Return whether a search cannot judge a place: it begins later, or has too little after it."""
    if observed is None or observed.commits[0] >= place.first:
        return True
    return sum(commit >= place.last for commit in observed.commits) < MIN_OBSERVATIONS
