"""Turns what happened across series into rows of figures and words, for any kind of page.

Names of commits and workloads are text that others wrote, not yet escaped.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perfledger_baselines.history.attribution import CommitRange, Harm, Move
from perfledger_baselines.history.events import (
    EnvironmentChange,
    Event,
    Happenings,
    Member,
    OtherClasses,
)
from perfledger_service.pages import figures
from perfledger_service.pages.findings import counted

# Series of one event that are named; the largest come first.
MAX_MOVED = 8

_ELSEWHERE = {
    OtherClasses.CONFIRMED: "other machines moved as well",
    OtherClasses.CONTRADICTED: "other machines did not move",
    OtherClasses.MIXED: "some other machines moved, some did not",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedRow:
    """A series that moved."""

    workload: str  # foreign
    metric: str  # its name, foreign
    machine_class: str  # foreign; "" where all that moved are of one
    size: str
    interval: str
    was_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class HappenedRow:
    """One thing that happened: where, how many series moved, and the largest of them."""

    commits: str  # foreign names: after the first, up to the second
    what: str
    tone: str
    summary: str  # foreign where it names a class of machine
    moved: tuple[MovedRow, ...]
    detail: str


def happened_rows(found: Happenings, commits: Sequence[str]) -> tuple[HappenedRow, ...]:
    """Return what is believed to have happened, the newest first.

    `commits` are the names of all commits by their places.
    """
    believed = [event for event in found.events if event.is_believed]
    rows = [
        *((change.commits, _machine_row(change, commits)) for change in found.environment_changes),
        *((event.commits, _event_row(event, commits)) for event in believed),
    ]
    return tuple(row for _, row in sorted(rows, key=lambda placed: placed[0], reverse=True))


def doubted(found: Happenings) -> str:
    """Return how many events are not believed, "" if there is none."""
    count = sum(not event.is_believed for event in found.events)
    if not count:
        return ""
    return f"{counted(count, 'other change')} of single series may be chance among so many"


def between(commits: CommitRange, names: Sequence[str]) -> str:
    """Return commits as git names them: after the first, up to the second."""
    return f"{names[commits.first - 1]}..{names[commits.last]}"


def happened_json(found: Happenings, commits: Sequence[str]) -> dict[str, object]:
    """Return all that happened as JSON's values, believed or not; places count from zero."""
    return {
        "events": [
            {
                **_place(event.commits, commits),
                "harm": event.harm,
                "is_believed": event.is_believed,
                "watched": event.watched,
                "moved_first": _name(event.moved_first),
                "members": [_member(member) for member in event.members],
                "other_classes": event.other_classes,
                "has_new_environment": event.has_new_environment,
            }
            for event in found.events
        ],
        "environment_changes": [
            {
                **_place(change.commits, commits),
                "machine_class": change.machine_class,
                "moved_workloads": change.moved_workloads,
                "watched_workloads": change.watched_workloads,
                "members": [_member(member) for member in change.members],
            }
            for change in found.environment_changes
        ],
    }


def _event_row(event: Event, commits: Sequence[str]) -> HappenedRow:
    believed = [member for member in event.members if member.is_believed]
    details = [_ELSEWHERE.get(event.other_classes, "")]
    if event.has_new_environment:
        details.append("the machine changed there too: measure again to be sure")
    return HappenedRow(
        commits=between(event.commits, commits),
        what=str(event.harm),
        tone="regressed" if event.harm is Harm.WORSE else "improved",
        summary=f"{len(believed)} of {event.watched:,} series",
        moved=tuple(_moved(believed, first=event.moved_first)),
        detail="; ".join(filter(None, details)),
    )


def _machine_row(change: EnvironmentChange, commits: Sequence[str]) -> HappenedRow:
    believed = [member for member in change.members if member.is_believed]
    watched = counted(change.watched_workloads, "workload")
    return HappenedRow(
        commits=between(change.commits, commits),
        what="machine changed",
        tone="undecided",
        summary=f"{change.moved_workloads} of {watched} on {change.machine_class}",
        moved=tuple(_moved(believed, first=None)),
        detail="no commit is to blame: the state that the machine is kept in changed there",
    )


def _moved(members: Sequence[Member], *, first: Move | None) -> Iterator[MovedRow]:
    has_one_class = len({member.move.series.machine_class for member in members}) == 1
    for member in members[:MAX_MOVED]:
        series, change = member.move.series, member.move.change
        size, interval = figures.change(change.change, change.low, change.high)
        yield MovedRow(
            workload=series.workload,
            metric=series.metric.name,
            machine_class="" if has_one_class else series.machine_class,
            size=size,
            interval=interval,
            was_first=member.move == first,
        )


def _place(commits: CommitRange, names: Sequence[str]) -> dict[str, object]:
    return {
        "first": commits.first,
        "last": commits.last,
        "after": names[commits.first - 1],
        "until": names[commits.last],
    }


def _name(move: Move) -> dict[str, str]:
    workload, metric, machine_class = move.series.key
    return {"workload": workload, "metric": metric, "machine_class": machine_class}


def _member(member: Member) -> dict[str, object]:
    change = member.move.change
    sizes = {"change": change.change, "low": change.low, "high": change.high}
    return {
        **_name(member.move),
        **{name: size if math.isfinite(size) else None for name, size in sizes.items()},
        "adjusted_p": member.adjusted_p,
        "is_believed": member.is_believed,
    }
