"""Finds the best time to start a deferrable job."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from perfledger.time_units import MINUTES_PER_HOUR
from perfledger_cost_models.energy.start_objective import StartObjective
from perfledger_service.cli.command import command
from perfledger_service.cli.option_groups import argument, how, what
from perfledger_service.cli.option_values import parse_moment
from perfledger_service.cli.output import ChartOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFlags:
    """The deferrable job."""

    job_hours: Annotated[float, what("how long the job runs", metavar="HOURS")]
    earliest_start: Annotated[
        str | None,
        what("when the job can start", metavar="TIME", default="the beginning of the file"),
    ] = None
    deadline: Annotated[
        str | None, what("when the job must be done, such as 2026-11-24T08:00Z", metavar="TIME")
    ] = None
    mean_kw: Annotated[
        float | None,
        what("mean power with the facility's share, for CO2 and prices of power", metavar="KW"),
    ] = None
    pause_minutes: Annotated[
        float | None, how("allow pauses; resuming takes this long", metavar="MINUTES")
    ] = None


@command(
    examples=(
        "perfledger fleet start-window carbon.csv --job-hours 6 --mean-kw 40",
        (
            "perfledger fleet start-window carbon.csv --job-hours 6 --objective kg "
            "--deadline 2026-11-24T08:00Z --pause-minutes 10"
        ),
        "perfledger fleet start-window carbon.csv --job-hours 6 --format svg --output window.svg",
    )
)
def start_window(
    series: Annotated[
        Path,
        argument(
            "CSV: time, and kg_per_kwh, g_per_kwh, usd_per_hour or usd_per_mwh", metavar="FILE"
        ),
    ],
    *,
    job: JobFlags,
    objective: Annotated[
        StartObjective | None, how("what to minimise", default="usd if the file has prices")
    ] = None,
    output: ChartOutput,
) -> None:
    """Find the cheapest or greenest start time for a deferrable job, and the saving."""
    from perfledger_service.rendering.fleet.start_window import window_document
    from perfledger_service.rendering.fleet.start_window_plot import window_svg
    from perfledger_service.usecases.fleet.start_window import find_start_window

    start, end, pause = job.earliest_start, job.deadline, job.pause_minutes
    output.write_document(
        find_start_window(
            series,
            hours=job.job_hours,
            earliest=None if start is None else parse_moment(start, "--earliest-start"),
            deadline=None if end is None else parse_moment(end, "--deadline"),
            kw=job.mean_kw,
            pause_hours=None if pause is None else pause / MINUTES_PER_HOUR,
            objective=objective,
        ),
        window_document,
        svg=window_svg,
    )
