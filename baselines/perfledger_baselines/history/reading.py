"""Observed series in, what was found in each on the scale of its levels out."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perfledger_baselines.history.moves import Move, Row, find_moves
from perfledger_baselines.history.place import likely_places
from perfledger_baselines.history.series import Observations
from perfledger_baselines.history.states import (
    Guess,
    TwoStates,
    alternation,
    guess_states,
    place_costs,
    separate_states,
)
from perfledger_baselines.history.transients import Settled, settle
from perfledger_baselines.history.unrest import ShareShift, Unrest, find_share_shifts, find_unrest

# Two stretches of three observations, and one more on either side to know the noise by.
FEWEST_OBSERVATIONS = 8

# Observations: two searches of one row speak of the same move if its places are this near.
SAME_PLACE = 5

# No switch between two states is so many times as large as their distance, which is a guess.
BEYOND_SWITCH = 1.3

# Values that are worked on at once: the arrays of the scan are ten times as large, and should stay
# in a core's cache.
MAX_VALUES = 16_384


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One series, and all that was found in it on the scale of its levels.

    `floor` is the smallest change on that scale. `states` are there if the series has two.
    """

    observations: Observations
    floor: float
    settled: Settled
    states: TwoStates | None
    unrest: tuple[Unrest, ...]
    shares: tuple[ShareShift, ...]

    @property
    def typical_state(self) -> float:
        """Return what being in the upper state adds to the level on average."""
        if self.states is None:
            return 0.0
        return self.states.distance * float(self.states.is_upper.mean())


def read_all(
    observed: Sequence[Observations], *, min_change: float
) -> Iterator[tuple[int, Reading]]:
    """Yield (number, reading) of each series that is long enough, equally long ones together."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, observations in enumerate(observed):
        by_length[len(observations.levels)].append(number)
    for length, numbers in by_length.items():
        if length < FEWEST_OBSERVATIONS:
            continue
        size = max(MAX_VALUES // length, 1)
        for start in range(0, len(numbers), size):
            block = numbers[start : start + size]
            readings = _read([observed[number] for number in block], min_change=min_change)
            yield from zip(block, readings, strict=True)


def _read(block: Sequence[Observations], *, min_change: float) -> Iterator[Reading]:
    """Search equally long series together, and those that need it once more alone."""
    levels = np.stack([observations.levels for observations in block])
    errors = np.stack([observations.errors for observations in block])
    floors = np.array([_floor(observations, min_change) for observations in block])
    guesses = guess_states(levels)
    states = {
        number: separate_states(levels[number], distance=guess.distance)
        for number, guess in guesses.items()
        if guess.is_sure
    }
    for number, two in states.items():
        levels[number] = two.levels
    rows = find_moves(levels, errors, floors=floors)
    doubts: dict[int, tuple[Row, float]] = {}
    for number in [n for n, row in enumerate(rows) if row.moves and n not in states]:
        guess = _second_guess(rows[number], guesses.get(number))
        if guess is not None:
            two = separate_states(levels[number], distance=guess.distance)
            again = find_moves(two.levels[None], errors[[number]], floors=floors[[number]])[0]
            if guess.is_sure:
                states[number], rows[number] = two, again
            else:
                doubts[number] = again, guess.distance
    unrest = find_unrest(rows)
    for number, (observations, row) in enumerate(zip(block, rows, strict=True)):
        settled = settle(row, floor=float(floors[number]))
        two_states = states.get(number)
        if two_states is not None:
            settled = _placed(settled, observations.levels, two_states)
        elif number in doubts:
            settled = _agreed(settled, *doubts[number])
        yield Reading(
            observations=observations,
            floor=float(floors[number]),
            settled=settled,
            states=two_states,
            unrest=unrest[number],
            shares=find_share_shifts(two_states.is_upper) if two_states else (),
        )


def _second_guess(row: Row, guess: Guess | None) -> Guess | None:
    """Return what is guessed of a row's states now that its moves are known."""
    steps = [move.after - move.before for move in row.moves]
    distance = alternation([move.place for move in row.moves], steps)
    return Guess(distance, is_sure=True) if distance > 0 else guess


def _placed(settled: Settled, levels: NDArray[np.float64], two: TwoStates) -> Settled:
    """Return the row with places as wide as they are if nobody knows who is in which state."""
    row = settled.row
    turn = np.arange(len(row.levels)) - (len(row.levels) - 1) / 2
    flat = levels[settled.kept] - row.slope * turn
    bounds = [0, *(move.place for move in row.moves), len(flat)]
    moves: list[Move] = []
    for move, first, stop in zip(row.moves, bounds, bounds[2:], strict=False):
        costs = place_costs(
            flat[first:stop],
            distance=two.distance,
            before=move.before,
            after=move.after,
            sd=row.sd,
        )
        # The first and the last place would leave a stretch with nothing in it.
        earliest, latest = likely_places(-costs[None, 1:-1])
        moves.append(
            replace(
                move,
                earliest=min(move.earliest, first + 1 + int(earliest[0])),
                latest=max(move.latest, first + 1 + int(latest[0])),
            )
        )
    return replace(settled, row=replace(row, moves=tuple(moves)))


def _agreed(settled: Settled, other: Row, distance: float) -> Settled:
    """Return the row with those moves that the other, which sees two states, has too.

    And with those that are too large to be a switch between states.
    """
    moves = tuple(
        move
        for move in settled.row.moves
        if abs(move.after - move.before) > BEYOND_SWITCH * distance
        or any(abs(settled.kept[move.place] - seen.place) <= SAME_PLACE for seen in other.moves)
    )
    return replace(settled, row=replace(settled.row, moves=moves))


def _floor(observations: Observations, min_change: float) -> float:
    """Return the smallest change on the scale of the levels: of a linear one, of its middle."""
    if observations.is_relative:
        return math.log1p(min_change)
    return min_change * abs(observations.origin)
