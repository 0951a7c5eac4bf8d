"""Detects how many of a process's first steps still belong to the warm-up.

The agreement of two windows ends the warm-up early, and too early where a step gets faster in
stages or gradually: hot code is compiled, clocks settle over seconds. The next samples show it.
The test uses ranks, because step times are skewed and a single slow step means nothing.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

# The share of steady processes that are cut by mistake, which costs some steps; with autocorrelated
# steps it is higher.
MAX_FALSE_CUTS = 0.05
MOST_STEPS = 60  # later steps say nothing about the beginning


def count_warmup_steps(times: Sequence[float]) -> int:
    """Return the number of times before a change point, 0 if there is none.

    At most half of them, by Pettitt's test ("A non-parametric approach to the change-point
    problem", 1979): U(t) = 2 (r1 + ... + rt) - t (n + 1) with the ranks r, whose maximum reaches K
    by chance with a probability of 2 exp(-6 K² / (n³ + n²)). Fewer than eleven times are never
    significant, nor are a few outliers, which hardly affect a run's estimate.
    """
    first_times = times[:MOST_STEPS]
    count = len(first_times)
    sums = accumulate(_ranks(first_times)[: count // 2])
    lead = [abs(2 * total - first * (count + 1)) for first, total in enumerate(sums, start=1)]
    largest = max(lead, default=0.0)
    if largest == 0:
        return 0
    chance = 2 * math.exp(-6 * largest**2 / (count**3 + count**2))
    return lead.index(largest) + 1 if chance < MAX_FALSE_CUTS else 0


def _ranks(times: Sequence[float]) -> tuple[float, ...]:
    """Return the rank of each time, from 1; ties share their mean rank."""
    ordered = sorted(times)
    first = {time: place for place, time in reversed(tuple(enumerate(ordered, start=1)))}
    last = {time: place for place, time in enumerate(ordered, start=1)}
    return tuple((first[time] + last[time]) / 2 for time in times)
