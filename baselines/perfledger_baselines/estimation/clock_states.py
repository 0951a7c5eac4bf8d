"""Finds the pairs whose two sides ran at different device clocks.

A process may run while the device is in another clock state than in the process before: still warm
from earlier work, or throttled for a while. Such a pair compares the clock states, not the code.
"""

import math
from collections.abc import Sequence
from statistics import median

from perfledger.metrics import Metric, MetricKind, MetricScale
from perfledger.records import Run

# Relative. A board at its power cap varies by one or two per cent from run to run, which is
# ordinary noise and is tested as such; clock states are further apart (1980, 1755, 1410 MHz of an
# H100).
STATE_DISTANCE = 0.05
# With two pairs that differ it is unknown which one is unusual.
MIN_PAIRS = 3


def clock_difference(base: Run, head: Run) -> float | None:
    """Return log(head's clock / base's clock) of a pair; None if either was not read."""
    if not base.clock_mhz or not head.clock_mhz:
        return None
    return math.log(head.clock_mhz) - math.log(base.clock_mhz)


def follows_clocks(metric: Metric) -> bool:
    """Return whether a metric depends on the device's clock; memory and counts do not."""
    match metric.kind:
        case (
            MetricKind.SPEED
            | MetricKind.CPU_TIME
            | MetricKind.TAIL
            | MetricKind.UTILIZATION
            | MetricKind.ENERGY
            | MetricKind.KERNEL
        ):
            return metric.scale is not MetricScale.EXACT
        case (
            MetricKind.MEMORY
            | MetricKind.GROWTH
            | MetricKind.WORK
            | MetricKind.START  # compilers run on the host
        ):
            return False


def has_usual_clocks(differences: Sequence[float | None]) -> tuple[bool, ...]:
    """Return for each pair's clock difference whether it is near the median of all pairs.

    The median is usual, not zero: code that draws more power may clock lower in every pair, and
    that is an effect of the code. Clocks that were not read count as usual. Without a strict
    majority near the median, for example where the pairs split into two halves, all pairs count as
    usual.
    """
    readings = [difference for difference in differences if difference is not None]
    if len(readings) < MIN_PAIRS:
        return (True,) * len(differences)
    usual, reach = median(readings), math.log1p(STATE_DISTANCE)
    if 2 * sum(abs(each - usual) <= reach for each in readings) <= len(readings):
        return (True,) * len(differences)
    return tuple(each is None or abs(each - usual) <= reach for each in differences)
