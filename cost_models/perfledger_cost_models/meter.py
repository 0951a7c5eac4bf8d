"""Stretches of simulated time into device time: taken, idle while wanted, fragmented, wasted."""

from collections.abc import Callable

DAY_MS = 24 * 3600 * 1000
# What typical jobs could not use of what is free is looked at so often: it takes a millisecond.
LOOKS = 500


class Meter:
    """Sums of a pool by day, in thousandths of devices times milliseconds: whole numbers."""

    def __init__(self, *, capacity_milli: int, until_ms: int) -> None:
        self._capacity = capacity_milli
        self.until_ms = until_ms
        self._then_ms = 0
        self.taken: dict[int, int] = {}  # by day
        self.wanted: dict[int, int] = {}  # free, and asked for by somebody who waits; by day
        # Until the last submission, by day: what follows only empties the queue.
        self.taken_before_end: dict[int, int] = {}
        self.wasted: dict[int, int] = {}  # by preemption; what follows counts on the last day
        self._step_ms = max(until_ms // LOOKS, 1)
        self.free_seen: dict[int, int] = {}  # thousandths of devices, summed over looks; by day
        self.unusable_seen: dict[int, int] = {}  # of those, what typical jobs could not use

    def waste(self, now_ms: int, amount: int) -> None:
        """Count device time that a job which yields has to take again."""
        day = min(now_ms, self.until_ms) // DAY_MS
        self.wasted[day] = self.wasted.get(day, 0) + amount

    def go_on(
        self,
        now_ms: int,
        *,
        free_milli: int,
        waiting_milli: int,
        unusable: Callable[[], float],
    ) -> None:
        """Count the time since the last call, in which nothing changed."""
        taken = self._capacity - free_milli
        wanted = min(free_milli, waiting_milli)
        self._look(now_ms, free_milli, unusable)
        start = self._then_ms
        while start < now_ms:
            day = start // DAY_MS
            end = min((day + 1) * DAY_MS, now_ms)
            self.taken[day] = self.taken.get(day, 0) + taken * (end - start)
            self.wanted[day] = self.wanted.get(day, 0) + wanted * (end - start)
            before_end = max(min(end, self.until_ms) - start, 0)
            self.taken_before_end[day] = self.taken_before_end.get(day, 0) + taken * before_end
            start = end
        self._then_ms = now_ms

    def _look(self, now_ms: int, free_milli: int, unusable: Callable[[], float]) -> None:
        first = self._then_ms // self._step_ms + 1
        last = min(now_ms, self.until_ms) // self._step_ms
        if last < first:
            return
        amount = round(unusable()) if free_milli else 0
        for look in range(first, last + 1):
            day = look * self._step_ms // DAY_MS
            self.free_seen[day] = self.free_seen.get(day, 0) + free_milli
            self.unusable_seen[day] = self.unusable_seen.get(day, 0) + amount
