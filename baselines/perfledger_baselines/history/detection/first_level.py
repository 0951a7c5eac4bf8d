"""Distinguishes the level at which a series began from an excursion."""

import math

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from perfledger_baselines.history.segmentation.changepoints import (
    CONFIDENCE,
    LevelShift,
    SearchedRow,
)
from perfledger_baselines.history.segmentation.noise import MOST_DEPENDENT
from perfledger_baselines.history.segmentation.pruning import confidences, needed_z

# A shorter run is no level: it has too few observations to estimate its own spread.
MIN_LEVEL = 3


def first_level_shift(row: SearchedRow, *, floor: float) -> LevelShift | None:
    """Return the shift from the run of spikes at a row's beginning to its first level.

    None without such a run, if it is not significant, and in noise close to a random walk. The
    search treats the first few observations as spikes if they spread more than the rest, even if
    they share a level. Welch's test lets the run have a spread of its own (Welch, "The
    generalization of Student's problem when several different population variances are involved",
    Biometrika 34, 1947).
    """
    stop = int(np.argmin(row.is_spike))
    end = row.shifts[0].place if row.shifts else len(row.levels)
    if stop < MIN_LEVEL or end - stop < MIN_LEVEL or row.dependence > MOST_DEPENDENT:
        return None
    turn = np.arange(stop) - (len(row.levels) - 1) / 2
    run, rest = row.levels[:stop] - row.slope * turn, row.cleaned[stop:end]
    before, after = float(np.mean(run)), float(np.mean(rest))
    dependence = (1 + row.dependence) / (1 - row.dependence)
    parts = [dependence * np.var(each, ddof=1) / len(each) for each in (run, rest)]
    variance = float(sum(parts))
    if abs(after - before) < floor or variance <= 0:
        return None
    sizes = len(run) - 1, len(rest) - 1
    degrees = variance**2 / sum(part**2 / size for part, size in zip(parts, sizes, strict=True))
    error = math.sqrt(variance)
    z = float(-ndtri(stdtr(degrees, -abs(after - before) / error)))
    if z < needed_z(len(row.levels)):
        return None
    return LevelShift(
        place=stop,
        earliest=stop,
        latest=stop,
        before=before,
        after=after,
        half_width=float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) * error,
        confidence=float(confidences(np.array([z]), count=len(row.levels))[0]),
    )
