"""Bounds how long steps wait for their helpers while these wait for a core.

A step that shares its work with threads or processes waits for the last of them. Beside other
programs a helper may be in a run queue meanwhile: the step's own thread is asleep, and its own
run-queue wait shows nothing of it.
"""

from collections.abc import Callable
from typing import NamedTuple

from perfledger.meters.child_processes import ThreadTime, ThreadTimes

# Share of the CPU time of helpers, and of the wall time of a block, that readings of threads may
# miss. More was used by threads or processes that ended meanwhile, whose waits nobody knows.
MAX_UNSEEN, MAX_UNSEEN_OF_WALL = 0.1, 0.002

_NOT_YET = ThreadTime(0.0, 0.0)


class HelperTimes(NamedTuple):
    """The seconds that all helpers ran, and waited in run queues, during a block of steps."""

    ran_s: float
    waited_s: float

    def step_wait_s(self, *, used_s: float, asleep_s: float, elapsed_s: float) -> float:
        """Return the most that the steps of a block may have waited for waiting helpers.

        The steps' thread was asleep for `asleep_s` of `elapsed_s`, and helpers used `used_s`.
        """
        unseen_s = used_s - self.ran_s
        if unseen_s > max(MAX_UNSEEN * used_s, MAX_UNSEEN_OF_WALL * elapsed_s):
            return asleep_s
        return min(asleep_s, self.waited_s)


class HelperWatch:
    """The helpers' times at both ends of blocks of steps; a pause may have read them already."""

    def __init__(self, read: Callable[[], ThreadTimes]) -> None:
        self._read = read
        self._before: ThreadTimes | None = None
        self._is_read, self._is_in_block = False, False
        self._blocks: list[HelperTimes | None] = []

    def begin_block(self) -> None:
        """Read the helpers, unless the pause before this block has read them or could not."""
        if self._is_in_block:
            self.end_block(self._read())
        if not self._is_read:
            self._before = self._read()
        self._is_read, self._is_in_block = False, True

    def end_block(self, after: ThreadTimes | None) -> None:
        """End the current block, if any, with a reading; None if nobody read."""
        if not self._is_in_block:
            return
        self._is_in_block = False
        is_known = self._before is not None and after is not None
        self._blocks.append(_times(self._before or {}, after or {}) if is_known else None)

    def end_pause(self, after: ThreadTimes | None) -> None:
        """Keep a pause's last reading for the next block; None if nobody read."""
        self._before, self._is_read = after, True

    def blocks(self) -> tuple[HelperTimes | None, ...]:
        """Return the times of all blocks, None where they are unknown."""
        if self._is_in_block:
            self.end_block(self._read())
        return tuple(self._blocks)


def _times(before: ThreadTimes, after: ThreadTimes) -> HelperTimes:
    pairs = [(before.get(thread, _NOT_YET), now) for thread, now in after.items()]
    return HelperTimes(
        ran_s=sum(max(0.0, now.ran_s - earlier.ran_s) for earlier, now in pairs),
        waited_s=sum(max(0.0, now.waited_s - earlier.waited_s) for earlier, now in pairs),
    )
