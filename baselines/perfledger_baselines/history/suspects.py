"""The latest observations of a series in, whether its newest commits need a second look out."""

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from perfledger_baselines.history.detect import MIN_CHANGE
from perfledger_baselines.history.findings import Suspect
from perfledger_baselines.history.moves import Row
from perfledger_baselines.history.reading import Reading, read_all
from perfledger_baselines.history.series import observe
from perfledger_baselines.history.split import REACH, dependence_factors

# So many observations at the end are held against what was before them. What is odd for longer is
# for `detect` to find.
LENGTHS = (1, 2, 3, 4, 6, 8, 10)

# In standard errors. Low, as a suspect costs a few pairs of runs and disturbs nobody.
ENOUGH = 3.0

# In standard errors: a stretch with a slope of so many goes on creeping. Lower than where drift is
# reported: the nearest commits are what a newcomer is held against.
CREEPS = 3.0

# As many observations before them at least, to know what is usual.
FEWEST_BEFORE = 12


def suspect(values: Sequence[float], *, min_change: float = MIN_CHANGE) -> Suspect | None:
    """Return the newest commits' suspect, or None if the series ends as usual.

    The median of its last k observations is odd if it is ENOUGH standard errors and `min_change`
    off the stretch since the last change, and no k observations in a row of that stretch were as
    far off to that side. The series is its own measure: spikes, states and waves that it always had
    raise no suspicion. Of several k the strongest stands. Raises SeriesError as `detect` does.
    """
    return suspect_many([values], min_change=min_change)[0]


def suspect_many(
    series: Sequence[Sequence[float]], *, min_change: float = MIN_CHANGE
) -> tuple[Suspect | None, ...]:
    """Return what `suspect` returns for each series; equally long ones are read together."""
    observed = [observe(values) for values in series]
    found: list[Suspect | None] = [None] * len(observed)
    for number, reading in read_all(observed, min_change=min_change):
        found[number] = _suspect(reading)
    return tuple(found)


def _suspect(reading: Reading) -> Suspect | None:
    row, kept = reading.settled.row, reading.settled.kept
    start = max(row.moves[-1].place if row.moves else 0, len(row.levels) - REACH)
    found: Suspect | None = None
    for length in LENGTHS:
        before = len(row.levels) - start - length
        if before < FEWEST_BEFORE:
            break
        usual, known = _usual(row, start, before)
        above = row.levels[start:] - usual
        offs = _moving_medians(above, length)
        off = float(offs[-1])
        sizes = np.array([length, known])
        factors = dependence_factors(sizes, np.array(row.dependence))
        strength = abs(off) / (row.sd * float(np.sqrt((factors / sizes).sum())))
        is_new = abs(off) > max(0.0, float((offs[:-length] * np.sign(off)).max()))
        is_odd = strength >= ENOUGH and is_new and abs(off) >= reading.floor
        if is_odd and (found is None or strength > found.strength):
            # A median may hold one ordinary observation at its beginning.
            odd = int((above[-length:] * np.sign(off) >= abs(off) / 2).argmax())
            observations = reading.observations
            level = float(usual[-1]) + reading.typical_state
            found = Suspect(
                index=int(observations.places[kept[odd - length]]),
                observations=length - odd,
                change=observations.ratio(off, before=observations.value(level)),
                strength=strength,
            )
    return found


def _usual(row: Row, start: int, before: int) -> tuple[NDArray[np.float64], float]:
    """Return what a stretch's levels usually are, to the end, and by how many this is known.

    A stretch that creeps goes on creeping: a line, which at its end is known by a quarter of its
    observations. Any other has one level.
    """
    index = np.arange(start, len(row.levels)) - (len(row.levels) - 1) / 2
    levels = row.cleaned[start:] + row.slope * index
    turn = index[:before] - index[:before].mean()
    sway = float((turn**2).sum())
    slope = float((turn * levels[:before]).sum()) / sway
    factor = (1 + row.dependence) / (1 - row.dependence)
    if abs(slope) < CREEPS * row.sd * (factor / sway) ** 0.5:
        return np.full(len(levels), levels[:before].mean()), float(before)
    return levels[:before].mean() + slope * (index - index[:before].mean()), before / 4


def _moving_medians(levels: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Return the median of each `length` levels in a row; of two, the one nearer to zero."""
    windows = np.sort(sliding_window_view(levels, length), axis=1)
    low, high = windows[:, (length - 1) // 2], windows[:, length // 2]
    if length > 2:  # noqa: PLR2004 - from three on one odd observation moves no median
        return (low + high) / 2
    nearer: NDArray[np.float64] = np.where(np.abs(low) < np.abs(high), low, high)
    return np.where(low * high > 0, nearer, 0.0)
