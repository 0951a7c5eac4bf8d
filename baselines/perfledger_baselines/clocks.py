"""Pairs' clocks in, which of the pairs compare the code and not the clocks of their two sides out.

A process may find the device in another clock state than the one before it: still warm from what
ran there, or held down for a while. Such a pair says how far the states are apart.
"""

import math
from collections.abc import Sequence
from statistics import median

from perfledger.metrics import Kind, Metric, Scale
from perfledger.records import Run

# Relative. A board at its power cap wanders by one or two per cent from run to run, which is noise
# as any other and is tested as such; states are further apart (1980, 1755, 1410 MHz of an H100).
STATE_DISTANCE = 0.05
# Of two pairs that differ nobody can tell which one is unusual.
FEWEST_PAIRS = 3


def clock_difference(base: Run, head: Run) -> float | None:
    """Return log(head's clock / base's clock) of a pair; None where either was not read."""
    if not base.clock_mhz or not head.clock_mhz:
        return None
    return math.log(head.clock_mhz) - math.log(base.clock_mhz)


def follows_clocks(metric: Metric) -> bool:
    """Whether the device's clock moves a metric; memory and counts are the same at every clock."""
    match metric.kind:
        case Kind.SPEED | Kind.TAIL | Kind.UTILIZATION | Kind.ENERGY:
            return metric.scale is not Scale.EXACT
        case Kind.MEMORY | Kind.WORK | Kind.START:  # compilers run on the host
            return False


def in_usual_clocks(differences: Sequence[float | None]) -> tuple[bool, ...]:
    """Tell of each pair's difference of clocks whether it is what these pairs usually have.

    Usual is the median, not zero: code that draws more power may clock lower in every pair, and
    that is its own doing and no state it was caught in. Clocks that nobody read count as usual.
    Where less than a strict majority is near the median, as where pairs split into two halves,
    nobody can tell which are usual: then all count.
    """
    known = [difference for difference in differences if difference is not None]
    if len(known) < FEWEST_PAIRS:
        return (True,) * len(differences)
    usual, reach = median(known), math.log1p(STATE_DISTANCE)
    if 2 * sum(abs(each - usual) <= reach for each in known) <= len(known):
        return (True,) * len(differences)
    return tuple(each is None or abs(each - usual) <= reach for each in differences)
