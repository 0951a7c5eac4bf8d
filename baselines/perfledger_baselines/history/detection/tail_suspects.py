"""Finds odd observations at the end of a series: commits that need an A/B run."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perfledger_baselines.estimation.arrays import FloatArray
from perfledger_baselines.history.detection.changes import Suspect
from perfledger_baselines.history.detection.observations import observe
from perfledger_baselines.history.detection.series_analysis import SeriesAnalysis, analyse_series
from perfledger_baselines.history.segmentation.changepoints import SearchedRow
from perfledger_baselines.history.segmentation.two_sample_tests import REACH, dependence_factors

# Numbers of observations at the end that are compared with those before. Beyond these, `detect`
# finds what is odd.
LENGTHS = (1, 2, 3, 4, 6, 8, 10)

# In standard errors. Low, because a suspect costs a few pairs of runs and alarms nobody.
ENOUGH = 3.0

# Standard errors from which a slope is extrapolated. Lower than for reported drift, because a new
# observation is compared with the commits next to it.
DRIFTS = 3.0

# Fewest observations before them needed to know the usual level.
MIN_BEFORE = 12


def tail_suspects(
    series: Sequence[Sequence[float]], *, times: Sequence[Sequence[float]] = ()
) -> tuple[Suspect | None, ...]:
    """Return the suspect at the end of each series; None if the series ends as usual.

    The median of its last k observations is odd if it is ENOUGH standard errors and MIN_CHANGE off
    the stretch since the last change, and no k consecutive observations of that stretch were as far
    off in that direction. The series is its own yardstick: spikes, states and waves that it always
    had are not suspect. Of several k the strongest counts. Series of equal length are analysed
    together. `times` are when each series' values were measured, as in `detect`. Raises
    SeriesError, as `detect` does.
    """
    none: Sequence[Sequence[float]] = [()] * len(series)
    observed = [
        observe(values, times=series_times)
        for values, series_times in zip(series, times or none, strict=True)
    ]
    suspects: list[Suspect | None] = [None] * len(observed)
    for number, analysis in analyse_series(observed):
        suspects[number] = _suspect(analysis)
    return tuple(suspects)


def _suspect(analysis: SeriesAnalysis) -> Suspect | None:
    row, places = analysis.stable.row, analysis.stable.places
    start = max(row.shifts[-1].place if row.shifts else 0, len(row.levels) - REACH)
    strongest: Suspect | None = None
    for length in LENGTHS:
        before = len(row.levels) - start - length
        if before < MIN_BEFORE:
            break
        usual, count = _usual(row, start, before)
        above = row.levels[start:] - usual
        offs = _moving_medians(above, length)
        off = float(offs[-1])
        sizes = np.array([length, count])
        factors = dependence_factors(sizes, np.array(row.dependence))
        strength = abs(off) / (row.sd * float(np.sqrt((factors / sizes).sum())))
        is_new = abs(off) > max(0.0, float((offs[:-length] * np.sign(off)).max()))
        is_odd = strength >= ENOUGH and is_new and abs(off) >= analysis.floor
        if is_odd and (strongest is None or strength > strongest.strength):
            # The median may include ordinary observations at its beginning.
            odd = int((above[-length:] * np.sign(off) >= abs(off) / 2).argmax())
            observations = analysis.observations
            level = float(usual[-1]) + analysis.typical_state
            strongest = Suspect(
                index=int(observations.places[places[odd - length]]),
                observations=length - odd,
                change=observations.ratio(off, before=observations.value(level)),
                strength=strength,
            )
    return strongest


def _usual(row: SearchedRow, start: int, before: int) -> tuple[FloatArray, float]:
    """Return a stretch's usual levels, to the end, and how many observations support them.

    A stretch that drifts is extrapolated by a line; at its end a line is only as well known as a
    mean of a quarter of its observations. Any other stretch has one level.
    """
    index = np.arange(start, len(row.levels)) - (len(row.levels) - 1) / 2
    levels = row.cleaned[start:] + row.slope * index
    turn = index[:before] - index[:before].mean()
    sway = float((turn**2).sum())
    slope = float((turn * levels[:before]).sum()) / sway
    factor = (1 + row.dependence) / (1 - row.dependence)
    if abs(slope) < DRIFTS * row.sd * (factor / sway) ** 0.5:
        return np.full(len(levels), levels[:before].mean()), float(before)
    return levels[:before].mean() + slope * (index - index[:before].mean()), before / 4


def _moving_medians(levels: FloatArray, length: int) -> FloatArray:
    """Return the median of each `length` consecutive levels; of two, the one closer to 0."""
    windows = np.sort(sliding_window_view(levels, length), axis=1)
    low, high = windows[:, (length - 1) // 2], windows[:, length // 2]
    if length != 2:  # noqa: PLR2004 - from three on one odd observation moves no median
        return (low + high) / 2
    nearer: FloatArray = np.where(np.abs(low) < np.abs(high), low, high)
    return np.where(low * high > 0, nearer, 0.0)
