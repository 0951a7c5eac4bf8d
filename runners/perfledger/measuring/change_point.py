"""Finds the change point of a series, as at the end of a warm-up."""

import math
from collections.abc import Sequence
from itertools import accumulate

# Probability with which values that do not change are cut: it only costs values.
MAX_FALSE_CUTS = 0.05


def count_before_change(values: Sequence[float], *, most: int) -> int:
    """Return the number of values before a change point among the first `most`, 0 if there is none.

    Pettitt's test ("A non-parametric approach to the change-point problem", 1979): U(t) =
    2 (r1 + ... + rt) - t (n + 1) with the ranks r, whose maximum reaches K by chance with a
    probability of 2 exp(-6 K² / (n³ + n²)). Fewer than eleven values are never significant, nor are
    a few outliers.
    """
    count = len(values)
    sums = accumulate(_ranks(values)[:most])
    lead = [abs(2 * total - first * (count + 1)) for first, total in enumerate(sums, start=1)]
    largest = max(lead, default=0.0)
    if largest == 0:
        return 0
    chance = 2 * math.exp(-6 * largest**2 / (count**3 + count**2))
    return lead.index(largest) + 1 if chance < MAX_FALSE_CUTS else 0


def _ranks(values: Sequence[float]) -> tuple[float, ...]:
    """Return the rank of each value, from 1; ties share their mean rank."""
    ordered = sorted(values)
    first = {value: number for number, value in reversed(tuple(enumerate(ordered, start=1)))}
    last = {value: number for number, value in enumerate(ordered, start=1)}
    return tuple((first[value] + last[value]) / 2 for value in values)
