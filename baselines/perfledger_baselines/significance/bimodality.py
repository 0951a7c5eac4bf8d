"""Finds runs that are in one of two states, and how often each side is in each.

Because of clocks, memory pages or a neighbour on the same host, a process is often in one of two
states from start to end, perhaps two per cent apart. A mean over such runs describes none of them.
If more runs of head are in the slow state, the mean moves although no run became slower.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.significance.power import relative

# Least distance of two states, in standard deviations of the runs within a state. The states must
# be this far apart, in standard deviations of the runs within a state: without states, normal or
# t(3) noise has such a gap in fewer than .002 of tests.
MIN_SDS = 6.0
# Of a side's runs in each state: a single distant run is an outlier, not a state.
MIN_RUNS = 2
# How far from its state a run may lie, as a share of the distance between the states.
REACH = 0.25
# With fewer runs per side, two pairs of runs are too often far apart by chance.
MIN_PER_SIDE = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Bimodality:
    """Two states that the runs of a test are in.

    `distance` is upper / lower - 1, a million at most. `p_value` is that of Fisher's exact test for
    equal shares: a small one means that head changed how often each state occurs, not how long a
    step takes in it.
    """

    distance: float
    base_upper: int  # runs of base in the upper state
    base_runs: int
    head_upper: int
    head_runs: int
    p_value: float


def find_bimodality(base: Sequence[float], head: Sequence[float]) -> Bimodality | None:
    """Return the two states that the positive values of both sides' runs are in, or None.

    At least one side has runs in both, and every run lies near one of them. If the two sides merely
    differ from each other, that is a change, not two states.
    """
    if min(len(base), len(head)) < MIN_PER_SIDE:
        return None
    sides = [np.log(np.asarray(side, dtype=np.float64)) for side in (base, head)]
    for side in sides:
        states = _states_of(side)
        if states is not None and all(_is_near(other, states) for other in sides):
            return _count_states(sides, states)
    return None


def _states_of(values: FloatArray) -> tuple[float, float] | None:
    """Return the two states of one side's runs, divided at the largest gap."""
    ordered = sorted(values.tolist())
    gaps = [later - earlier for earlier, later in pairwise(ordered)]
    widest = max(gaps)
    split = gaps.index(widest) + 1
    if min(split, len(ordered) - split) < MIN_RUNS or 3 * widest < ordered[-1] - ordered[0]:
        return None  # runs within REACH of two states leave a third of their range empty
    lower, upper = np.array(ordered[:split]), np.array(ordered[split:])
    inside = float(((lower - lower.mean()) ** 2).sum() + ((upper - upper.mean()) ** 2).sum())
    sd = math.sqrt(inside / (len(values) - 2))
    low, high = float(lower.mean()), float(upper.mean())
    return (low, high) if high - low > MIN_SDS * sd else None


def _is_near(values: FloatArray, states: tuple[float, float]) -> bool:
    low, high = states
    away = np.minimum(np.abs(values - low), np.abs(values - high))
    return bool((away <= REACH * (high - low)).all())


def _count_states(sides: Sequence[FloatArray], states: tuple[float, float]) -> Bimodality:
    low, high = states
    upper = [int(np.count_nonzero(side > (low + high) / 2)) for side in sides]
    runs = [len(side) for side in sides]
    return Bimodality(
        distance=relative(high - low),
        base_upper=upper[0],
        base_runs=runs[0],
        head_upper=upper[1],
        head_runs=runs[1],
        p_value=_fisher_exact(upper, runs),
    )


def _fisher_exact(upper: Sequence[int], runs: Sequence[int]) -> float:
    """Return the two-sided p-value of Fisher's exact test for equal shares of two sides.

    It is the probability of all outcomes that are no likelier than the observed one, in exact
    counts of arrangements.
    """
    total = sum(upper)
    arrangements = [
        math.comb(runs[0], of_base) * math.comb(runs[1], total - of_base)
        for of_base in range(min(total, runs[0]) + 1)
    ]
    return sum(each for each in arrangements if each <= arrangements[upper[0]]) / sum(arrangements)
