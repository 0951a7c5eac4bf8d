"""Stretches of simulated time into device time that was taken, and that stood idle while wanted."""

DAY_MS = 24 * 3600 * 1000


class Meter:
    """Sums of a pool by day, in thousandths of devices times milliseconds: whole numbers."""

    def __init__(self, *, capacity_milli: int, until_ms: int) -> None:
        self._capacity = capacity_milli
        self._until_ms = until_ms
        self._then_ms = 0
        self.taken: dict[int, int] = {}  # by day
        self.wanted: dict[int, int] = {}  # free, and asked for by somebody who waits; by day
        self.taken_before_end = 0  # until the last submission: what follows only empties the queue

    def go_on(self, now_ms: int, *, free_milli: int, waiting_milli: int) -> None:
        """Count the time since the last call, in which nothing changed."""
        taken = self._capacity - free_milli
        wanted = min(free_milli, waiting_milli)
        before_end = min(now_ms, self._until_ms) - self._then_ms
        self.taken_before_end += taken * max(before_end, 0)
        start = self._then_ms
        while start < now_ms:
            day = start // DAY_MS
            end = min((day + 1) * DAY_MS, now_ms)
            self.taken[day] = self.taken.get(day, 0) + taken * (end - start)
            self.wanted[day] = self.wanted.get(day, 0) + wanted * (end - start)
            start = end
        self._then_ms = now_ms
