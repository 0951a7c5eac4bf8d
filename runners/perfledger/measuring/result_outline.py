"""Outlines what a step returns, so that the results of two sides can be compared roughly."""

import itertools
import math
from array import array
from collections.abc import Sequence

from perfledger.measuring.step_results import (
    CONTAINERS,
    Foreign,
    are_plain,
    bounds_of,
    numbers_in,
    result_leaves,
)
from perfledger.step_evidence import Answer

# Parts of a result: each array costs a pass over it.
MAX_PARTS = 20
MAX_KINDS = 3
MAX_KIND = 20  # characters
LARGEST = 3.4e38  # of a number in a message


def result_outline(result: object) -> Answer:
    """Return how many numbers a result has, the smallest, the largest, and of which types they are.

    Of a long result it is the first parts alone; {} without numbers, or if one is not finite.
    """
    count, bounds, kinds = 0, list[float](), set[str]()
    for leaf in itertools.islice(result_leaves(result, as_leaf=are_plain), MAX_PARTS):
        try:
            numbers, its_bounds = _numbers_of(leaf)
        except Exception:  # a boundary: sparse or remote arrays, failing attributes
            return {}
        if its_bounds:
            count += numbers
            bounds += its_bounds
            kinds.add(str(getattr(leaf, "dtype", type(leaf).__name__))[:MAX_KIND])
    if not bounds or not all(abs(each) <= LARGEST for each in bounds):  # False for a NaN
        return {}
    return {
        "numbers": count,
        "smallest": min(bounds),
        "largest": max(bounds),
        "types": ", ".join(sorted(kinds)[:MAX_KINDS]),
    }


def _numbers_of(leaf: Foreign) -> tuple[int, Sequence[float]]:
    """Return how many numbers a part has, and the smallest and largest."""
    if isinstance(leaf, (*CONTAINERS, array)):
        numbers = [each for each in numbers_in(leaf) if not isinstance(each, complex)]
        return len(numbers), tuple(map(float, (min(numbers), max(numbers)))) if numbers else ()
    bounds = bounds_of(leaf)
    return math.prod(getattr(leaf, "shape", ())), bounds
