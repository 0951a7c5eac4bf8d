"""A row with its moves in, the same without what came back after a few observations out."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.history.moves import Move, Row, find_moves

# An excursion of more observations is two changes: people have lived with the new level by then.
LONGEST = 7

# It came back if what is left of it is less than half.
RETURNED = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Excursion:
    """Observations `first` to `last`, inclusive, that lay off by `step` on the scale of levels."""

    first: int
    last: int
    step: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """A row of the observations `kept`, and the excursions without which it was searched."""

    row: Row
    kept: NDArray[np.int64]
    excursions: tuple[Excursion, ...]


def settle(row: Row, *, floor: float) -> Settled:
    """Return the row searched again without its excursions, as if these had not been measured."""
    kept = np.arange(len(row.levels))
    excursions: list[Excursion] = []
    # Taking one out may show another. It ends, as every round shortens the row.
    while found := list(_excursions(row.moves)):
        is_kept = np.ones(len(kept), dtype=np.bool_)
        for first, last in found:
            is_kept[first.place : last.place] = False
            excursions.append(_excursion(first, last, kept))
        kept = kept[is_kept]
        levels, errors = row.levels[None, is_kept], row.errors[None, is_kept]
        row = find_moves(levels, errors, floors=np.array([floor]))[0]
    excursions += _spikes(row, kept, floor=floor)
    return Settled(
        row=row,
        kept=kept,
        excursions=tuple(sorted(excursions, key=lambda excursion: excursion.first)),
    )


def _excursions(moves: tuple[Move, ...]) -> Iterator[tuple[Move, Move]]:
    """Yield each pair of moves of which the second takes back the first; no move is in two."""
    taken = -1
    for number, (there, back) in enumerate(pairwise(moves)):
        away, home = there.after - there.before, back.after - back.before
        is_back = away * home < 0 and abs(away + home) < RETURNED * min(abs(away), abs(home))
        if is_back and back.place - there.place <= LONGEST and number > taken:
            taken = number + 1
            yield there, back


def _excursion(first: Move, last: Move, kept: NDArray[np.int64]) -> Excursion:
    step = first.after - (first.before + last.after) / 2
    return Excursion(first=int(kept[first.place]), last=int(kept[last.place - 1]), step=step)


def _spikes(row: Row, kept: NDArray[np.int64], *, floor: float) -> Iterator[Excursion]:
    """Yield runs of spikes; the last observations are none yet, as nobody saw them come back."""
    if not row.is_spike.any():
        return
    edges = np.flatnonzero(np.diff(row.is_spike, prepend=False, append=False))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop == len(kept):
            continue
        middle = (first + stop - 1) / 2
        step = float(np.mean(row.levels[first:stop] - row.cleaned[first:stop])) - row.sway(middle)
        if abs(step) >= floor:
            yield Excursion(first=int(kept[first]), last=int(kept[stop - 1]), step=step)
