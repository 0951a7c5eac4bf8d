"""The command about how well devices are used: by whom, what was idle, what a target would free."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from perfledger_cost_models.activity import Level, Signal
from perfledger_service.cli.checking import Output
from perfledger_service.cli.inputs import DAY, Store, given_files, period_of
from perfledger_service.cli.serving import server_modules
from perfledger_service.cli.showing import show_table, show_text
from perfledger_service.errors import UsageError
from perfledger_service.pages.measured_use import measured_csv, measured_json, measured_text
from perfledger_service.pages.utilization_plot import utilization_svg
from perfledger_service.pages.utilized import (
    utilization_csv,
    utilization_json,
    utilization_text,
)
from perfledger_service.settings import service_settings
from perfledger_service.usecases.utilizing import utilization_at
from perfledger_service.views import ImportKind

Day = Annotated[datetime | None, typer.Option(formats=DAY)]
# What teams that manage it commonly aim at; beyond it jobs wait for each other.
DEFAULT_TARGET = 0.7


class UtilizationFormat(StrEnum):
    """How utilization is written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    SVG = "svg"


def cost_utilization(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="exports of Prometheus, sacct, CloudWatch, Cloud Monitoring, W&B"),
    ] = None,
    *,
    store: Store = None,
    checks: Annotated[
        bool, typer.Option("--checks", help="instead: how busy the service's checks saw workloads")
    ] = False,
    start: Day = None,
    end: Day = None,
    by: Annotated[Level, typer.Option(help="whose utilization")] = Level.TEAM,
    signal: Annotated[
        Signal | None, typer.Option(help="what is taken for use; GPU-util where it is known")
    ] = None,
    target: Annotated[
        float, typer.Option(help="what would going there free: a share of the hours")
    ] = DEFAULT_TARGET,
    at: Annotated[
        str | None, typer.Option(help="where a device-hour is bought: p5.48xlarge/on_demand")
    ] = None,
    form: Annotated[
        UtilizationFormat, typer.Option("--format", help="how to write it")
    ] = UtilizationFormat.TABLE,
    output: Output = None,
) -> None:
    """Say how well devices are used, by whom, and what could be given back, with the evidence.

    Several files are put together, such as one for each metric; they must not tell the same of one
    device twice. What is missing stays unknown and is never taken for idle.
    """
    if checks:
        _show_measured(files or (), store, form, output)
        return
    found = utilization_at(
        given_files(files or (), store, ImportKind.ACTIVITY),
        level=by,
        signal=signal,
        target=target,
        option=at,
        today=datetime.now(UTC).date(),
        period=period_of(start, end),
    )
    match form:
        case UtilizationFormat.TABLE:
            show_table(utilization_text(found), output)
        case UtilizationFormat.JSON:
            show_text(utilization_json(found), output)
        case UtilizationFormat.CSV:
            show_text(utilization_csv(found), output)
        case UtilizationFormat.SVG:
            show_text(utilization_svg(found), output)


def _show_measured(
    files: Sequence[Path], store: str | None, form: UtilizationFormat, output: Path | None
) -> None:
    if files or store is not None:
        msg = "--checks is of what the service measured: leave files and --store out"
        raise UsageError(msg)
    with server_modules():
        from perfledger_service.store.database import reading  # noqa: PLC0415 - server modules
        from perfledger_service.store.migrating import open_current  # noqa: PLC0415
        from perfledger_service.usecases.capacity import measured_uses  # noqa: PLC0415
    with open_current(service_settings().database_url) as engine, reading(engine) as session:
        found = measured_uses(session)
    match form:
        case UtilizationFormat.TABLE:
            show_table(measured_text(found), output)
        case UtilizationFormat.JSON:
            show_text(measured_json(found), output)
        case UtilizationFormat.CSV:
            show_text(measured_csv(found), output)
        case UtilizationFormat.SVG:
            msg = "--checks has no picture: the service's page /capacity shows them"
            raise UsageError(msg)
