"""Detects the changes of series: levels, transients, drift, noise and states."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from perfledger_baselines.history.detection.changes import (
    ChangePoint,
    ConfoundedChange,
    Cycle,
    Drift,
    SeriesFindings,
    SpreadChange,
    StateChange,
    Transient,
)
from perfledger_baselines.history.detection.observations import Observations, SeriesError, observe
from perfledger_baselines.history.detection.series_analysis import SeriesAnalysis, analyse_series
from perfledger_baselines.history.segmentation.changepoints import NORMAL_QUANTILE


def detect(
    values: Sequence[float],
    *,
    errors: Sequence[float] = (),
    times: Sequence[float] = (),
    epochs: Sequence[int] = (),
) -> SeriesFindings:
    """Return the findings in one series: one value per commit, NaN where none was measured.

    `errors` are the values' standard errors in their unit, NaN where unknown: a value from more
    processes counts for more. Without them all values count equally. `times` are when the values
    were measured, in seconds since the epoch, NaN where unknown; they allow a daily and weekly
    cycle to be separated. `epochs` are indices at which the machine class changed: the pieces
    between them are searched separately. Findings use the indices of `values`: gaps are never
    filled. Fewer than 8 observations give no findings. Raises SeriesError if nothing was measured,
    for an infinite value, and for invalid errors, times or epochs.
    """
    return _joined_findings(
        _all_findings(_pieces(values, errors=errors, times=times, epochs=epochs))
    )


def detect_many(
    series: Sequence[Sequence[float]],
    *,
    errors: Sequence[Sequence[float]] = (),
    times: Sequence[Sequence[float]] = (),
    epochs: Sequence[Sequence[int]] = (),
) -> tuple[SeriesFindings, ...]:
    """Return the findings in each series, as `detect` does; equal lengths are searched together.

    `errors`, `times` and `epochs` have those of each series, in the same order.
    """
    none: Sequence[Sequence[float]] = [()] * len(series)
    no_epochs: Sequence[Sequence[int]] = [()] * len(series)
    pieces = [
        _pieces(
            values,
            errors=series_errors,
            times=series_times,
            epochs=series_epochs,
            name=f"series {number}",
        )
        for number, (values, series_errors, series_times, series_epochs) in enumerate(
            zip(series, errors or none, times or none, epochs or no_epochs, strict=True)
        )
    ]
    findings = iter(_all_findings([piece for of_series in pieces for piece in of_series]))
    return tuple(_joined_findings([next(findings) for _ in of_series]) for of_series in pieces)


def _pieces(
    values: Sequence[float],
    *,
    errors: Sequence[float],
    times: Sequence[float],
    epochs: Sequence[int],
    name: str = "the series",
) -> list[Observations]:
    """Return the observations in each epoch of a series, without unmeasured places."""
    observed = observe(values, errors=errors, times=times, name=name)  # any invalid value raises
    if not epochs:
        return [observed]
    bounds = [0, *epochs, len(values)]
    if any(later <= earlier for earlier, later in pairwise(bounds)):
        msg = f"epochs {tuple(epochs)} do not split {len(values)} commits: use increasing indices"
        raise SeriesError(msg)
    error_pieces, time_pieces = (
        np.split(np.asarray(each, dtype=np.float64), epochs) for each in (errors, times)
    )
    parts = np.split(np.asarray(values, dtype=np.float64), epochs)
    pieces: list[Observations] = []
    for first, part, errors_of_part, times_of_part in zip(
        bounds[:-1], parts, error_pieces, time_pieces, strict=True
    ):
        if not np.isnan(part).all():
            piece = observe(part, errors=errors_of_part, times=times_of_part)
            pieces.append(replace(piece, places=piece.places + first))
    return pieces


def _all_findings(observed: Sequence[Observations]) -> list[SeriesFindings]:
    histories = [SeriesFindings(changes=())] * len(observed)
    for number, reading in analyse_series(observed):
        histories[number] = _findings(reading)
    return histories


def _findings(reading: SeriesAnalysis) -> SeriesFindings:
    observations, stable = reading.observations, reading.stable
    places = observations.places.tolist()
    stable_places = stable.places.tolist()
    return SeriesFindings(
        changes=tuple(
            _change(reading, number, places, stable_places)
            for number in range(len(stable.row.shifts))
        ),
        transients=tuple(
            Transient(
                first=places[excursion.first],
                last=places[excursion.last],
                change=observations.ratio(excursion.step, before=observations.middle),
            )
            for excursion in stable.excursions
        ),
        drifts=tuple(_drifts(reading, places)),
        spread_changes=tuple(
            SpreadChange(
                index=places[change.place],
                ratio=change.ratio,
                low=change.low,
                high=change.high,
                confidence=change.confidence,
            )
            for change in reading.variance_changes
        ),
        state_changes=tuple(_state_changes(reading, places)),
        cycles=tuple(_cycles(reading)),
        confounded_changes=tuple(_confounded_changes(reading, places)),
    )


def _change(
    reading: SeriesAnalysis, number: int, places: Sequence[int], stable_places: Sequence[int]
) -> ChangePoint:
    """Return a shift in the metric's unit; its earliest place follows the observation before it."""
    observations, row = reading.observations, reading.stable.row
    shift = row.shifts[number]
    offset = row.slope_offset(shift.place) + reading.typical_state
    bounds = [0, *(one.place for one in row.shifts), len(row.levels)]
    before_level, after_level = (
        _stretch_level(reading, first, stop, fitted=level + offset)
        for first, stop, level in zip(
            bounds[number:], bounds[number + 1 :], (shift.before, shift.after), strict=False
        )
    )
    before, after = observations.value(before_level), observations.value(after_level)
    step = after_level - before_level
    half_width = 0.0 if after == 0 else shift.half_width  # nothing is 100 % less, however noisy
    least = -1.0 if observations.is_never_negative else -math.inf
    change, low, high = (
        max(least, observations.ratio(step + width, before=before)) if before > 0 else math.nan
        for width in (0.0, -half_width, half_width)
    )
    return ChangePoint(
        index=places[stable_places[shift.place]],
        earliest=places[stable_places[shift.earliest - 1]] + 1,
        latest=places[stable_places[shift.latest]],
        before=before,
        after=after,
        change=change,
        low=low,
        high=high,
        confidence=shift.confidence,
    )


def _stretch_level(reading: SeriesAnalysis, first: int, stop: int, *, fitted: float) -> float:
    """Return the level of a stretch: that of its observations if all agree, else the fitted one.

    A fit in dependent noise mixes a stretch of zeros with its neighbours, and a ratio to nearly
    nothing is any number.
    """
    levels, places = reading.observations.levels, reading.stable.places[first:stop]
    level = levels[places[0]]
    # Most stretches differ at their ends: comparing these first takes a tenth of the time.
    is_one = level == levels[places[-1]] and bool((levels[places] == level).all())
    return float(level) if is_one else fitted


def _drifts(reading: SeriesAnalysis, places: Sequence[int]) -> Iterator[Drift]:
    observations, row = reading.observations, reading.stable.row
    steps = len(row.levels) - 1
    total, half_width = row.slope * steps, NORMAL_QUANTILE * row.slope_error * steps
    if row.slope == 0 or abs(total) < reading.floor:
        return
    before = observations.value(float(row.cleaned[0]) + row.slope_offset(0))
    yield Drift(
        first=places[0],
        last=places[-1],
        change=observations.ratio(total, before=before),
        low=observations.ratio(total - half_width, before=before),
        high=observations.ratio(total + half_width, before=before),
    )


def _state_changes(reading: SeriesAnalysis, places: Sequence[int]) -> Iterator[StateChange]:
    if reading.states is None:
        return
    distance = reading.observations.ratio(
        reading.states.distance, before=reading.observations.middle
    )
    for shift in reading.share_shifts:
        yield StateChange(
            index=places[shift.place],
            share_before=shift.before,
            share_after=shift.after,
            distance=distance,
            confidence=shift.confidence,
        )


def _cycles(reading: SeriesAnalysis) -> Iterator[Cycle]:
    if reading.cycle is None:
        return
    observations = reading.observations
    for period, half_range in (("day", reading.cycle.daily), ("week", reading.cycle.weekly)):
        if 0 < half_range >= reading.floor:
            size = observations.ratio(half_range, before=observations.middle)
            yield Cycle(period=period, size=size)


def _confounded_changes(
    reading: SeriesAnalysis, places: Sequence[int]
) -> Iterator[ConfoundedChange]:
    observations = reading.observations
    for step in reading.cycle.confounded if reading.cycle else ():
        size = observations.ratio(step.rise, before=observations.middle)
        yield ConfoundedChange(index=places[step.place], change=size)


def _joined_findings(histories: Sequence[SeriesFindings]) -> SeriesFindings:
    """Return the findings in the pieces of one series merged in order."""
    if len(histories) == 1:
        return histories[0]
    return SeriesFindings(
        changes=tuple(change for history in histories for change in history.changes),
        transients=tuple(transient for history in histories for transient in history.transients),
        drifts=tuple(drift for history in histories for drift in history.drifts),
        spread_changes=tuple(change for history in histories for change in history.spread_changes),
        state_changes=tuple(change for history in histories for change in history.state_changes),
        cycles=tuple(cycle for history in histories for cycle in history.cycles),
        confounded_changes=tuple(
            change for history in histories for change in history.confounded_changes
        ),
    )
