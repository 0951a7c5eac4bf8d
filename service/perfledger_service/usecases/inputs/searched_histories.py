"""Searches loaded histories for changes."""

import math
from collections.abc import Sequence

from perfledger_baselines.history.commits.attribution import ObservedSeries, at_observations
from perfledger_baselines.history.detection.epoch_changes import detect_across_epochs
from perfledger_baselines.planning.epochs import epoch_starts
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def searched_series(histories: Sequence[MeasuredSeries]) -> tuple[SearchedSeries, ...]:
    """Search histories all at once, in the epochs of their machines; raise SeriesError."""
    changes = detect_across_epochs(
        [series.values for series in histories],
        errors=[series.errors for series in histories],
        times=[series.times for series in histories],
        epochs=[epoch_starts(series.environments) for series in histories],
    )
    return tuple(map(SearchedSeries, histories, changes))


def observed_in(searched: SearchedSeries) -> ObservedSeries | None:
    """Return a series with its changes and without gaps; None if the series is unknown."""
    history = searched.series
    places = [place for place, value in enumerate(history.values) if not math.isnan(value)]
    if history.series is None:
        return None
    return ObservedSeries(
        series=history.series,
        commits=tuple(places),
        changes=tuple(at_observations(change, places) for change in searched.history.changes),
        environments=tuple(history.environments[place] for place in places)
        if history.environments
        else (),
    )
