"""A path in, the histories there with all that is found in them out."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perfledger_baselines.history.attribution import Observed, at_observations
from perfledger_baselines.history.detect import detect, detect_many
from perfledger_baselines.history.events import Happenings, find_events
from perfledger_baselines.history.suspects import suspect_many
from perfledger_service.usecases.histories import read_histories
from perfledger_service.usecases.translating import translated
from perfledger_service.views import MeasuredSeries, SearchedSeries


def search(
    path: Path, *, column: str | None = None, epoch: str | None = None, error: str | None = None
) -> tuple[SearchedSeries, ...]:
    """Read and search the histories at `path`; raises NotFoundError, TooLargeError, UsageError.

    `epoch` is the column whose changes split a file's series, `error` the one with the values'
    standard errors. What lies off at the end since too few points to be a change is suspect.
    """
    histories = read_histories(path, column=column, epoch=epoch, error=error)
    with translated():
        if epoch is None:
            return _with_suspects(searched_series(histories))
        found = tuple(
            detect(series.values, errors=series.errors, epochs=series.epochs)
            for series in histories
        )
        return _with_suspects(tuple(map(SearchedSeries, histories, found)))


def searched_series(histories: Sequence[MeasuredSeries]) -> tuple[SearchedSeries, ...]:
    """Search histories of one epoch each, many at once; raises SeriesError."""
    errors = [series.errors for series in histories]
    found = detect_many([series.values for series in histories], errors=errors)
    return tuple(map(SearchedSeries, histories, found))


def events_of(found: Sequence[SearchedSeries]) -> Happenings | None:
    """Put the changes of a folder's series together to events; None for a series that stands alone.

    The commits of the events are places of points, from zero: all series have the same.
    """
    observed = [one for searched in found if (one := observed_in(searched)) is not None]
    return find_events(observed) if len(observed) > 1 else None


def observed_in(searched: SearchedSeries) -> Observed | None:
    """Return a series with its changes, gaps left out; None where nobody says which one it is."""
    measured = searched.series
    places = [place for place, value in enumerate(measured.values) if not math.isnan(value)]
    if measured.series is None:
        return None
    return Observed(
        series=measured.series,
        commits=tuple(places),
        changes=tuple(at_observations(change, places) for change in searched.history.changes),
        environments=tuple(measured.environments[place] for place in places),
    )


def _with_suspects(found: Sequence[SearchedSeries]) -> tuple[SearchedSeries, ...]:
    """Add what is suspect at the end of each series; what an epoch before was is no measure."""
    starts = [max(searched.series.epochs, default=0) for searched in found]
    newest = [searched.series.values[start:] for searched, start in zip(found, starts, strict=True)]
    odd = suspect_many([values if _is_measured(values) else (0.0,) for values in newest])
    return tuple(
        replace(searched, suspect=one and replace(one, index=start + one.index))
        for searched, start, one in zip(found, starts, odd, strict=True)
    )


def _is_measured(values: Sequence[float]) -> bool:
    return not all(map(math.isnan, values))
