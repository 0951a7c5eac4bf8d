"""Finds the cheapest or greenest start time of a deferrable job."""

from datetime import datetime
from pathlib import Path

from perfledger_cost_models.energy.carbon_aware_start import (
    DeferrableJob,
    StartWindow,
    start_window,
)
from perfledger_cost_models.energy.hourly_csv import (
    MAX_SERIES_BYTES,
    HourlySeries,
    read_hourly_series,
)
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_service.usecases.inputs.error_translation import translate_errors
from perfledger_service.usecases.inputs.files import errors_about, read_text


def find_start_window(
    path: Path,
    *,
    hours: float,
    earliest: datetime | None,
    deadline: datetime | None,
    kw: float | None,
    pause_hours: float | None,
    objective: StartObjective | None,
) -> StartWindow:
    """Return the best start time of a job from a file of hourly values.

    The default period is the file's own; the default objective is cost, if the file has prices.
    Raises NotFoundError, TooLargeError and UsageError.
    """
    with errors_about(path):
        series = read_hourly_series(read_text(path, most_bytes=MAX_SERIES_BYTES), path.name)
    with translate_errors():
        job = DeferrableJob(
            hours=hours,
            earliest_s=series.start_s if earliest is None else earliest.timestamp(),
            deadline_s=series.end_s if deadline is None else deadline.timestamp(),
            kw=kw,
            pause_hours=pause_hours,
        )
        return start_window(job, series, aim=objective or _default_objective(series, kw))


def _default_objective(series: HourlySeries, kw: float | None) -> StartObjective:
    """Return cost if it is known, or if emissions are unknown too."""
    has_cost = series.usd_per_hour is not None or (
        series.usd_per_kwh is not None and kw is not None
    )
    return StartObjective.USD if has_cost or series.kg_per_kwh is None else StartObjective.KG
