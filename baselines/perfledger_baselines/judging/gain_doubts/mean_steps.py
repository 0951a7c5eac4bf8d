"""Compares the mean of all steps with a typical one: some steps may do the work of others."""

import math
from collections.abc import Sequence
from itertools import zip_longest
from statistics import fmean, median

import numpy as np
from scipy.special import stdtrit

from perfledger.records import Run
from perfledger_baselines.judging.gain_doubts.workload_pairs import (
    Pairs,
    complete_pairs,
    step_times,
)

# Share of checks without a change: a warning accuses, too.
MAX_FALSE_WARNINGS = 0.01
# Two differences are too few to estimate a spread.
MIN_PAIRS = 3
# Share of the step time. Of two pairs, both means gain less than half of it by no chance.
SURE_GAIN = 0.2
# In typical steps: beyond every gain, and small enough for a spread to be a finite number.
MAX_GROWTH = 1e6
MEAN_DOUBT = (
    "the mean of all its steps gains less than half of what a typical one does: some steps do the "
    "work of others; measure what these do together as one step"
)


def least_doubtful_gain(pairs: Pairs, *, workloads: int) -> float:
    """Return the gain of a typical step above which the mean of all steps surely gained under half.

    Gains are shares of base's typical step, so that slow steps which both sides have, and which
    gain nothing, are no sign. Infinity: no gain is doubtful. The mean is known better with more
    pairs (`lower_bound`), at a level for all of `workloads`. The first half of the steps does not
    count: a side may not have settled there. Nor do waits of head's that may be for other programs.
    """
    run_pairs = complete_pairs(pairs)
    growths = [share for sides in run_pairs if (share := _mean_growth(*sides)) is not None]
    if len(growths) < MIN_PAIRS - 1:
        return math.inf
    if len(growths) >= MIN_PAIRS:
        return max(0.0, -2 * lower_bound(growths, MAX_FALSE_WARNINGS / workloads))
    return max(SURE_GAIN, -2 * min(growths))


def _mean_growth(base: Run, head: Run) -> float | None:
    """Return what the mean step is longer on head, as a share of base's typical step, or None."""
    base_s = _mean_s(base, is_second_half=True)
    head_s = _mean_s(head, is_second_half=True, is_least=True)
    if base_s <= 0 or head_s <= 0:
        return None
    typical_s = median(step_times(base) or (base_s,))
    # Beside other programs the typical step waits, and the mean is without waits.
    share = (head_s - base_s) / (typical_s if 0 < typical_s < base_s else base_s)
    return max(-MAX_GROWTH, min(share, MAX_GROWTH))


def mean_growths(pairs: Pairs) -> tuple[float, ...]:
    """Return log(head / base) of the mean time of all steps of each pair, where both are known."""
    means = ((_mean_s(base), _mean_s(head, is_least=True)) for base, head in complete_pairs(pairs))
    return tuple(math.log(head) - math.log(base) for base, head in means if base > 0 and head > 0)


def _mean_s(run: Run, *, is_second_half: bool = False, is_least: bool = False) -> float:
    """Return the mean of all steps, without waits for a core of other programs; 0 if unreadable.

    These hit the sides at random. As far as the step's own helpers ran, it may have waited for
    them, which is its own time. The least mean is without any wait, also for helpers that waited.
    """
    times, samples, weights = run.core_times, step_times(run), run.turns or (1,)
    if len(times.elapsed_s) == len(weights):
        first = len(weights) // 2 if is_second_half else 0
        columns = (weights, times.elapsed_s, times.queued_s, times.helpers_s, times.helper_waits_s)
        seconds = 0.0
        for steps, wall, queued, helpers, waits in [*zip_longest(*columns, fillvalue=0.0)][first:]:
            wait = queued + waits if is_least else max(0.0, queued - helpers)
            seconds += steps * (wall - wait)
        mean = seconds / sum(weights[first:])
    else:
        first = len(samples) // 2 if is_second_half else 0
        later = samples[first:]
        mean = sum(later) / len(later) if later else 0.0  # `fmean` refuses both infinities
    return mean if math.isfinite(mean) else 0.0


def lower_bound(values: Sequence[float], level: float) -> float:
    """Return the one-sided Student's t bound of the mean; minus infinity for too few values."""
    if len(values) < MIN_PAIRS:
        return -math.inf
    error = float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return fmean(values) + float(stdtrit(len(values) - 1, level)) * error
