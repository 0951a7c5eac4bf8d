"""Finds the alerts of A/B runs that confirm an event."""

from collections.abc import Collection, Mapping, Sequence

from perfledger_baselines.history.commits.attribution import CommitRange
from perfledger_baselines.history.commits.event_tracking import place_of
from perfledger_baselines.history.commits.tracked_event import EventOccurrence
from perfledger_service.values.branch_views import AlertView


def confirming_alerts(
    occurrence: EventOccurrence, alerts: Sequence[AlertView], places: Mapping[str, int]
) -> tuple[AlertView, ...]:
    """Return the alerts of an event: those of one of its series, in overlapping commits."""
    commits = place_of(occurrence, places)
    members = {(one.workload, one.machine_class) for one in occurrence.series}
    return alerts_at(commits, members, alerts, places) if commits else ()


def alerts_at(
    commits: CommitRange,
    members: Collection[tuple[str, str]],
    alerts: Sequence[AlertView],
    places: Mapping[str, int],
) -> tuple[AlertView, ...]:
    """Return the alerts in these commits or some of them.

    `members` are pairs of a workload and a machine class.
    """
    near: list[AlertView] = []
    for view in alerts:
        occurrence = EventOccurrence(after_sha=view.after_sha, last_sha=view.last_sha, series=())
        alerted = place_of(occurrence, places)
        is_of_series = (view.alert.workload, view.alert.machine_class) in members
        if is_of_series and alerted is not None and alerted.distance(commits) == 0:
            near.append(view)
    return tuple(near)
