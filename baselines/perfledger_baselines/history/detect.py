"""Series in, what each did out: where it moved, what came back, how it crept and jittered."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from perfledger_baselines.history.findings import (
    ChangePoint,
    Drift,
    History,
    SpreadChange,
    StateChange,
    Transient,
)
from perfledger_baselines.history.moves import Move
from perfledger_baselines.history.reading import Reading, read_all
from perfledger_baselines.history.series import Observations, SeriesError, observe

# Relative. What A/B judging asks for too: less is not worth anyone's morning, however sure it is.
MIN_CHANGE = 0.003

NORMAL_QUANTILE = 1.96  # of a 95 % interval


def detect(
    values: Sequence[float],
    *,
    errors: Sequence[float] = (),
    epochs: Sequence[int] = (),
    min_change: float = MIN_CHANGE,
) -> History:
    """Return all that is found in one series: one value per commit, NaN where none was measured.

    `errors` are the values' standard errors in their unit, NaN where one is not known: what more
    processes tell counts for more. Without them all values are as good. `epochs` are indices at
    which the class of machine changed: the series is searched in pieces, and nothing is found
    across them. Indices that are returned are those of `values`: gaps are never filled. Fewer than
    8 observations show nothing. Raises SeriesError if nothing was measured, for an infinite value,
    and for errors, epochs or a smallest change that make no sense.
    """
    if not epochs:
        return _histories([observe(values, errors=errors)], min_change=min_change)[0]
    bounds = [0, *epochs, len(values)]
    if any(later <= earlier for earlier, later in pairwise(bounds)):
        msg = f"epochs {tuple(epochs)} do not split {len(values)} commits: give rising indices"
        raise SeriesError(msg)
    given = np.asarray(values, dtype=np.float64)
    told = np.split(np.asarray(errors, dtype=np.float64), epochs)
    pieces: list[Observations] = []
    parts = np.split(given, epochs)
    for first, part, errors_of_part in zip(bounds[:-1], parts, told, strict=True):
        if not np.isnan(part).all():
            piece = observe(part, errors=errors_of_part)
            pieces.append(replace(piece, places=piece.places + first))
    return _joined(_histories(pieces or [observe(given)], min_change=min_change))


def detect_many(
    series: Sequence[Sequence[float]],
    *,
    errors: Sequence[Sequence[float]] = (),
    min_change: float = MIN_CHANGE,
) -> tuple[History, ...]:
    """Return what `detect` returns for each series, many at once: equally long ones together.

    `errors` has the standard errors of each series, in the same order.
    """
    observed = [
        observe(values, errors=told, name=f"series {number}")
        for number, (values, told) in enumerate(
            zip(series, errors or [()] * len(series), strict=True)
        )
    ]
    return tuple(_histories(observed, min_change=min_change))


def _histories(observed: Sequence[Observations], *, min_change: float) -> list[History]:
    if not (math.isfinite(min_change) and min_change >= 0):
        msg = f"min_change {min_change} is no relative change: give one of 0 or more, such as 0.01"
        raise SeriesError(msg)
    histories = [History(changes=())] * len(observed)
    for number, reading in read_all(observed, min_change=min_change):
        histories[number] = _history(reading)
    return histories


def _history(reading: Reading) -> History:
    observations, settled = reading.observations, reading.settled
    places = observations.places.tolist()
    kept = settled.kept.tolist()
    return History(
        changes=tuple(_change(reading, move, places, kept) for move in settled.row.moves),
        transients=tuple(
            Transient(
                first=places[excursion.first],
                last=places[excursion.last],
                change=observations.ratio(excursion.step, before=observations.value(0.0)),
            )
            for excursion in settled.excursions
        ),
        drifts=tuple(_drifts(reading, places)),
        spread_changes=tuple(
            SpreadChange(
                index=places[unrest.place],
                ratio=unrest.ratio,
                low=unrest.low,
                high=unrest.high,
                confidence=unrest.confidence,
            )
            for unrest in reading.unrest
        ),
        state_changes=tuple(_state_changes(reading, places)),
    )


def _change(
    reading: Reading, move: Move, places: Sequence[int], kept: Sequence[int]
) -> ChangePoint:
    """Put a move in the metric's unit; its earliest place is after the last one measured before."""
    observations, row = reading.observations, reading.settled.row
    offset = row.sway(move.place) + reading.typical_state
    before = observations.value(move.before + offset)
    after = observations.value(move.after + offset)
    step = move.after - move.before
    return ChangePoint(
        index=places[kept[move.place]],
        earliest=places[kept[move.earliest - 1]] + 1,
        latest=places[kept[move.latest]],
        before=before,
        after=after,
        change=observations.ratio(step, before=before),
        low=observations.ratio(step - move.half_width, before=before),
        high=observations.ratio(step + move.half_width, before=before),
        confidence=move.confidence,
    )


def _drifts(reading: Reading, places: Sequence[int]) -> Iterator[Drift]:
    observations, row = reading.observations, reading.settled.row
    steps = len(row.levels) - 1
    total, half_width = row.slope * steps, NORMAL_QUANTILE * row.slope_error * steps
    if row.slope == 0 or abs(total) < reading.floor:
        return
    before = observations.value(float(row.cleaned[0]) + row.sway(0))
    yield Drift(
        first=places[0],
        last=places[-1],
        change=observations.ratio(total, before=before),
        low=observations.ratio(total - half_width, before=before),
        high=observations.ratio(total + half_width, before=before),
    )


def _state_changes(reading: Reading, places: Sequence[int]) -> Iterator[StateChange]:
    if reading.states is None:
        return
    distance = reading.observations.ratio(
        reading.states.distance, before=reading.observations.value(0.0)
    )
    for shift in reading.shares:
        yield StateChange(
            index=places[shift.place],
            share_before=shift.before,
            share_after=shift.after,
            distance=distance,
            confidence=shift.confidence,
        )


def _joined(histories: Sequence[History]) -> History:
    """Return what was found in the pieces of one series as one history, in order."""
    return History(
        changes=tuple(change for history in histories for change in history.changes),
        transients=tuple(transient for history in histories for transient in history.transients),
        drifts=tuple(drift for history in histories for drift in history.drifts),
        spread_changes=tuple(change for history in histories for change in history.spread_changes),
        state_changes=tuple(change for history in histories for change in history.state_changes),
    )
