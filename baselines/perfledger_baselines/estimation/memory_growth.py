"""Estimates the memory that a process has in use after a thousand steps."""

import math
from itertools import combinations
from statistics import median

from perfledger.records import MemoryReadings, Run

STEPS = 1000
# Two readings always lie on a line.
MIN_READINGS = 3


def memory_over_time_bytes(run: Run) -> float | None:
    """Return the memory in use after STEPS steps, by the line through the readings.

    The line is the Theil-Sen estimator, which a single jump of an allocator or a cache does not
    tilt: the median of the slopes of all pairs of readings (Sen, "Estimates of the regression
    coefficient based on Kendall's tau", 1968). Falling memory is not extrapolated downwards. None
    with too few readings for a line; NaN if one is zero, negative or not a number.
    """
    memory = run.memory
    if len(memory.in_use_bytes) < MIN_READINGS:
        return None
    if not all(math.isfinite(value) and value > 0 for value in memory.in_use_bytes):
        return math.nan
    slope = max(0.0, _slope(memory))
    level = median(
        value - slope * steps
        for steps, value in zip(memory.steps, memory.in_use_bytes, strict=True)
    )
    return level + slope * STEPS


def _slope(memory: MemoryReadings) -> float:
    readings = zip(memory.steps, memory.in_use_bytes, strict=True)
    return median(
        (later - earlier) / (steps - before)
        for (before, earlier), (steps, later) in combinations(readings, 2)
    )
