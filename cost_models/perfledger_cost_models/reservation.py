"""Reservations into the nodes where a team's job may start at a moment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.jobs import MAX_SECONDS, JobLogError, Jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that are one team's for a time; others start there only what is over before it.

    Raises JobLogError for no nodes and for a time that is none.
    """

    team: str
    nodes: int  # of each pool, the last ones of its list
    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        if self.nodes < 1 or not 0 <= self.start_ms < self.end_ms <= MAX_SECONDS * 1000:
            hours = (self.start_ms / 3_600_000, self.end_ms / 3_600_000)
            msg = (
                f"a reservation of {self.nodes} nodes from hour {hours[0]:g} to {hours[1]:g}: give "
                f"a node at least, and an end after the start, by hour {MAX_SECONDS / 3600:.0f}"
            )
            raise JobLogError(msg)


class Calendar:
    """Which nodes are reserved when, and for whom."""

    def __init__(self, reservations: Sequence[Reservation], jobs: Jobs, nodes: int) -> None:
        places = {name: place for place, name in enumerate(jobs.team.names)}
        self._all = [
            (places.get(each.team, -1), max(nodes - each.nodes, 0), each.start_ms, each.end_ms)
            for each in reservations
        ]
        self._nodes = nodes
        self.ends = tuple(each.end_ms for each in reservations)

    def allowed(self, team: int, limit_ms: int, now: int) -> NDArray[np.bool_] | None:
        """Return the nodes where a team's job may start now, None for all of them."""
        if not self._all:
            return None
        nodes = np.ones(self._nodes, np.bool_)
        for owner, first, start, end in self._all:
            if owner != team and now < end and now + limit_ms > start:
                nodes[first:] = False
        return nodes
