"""Adds the changes of kernel families to the events of all series: one event for each cause."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from perfledger_baselines.history.commits.attribution import (
    PLACE_ERROR_COMMITS,
    AttributedChange,
    Harm,
    ObservedSeries,
    attributed_changes,
)
from perfledger_baselines.history.commits.grouping import (
    ChangeEvent,
    EventMember,
    GroupedChanges,
    events_of_members,
    group_changes,
    in_order,
    is_related,
)
from perfledger_baselines.history.commits.moved_cost import moved_changes


@dataclass(frozen=True, slots=True)
class FamilyGroup:
    """A workload's kernel families on one machine class, and their changes that count.

    `members` are the changes that are significant among these families and did not only move work
    from one to another.
    """

    families: tuple[ObservedSeries, ...]
    members: tuple[EventMember, ...]

    @property
    def counted_families(self) -> tuple[ObservedSeries, ...]:
        """Return the families with only the changes that count."""
        counted_changes = {member.change for member in self.members}
        return tuple(
            replace(
                one,
                changes=tuple(
                    each.change for each in attributed_changes(one) if each in counted_changes
                ),
            )
            for one in self.families
        )


def family_group(families: Sequence[ObservedSeries]) -> FamilyGroup:
    """Return a workload's kernel families on one machine class with their changes that count."""
    without_cost = moved_changes([change for one in families for change in attributed_changes(one)])
    return FamilyGroup(
        families=tuple(families),
        members=tuple(
            member
            for event in group_changes(families).events
            for member in event.members
            if member.is_significant and member.change not in without_cost
        ),
    )


def with_family_changes(grouped: GroupedChanges, groups: Sequence[FamilyGroup]) -> GroupedChanges:
    """Return grouped changes with those of kernel families, each change once.

    A family that changed where its workload or a related one did, in the same direction, is part of
    that event. One that changed where its machines did is theirs. Of the others, those that became
    slower are events of their own; those that became faster are none.
    """
    events = list(grouped.events)
    own_members: list[EventMember] = []
    for group in groups:
        joining: dict[int, list[EventMember]] = {}
        for member in group.members:
            place = _event_place(member.change, grouped.events)
            if place is not None:
                joining.setdefault(place, []).append(member)
            elif member.change.harm is Harm.WORSE and not _is_of_machine(member.change, grouped):
                own_members.append(member)
        for place, members in joining.items():
            events[place] = _event_with_families(
                events[place], members, families=len(group.families)
            )
    families = [family for group in groups for family in group.families]
    events += events_of_members(own_members, Harm.WORSE, families)
    return replace(grouped, events=in_order(events))


def _event_place(change: AttributedChange, events: Sequence[ChangeEvent]) -> int | None:
    """Return the place of the nearest event that the change belongs to; None if there is none."""
    near = [
        (distance, index)
        for index, event in enumerate(events)
        if event.is_significant
        and event.harm is change.harm
        and (distance := event.commits.distance(change.commits)) <= PLACE_ERROR_COMMITS
        and any(is_related(member.change, change) for member in event.members)
    ]
    return min(near)[1] if near else None


def _is_of_machine(change: AttributedChange, grouped: GroupedChanges) -> bool:
    return any(
        one.machine_class == change.series.machine_class
        and one.commits.distance(change.commits) <= PLACE_ERROR_COMMITS
        for one in grouped.environment_changes
    )


def _event_with_families(
    event: ChangeEvent, members: Sequence[EventMember], *, families: int
) -> ChangeEvent:
    """Return an event with changes of kernel families after those of its metrics."""
    largest_first = sorted(members, key=lambda one: (-one.change.size, one.change.series.key))
    return replace(
        event,
        members=(*event.members, *largest_first),
        observed_series=event.observed_series + families,
    )
