"""Accounts for simulated device time: allocated, idle while jobs wait, fragmented, wasted."""

from collections.abc import Callable

import numpy as np

from perfledger_cost_models.arrays import IntArray
from perfledger_cost_models.units import MS_PER_DAY

# Fragmentation is sampled this often, because a sample takes a millisecond.
FRAGMENTATION_SAMPLES = 500
NO_SAMPLES = 0  # used if nobody asks for fragmentation


class DeviceTimeMeter:
    """Sums of a pool's device time by day, in thousandths of devices times milliseconds."""

    def __init__(
        self, *, capacity_milli: int, until_ms: int, samples: int = FRAGMENTATION_SAMPLES
    ) -> None:
        self.capacity_milli = capacity_milli
        self.until_ms = until_ms
        self._last_ms = 0
        self.allocated: dict[int, int] = {}  # by day
        self.idle_demand: dict[int, int] = {}  # free while a job waits for it; by day
        # Until the last submission, by day: the time after it only empties the queue.
        self.allocated_before_end: dict[int, int] = {}
        self.wasted: dict[
            int, int
        ] = {}  # by preemption; time after the last submission counts on the last day
        # Without samples the first one is after the end.
        self.step_ms = max(until_ms // samples, 1) if samples else until_ms + 1
        self._next_sample_ms = self.step_ms
        self.free_samples: dict[int, int] = {}  # thousandths of devices, by day
        self.unusable_samples: dict[int, int] = {}  # of those, unusable by typical jobs

    def waste(self, now_ms: int, amount: int) -> None:
        """Count device time that a preempted job has to repeat."""
        day = min(now_ms, self.until_ms) // MS_PER_DAY
        self.wasted[day] = self.wasted.get(day, 0) + amount

    def advance(
        self, now_ms: int, *, free_milli: int, waiting_milli: int, unusable: Callable[[], float]
    ) -> None:
        """Account for the time since the last call, in which nothing changed."""
        busy_milli = self.capacity_milli - free_milli
        demanded_milli = min(free_milli, waiting_milli)
        if now_ms >= self._next_sample_ms:
            self._sample(now_ms, free_milli, unusable)
        start = self._last_ms
        while start < now_ms:
            day = start // MS_PER_DAY
            end = min((day + 1) * MS_PER_DAY, now_ms)
            amount = busy_milli * (end - start)
            self.allocated[day] = self.allocated.get(day, 0) + amount
            self.idle_demand[day] = self.idle_demand.get(day, 0) + demanded_milli * (end - start)
            if end > self.until_ms:
                amount = busy_milli * max(self.until_ms - start, 0)
            self.allocated_before_end[day] = self.allocated_before_end.get(day, 0) + amount
            start = end
        self._last_ms = now_ms

    def _sample(self, now_ms: int, free_milli: int, unusable: Callable[[], float]) -> None:
        first = self._last_ms // self.step_ms + 1
        last = min(now_ms, self.until_ms) // self.step_ms
        if last < first:
            return
        amount = round(unusable()) if free_milli else 0
        self._next_sample_ms = (last + 1) * self.step_ms
        for look in range(first, last + 1):
            day = look * self.step_ms // MS_PER_DAY
            self.add_sample(day, free_milli=free_milli, unusable_milli=amount)

    def add_sample(self, day: int, *, free_milli: int, unusable_milli: int) -> None:
        """Count a sample of free devices, and of those that typical jobs cannot use."""
        self.free_samples[day] = self.free_samples.get(day, 0) + free_milli
        self.unusable_samples[day] = self.unusable_samples.get(day, 0) + unusable_milli


def milli_by_day(
    start_ms: IntArray, end_ms: IntArray, milli: IntArray, *, until_ms: int
) -> IntArray:
    """Return the daily sums of spans of thousandths of devices until a moment.

    They are in thousandths of devices times milliseconds, exact. A day has its last level for all
    of its length, less what each of its changes was too early by.
    """
    first_ms = np.arange(until_ms // MS_PER_DAY + 1, dtype=np.int64) * MS_PER_DAY
    changes, early = np.zeros_like(first_ms), np.zeros_like(first_ms)
    for moments, change in ((start_ms, milli), (end_ms, -milli)):
        day, of_day_ms = np.divmod(np.minimum(moments, until_ms), MS_PER_DAY)
        np.add.at(changes, day, change)
        np.add.at(early, day, change * of_day_ms)
    lengths_ms = np.minimum(until_ms - first_ms, MS_PER_DAY)
    sums: IntArray = np.cumsum(changes) * lengths_ms - early
    return sums
