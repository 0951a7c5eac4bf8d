"""Times a step that several ranks run together: the slowest rank's time is the step's."""

import os
import time
from collections.abc import Callable, Sequence

from perfledger.measuring.rank_link import ExchangeKind, RankLink
from perfledger.meters.clock import Clock

# Between rank 0's message and the common start. It follows how long ranks need to wake: doubled
# when one was late, shrunk while all have time to spare.
FIRST_LEAD_S = 0.002
MIN_LEAD_S = 0.0005
MAX_LEAD_S = 0.02  # a rank that wakes later than this competes for a core
LEAD_DECAY = 0.98
# The last bit of the wait, which a rank spends looking at the clock: Linux delays the end of a
# sleep by 50 us, and by as much again to wake a core.
SPIN_S = 0.0002
# Beyond it the start is not a moment of this process's clock, as in another time namespace.
MAX_START_WAIT_S = 1.0


class RankClock:
    """A clock that starts each step on all ranks at once and returns the slowest rank's time.

    The ranks wait for each other before each step, outside the timing. Aligned by the number of the
    step alone, a rank that returned early would start its next step early, and the time that it
    then waits for the others in a collective would count. Rank 0 would start first each time if it
    only told the others to go: it sets a moment of CLOCK_MONOTONIC, which all processes of a host
    share, and all of them look at the clock until then.

    A rank that still starts late, because something else has its core, makes the others wait in a
    collective: each rank's time begins when the last rank has started (`without_waits`).

    All ranks get the same time, so that their loops decide alike how many steps there are.
    """

    def __init__(
        self,
        clock: Clock,
        link: RankLink,
        *,
        now: Callable[[], float] = time.monotonic,
        cores: int | None = None,
    ) -> None:
        self._clock, self._link, self._now = clock, link, now
        self._has_cores = link.ranks <= (cores or len(os.sched_getaffinity(0)))
        self._spare_s, self._lead_s = FIRST_LEAD_S, FIRST_LEAD_S
        self._readings_s: list[tuple[float, ...]] = []

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once, on all ranks, and return the slowest rank's seconds."""
        self._wait_for_start()
        started_s = self._now()
        readings = self._link.exchange_numbers(self._clock.time(step), started_s)
        times = tuple(seconds for seconds, _ in readings)
        if self._has_cores:
            times = without_waits(times, [started for _, started in readings])
        self._readings_s.append(times)
        return max(times)

    def slowest_s(self, seconds: float) -> float:
        """Return the most of what all ranks took for something that none of them timed."""
        return max(each for (each,) in self._link.exchange_numbers(seconds))

    def latest_s(self, count: int) -> list[tuple[float, ...]]:
        """Return the seconds of each rank in the latest `count` readings."""
        return self._readings_s[len(self._readings_s) - count :]

    def _wait_for_start(self) -> None:
        """Return at the moment that rank 0 sets, once all ranks have come."""
        ((start_s,), *_) = self._link.exchange_numbers(
            self._spare_s, kind=ExchangeKind.BARRIER, answer=self._start_of
        )
        self._spare_s = start_s - self._now()
        if self._spare_s > MAX_START_WAIT_S:
            return
        if self._spare_s > SPIN_S:
            time.sleep(self._spare_s - SPIN_S)
        while self._now() < start_s:
            pass

    def _start_of(self, spare_s: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        """Return when the ranks start, which had so many seconds to spare the last time."""
        least_s = min(each for (each,) in spare_s)
        is_late = least_s < SPIN_S
        self._lead_s *= 2 if is_late else LEAD_DECAY
        self._lead_s = min(MAX_LEAD_S, max(MIN_LEAD_S, self._lead_s))
        return (self._now() + self._lead_s,)


def without_waits(times_s: Sequence[float], starts_s: Sequence[float]) -> tuple[float, ...]:
    """Return each rank's seconds since the last rank has started.

    The last one's time counts whole, so a step is never shorter than that. A rank that began before
    it and does not wait for it is understated by as much as it began earlier. A difference that no
    late start explains, as of clocks that are not the same, leaves the times as they are.
    """
    last_s = max(starts_s)
    if last_s - min(starts_s) > max(times_s):
        return tuple(times_s)
    return tuple(
        max(0.0, each - (last_s - started))
        for each, started in zip(times_s, starts_s, strict=True)
    )
