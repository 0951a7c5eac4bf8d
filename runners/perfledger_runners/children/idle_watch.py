"""Watches whether a child's processes compute, or all of them wait."""

import math
from collections.abc import Callable

from perfledger.measuring.thread_waits import ThreadWaits
from perfledger.meters.child_processes import ThreadTimes

# Of a core. A loop that tries for a lock twenty times a second takes a two-hundredth.
IDLE_CORES = 0.02
# Share of the idle time after which threads are read: not in every turn of a child that steps.
QUIET_SHARE = 0.1
AWAITS_DISK = "D"


class IdleWatch:
    """A watch over how long no thread of a child wants a core.

    A thread that is ready but gets none, because other programs load the machine, wants one.
    """

    def __init__(self, threads: Callable[[], ThreadTimes]) -> None:
        self._threads = threads
        self._before: ThreadTimes | None = None
        self._since, self.idle_s = 0.0, math.inf

    def restart(self, now: float, *, idle_s: float) -> None:
        """Begin again, because the child has done something; it may be idle for so long."""
        self._before, self._since, self.idle_s = None, now, idle_s

    def is_idle(self, now: float) -> bool:
        """Return whether it has been idle for the whole time until now."""
        elapsed_s = now - self._since
        if self._before is None:
            if elapsed_s >= QUIET_SHARE * self.idle_s:
                self._before, self._since = self._threads(), now
            return False
        if elapsed_s < self.idle_s:
            return False
        before, after = self._before, self._threads()
        self._before, self._since = after, now
        if not after or any(each.state == AWAITS_DISK for each in after.values()):
            return False
        waits = ThreadWaits()
        waits.add(before, after, elapsed_s)
        return waits.cores_used() + waits.cores_lacking() < IDLE_CORES
