"""Estimates from readings of threads' CPU times how many more cores they would use."""

import math
from collections import defaultdict

from perfledger.meters.child_processes import ThreadTime, ThreadTimes

# Share of the time in which a thread wants a core. A worker gets more; with less, too little is
# known of how long it sleeps.
MIN_WORKING_SHARE = 0.005
# Share of the time in which a thread is ready and never runs. Beside programs of a higher priority
# a worker may get nothing for a second, and only its state tells of it.
MIN_STARVED_SHARE = 0.5

_UNKNOWN = ThreadTime(0.0, 0.0)


class ThreadWaits:
    """How many cores threads would use beyond those that they get.

    What a step leaves to another thread or process gets little time on a core that it shares with
    other programs, and waits for the rest. A thread that wakes up now and then waits too, but
    sleeps in between: beside no other programs it would use little.
    """

    def __init__(self) -> None:
        self._ran_s: defaultdict[int, float] = defaultdict(float)
        self._waited_s: defaultdict[int, float] = defaultdict(float)
        self._starved_s: defaultdict[int, float] = defaultdict(float)
        self._elapsed_s = 0.0

    def add(self, before: ThreadTimes, after: ThreadTimes, elapsed_s: float) -> None:
        """Add one interval, from its readings at both ends."""
        self._elapsed_s += elapsed_s
        for thread, now in after.items():
            earlier = before.get(thread, _UNKNOWN)
            ran_s = max(0.0, now.ran_s - earlier.ran_s)
            self._ran_s[thread] += ran_s
            self._waited_s[thread] += max(0.0, now.waited_s - earlier.waited_s)
            # The kernel adds a wait when it ends: of one that lasts, only the state is known.
            if earlier.is_ready and now.is_ready and ran_s == 0.0:
                self._starved_s[thread] += elapsed_s

    def cores_used(self) -> float:
        """Return the cores that the threads got, on average."""
        return math.fsum(self._ran_s.values()) / self._elapsed_s if self._elapsed_s > 0 else 0.0

    def cores_lacking(self) -> float:
        """Return the cores that the threads lack, on average."""
        return math.fsum(map(self._lacks, self._ran_s)) if self._elapsed_s > 0 else 0.0

    def _lacks(self, thread: int) -> float:
        """Return the share of a core that a thread would use if it never waited, less its own."""
        ran_s, waited_s = self._ran_s[thread], self._waited_s[thread]
        if self._starved_s[thread] >= MIN_STARVED_SHARE * self._elapsed_s:
            return max(0.0, 1.0 - ran_s / self._elapsed_s)
        if ran_s <= MIN_WORKING_SHARE * (ran_s + waited_s):
            return 0.0
        # A wait counts where it ends, and may have begun before the interval.
        unhindered_s = max(ran_s, self._elapsed_s - waited_s)
        return max(0.0, ran_s / unhindered_s - ran_s / self._elapsed_s)
