"""Searches loaded histories for changes."""

import math
from collections.abc import Sequence
from dataclasses import replace

from perfledger_baselines.history.commits.attribution import (
    ObservedSeries,
    at_observations,
    attributed_changes,
)
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs
from perfledger_baselines.planning.epochs import epoch_starts
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def searched_series(histories: Sequence[MeasuredSeries]) -> tuple[SearchedSeries, ...]:
    """Search histories all at once, in the epochs of their machines; raise SeriesError."""
    changes = detect_across_epochs(
        [series.values for series in histories],
        errors=[series.errors for series in histories],
        times=[series.times for series in histories],
        epochs=[_epochs_of(series) for series in histories],
    )
    return tuple(map(_with_new_machines, map(SearchedSeries, histories, changes)))


def _with_new_machines(searched: SearchedSeries) -> SearchedSeries:
    observed = observed_in(searched)
    if observed is None:
        return searched
    places = frozenset(
        change.index
        for change, attributed in zip(
            searched.history.changes, attributed_changes(observed), strict=True
        )
        if attributed.has_new_environment
    )
    return replace(searched, new_machines=places)


def _epochs_of(series: MeasuredSeries) -> tuple[int, ...]:
    """Return the places at which the epochs of a series' own machine begin, except the first.

    At a place without a value the environment is that of another machine.
    """
    if not series.environments:
        return ()
    places = _measured_places(series)
    return tuple(
        places[start] for start in epoch_starts([series.environments[at] for at in places])
    )


def _measured_places(series: MeasuredSeries) -> list[int]:
    return [index for index, value in enumerate(series.values) if not math.isnan(value)]


def observed_in(searched: SearchedSeries) -> ObservedSeries | None:
    """Return a series with its changes and without gaps; None if the series is unknown."""
    history = searched.series
    if history.series is None:
        return None
    places = _measured_places(history)
    return ObservedSeries(
        series=history.series,
        commits=tuple(places),
        changes=tuple(at_observations(change, places) for change in searched.history.changes),
        environments=tuple(history.environments[place] for place in places)
        if history.environments
        else (),
    )
