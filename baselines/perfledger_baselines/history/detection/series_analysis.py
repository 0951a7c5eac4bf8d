"""Analyses series on the scale of their levels: states, shifts, transients, noise."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.detection.bimodal_series import (
    BimodalityGuess,
    BimodalRow,
    alternation,
    guess_states,
    place_costs,
    separate_states,
)
from perfledger_baselines.history.detection.observations import Observations
from perfledger_baselines.history.detection.variance_changes import (
    StateShareShift,
    VarianceChange,
    find_share_shifts,
    find_variance_changes,
)
from perfledger_baselines.history.segmentation.changepoint_interval import likely_places
from perfledger_baselines.history.segmentation.changepoints import (
    LevelShift,
    SearchedRow,
    search_rows,
)

# Relative; as in A/B judging. A smaller change is not worth investigating, however sure it is.
MIN_CHANGE = 0.003

# Two stretches of three observations, and one more on either side to estimate the noise.
FEWEST_OBSERVATIONS = 8

# Observations: two searches of one row found the same shift if its places are this close.
SAME_PLACE = 5

# A shift of this many times the guessed distance of two states is no switch between them.
BEYOND_SWITCH = 1.3

# Values per batch: the arrays of the scan are ten times as large, and should stay in a core's
# cache.
MAX_VALUES = 16_384

# An excursion of more observations is two changes.
LONGEST_EXCURSION = 7

# An excursion came back if less than half of it is left.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesAnalysis:
    """One series and the findings in it, on the scale of its levels.

    `floor` is the smallest change on that scale. `states` is None for a series in one state.
    """

    observations: Observations
    floor: float
    stable: StableRow
    states: BimodalRow | None
    variance_changes: tuple[VarianceChange, ...]
    share_shifts: tuple[StateShareShift, ...]

    @property
    def typical_state(self) -> float:
        """Return what the upper state adds to the level on average."""
        if self.states is None:
            return 0.0
        return self.states.distance * float(self.states.is_upper.mean())


def analyse_series(observed: Sequence[Observations]) -> Iterator[tuple[int, SeriesAnalysis]]:
    """Yield (number, analysis) of each series that is long enough, equally long ones together."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, observations in enumerate(observed):
        by_length[len(observations.levels)].append(number)
    for length, numbers in by_length.items():
        if length < FEWEST_OBSERVATIONS:
            continue
        size = max(MAX_VALUES // length, 1)
        for start in range(0, len(numbers), size):
            block = numbers[start : start + size]
            readings = _analyse([observed[number] for number in block])
            yield from zip(block, readings, strict=True)


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
        if is_back and back.place - there.place <= LONGEST_EXCURSION and number > last:
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


def _analyse(block: Sequence[Observations]) -> Iterator[SeriesAnalysis]:
    """Analyse equally long series together, and some of them once more alone."""
    levels = np.stack([observations.levels for observations in block])
    errors = np.stack([observations.errors for observations in block])
    floors = np.array([_floor(observations) for observations in block])
    guesses = guess_states(levels)
    states = {
        number: separate_states(levels[number], distance=guess.distance)
        for number, guess in guesses.items()
        if guess.is_sure
    }
    for number, two in states.items():
        levels[number] = two.levels
    rows = search_rows(levels, errors, floors=floors)
    doubts: dict[int, tuple[SearchedRow, float]] = {}
    for number in [n for n, row in enumerate(rows) if row.shifts and n not in states]:
        guess = _second_guess(rows[number], guesses.get(number))
        if guess is not None:
            two = separate_states(levels[number], distance=guess.distance)
            again = search_rows(two.levels[None], errors[[number]], floors=floors[[number]])[0]
            if guess.is_sure:
                states[number], rows[number] = two, again
            else:
                doubts[number] = again, guess.distance
    variance_changes = find_variance_changes(rows)
    for number, (observations, row) in enumerate(zip(block, rows, strict=True)):
        stable = remove_transients(row, floor=float(floors[number]))
        two_states = states.get(number)
        if two_states is not None:
            stable = _with_wider_places(stable, observations.levels, two_states)
        elif number in doubts:
            stable = _with_confirmed_shifts(stable, *doubts[number])
        yield SeriesAnalysis(
            observations=observations,
            floor=float(floors[number]),
            stable=stable,
            states=two_states,
            variance_changes=variance_changes[number],
            share_shifts=find_share_shifts(two_states.is_upper) if two_states else (),
        )


def _second_guess(row: SearchedRow, guess: BimodalityGuess | None) -> BimodalityGuess | None:
    """Return the guess of a row's states now that its shifts are known."""
    steps = [move.after - move.before for move in row.shifts]
    distance = alternation([move.place for move in row.shifts], steps)
    return BimodalityGuess(distance, is_sure=True) if distance > 0 else guess


def _with_wider_places(stable: StableRow, levels: FloatArray, two: BimodalRow) -> StableRow:
    """Return the row with the intervals of places widened for not knowing the states."""
    row = stable.row
    turn = np.arange(len(row.levels)) - (len(row.levels) - 1) / 2
    flat = levels[stable.places] - row.slope * turn
    bounds = [0, *(move.place for move in row.shifts), len(flat)]
    shifts: list[LevelShift] = []
    for move, first, stop in zip(row.shifts, bounds, bounds[2:], strict=False):
        costs = place_costs(
            flat[first:stop], distance=two.distance, before=move.before, after=move.after, sd=row.sd
        )
        # The first and the last place would leave a stretch with nothing in it.
        earliest, latest = likely_places(-costs[None, 1:-1])
        shifts.append(
            replace(
                move,
                earliest=min(move.earliest, first + 1 + int(earliest[0])),
                latest=max(move.latest, first + 1 + int(latest[0])),
            )
        )
    return replace(stable, row=replace(row, shifts=tuple(shifts)))


def _with_confirmed_shifts(stable: StableRow, separated: SearchedRow, distance: float) -> StableRow:
    """Return the row with the shifts that `separated`, with two states, has too.

    Shifts that are too large for a switch between the states stay as well.
    """
    shifts = tuple(
        move
        for move in stable.row.shifts
        if abs(move.after - move.before) > BEYOND_SWITCH * distance
        or any(
            abs(stable.places[move.place] - shift.place) <= SAME_PLACE for shift in separated.shifts
        )
    )
    return replace(stable, row=replace(stable.row, shifts=shifts))


def _floor(observations: Observations) -> float:
    """Return the smallest change on the scale of the levels, relative to the middle if linear."""
    if observations.is_relative:
        return math.log1p(MIN_CHANGE)
    return MIN_CHANGE * abs(observations.origin)
