"""A process's first step times in, how many of them still belong to its warm-up out.

That two windows agree ends the warm-up soon, and too soon where a step gets faster in stages or
little by little: code is compiled once it is hot, clocks settle over seconds. What is measured next
shows it.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

# In standard errors. Of ten steady steps with normal noise 1.5 % are cut, which costs some steps.
SURE = 4.0
# More steps than this say nothing of a beginning, and a look at them would let the device idle.
MOST_STEPS = 60
FEWEST_STEPS = 6  # of which three have a spread


def unsettled(times: Sequence[float]) -> int:
    """Return how many of the first times a change point parts from the rest; 0 if there is none.

    The place, at most halfway, at which the means of what is before and after it lie furthest
    apart, in standard errors by the spread of what is after it, if by more than SURE.
    """
    seen = times[:MOST_STEPS]
    if len(seen) < FEWEST_STEPS:
        return 0
    furthest, place = SURE, 0
    for first in range(1, len(seen) // 2 + 1):
        before, after = seen[:first], seen[first:]
        error = stdev(after) * math.sqrt(1 / first + 1 / len(after))
        apart = abs(fmean(before) - fmean(after))
        if apart > furthest * error:
            furthest, place = apart / error if error > 0 else math.inf, first
    return place
