"""Finds the time at which the first waiting job can start, for EASY backfill."""

from bisect import bisect_left, insort

NO_END = 2**62


class ExpectedEnds:
    """The ends of running jobs by their time limits, earliest first.

    Devices are counted, not located on nodes, as EASY does (Lifka 1995).
    """

    def __init__(self) -> None:
        self._ends: list[tuple[int, int, int]] = []  # time, job, thousandths of devices

    def add(self, expected_ms: int, job: int, milli: int) -> None:
        """Add a job that starts."""
        insort(self._ends, (expected_ms, job, milli))

    def remove(self, expected_ms: int, job: int, milli: int) -> None:
        """Remove a job that stops."""
        end = (expected_ms, job, milli)
        del self._ends[0 if self._ends[0] == end else bisect_left(self._ends, end)]

    def shadow(self, milli: int, *, free_milli: int, now_ms: int) -> tuple[int, int]:
        """Return when `milli` are free, and how many thousandths are spare at that time.

        Returns NO_END and 0 if the running jobs do not free that many.
        """
        for expected_ms, _, freed_milli in self._ends:
            free_milli += freed_milli
            if free_milli >= milli:
                return max(expected_ms, now_ms), free_milli - milli
        return NO_END, 0
