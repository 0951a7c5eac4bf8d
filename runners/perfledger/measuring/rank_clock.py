"""Times a step that several ranks run together: the slowest rank's time is the step's."""

import time
from collections.abc import Callable

from perfledger.measuring.rank_link import ExchangeKind, RankLink
from perfledger.meters.clock import Clock

# From the barrier to the start of a step: time for all ranks to wake up and learn the start.
LEAD_S = 0.002


class RankClock:
    """A clock that starts each step on all ranks at once and returns the slowest rank's time.

    The ranks wait for each other before each step, outside the timing, and then until a common
    moment of this host's clock. Otherwise the rank that releases the others, being awake, would
    start first and wait for them in a collective: its step would always be the longest.

    All ranks get the same time, so that their loops decide on the same number of steps.
    """

    def __init__(self, clock: Clock, link: RankLink) -> None:
        self._clock, self._link = clock, link
        self._readings_s: list[tuple[float, ...]] = []

    def time(self, step: Callable[[], object]) -> float:
        """Run `step` once, on all ranks, and return the slowest rank's seconds."""
        self._link.exchange(ExchangeKind.BARRIER)
        self._wait_for_start()
        times = self._link.exchange_seconds(self._clock.time(step))
        self._readings_s.append(times)
        return max(times)

    def _wait_for_start(self) -> None:
        """Sleep until a moment that rank 0 chooses; rank 0 sleeps too, so that all wake up."""
        starts = self._link.exchange_seconds(time.monotonic() + LEAD_S)
        time.sleep(max(0.0, starts[0] - time.monotonic()))

    def slowest_s(self, seconds: float) -> float:
        """Return the maximum over all ranks of `seconds`, which each rank measured itself."""
        return max(self._link.exchange_seconds(seconds))

    def latest_s(self, count: int) -> list[tuple[float, ...]]:
        """Return the seconds of each rank in the latest `count` readings."""
        return self._readings_s[len(self._readings_s) - count :]
