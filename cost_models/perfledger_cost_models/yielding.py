"""Jobs that run, in the order in which they yield to one that comes before them."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from perfledger_cost_models.jobs import WHOLE
from perfledger_cost_models.room import Held, Room, Shape
from perfledger_cost_models.scheduling import Locality, Order, Policy, Preemption
from perfledger_cost_models.waiting import Rank

_Place = tuple[int, int, int]


@dataclass(slots=True, kw_only=True)
class Run:
    """A job that is running."""

    job: int
    held: Held
    milli: int  # thousandths of devices that it holds
    priority: int
    since_ms: int
    end_ms: int
    expected_ms: int  # its end as its time limit says


class Claim(NamedTuple):
    """What a waiting job has left to run, and how it stands in order."""

    left_ms: int
    milli: int
    priority: int


class Yielding:
    """Running jobs in groups, each sorted: within one the last in order stays the last.

    There is one group, but for device time: that of jobs with unlike devices shrinks unlike fast.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._is_idle = policy.preemption is Preemption.NEVER
        self._runs: dict[int, Run] = {}
        self._groups: dict[int, list[_Place]] = {}

    def get(self, job: int) -> Run | None:
        """Return the run of a job, None where it does not run."""
        return self._runs.get(job)

    def all(self) -> tuple[Run, ...]:
        """Return all runs."""
        return tuple(self._runs.values())

    def rank(self, run: Run, now_ms: int) -> Rank:
        """Return how a run stands among waiting jobs, who are ranked by the same."""
        key = -run.priority
        match self._policy.order:
            case Order.REMAINING:
                key = run.end_ms - now_ms
            case Order.SERVICE:
                key = (run.end_ms - now_ms) * run.milli
            case Order.PRIORITY | Order.SUBMISSION | Order.SHORTEST | Order.TURNS:
                pass  # Only runs that may move are ranked, and in the last three none may.
        return 0.0, key, run.job

    def add(self, run: Run) -> None:
        """Let a job run."""
        self._runs[run.job] = run
        if not self._is_idle:
            insort(self._groups.setdefault(self._group(run), []), self._place(run))

    def remove(self, run: Run) -> None:
        """Let a job run no longer."""
        del self._runs[run.job]
        if not self._is_idle:
            group = self._groups[self._group(run)]
            del group[bisect_left(group, self._place(run))]

    def after(self, claim: Claim, now_ms: int) -> Iterator[Run]:
        """Yield the runs that come after a waiting job, the last in order first."""
        parts = [
            (self._runs[job] for _, _, job in group[: self._stop(group, milli, claim, now_ms)])
            for milli, group in self._groups.items()
        ]
        if self._policy.order is not Order.SERVICE:
            return chain(*parts)
        return merge(*parts, key=lambda run: (now_ms - run.end_ms) * run.milli)

    def count_after(self, claim: Claim, now_ms: int) -> int:
        """Return how many runs come after a waiting job."""
        groups = self._groups.items()
        return sum(self._stop(group, milli, claim, now_ms) for milli, group in groups)

    def _stop(self, group: list[_Place], milli: int, claim: Claim, now_ms: int) -> int:
        """Return how many of a group come after a waiting job: the first ones, for it is sorted."""
        least = claim.priority
        match self._policy.order:
            case Order.REMAINING:
                least = -(now_ms + claim.left_ms)
            case Order.SERVICE:
                if not milli:  # nothing is left of who holds processors alone
                    return 0
                least = -(now_ms + claim.left_ms * claim.milli // milli)
            case Order.TURNS:
                least = now_ms - self._policy.turn_s * 1000 + 1
            case Order.SUBMISSION | Order.SHORTEST | Order.PRIORITY:
                pass
        return bisect_left(group, least, key=itemgetter(0))

    def _group(self, run: Run) -> int:
        return run.milli if self._policy.order is Order.SERVICE else 0

    def _place(self, run: Run) -> _Place:
        match self._policy.order:
            case Order.REMAINING | Order.SERVICE:
                return -run.end_ms, 0, run.job
            case Order.TURNS:
                return run.since_ms, 0, run.job
            case Order.SUBMISSION | Order.SHORTEST | Order.PRIORITY:
                return run.priority, -run.since_ms, run.job


class Clearing:
    """How many whole devices of each node are free at most as runs yield, before any is moved.

    Moving runs is what takes time, and most jobs turn out to have no room after all.
    """

    def __init__(self, room: Room, shape: Shape, *, locality: Locality) -> None:
        is_counted = locality is Locality.FEWEST and shape.share_milli == WHOLE
        self._each = min(shape.devices, room.widest) if is_counted else 0  # of one node
        self._least = (shape.devices % self._each or self._each) if self._each else 0
        self._free: list[int] = room.whole.tolist()
        enough = int(np.count_nonzero(room.whole >= self._each))
        self._nodes = shape.devices // self._each - enough if self._each else 0

    def may_fit(self, held: Held) -> bool:
        """Count what a run holds as free; return whether the job may have room then."""
        for part in held.parts if self._each else ():
            before = self._free[part.node]
            self._free[part.node] += len(part.devices)
            if before < self._each <= self._free[part.node]:
                self._nodes -= 1
        return self._nodes <= 0

    def is_in_reach(self, held: Held) -> bool:
        """Return whether a run is on a node that may take some of the job: others never matter."""
        return any(self._free[part.node] >= self._least for part in held.parts)
