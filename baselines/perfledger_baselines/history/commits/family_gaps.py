"""Fills in what a kernel family took at commits at which it was too short to be recorded."""

from bisect import bisect
from collections.abc import Iterable, Mapping

# Relative to a family's longest time. Near the share from which families are recorded, noise alone
# leaves out some commits, whose times are unknown; a family that shrank below this is not one of
# those.
SHORT_SHARE = 0.5


def short_times(recorded: Mapping[int, float], measured: Iterable[int]) -> dict[int, float]:
    """Return a family's seconds at measured commits where they are known though not recorded.

    A check records a family that takes long on either of its two commits. If the other commit
    hardly runs it, or not at all, neither do the commits beyond it. `recorded` has at least one
    commit.
    """
    positions = sorted(recorded)
    short = SHORT_SHARE * max(recorded.values())
    times: dict[int, float] = {}
    for position in measured:
        place = bisect(positions, position)
        seconds = min(recorded[one] for one in positions[max(0, place - 1) : place + 1])
        if position not in recorded and seconds < short:
            times[position] = seconds
    return times
