"""Jobs that run, in the order in which they yield to one that comes before them."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import chain

from perfledger_cost_models.room import Held
from perfledger_cost_models.scheduling import Order, Policy, Preemption

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

    def after(self, *, left_ms: int, milli: int, priority: int, now_ms: int) -> Iterator[Run]:
        """Yield the runs that come after a waiting job, the last in order first."""
        for run in self._ordered(now_ms):
            match self._policy.order:
                case Order.REMAINING:
                    is_after = run.end_ms - now_ms > left_ms
                case Order.SERVICE:
                    is_after = (run.end_ms - now_ms) * run.milli > left_ms * milli
                case Order.TURNS:
                    is_after = now_ms - run.since_ms >= self._policy.turn_s * 1000
                case Order.SUBMISSION | Order.SHORTEST | Order.PRIORITY:
                    is_after = run.priority < priority
            if not is_after:
                return
            yield run

    def _ordered(self, now_ms: int) -> Iterator[Run]:
        groups = [(self._runs[job] for _, _, job in group) for group in self._groups.values()]
        if self._policy.order is not Order.SERVICE:
            return chain(*groups)
        return merge(*groups, key=lambda run: (now_ms - run.end_ms) * run.milli)

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
