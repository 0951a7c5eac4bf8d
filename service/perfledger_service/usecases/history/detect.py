"""Detects changes in the histories at a path."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from perfledger_baselines.history.commits.grouping import GroupedChanges, group_changes
from perfledger_baselines.history.detection.detect import detect
from perfledger_baselines.history.detection.tail_suspects import tail_suspects
from perfledger_profiles.benchmark_histories.results import HistoryFormat
from perfledger_service.errors import UsageError
from perfledger_service.usecases.inputs.benchmark_histories import (
    is_column,
    read_benchmark_histories,
)
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import shown_path
from perfledger_service.usecases.inputs.history_sources import (
    read_histories,
    select_series,
)
from perfledger_service.usecases.inputs.searched_histories import observed_in, searched_series
from perfledger_service.values.measured_series import MeasuredSeries, SearchedSeries


def search(
    path: Path,
    *,
    column: str | None = None,
    epoch: str | None = None,
    error: str | None = None,
    time: str | None = None,
    format_: HistoryFormat | None = None,
    clone: Path | None = None,
    is_one_machine: bool = False,
) -> tuple[SearchedSeries, ...]:
    """Read and search the histories at `path`; raises NotFoundError, TooLargeError, UsageError.

    `epoch` is the column whose changes split a file's series, `error` the column of the values'
    standard errors, `time` the column of their measuring times. The history may be another tool's,
    in `format_` or a recognised format; `clone` then orders its commits, and `is_one_machine` joins
    the series of its machines. A deviating end with too few points for a change is a suspect.
    """
    histories: tuple[MeasuredSeries, ...] = ()
    is_other_tools = clone is not None or format_ is not None or is_one_machine
    is_pipe = path.exists() and not (path.is_file() or path.is_dir())  # read only once
    if (epoch, error, time) == (None, None, None) and (
        is_other_tools or not (is_pipe or is_column(path, column))
    ):
        histories = read_benchmark_histories(
            path, format_=format_, clone=clone, is_one_machine=is_one_machine
        )
    if histories:
        histories = select_series(histories, column, source=f"{shown_path(path)} has")
    elif is_other_tools:
        msg = (
            f"{shown_path(path)} is not read as another tool's history: leave out the options "
            "of columns, or --clone, --from and --one-machine"
        )
        raise UsageError(msg)
    else:
        histories = read_histories(path, column=column, epoch=epoch, error=error, time=time)
    with translate_errors():
        if epoch is None:
            return _with_suspects(searched_series(histories))
        searched = tuple(
            detect(series.values, errors=series.errors, times=series.times, epochs=series.epochs)
            for series in histories
        )
        return _with_suspects(tuple(map(SearchedSeries, histories, searched)))


def events_of(histories: Sequence[SearchedSeries]) -> GroupedChanges | None:
    """Group the changes of several series into events; None for a single series.

    The commits of the events are indices of points, which all series share.
    """
    observed = [series for searched in histories if (series := observed_in(searched)) is not None]
    return group_changes(observed) if len(observed) > 1 else None


def _with_suspects(histories: Sequence[SearchedSeries]) -> tuple[SearchedSeries, ...]:
    """Add the suspect at the end of each series, judged within its last epoch."""
    starts = [max(searched.series.epochs, default=0) for searched in histories]
    newest = [
        (searched.series.values[start:], searched.series.times[start:])
        if _is_measured(searched.series.values[start:])
        else ((0.0,), ())
        for searched, start in zip(histories, starts, strict=True)
    ]
    odd = tail_suspects([values for values, _ in newest], times=[times for _, times in newest])
    return tuple(
        replace(searched, suspect=one and replace(one, index=start + one.index))
        for searched, start, one in zip(histories, starts, odd, strict=True)
    )


def _is_measured(values: Sequence[float]) -> bool:
    return not all(map(math.isnan, values))
