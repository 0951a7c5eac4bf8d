"""A process's first step times in, how many of them still belong to its warm-up out.

That two windows agree ends the warm-up soon, and too soon where a step gets faster in stages or
little by little: code is compiled once it is hot, clocks settle over seconds. What is measured next
shows it. Ranks are compared, for step times are skewed: a single slow step says nothing.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

# Of steady processes, whatever their noise, at most so many are cut, which costs some steps; of
# those whose steps resemble their neighbours, more.
MAX_FALSE_CUTS = 0.05
MOST_STEPS = 60  # more steps than this say nothing of a beginning


def unsettled(times: Sequence[float]) -> int:
    """Return how many of the first times a change point parts from the rest; 0 if there is none.

    At most half of them, by Pettitt's test ("A non-parametric approach to the change-point
    problem", 1979): U(t) = 2 (r1 + ... + rt) - t (n + 1) with the ranks r, and by chance it is
    somewhere as large as K with a probability of 2 exp(-6 K² / (n³ + n²)). Fewer than eleven times
    never tell, nor do a few odd ones, which hardly move what a run is judged by.
    """
    seen = times[:MOST_STEPS]
    count = len(seen)
    sums = accumulate(_ranks(seen)[: count // 2])
    lead = [abs(2 * total - first * (count + 1)) for first, total in enumerate(sums, start=1)]
    largest = max(lead, default=0.0)
    if largest == 0:
        return 0
    chance = 2 * math.exp(-6 * largest**2 / (count**3 + count**2))
    return lead.index(largest) + 1 if chance < MAX_FALSE_CUTS else 0


def _ranks(times: Sequence[float]) -> tuple[float, ...]:
    """Return each time's place among them all, from 1; equal ones share the mean of theirs."""
    ordered = sorted(times)
    first = {time: place for place, time in reversed(tuple(enumerate(ordered, start=1)))}
    last = {time: place for place, time in enumerate(ordered, start=1)}
    return tuple((first[time] + last[time]) / 2 for time in times)
