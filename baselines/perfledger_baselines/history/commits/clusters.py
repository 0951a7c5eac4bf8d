"""Divides changes into groups that one commit can explain."""

from collections.abc import Callable, Iterable

from perfledger_baselines.history.commits.attribution import (
    PLACE_ERROR_COMMITS,
    AttributedChange,
)


def cluster_changes(
    changes: Iterable[AttributedChange],
    *,
    belongs: Callable[[AttributedChange, AttributedChange], bool],
) -> tuple[tuple[AttributedChange, ...], ...]:
    """Divide changes into groups that one commit can explain, whatever their order.

    The most precisely placed change starts the first group; each further one joins the nearest
    group that it fits, measured from the group's first change, or starts its own. Precisely placed
    changes thus set the place. No group has two changes of one series.
    """
    groups: list[_Cluster] = []
    for change in sorted(changes, key=_precision):
        fitting = [
            group
            for group in groups
            if group.can_take(change) and any(belongs(member, change) for member in group.changes)
        ]
        if fitting:
            min(fitting, key=lambda group: group.remoteness(change)).take(change)
        else:
            groups.append(_Cluster(change))
    return tuple(tuple(group.changes) for group in groups)


class _Cluster:
    """A group of changes, no two of which are further apart than the uncertainty of places.

    The latest `first` and the earliest `last` of its members limit a new one: ranges on a line have
    a commit in common exactly when every two of them do.
    """

    def __init__(self, change: AttributedChange) -> None:
        self.changes = [change]
        self._series = {change.series.key}
        self._latest_first = change.commits.first
        self._earliest_last = change.commits.last

    def can_take(self, change: AttributedChange) -> bool:
        first = max(self._latest_first, change.commits.first)
        last = min(self._earliest_last, change.commits.last)
        return first - last <= PLACE_ERROR_COMMITS and change.series.key not in self._series

    def take(self, change: AttributedChange) -> None:
        self.changes.append(change)
        self._series.add(change.series.key)
        self._latest_first = max(self._latest_first, change.commits.first)
        self._earliest_last = min(self._earliest_last, change.commits.last)

    def remoteness(self, change: AttributedChange) -> int:
        return self.changes[0].likely.distance(change.likely)


def _precision(change: AttributedChange) -> tuple[int, int, int, float, tuple[str, str, str], int]:
    """Return the sort key for the most precisely placed change; a total order."""
    commits = change.commits
    return (
        commits.count,
        change.likely.count,
        commits.first,
        change.p_value,
        change.series.key,
        change.change.index,
    )
