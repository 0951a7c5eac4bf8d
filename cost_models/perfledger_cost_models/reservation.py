"""Reservations into the nodes where a team's job may start at a moment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perfledger_cost_models.jobs import Jobs


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes that are one team's for a time; others start there only what is over before it."""

    team: str
    nodes: int  # of each pool, the last ones of its list
    start_ms: int
    end_ms: int


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
