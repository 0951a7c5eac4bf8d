"""Finds the nodes where a team's job may start under reservations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perfledger.rounding import for_programs, integer
from perfledger.time_units import SECONDS_PER_HOUR
from perfledger_cost_models.arrays import BoolArray
from perfledger_cost_models.job_logs.table import MAX_SECONDS, JobLogError, JobTable
from perfledger_cost_models.units import MS_PER_HOUR, MS_PER_SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Nodes reserved for a team; other teams' jobs must end there before the reservation starts.

    Raises JobLogError for no nodes and for an invalid time.
    """

    team: str
    nodes: int  # the last ones of each pool's list
    start_ms: int
    end_ms: int

    def __post_init__(self) -> None:
        if self.nodes < 1 or not 0 <= self.start_ms < self.end_ms <= MAX_SECONDS * MS_PER_SECOND:
            hours = (self.start_ms / MS_PER_HOUR, self.end_ms / MS_PER_HOUR)
            msg = (
                f"invalid reservation of {self.nodes} nodes from hour {for_programs(hours[0])} to "
                f"{for_programs(hours[1])}: use at least one node, and an end after the start, by "
                f"hour {integer(MAX_SECONDS / SECONDS_PER_HOUR)}"
            )
            raise JobLogError(msg)


class ReservationCalendar:
    """The reservations of a pool's nodes."""

    def __init__(self, reservations: Sequence[Reservation], jobs: JobTable, nodes: int) -> None:
        places = {name: index for index, name in enumerate(jobs.team.names)}
        self._all = [
            (
                places.get(each.team, len(places)),
                max(nodes - each.nodes, 0),
                each.start_ms,
                each.end_ms,
            )
            for each in reservations
        ]
        self._nodes = nodes
        self.ends = tuple(each.end_ms for each in reservations)

    def allowed(self, team: int, limit_ms: int, now: int) -> BoolArray | None:
        """Return the nodes where a team's job may start now; None for all nodes."""
        if not self._all:
            return None
        nodes = np.ones(self._nodes, np.bool_)
        for owner, first, start, end in self._all:
            if owner != team and now < end and now + limit_ms > start:
                nodes[first:] = False
        return nodes
