"""Lists the changes that several series share, as figures and words for any kind of page.

Names of commits and workloads are untrusted text, not escaped yet.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_baselines.history.commits.attribution import AttributedChange, CommitRange, Harm
from perfledger_baselines.history.commits.grouping import (
    ChangeEvent,
    EnvironmentChange,
    EventMember,
    GroupedChanges,
    OtherClasses,
)
from perfledger_service.rendering.layout import number_format
from perfledger_service.rendering.layout.number_format import quantity
from perfledger_service.values.branch_views import is_imported_class

# Most series named per event; the largest changes come first.
MAX_MOVED_SERIES = 8

_ELSEWHERE = {
    OtherClasses.CONFIRMED: "other machines changed as well",
    OtherClasses.CONTRADICTED: "other machines did not change",
    OtherClasses.MIXED: "some other machines changed, some did not",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedSeriesRow:
    """A changed series."""

    workload: str  # untrusted
    metric: str  # untrusted name
    machine_class: str  # untrusted; "" if all changed series are of one class that is not an import
    size: str
    interval: str
    was_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """One event: its commits, the number of changed series, and their largest changes."""

    commits: str  # untrusted names: after the first, up to the second
    what: str
    tone: str
    summary: str  # untrusted if it names a machine class
    moved_series: tuple[MovedSeriesRow, ...]
    detail: str


def event_rows(changes: GroupedChanges, commits: Sequence[str]) -> tuple[EventRow, ...]:
    """Return the significant events, the newest first.

    `commits` are the names of all commits, by place.
    """
    believed = [event for event in changes.events if event.is_significant]
    rows = [
        *(
            (change.commits, _machine_row(change, commits))
            for change in changes.environment_changes
        ),
        *((event.commits, _event_row(event, commits)) for event in believed),
    ]
    return tuple(row for _, row in sorted(rows, key=lambda placed: placed[0], reverse=True))


def doubtful_events_sentence(changes: GroupedChanges) -> str:
    """Return a sentence with the number of insignificant events, "" without any."""
    count = sum(not event.is_significant for event in changes.events)
    if not count:
        return ""
    return f"{quantity(count, 'other change')} of single series may be due to chance"


def commits_between(commits: CommitRange, names: Sequence[str]) -> str:
    """Return commits as a git range: after the first, up to and including the second."""
    return f"{names[commits.first - 1]}..{names[commits.last]}"


def events_record(changes: GroupedChanges, commits: Sequence[str]) -> dict[str, object]:
    """Return all events for programs, significant or not; places count from zero."""
    return {
        "events": [
            {
                **_place(event.commits, commits),
                "harm": event.harm,
                "is_believed": event.is_significant,
                "watched": event.observed_series,
                "moved_first": _name(event.first_change),
                "members": [_member(member) for member in event.members],
                "other_classes": event.other_classes,
                "has_new_environment": event.has_new_environment,
            }
            for event in changes.events
        ],
        "environment_changes": [
            {
                **_place(change.commits, commits),
                "machine_class": change.machine_class,
                "moved_workloads": change.changed_workloads,
                "watched_workloads": change.watched_workloads,
                "members": [_member(member) for member in change.members],
            }
            for change in changes.environment_changes
        ],
    }


def _event_row(event: ChangeEvent, commits: Sequence[str]) -> EventRow:
    believed = [member for member in event.members if member.is_significant]
    details = [_ELSEWHERE.get(event.other_classes, "")]
    if event.has_new_environment:
        details.append("the machine changed there too: measure again to be sure")
    return EventRow(
        commits=commits_between(event.commits, commits),
        what=str(event.harm),
        tone="regressed" if event.harm is Harm.WORSE else "improved",
        summary=f"{len(believed)} of {event.observed_series:,} series",
        moved_series=tuple(_moved_rows(believed, first=event.first_change)),
        detail="; ".join(filter(None, details)),
    )


def _machine_row(change: EnvironmentChange, commits: Sequence[str]) -> EventRow:
    believed = [member for member in change.members if member.is_significant]
    watched = quantity(change.watched_workloads, "workload")
    return EventRow(
        commits=commits_between(change.commits, commits),
        what="machine changed",
        tone="undecided",
        summary=f"{change.changed_workloads} of {watched} on {change.machine_class}",
        moved_series=tuple(_moved_rows(believed, first=None)),
        detail="no commit is responsible: the state of the machine changed there",
    )


def _moved_rows(
    members: Sequence[EventMember], *, first: AttributedChange | None
) -> Iterator[MovedSeriesRow]:
    classes = {member.change.series.machine_class for member in members}
    is_plain = len(classes) == 1 and not any(map(is_imported_class, classes))
    for member in members[:MAX_MOVED_SERIES]:
        series, change = member.change.series, member.change.change
        size, interval = number_format.change(change.change, change.low, change.high)
        yield MovedSeriesRow(
            workload=series.workload,
            metric=series.metric.name,
            machine_class="" if is_plain else series.machine_class,
            size=size,
            interval=interval,
            was_first=member.change == first,
        )


def _place(commits: CommitRange, names: Sequence[str]) -> dict[str, object]:
    return {
        "first": commits.first,
        "last": commits.last,
        "after": names[commits.first - 1],
        "until": names[commits.last],
    }


def _name(move: AttributedChange) -> dict[str, str]:
    workload, metric, machine_class = move.series.key
    return {"workload": workload, "metric": metric, "machine_class": machine_class}


def _member(member: EventMember) -> dict[str, object]:
    change = member.change.change
    sizes = {"change": change.change, "low": change.low, "high": change.high}
    return {
        **_name(member.change),
        **{name: size if math.isfinite(size) else None for name, size in sizes.items()},
        "adjusted_p": member.adjusted_p,
        "is_believed": member.is_significant,
    }
