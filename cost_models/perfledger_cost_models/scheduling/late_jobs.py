"""Counts the jobs that wait too long while they are simulated, to stop once they are too many."""

from collections.abc import Sequence
from math import ceil, floor

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.units import MS_PER_SECOND


class LateJobs:
    """The jobs of a simulation that wait longer than a limit, counted as soon as they do.

    Jobs that fit no node are late.
    """

    def __init__(self, jobs: int, *, wait_s: float, met_share: float) -> None:
        self._limit_ms = _whole_ms(wait_s)
        self._most = jobs - _fewest_met(jobs, met_share)
        self._count = 0
        self._place = 0
        self._arrivals: Sequence[int] = ()
        self._submit_ms: Sequence[int] = ()
        self._start_ms: Sequence[int] | IntArray = ()

    @property
    def are_too_many(self) -> bool:
        """Return whether fewer than the share of the jobs can still be in time."""
        return self._count > self._most

    def watch(
        self,
        arrivals: Sequence[int],
        *,
        submit_ms: Sequence[int],
        start_ms: Sequence[int] | IntArray,
    ) -> None:
        """Watch the jobs of a pool that fit, in the order of submission.

        `start_ms` is negative until a job has started; it changes as the pool is simulated.
        """
        self._count += len(submit_ms) - len(arrivals)
        self._place, self._arrivals = 0, arrivals
        self._submit_ms, self._start_ms = submit_ms, start_ms

    def leave_out(self, jobs: int) -> None:
        """Count jobs that no pool takes."""
        self._count += jobs

    def count_until(self, now_ms: int) -> bool:
        """Count the jobs that should have started before now; return whether they are too many."""
        while self._place < len(self._arrivals):
            job = self._arrivals[self._place]
            due_ms = self._submit_ms[job] + self._limit_ms
            if due_ms >= now_ms:
                break
            self._place += 1
            if not 0 <= self._start_ms[job] <= due_ms:
                self._count += 1
        return self.are_too_many

    def end(self, job: int, *, waited_ms: int) -> None:
        """Count a job that started in time, but did not run for too long a time after that."""
        due_ms = self._submit_ms[job] + self._limit_ms
        if waited_ms > self._limit_ms and self._start_ms[job] <= due_ms:
            self._count += 1


def _whole_ms(wait_s: float) -> int:
    """Return the most whole milliseconds that are at most `wait_s` when divided by 1000."""
    limit_ms = floor(wait_s * MS_PER_SECOND) + 1
    while limit_ms / MS_PER_SECOND > wait_s:
        limit_ms -= 1
    return limit_ms


def _fewest_met(jobs: int, share: float) -> int:
    """Return the fewest of the jobs that are at least a share of them."""
    met = min(ceil(share * jobs) + 1, jobs)
    while met and (met - 1) / jobs >= share:
        met -= 1
    return met
