"""Removes transients: excursions that come back after a few observations."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import IntArray
from perfledger_baselines.history.segmentation.changepoints import (
    LevelShift,
    SearchedRow,
    search_rows,
)

# An excursion of more observations is two changes.
LONGEST = 7

# It came back if less than half of it is left.
RETURNED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Excursion:
    """Observations `first` to `last`, inclusive, that are off by `step` on the scale of levels."""

    first: int
    last: int
    step: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StableRow:
    """A row without its excursions; `places` are its observations' indices in the whole row."""

    row: SearchedRow
    places: IntArray
    excursions: tuple[Excursion, ...]


def remove_transients(row: SearchedRow, *, floor: float) -> StableRow:
    """Search the row again without its excursions, as if these had not been measured."""
    places = np.arange(len(row.levels))
    excursions: list[Excursion] = []
    # Removing one may reveal another. This ends, as every round shortens the row.
    while pairs := list(_excursions(row.shifts)):
        is_kept = np.ones(len(places), dtype=np.bool_)
        for first, last in pairs:
            is_kept[first.place : last.place] = False
            excursions.append(_excursion(first, last, places))
        places = places[is_kept]
        levels, errors = row.levels[None, is_kept], row.errors[None, is_kept]
        row = search_rows(levels, errors, floors=np.array([floor]))[0]
    excursions += _spikes(row, places, floor=floor)
    return StableRow(
        row=row,
        places=places,
        excursions=tuple(sorted(excursions, key=lambda excursion: excursion.first)),
    )


def _excursions(shifts: tuple[LevelShift, ...]) -> Iterator[tuple[LevelShift, LevelShift]]:
    """Yield pairs of shifts of which the second reverts the first; no shift is in two pairs."""
    last = -1
    for number, (there, back) in enumerate(pairwise(shifts)):
        away, home = there.after - there.before, back.after - back.before
        is_back = away * home < 0 and abs(away + home) < RETURNED * min(abs(away), abs(home))
        if is_back and back.place - there.place <= LONGEST and number > last:
            last = number + 1
            yield there, back


def _excursion(first: LevelShift, last: LevelShift, places: IntArray) -> Excursion:
    step = first.after - (first.before + last.after) / 2
    return Excursion(first=int(places[first.place]), last=int(places[last.place - 1]), step=step)


def _spikes(row: SearchedRow, places: IntArray, *, floor: float) -> Iterator[Excursion]:
    """Yield runs of spikes; not the last observations, which have not come back yet."""
    if not row.is_spike.any():
        return
    edges = np.flatnonzero(np.diff(row.is_spike, prepend=False, append=False))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop == len(places):
            continue
        middle = (first + stop - 1) / 2
        step = float(np.mean(row.levels[first:stop] - row.cleaned[first:stop])) - row.slope_offset(
            middle
        )
        if abs(step) >= floor:
            yield Excursion(first=int(places[first]), last=int(places[stop - 1]), step=step)
