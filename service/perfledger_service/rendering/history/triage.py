"""Lists what happened on a default branch: each event once, with the A/B runs that confirmed it."""

from collections.abc import Iterator
from dataclasses import dataclass

from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.grouping import ChangeEvent, GroupedChanges
from perfledger_service.rendering.history import stored_verdict_rows
from perfledger_service.rendering.history.event_rows import EventRow, event_rows
from perfledger_service.rendering.layout import provenance_facts
from perfledger_service.values.branch_views import AlertView, BranchView


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmingCheck:
    """An A/B run that confirmed an event."""

    upload_id: str
    device: str  # untrusted


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageRow:
    """An event, whether it is confirmed, and by which A/B runs."""

    event: EventRow
    state: str  # "confirmed", "suspected", or "" for a change of the machine
    checks: tuple[ConfirmingCheck, ...]


def triage_rows(view: BranchView) -> tuple[TriageRow, ...]:
    """Return the significant events, the newest first."""
    names = [provenance_facts.short_sha(sha)[:10] for sha in view.search.commits]
    rows: list[tuple[CommitRange, TriageRow]] = []
    for event in view.search.grouped_changes.events:
        alone = GroupedChanges(events=(event,), environment_changes=())
        confirming = confirming_alerts(view, event)
        rows += [
            (
                event.commits,
                TriageRow(
                    event=row,
                    state="confirmed" if confirming else "suspected",
                    checks=tuple(
                        ConfirmingCheck(
                            upload_id=one.upload_id,
                            device=stored_verdict_rows.device(one.alert.machine_class),
                        )
                        for one in confirming
                    ),
                ),
            )
            for row in event_rows(alone, names)
        ]
    for change in view.search.grouped_changes.environment_changes:
        alone = GroupedChanges(events=(), environment_changes=(change,))
        rows += [
            (change.commits, TriageRow(event=row, state="", checks=()))
            for row in event_rows(alone, names)
        ]
    return tuple(row for _, row in sorted(rows, key=lambda placed: placed[0], reverse=True))


def confirming_alerts(view: BranchView, event: ChangeEvent) -> tuple[AlertView, ...]:
    """Return the alerts of an event: of one of its series, in commits that overlap."""
    members = {
        (member.change.series.workload, member.change.series.machine_class)
        for member in event.members
        if member.is_significant
    }
    return tuple(
        one
        for one in view.alerts
        if (one.alert.workload, one.alert.machine_class) in members
        and any(
            place.first <= event.commits.last and event.commits.first <= place.last
            for place in _places(view, one)
        )
    )


def other_alerts(view: BranchView) -> tuple[AlertView, ...]:
    """Return the alerts of no significant event, the newest first."""
    events = [event for event in view.search.grouped_changes.events if event.is_significant]
    matched = {one.upload_id for event in events for one in confirming_alerts(view, event)}
    return tuple(one for one in view.alerts if one.upload_id not in matched)


def _places(view: BranchView, alert: AlertView) -> Iterator[CommitRange]:
    """Return the commits of an alert by their places, nothing if they are not on the branch."""
    places = {sha: place for place, sha in enumerate(view.search.commits)}
    if alert.last_sha in places:
        last = places[alert.last_sha]
        yield CommitRange(min(places.get(alert.after_sha, last - 1) + 1, last), last)
