"""Analyses series on the scale of their levels: states, shifts, transients, noise."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from perfledger_baselines.estimation.arrays import FloatArray, IntArray
from perfledger_baselines.history.detection.bimodal_series import (
    BimodalRow,
    alternation,
    guess_states,
    place_costs,
    separate_states,
)
from perfledger_baselines.history.detection.description_length import (
    description_length,
    state_cost,
)
from perfledger_baselines.history.detection.first_level import MIN_LEVEL, first_level_shift
from perfledger_baselines.history.detection.observations import Observations
from perfledger_baselines.history.detection.repeated_ends import is_repeated_end
from perfledger_baselines.history.detection.time_cycles import CycleBasis, TimedCycle, is_likely
from perfledger_baselines.history.detection.unequal_spreads import without_chance_shifts
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
from perfledger_baselines.history.segmentation.noise import MOST_DEPENDENT

# Relative; as in A/B judging. A smaller change is not worth investigating, however certain it is.
MIN_CHANGE = 0.003

# Two stretches of three observations, and one more on each side to estimate the noise.
MIN_OBSERVATIONS = 8

# Nats by which two states, or a cycle, must shorten a row's description: odds of 20,000 to 1.
FAR_STRONGER = 10.0

# Values per batch: the arrays of the scan are ten times as large and should fit in a core's cache.
MAX_VALUES = 16_384

# An excursion of more observations is two changes.
MAX_EXCURSION = 7

# An excursion came back if less than half of it remains.
RETURNED = 0.5

# Fewest observations in a row that are one excursion even if none of them is a spike. One or two
# are so far off in any noise.
MIN_RUN = 3

# Standard deviations that each of them is off, on the same side. With three there are twice as many
# in bursts and two states.
RUN_SPREADS = 3.5


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

    `floor` is the smallest change on that scale. `cycle` is None without a daily or weekly cycle,
    and `states` without two states.
    """

    observations: Observations
    floor: float
    stable: StableRow
    cycle: TimedCycle | None
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
    """Yield (number, analysis) of each series that is long enough; equal lengths go together."""
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, observations in enumerate(observed):
        by_length[len(observations.levels)].append(number)
    for length, numbers in by_length.items():
        if length < MIN_OBSERVATIONS:
            continue
        size = max(MAX_VALUES // length, 1)
        for start in range(0, len(numbers), size):
            block = numbers[start : start + size]
            readings = _analyse([observed[number] for number in block])
            yield from zip(block, readings, strict=True)


def remove_transients(row: SearchedRow, *, floor: float) -> StableRow:
    """Search the row again without its excursions, as if they had not been measured."""
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
    runs = list(_runs(row, places, floor=floor))
    excursions += runs
    excursions += (
        spike
        for spike in _spikes(row, places, floor=floor)
        if not any(run.first <= spike.last and spike.first <= run.last for run in runs)
    )
    level = first_level_shift(row, floor=floor)
    return StableRow(
        row=row if level is None else replace(row, shifts=(level, *row.shifts)),
        places=places,
        excursions=tuple(sorted(excursions, key=lambda excursion: excursion.first)),
    )


def _excursions(shifts: tuple[LevelShift, ...]) -> Iterator[tuple[LevelShift, LevelShift]]:
    """Yield pairs of shifts of which the second reverts the first; no shift is used twice."""
    last = -1
    for number, (there, back) in enumerate(pairwise(shifts)):
        away, home = there.after - there.before, back.after - back.before
        is_back = away * home < 0 and abs(away + home) < RETURNED * min(abs(away), abs(home))
        if is_back and back.place - there.place <= MAX_EXCURSION and number > last:
            last = number + 1
            yield there, back


def _excursion(first: LevelShift, last: LevelShift, places: IntArray) -> Excursion:
    step = first.after - (first.before + last.after) / 2
    return Excursion(first=int(places[first.place]), last=int(places[last.place - 1]), step=step)


def _spikes(row: SearchedRow, places: IntArray, *, floor: float) -> Iterator[Excursion]:
    """Yield runs of spikes, except the last observations, which have not come back yet.

    The first ones had no earlier level to come back to: only one or two of them count as spikes.
    """
    if not row.is_spike.any():
        return
    edges = np.flatnonzero(np.diff(row.is_spike, prepend=False, append=False))
    for first, stop in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        if stop == len(places) or (first == 0 and stop >= MIN_LEVEL):
            continue
        middle = (first + stop - 1) / 2
        step = float(np.mean(row.levels[first:stop] - row.cleaned[first:stop])) - row.slope_offset(
            middle
        )
        if abs(step) >= floor:
            yield Excursion(first=int(places[first]), last=int(places[stop - 1]), step=step)


def _runs(row: SearchedRow, places: IntArray, *, floor: float) -> Iterator[Excursion]:
    """Yield short runs of observations that are off on the same side.

    They are too few for two changes, and may be no spikes. Beside a change, or at either end, a run
    has not left a level and come back to it. Noise close to a random walk has no level.
    """
    if row.dependence > MOST_DEPENDENT:
        return
    flat = row.levels - row.slope * (np.arange(len(row.levels)) - (len(row.levels) - 1) / 2)
    bounds = [0, *(shift.place for shift in row.shifts), len(flat)]
    for begin, end in pairwise(bounds):
        flat[begin:end] -= _middle(flat[begin:end])
    is_far = (np.abs(flat) > max(RUN_SPREADS * row.sd, floor)) | row.is_spike
    if np.count_nonzero(is_far) < MIN_RUN:
        return
    sides = np.where(is_far, np.sign(flat), 0.0)
    for begin, end in pairwise(bounds):
        off, side = flat[begin:end], sides[begin:end]
        if np.count_nonzero(side) < MIN_RUN:
            continue
        edges = np.flatnonzero(np.diff(side, prepend=0.0, append=0.0))
        for first, stop in pairwise(edges.tolist()):
            is_inside = first > 0 and stop < end - begin
            if side[first] and is_inside and MIN_RUN <= stop - first <= MAX_EXCURSION:
                step = float(np.mean(off[first:stop]))
                yield Excursion(
                    first=int(places[begin + first]), last=int(places[begin + stop - 1]), step=step
                )


def _middle(values: FloatArray) -> float:
    """Return the median, in an eighth of the time of numpy's."""
    ordered = np.sort(values)
    middle, odd = divmod(len(values), 2)
    return float(ordered[middle + odd - 1] + ordered[middle]) / 2


def _analyse(block: Sequence[Observations]) -> Iterator[SeriesAnalysis]:
    """Analyse series of equal length together, and some of them once more separately."""
    levels = np.stack([observations.levels for observations in block])
    errors = np.stack([observations.errors for observations in block])
    floors = np.array([_floor(observations) for observations in block])
    rows = search_rows(levels, errors, floors=floors)
    cycles: dict[int, TimedCycle] = {}
    for number, observations in enumerate(block):
        separated = _without_cycle(rows[number], observations.times, floor=float(floors[number]))
        if separated is not None:
            cycles[number], rows[number] = separated
            levels[number] = rows[number].levels
    states: dict[int, BimodalRow] = {}
    for number, distance in _state_distances(rows, levels).items():
        two = separate_states(levels[number], distance=distance)
        again = search_rows(two.levels[None], errors[[number]], floors=floors[[number]])[0]
        gain = description_length(rows[number]) - description_length(again)
        if gain > state_cost(two.is_upper) + FAR_STRONGER:
            states[number], rows[number] = two, again
    variance_changes = find_variance_changes(rows)
    for number, (observations, searched) in enumerate(zip(block, rows, strict=True)):
        noise_places = [change.place for change in variance_changes[number]]
        row = without_chance_shifts(searched, noise_places)
        stable = remove_transients(row, floor=float(floors[number]))
        kept_places = np.searchsorted(stable.places, noise_places).tolist()
        stable = replace(stable, row=without_chance_shifts(stable.row, kept_places))
        stable = _without_repeated_ends(stable, row)
        two_states = states.get(number)
        if two_states is not None:
            stable = _with_wider_places(stable, levels[number], two_states)
        yield SeriesAnalysis(
            observations=observations,
            floor=float(floors[number]),
            stable=stable,
            cycle=cycles.get(number),
            states=two_states,
            variance_changes=variance_changes[number],
            share_shifts=find_share_shifts(two_states.is_upper) if two_states else (),
        )


def _without_repeated_ends(stable: StableRow, row: SearchedRow) -> StableRow:
    """Return the row without the last shifts that may be excursions as the series had before.

    What is short enough for an excursion has not come back yet; `row` still has the earlier ones.
    After a shift that may be one, the next is compared with what was before both.
    """
    levels = row.levels - row.slope * np.arange(len(row.levels))
    shifts: list[LevelShift] = []
    start, before = 0, None
    for shift in stable.row.shifts:
        place = int(stable.places[shift.place])
        is_short = len(levels) - place <= MAX_EXCURSION
        if is_short and is_repeated_end(levels, place, start=start):
            before = shift.before if before is None else before
            continue
        shifts.append(shift if before is None else replace(shift, before=before))
        start, before = place, None
    return replace(stable, row=replace(stable.row, shifts=tuple(shifts)))


def _without_cycle(
    row: SearchedRow, times: FloatArray, *, floor: float
) -> tuple[TimedCycle, SearchedRow] | None:
    """Return the daily and weekly cycle of a row, and the row without it; None without a cycle.

    It is fitted first as if nothing had changed, then beside the changes that show once it is
    removed.
    """
    if np.isnan(times).all():
        return None
    basis = CycleBasis(times)
    if not basis.can_show_cycle:
        return None
    offsets = basis.offsets(row.levels, []).sum(axis=0)
    if not is_likely(row.levels, offsets):
        return None
    floors = np.array([floor])
    first = search_rows((row.levels - offsets)[None], row.errors[None], floors=floors)[0]
    parts = basis.offsets(row.levels, [move.place for move in first.shifts])
    offsets = parts.sum(axis=0)
    without, *without_one = search_rows(
        row.levels - np.stack([offsets, *parts]),
        np.stack([row.errors] * 3),
        floors=floors.repeat(3),
    )
    places = [move.place for move in without.shifts]
    length = description_length(without)
    if description_length(row) - length <= FAR_STRONGER:
        return None
    # If the two together gain this much, at least one of them gains half of it. What the row still
    # gains without its daily part is the week's.
    weekly, daily = (
        half_range if description_length(rest) - length > FAR_STRONGER / 2 else 0.0
        for half_range, rest in zip(
            reversed(basis.half_ranges(row.levels, places)), without_one, strict=True
        )
    )
    confounded = basis.confounded_steps(offsets, places, floor=floor)
    return TimedCycle(daily=daily, weekly=weekly, confounded=confounded), without


def _state_distances(rows: Sequence[SearchedRow], levels: FloatArray) -> dict[int, float]:
    """Return the distance between the two states that each row may have, by row number."""
    distances = guess_states(levels)
    for number, row in enumerate(rows):
        steps = [move.after - move.before for move in row.shifts]
        distance = alternation([move.place for move in row.shifts], steps)
        if distance > 0:
            distances[number] = distance
    return distances


def _with_wider_places(stable: StableRow, levels: FloatArray, two: BimodalRow) -> StableRow:
    """Return the row with wider intervals of places, as the states are not known for certain."""
    row = stable.row
    turn = np.arange(len(row.levels)) - (len(row.levels) - 1) / 2
    flat = levels[stable.places] - row.slope * turn
    bounds = [0, *(move.place for move in row.shifts), len(flat)]
    shifts: list[LevelShift] = []
    for move, first, stop in zip(row.shifts, bounds, bounds[2:], strict=False):
        costs = place_costs(
            flat[first:stop], distance=two.distance, before=move.before, after=move.after, sd=row.sd
        )
        # The first or the last place would leave an empty stretch.
        earliest, latest = likely_places(-costs[None, 1:-1])
        shifts.append(
            replace(
                move,
                earliest=min(move.earliest, first + 1 + int(earliest[0])),
                latest=max(move.latest, first + 1 + int(latest[0])),
            )
        )
    return replace(stable, row=replace(row, shifts=tuple(shifts)))


def _floor(observations: Observations) -> float:
    """Return the smallest change on the scale of levels; if linear, relative to the middle."""
    if observations.is_relative:
        return math.log1p(MIN_CHANGE)
    return MIN_CHANGE * abs(observations.origin)
